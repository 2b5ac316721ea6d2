//! What the emulated machine told of each check: a line a fact, `KEY VALUE`.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// One check's part of it.
pub(super) struct Told<'a> {
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Told<'a> {
    /// The part that `check NAME` begins, if the machine came to it.
    pub(super) fn of(check: &str, said: &'a str) -> Option<Self> {
        let pairs = said.lines().map(|line| line.trim_end().split_once(' ').unwrap_or((line, "")));
        let mut part = pairs.skip_while(|line| *line != ("check", check));
        part.next()?;
        Some(Self { lines: part.take_while(|(key, _)| *key != "check").collect() })
    }

    /// The check came to its end.
    pub(super) fn is_whole(&self) -> bool {
        self.lines.iter().any(|(key, _)| *key == "done")
    }

    /// One fact.
    pub(super) fn fact(&self, key: &str) -> Result<&'a str> {
        let found = self.lines.iter().find(|(one, value)| *one == key && !value.is_empty());
        found.map(|(_, value)| *value).with_context(|| format!("it told no {key}: {}", self.rest()))
    }

    /// What the tool printed as data, if it ended well.
    pub(super) fn record(&self) -> Result<Value> {
        let exit = self.fact("exit")?;
        ensure!(exit == "0", "bench-user ended with {exit}: {}", self.rest());
        serde_json::from_str(self.fact("record")?).context("what it printed is no JSON")
    }

    /// What the tool and the others said beside the facts.
    fn rest(&self) -> String {
        let lines = self.lines.iter().filter(|(key, _)| !["record", "exit", "done"].contains(key));
        lines.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "machine Linux 6.1\r\ncheck a\r\ncgroup /x\r\nexit 0\r\nrecord {\"n\": 2}\r\n\
        done at 9\r\ncheck ab\r\nno such container\r\ncgroup \r\nexit 2\r\nerror it is not there\r\n\
        record \r\n";

    #[test]
    fn a_check_has_its_own_facts() {
        let told = Told::of("a", SAID).expect("it is there");
        assert!(told.is_whole());
        assert_eq!(told.fact("cgroup").expect("told"), "/x");
        assert_eq!(told.record().expect("JSON")["n"], 2);
        assert!(Told::of("b", SAID).is_none());
    }

    #[test]
    fn what_is_missing_is_said_with_what_else_was() {
        let told = Told::of("ab", SAID).expect("it is there");
        assert!(!told.is_whole());
        for error in [told.fact("cgroup").map(drop), told.record().map(drop)] {
            let error = error.expect_err("there is none").to_string();
            assert!(error.contains("no such container") && error.contains("not there"), "{error}");
        }
    }
}
