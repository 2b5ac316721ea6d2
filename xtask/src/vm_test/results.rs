//! What the tests of one boot said, check by check.

use super::emulator::Ended;

/// The name of the check that the machine came to its end in order.
const MACHINE: &str = "the machine runs all tests and switches itself off";

/// One kernel's answers.
pub(super) struct Results {
    /// The kernel and how it was booted.
    pub(super) kernel: String,
    /// In the order of their run.
    pub(super) checks: Vec<Check>,
}

/// One known-answer test.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    /// With what the test said.
    Failed(String),
    /// With the reason.
    Skipped(String),
}

impl Results {
    /// Reads the lines of the test binary, and holds them against the number that it announced.
    pub(super) fn read(kernel: &str, said: &str, ended: &Ended) -> Self {
        let said = said.replace('\r', "");
        let mut checks: Vec<Check> =
            said.lines().filter_map(|line| check(line, &said, ended)).collect();
        let announced = said.lines().find_map(|line| {
            line.strip_prefix("running ")?.split(' ').next()?.parse::<usize>().ok()
        });
        let is_whole = announced == Some(checks.len())
            && said.lines().any(|line| line.starts_with("exit "))
            && *ended == Ended::ByItself;
        if !is_whole {
            let outcome = Outcome::Failed(format!(
                "{} of {} tests were run; {ended}",
                checks.len(),
                announced.map_or("an unknown number of".to_owned(), |n| n.to_string()),
            ));
            checks.push(Check { name: MACHINE.to_owned(), outcome });
        }
        Self { kernel: kernel.to_owned(), checks }
    }

    /// Whether anything was not as it should be.
    pub(super) fn has_failed(&self) -> bool {
        self.checks.iter().any(|check| matches!(check.outcome, Outcome::Failed(_)))
    }

    /// How many checks were well, failed, and were skipped.
    pub(super) fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for check in &self.checks {
            counts[match check.outcome {
                Outcome::Ok => 0,
                Outcome::Failed(_) => 1,
                Outcome::Skipped(_) => 2,
            }] += 1;
        }
        counts
    }
}

/// `test NAME ... OUTCOME`; a test may write into its line before the outcome.
fn check(line: &str, said: &str, ended: &Ended) -> Option<Check> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.trim_end().to_owned();
    let outcome = if rest.ends_with("ok") {
        Outcome::Ok
    } else if rest.ends_with("FAILED") {
        Outcome::Failed(complaint(&name, said))
    } else if let Some((_, reason)) = rest.split_once("ignored (") {
        Outcome::Skipped(reason.trim_end_matches(')').to_owned())
    } else {
        Outcome::Failed(format!("it did not end; {ended}"))
    };
    Some(Check { name, outcome })
}

/// What stands below `---- NAME ----`.
fn complaint(name: &str, said: &str) -> String {
    let heading = format!("---- {name} ----");
    let lines = said.lines().skip_while(|line| *line != heading).skip(1);
    let text: Vec<&str> = lines.take_while(|line| !line.trim().is_empty()).collect();
    text.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "kernel 6.1.0\r\n\r\nrunning 3 tests\r\n\
        test a::b   ... ok\r\ntest a::cd  ... FAILED\r\n\
        test e      ... ignored (no PMU (a guest))\r\n\r\nfailures:\r\n\r\n---- a::cd ----\r\n\
        counted 3\r\n\r\n\r\nfailures:\r\n    a::cd\r\n\r\n\
        test result: FAILED. 1 passed; 1 failed\r\n\r\nexit 101\r\n";

    fn outcomes(said: &str, ended: &Ended) -> Vec<(String, Outcome)> {
        let results = Results::read("k", said, ended);
        results.checks.into_iter().map(|check| (check.name, check.outcome)).collect()
    }

    #[test]
    fn each_test_has_its_outcome_and_reason() {
        assert_eq!(
            outcomes(SAID, &Ended::ByItself),
            [
                ("a::b".to_owned(), Outcome::Ok),
                ("a::cd".to_owned(), Outcome::Failed("counted 3".to_owned())),
                ("e".to_owned(), Outcome::Skipped("no PMU (a guest".to_owned())),
            ]
        );
    }

    #[test]
    fn a_test_that_never_ends_has_failed_and_so_has_the_boot() {
        let cut = SAID.split("ignored").next().expect("a beginning");
        let outcomes = outcomes(cut, &Ended::TooLate(9));
        assert!(matches!(&outcomes[2].1, Outcome::Failed(why) if why.contains("after 9 s")));
        assert!(matches!(&outcomes[3], (name, Outcome::Failed(_)) if name == MACHINE));
    }

    #[test]
    fn a_machine_that_stops_between_two_tests_has_failed() {
        let cut = SAID.split("test e").next().expect("a beginning");
        let outcomes = outcomes(cut, &Ended::ByItself);
        assert!(
            matches!(&outcomes[2].1, Outcome::Failed(why) if why.contains("2 of 3 tests")),
            "{outcomes:?}"
        );
    }
}
