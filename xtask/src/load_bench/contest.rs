//! The rounds: every client at every number of connections, in turn.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use super::child::{self, PATIENCE, Used};
use super::cpus::Cpu;
use super::peers::{Client, Count, Load};
use super::results::{Measured, Results};
use super::server::Server;
use super::syscalls;

/// Requests that a client may make besides those that it counts and those in flight at its end,
/// one a connection: `bench-user` asks whether the server is ready.
const BESIDES: u64 = 8;

/// Who runs, where, and for how long each time.
pub(super) struct Contest {
    pub(super) server: Server,
    pub(super) clients: Vec<Client>,
    pub(super) bench_user: PathBuf,
    /// The clients' CPU.
    pub(super) cpu: Cpu,
    pub(super) seconds: u32,
}

impl Contest {
    /// Runs them all. A client that fails is noted and leaves a gap.
    ///
    /// # Errors
    /// When the server dies, or there is no room for files.
    pub(super) fn hold(&mut self, rounds: u32, levels: &[u32]) -> Result<Results> {
        let mut results = Results::default();
        for round in 0..rounds {
            for connections in levels {
                for turn in order(round, self.clients.len()) {
                    let word = self.clients[turn].name.word();
                    eprintln!("round {} of {rounds}, {connections} connections: {word}", round + 1);
                    self.measure(turn, round, *connections, &mut results)?;
                }
            }
        }
        Ok(results)
    }

    /// What a client is told to do.
    pub(super) fn load(&self, connections: u32, seconds: u32) -> Load {
        Load { url: self.server.url().to_owned(), connections, seconds, cpu: self.cpu }
    }

    fn measure(
        &mut self,
        turn: usize,
        round: u32,
        connections: u32,
        results: &mut Results,
    ) -> Result<()> {
        let name = self.clients[turn].name;
        let place = format!("{} at {connections} connections", name.word());
        let load = self.load(connections, self.seconds);

        let before = self.server.answered()?;
        let timed = self.timed(turn, &load)?;
        let answered = self.server.answered()? - before;
        let (count, used) = match timed {
            Ok(timed) => timed,
            Err(error) => {
                results.notes.insert(format!("{place}: {error:#}"));
                return Ok(());
            }
        };
        if count.failed > 0 {
            results.notes.insert(format!("{place}: {} requests failed", count.failed));
        }
        if !is_plausible(count.ok, answered, connections) {
            let note = format!("{place}: it counted {}, the server answered {answered}", count.ok);
            results.notes.insert(note);
            results.is_ours_wrong |= name.is_ours();
        }

        let counted = self.counted(turn, &load)?;
        if let Err(error) = &counted {
            results.notes.insert(format!("{place}: syscalls unavailable: {error:#}"));
        }
        match Measured::of(count, &used, counted.ok()) {
            Some(measured) => results.add(connections, name, round, measured),
            None => drop(results.notes.insert(format!("{place}: it completed nothing"))),
        }
        Ok(())
    }

    /// Runs a client without probes. The inner error is the client's own.
    fn timed(&self, turn: usize, load: &Load) -> Result<Result<(Count, Used)>> {
        let client = &self.clients[turn];
        let folder = tempfile::tempdir().context("make a folder for a client")?;
        let ran = child::run(&mut client.command(load), self.cpu, folder.path(), self.limit());
        Ok(ran.and_then(|(output, used)| Ok((client.count(&output)?, used))))
    }

    /// Runs a client with probes: its syscalls and what it completed with them.
    fn counted(&self, turn: usize, load: &Load) -> Result<Result<(u64, Count)>> {
        let client = &self.clients[turn];
        let folder = tempfile::tempdir().context("make a folder for a client")?;
        let command = client.command(load);
        let ran =
            syscalls::count(&self.bench_user, &command, self.cpu, folder.path(), self.limit());
        Ok(ran.and_then(|(output, syscalls)| Ok((syscalls, client.count(&output)?))))
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(self.seconds.into()) + PATIENCE
    }
}

/// The turns of a round: there, and in the next round back.
fn order(round: u32, clients: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..clients).collect() } else { (0..clients).rev().collect() }
}

/// Whether a client's count agrees with the server's, which has also answered what was in flight
/// when the client ended.
fn is_plausible(counted: u64, answered: u64, connections: u32) -> bool {
    (counted..=counted + u64::from(connections) + BESIDES).contains(&answered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_goes_back_the_way_of_the_last() {
        assert_eq!(order(0, 3), [0, 1, 2]);
        assert_eq!(order(1, 3), [2, 1, 0]);
        assert_eq!(order(2, 3), [0, 1, 2]);
    }

    #[test]
    fn a_client_cannot_have_completed_more_than_was_answered_nor_lost_more_than_was_in_flight() {
        assert!(is_plausible(1000, 1000, 10) && is_plausible(1000, 1010 + BESIDES, 10));
        assert!(!is_plausible(1000, 999, 10) && !is_plausible(1000, 1011 + BESIDES, 10));
    }
}
