//! Which CPU the server and the client get.

use std::fmt;
use std::process::{Child, Command};

use anyhow::{Context, Result, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A CPU that we may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cpu(usize);

impl Cpu {
    /// The CPUs of server and client: as asked for, else the first and the last that we may use.
    ///
    /// # Errors
    /// When a wanted one is not ours to use.
    pub(super) fn pair(server: Option<usize>, client: Option<usize>) -> Result<(Self, Self)> {
        let set = sched_getaffinity(None).context("ask for our CPUs")?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
        choose(&allowed, server, client)
    }

    /// Starts the command on this CPU alone, with all the threads and processes that it makes.
    ///
    /// # Errors
    /// When it cannot be started, or not here.
    pub(super) fn spawn(self, command: &mut Command) -> Result<Child> {
        // A child inherits the affinity of the thread that starts it, so no helper program is
        // needed whose own start would count as the client's.
        let before = sched_getaffinity(None).context("ask for our CPUs")?;
        let mut one = CpuSet::new();
        one.set(self.0);
        sched_setaffinity(None, &one).with_context(|| format!("move to CPU {self}"))?;
        let child = command.spawn();
        sched_setaffinity(None, &before).context("move back to our CPUs")?;
        child.with_context(|| format!("start {}", command.get_program().display()))
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn choose(allowed: &[usize], server: Option<usize>, client: Option<usize>) -> Result<(Cpu, Cpu)> {
    let (first, last) = allowed.first().zip(allowed.last()).context("no CPU is allowed to us")?;
    let (server, client) = (server.unwrap_or(*first), client.unwrap_or(*last));
    for cpu in [server, client] {
        ensure!(allowed.contains(&cpu), "CPU {cpu} is not ours to use; those are {allowed:?}");
    }
    Ok((Cpu(server), Cpu(client)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_client_get_the_first_and_the_last_unless_told_otherwise() {
        let check = |server, client, want: (usize, usize)| {
            let (server, client) = choose(&[2, 3, 5], server, client).expect("allowed");
            assert_eq!((server.0, client.0), want);
        };
        check(None, None, (2, 5));
        check(Some(3), None, (3, 5));
        check(Some(5), Some(2), (5, 2));
    }

    #[test]
    fn a_cpu_that_is_not_ours_is_refused_and_the_others_are_named() {
        let error = choose(&[2, 3], None, Some(4)).expect_err("4 is not allowed");
        assert_eq!(error.to_string(), "CPU 4 is not ours to use; those are [2, 3]");
        assert!(choose(&[], None, None).is_err());
    }

    #[test]
    fn a_child_stays_on_its_cpu_and_we_do_not() {
        let before = sched_getaffinity(None).expect("our CPUs");
        let (_, client) = Cpu::pair(None, None).expect("at least one CPU");
        let mut show = Command::new("grep");
        show.args(["Cpus_allowed_list", "/proc/self/status"]).stdout(std::process::Stdio::piped());
        let output = client.spawn(&mut show).and_then(|child| Ok(child.wait_with_output()?));
        let words = String::from_utf8(output.expect("grep runs").stdout).expect("plain words");
        assert_eq!(words.split_whitespace().last(), Some(client.to_string().as_str()));
        assert_eq!(sched_getaffinity(None).expect("our CPUs"), before);
    }
}
