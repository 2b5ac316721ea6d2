//! The program under test, and a built-in server of its own to measure.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bench_user::fetch::Fetcher;
use url::Url;

use crate::place::Place;

pub(crate) fn bench_user() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-user"));
    command.stdin(Stdio::null());
    command
}

/// A built-in server in a cgroup of the test's own, killed when it is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) url: Url,
}

impl Server {
    pub(crate) fn start(kind: &str, place: &Place) -> Result<Self> {
        let mut child = bench_user()
            .args(["serve", "--builtin", kind, "--address", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("piped")?).read_line(&mut line)?;
        place.take_in(child.id())?;
        let url = line.split_whitespace().last().context("it says where it listens")?.parse()?;
        Ok(Self { child, url })
    }

    pub(crate) fn answered(&self) -> Result<u64> {
        let body = Fetcher::default().get(&self.url.join("/stats")?, Duration::from_secs(5))?.body;
        let stats: serde_json::Value = serde_json::from_slice(&body)?;
        stats["answered"].as_u64().context("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill and nothing to report.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
