//! The rules of `[valid]`: every limit is a share, or off where it can be.

use super::{ensure, refuse};
use crate::plan::{PlanError, ShareLimit, ValidRules};

/// Checks the limits.
///
/// # Errors
/// The first that is no share, as one sentence.
pub(super) fn valid(rules: &ValidRules) -> Result<(), PlanError> {
    for (key, least) in [("live", rules.live), ("achieved", rules.achieved)] {
        ensure((0.0..=1.0).contains(&least), || {
            format!("`{key}` under [valid] is {least}: give a share from 0 to 1, such as 0.95")
        })?;
    }
    for (key, limit) in [("reconnects", rules.reconnects), ("non_2xx", rules.non_2xx)] {
        match limit {
            ShareLimit::Switch(true) => refuse(format!(
                "`{key}` under [valid] is true, which sets no limit: give a share such as 0.01, \
                 or false for none"
            ))?,
            ShareLimit::MoreThan(most) if !(0.0..=1.0).contains(&most) => refuse(format!(
                "`{key}` under [valid] is {most}: give a share from 0 to 1, such as 0.01, or false \
                 for no limit"
            ))?,
            ShareLimit::Switch(false) | ShareLimit::MoreThan(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::plan::file::parse;
    use crate::plan::{ShareLimit, ValidRules};

    fn rules(text: &str) -> Result<ValidRules, String> {
        let plan = parse(&format!("[valid]\n{text}"), "the plan").unwrap();
        super::valid(&plan.valid).map_err(|error| error.to_string()).map(|()| plan.valid)
    }

    #[test]
    fn limits_are_shares_and_some_can_be_taken_away() {
        assert_eq!(rules(""), Ok(ValidRules::default()));
        let all = rules("live = 1\nachieved = 0\nreconnects = false\nnon_2xx = 0.5").unwrap();
        assert_eq!((all.live, all.achieved), (1.0, 0.0));
        assert_eq!(all.reconnects, ShareLimit::Switch(false));
        assert_eq!(all.non_2xx, ShareLimit::MoreThan(0.5));
    }

    #[test]
    fn what_is_no_share_is_refused_in_one_sentence() {
        for (text, said) in [
            ("live = 95", "`live` under [valid] is 95: give a share from 0 to 1, such as 0.95"),
            ("achieved = -0.1", "`achieved` under [valid] is -0.1: give a share"),
            ("reconnects = true", "`reconnects` under [valid] is true, which sets no limit"),
            ("non_2xx = 1.5", "`non_2xx` under [valid] is 1.5: give a share"),
            ("non_2xx = nan", "`non_2xx` under [valid] is NaN: give a share"),
        ] {
            let error = rules(text).unwrap_err();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
}
