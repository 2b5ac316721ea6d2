//! The search for the highest rate that holds an objective: which rate to try next, given what
//! became of those tried. Pure; `ascent.rs` makes the stages.
//!
//! A closed stage before the search estimates what the target can take. The first rate is half of
//! that; it is doubled while it holds, or halved while it does not, until one rate holds and one
//! does not, and the gap between them is halved until it is at most 2 %. Every rate is offered
//! once a climb, so one that holds by luck moves the result up: repetitions search anew, and tell.

/// The gap that ends a search, as a share of the rate that holds.
pub const TOLERANCE: f64 = 0.02;

/// Most rates that are tried.
pub const STAGES_MAX: usize = 16;

/// Below this rate, per second, nothing is searched: it would take windows of minutes.
const RATE_MIN: f64 = 1.0;

/// What became of a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The objective was met.
    Holds,
    /// It was not, and why, as a sentence.
    Fails(String),
    /// The stage does not say, such as when the generator failed; why, as a sentence.
    Unknown(String),
}

/// A rate that was offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Per second.
    pub rps: f64,
    /// What became of it.
    pub outcome: Outcome,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Offer this rate, per second.
    Try(f64),
    /// Nothing more: why, as a sentence.
    Done(String),
}

/// The highest rate that held, if one did.
#[must_use]
pub fn holds_at(tried: &[Tried]) -> Option<f64> {
    let held = tried.iter().filter(|t| t.outcome == Outcome::Holds);
    held.map(|t| t.rps).max_by(f64::total_cmp)
}

/// The lowest rate that failed, if one did.
#[must_use]
pub fn fails_at(tried: &[Tried]) -> Option<f64> {
    let failed = tried.iter().filter(|t| matches!(t.outcome, Outcome::Fails(_)));
    failed.map(|t| t.rps).min_by(f64::total_cmp)
}

/// The next step after these, for a target that achieved `estimate_rps` in the closed loop.
#[must_use]
pub fn next(estimate_rps: f64, tried: &[Tried]) -> Next {
    if estimate_rps <= 0.0 {
        return Next::Done("no request was answered well in the closed stage before it".into());
    }
    // Other rates would not tell either: higher ones ask more of the generator, and lower ones give
    // fewer samples.
    if let Some(Tried { rps, outcome: Outcome::Unknown(why) }) = tried.last() {
        let rps = crate::units::show_rate(*rps);
        return Next::Done(format!("it ended at {rps} req/s: {why}"));
    }
    let (holds, fails) = (holds_at(tried), fails_at(tried));
    let rate = match (holds, fails) {
        (None, None) => round(estimate_rps / 2.0).max(RATE_MIN),
        (Some(holds), None) => round(holds * 2.0),
        (None, Some(fails)) if fails <= RATE_MIN => {
            return Next::Done(format!("not even {fails} req/s held it"));
        }
        (None, Some(fails)) => round(fails / 2.0).max(RATE_MIN),
        (Some(holds), Some(fails)) => {
            let middle = round(f64::midpoint(holds, fails));
            // A rate that rounds to one of the two tells nothing new.
            if fails - holds <= TOLERANCE * holds || middle <= holds || middle >= fails {
                return Next::Done(format!("the gap is at most {} %", TOLERANCE * 100.0));
            }
            middle
        }
    };
    if tried.len() >= STAGES_MAX {
        return Next::Done(format!("{STAGES_MAX} rates were tried"));
    }
    Next::Try(rate)
}

/// Four digits say more than a stage can tell, and are read easily.
fn round(rps: f64) -> f64 {
    let scale = 10_f64.powf(3.0 - rps.log10().floor());
    let rounded = (rps * scale).round() / scale;
    if rounded.is_finite() { rounded } else { rps }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches against a server that says of a rate whether it holds.
    fn search(estimate: f64, mut holds: impl FnMut(f64) -> bool) -> (Vec<Tried>, String) {
        let mut tried = Vec::new();
        loop {
            match next(estimate, &tried) {
                Next::Done(why) => return (tried, why),
                Next::Try(rps) => {
                    let is_held = holds(rps);
                    let outcome =
                        if is_held { Outcome::Holds } else { Outcome::Fails(String::new()) };
                    tried.push(Tried { rps, outcome });
                }
            }
            assert!(tried.len() <= STAGES_MAX, "{tried:?}");
        }
    }

    /// Capacities and estimates from far too low to far too high.
    fn servers() -> impl Iterator<Item = (f64, f64)> {
        let mut random = fastrand::Rng::with_seed(11);
        (0..2_000).map(move |_| {
            let capacity = 10_f64.powf(random.f64() * 5.0 + 0.5);
            (capacity, capacity * 2_f64.powf(random.f64() * 8.0 - 4.0))
        })
    }

    #[test]
    fn a_monotone_server_is_found_to_the_tolerance() {
        for (capacity, estimate) in servers() {
            let (tried, why) = search(estimate, |rps| rps <= capacity);
            let (holds, fails) = (holds_at(&tried).unwrap(), fails_at(&tried).unwrap());
            assert!(holds <= capacity && capacity < fails, "{capacity}: {tried:?}");
            // Rates have four digits, so the smallest ones lie further apart than 2 %.
            assert!(fails - holds <= TOLERANCE * holds + 1e-9, "{capacity}: {holds} {fails} {why}");
            assert!(why.contains("at most 2 %"), "{why}");
        }
    }

    #[test]
    fn no_rate_is_tried_twice_and_a_noisy_server_ends_the_search_too() {
        let mut random = fastrand::Rng::with_seed(12);
        for (capacity, estimate) in servers() {
            let (tried, _) = search(estimate, |rps| rps <= capacity * (0.8 + 0.4 * random.f64()));
            for (i, one) in tried.iter().enumerate() {
                assert!(tried[..i].iter().all(|other| other.rps != one.rps), "{tried:?}");
            }
            let (holds, fails) = (holds_at(&tried), fails_at(&tried));
            assert!(holds.zip(fails).is_none_or(|(holds, fails)| holds < fails), "{tried:?}");
        }
    }

    #[test]
    fn a_server_without_a_limit_or_without_a_hope_ends_after_the_most_stages() {
        let (tried, why) = search(1_000.0, |_| true);
        assert_eq!((tried.len(), why.as_str()), (STAGES_MAX, "16 rates were tried"));
        let (tried, why) = search(1_000.0, |_| false);
        assert_eq!((tried.last().unwrap().rps, why.as_str()), (1.0, "not even 1 req/s held it"));
        assert_eq!(holds_at(&tried), None);
        assert!(matches!(next(0.0, &[]), Next::Done(why) if why.contains("no request")));
    }

    #[test]
    fn a_stage_that_does_not_say_ends_the_search_and_is_no_failure_of_the_server() {
        let mut tried = vec![Tried { rps: 500.0, outcome: Outcome::Holds }];
        tried.push(Tried { rps: 1_000.0, outcome: Outcome::Unknown("it was late".into()) });
        let Next::Done(why) = next(1_000.0, &tried) else { panic!() };
        assert_eq!(why, "it ended at 1000 req/s: it was late");
        assert_eq!((holds_at(&tried), fails_at(&tried)), (Some(500.0), None));
    }
}
