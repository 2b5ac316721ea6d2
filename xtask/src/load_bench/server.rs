//! The server as a process of its own, seen from the outside.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::cpus::Cpu;

/// How often, and how many times at most, the connections of a client that has ended are asked for.
const CLOSING_POLL: Duration = Duration::from_millis(10);
const CLOSING_POLLS: u32 = 1000;

/// The running server. Ends when dropped.
pub(super) struct Server {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    url: String,
}

impl Server {
    /// Starts `program epoll-server` on one CPU and waits until it listens.
    ///
    /// # Errors
    /// When it cannot be started or does not say where it listens.
    pub(super) fn start(program: &Path, cpu: Cpu) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("epoll-server").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = cpu.spawn(&mut command)?;
        let commands = child.stdin.take().context("the server has no input")?;
        let answers = child.stdout.take().context("the server has no output")?;
        let mut server =
            Self { child, commands, answers: BufReader::new(answers), url: String::new() };
        server.url = format!("http://{}/", server.line()?);
        Ok(server)
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// How many requests it has answered since its start, once no connection is open any more:
    /// until then it may still answer what an ended client has sent.
    ///
    /// # Errors
    /// When it has died, or connections stay open for ten seconds.
    pub(super) fn answered(&mut self) -> Result<u64> {
        for _ in 0..CLOSING_POLLS {
            self.commands.write_all(b"\n").context("speak to the server")?;
            let line = self.line()?;
            let (answered, open) = parse(&line)?;
            if open == 0 {
                return Ok(answered);
            }
            thread::sleep(CLOSING_POLL);
        }
        bail!("connections to the server stay open after the client has ended")
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).context("listen to the server")?;
        if line.is_empty() {
            bail!("the server has ended");
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("warning: the server was not ended: {error}");
        }
    }
}

/// Requests answered and connections open.
fn parse(line: &str) -> Result<(u64, u64)> {
    let parsed = line.split_once(' ').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    parsed.with_context(|| format!("the server said {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_two_numbers() {
        assert_eq!(parse("12 3").expect("two numbers"), (12, 3));
        assert!(parse("12").is_err() && parse("error: no room").is_err());
    }
}
