//! How a process ended, in words that a person knows.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

use super::Exit;
use crate::measured::Measured;

impl Exit {
    /// The end of a child of ours.
    #[must_use]
    pub fn of_child(status: ExitStatus, oom_killed: Measured<bool>, by_us: bool) -> Self {
        let signal = status.signal().map(signal_name);
        Self { code: status.code(), signal, oom_killed, restarts: None, by_us }
    }

    /// The end of a process that is not our child: the kernel tells its parent how it ended.
    #[must_use]
    pub const fn of_stranger(oom_killed: Measured<bool>) -> Self {
        Self { code: None, signal: None, oom_killed, restarts: None, by_us: false }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, &self.signal) {
            (Some(code), Some(signal)) => write!(f, "exit code {code}, as of {signal}")?,
            (Some(code), None) => write!(f, "exit code {code}")?,
            (None, Some(signal)) => write!(f, "killed by {signal}")?,
            (None, None) => f.write_str("ended, its exit code is known to its parent only")?,
        }
        if self.oom_killed.value() == Some(&true) {
            f.write_str(", out of memory (the kernel's OOM killer)")?;
        }
        if self.restarts.is_some_and(|count| count > 0) {
            f.write_str(", and its engine started it again")?;
        }
        Ok(())
    }
}

/// `SIGKILL`; a real-time signal by its number.
fn signal_name(number: i32) -> String {
    Signal::try_from(number)
        .map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned())
}

/// The signal that a code of more than 128 stands for, as shells and container engines tell an end
/// by a signal. A program may end with such a code of its own will.
pub(super) fn signal_of_code(code: i32) -> Option<String> {
    let number = code.checked_sub(128)?;
    Signal::try_from(number).ok().map(|signal| signal.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_by_code_or_by_the_name_of_the_signal() {
        let exit = |raw| {
            Exit::of_child(ExitStatus::from_raw(raw), Measured::Value(false), false).to_string()
        };
        assert_eq!(exit(3 << 8), "exit code 3");
        assert_eq!(exit(11), "killed by SIGSEGV");
        assert_eq!(exit(40), "killed by signal 40");
    }

    #[test]
    fn the_code_of_an_engine_names_the_signal_that_it_stands_for() {
        let names = [143, 137, 139, 128, 3, 255].map(signal_of_code);
        let [term, kill, segv, none @ ..] = names.each_ref().map(Option::as_deref);
        assert_eq!([term, kill, segv], [Some("SIGTERM"), Some("SIGKILL"), Some("SIGSEGV")]);
        assert_eq!(none, [None; 3]);
        let exit = Exit {
            code: Some(143),
            signal: signal_of_code(143),
            restarts: Some(2),
            ..Exit::of_stranger(Measured::Value(false))
        };
        let said = "exit code 143, as of SIGTERM, and its engine started it again";
        assert_eq!(exit.to_string(), said);
    }
}
