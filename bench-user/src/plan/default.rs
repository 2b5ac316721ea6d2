//! The embedded default: what `bench-user run` does without a plan and without a target.

use super::{Plan, file};

/// The text of the embedded plan; also an example of the format.
pub const TEXT: &str = include_str!("default.toml");

/// The embedded plan: two built-in servers that answer alike and differ in their syscalls.
///
/// # Panics
/// Never: a test parses and validates the text.
#[must_use]
pub fn embedded() -> Plan {
    file::parse(TEXT, "the embedded plan").expect("the embedded plan is tested to parse")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::validate;

    #[test]
    fn the_embedded_plan_is_valid() {
        validate::plan(&embedded()).unwrap();
    }

    #[test]
    fn the_embedded_plan_keeps_well_below_two_minutes() {
        let plan = embedded();
        let ladder = &plan.ladder;
        let stage = ladder.warmup.0 + ladder.duration.0 + ladder.pause.0;
        let stages = u32::try_from(ladder.connections.len()).unwrap();
        let targets = u32::try_from(plan.targets.len()).unwrap();
        // Every ladder ends with a control stage.
        let total = stage * targets * plan.repeat * (stages + u32::from(plan.observe.control));
        assert!(total <= Duration::from_secs(100), "{total:?}");
    }
}
