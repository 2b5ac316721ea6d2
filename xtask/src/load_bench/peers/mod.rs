//! The clients that are measured: how each is found and called, and how many requests it says that
//! it has completed.

mod autocannon;
mod bench_user;
mod h2load;
mod oha;
mod wrk;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::cpus::Cpu;
use crate::privilege;

/// What a client is told to do.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) url: String,
    pub(super) connections: u32,
    pub(super) seconds: u32,
    /// The CPU that it runs on.
    pub(super) cpu: Cpu,
}

/// How many requests a client says that it has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// Complete responses with a 2xx status, from the first request to the last.
    pub(super) ok: u64,
    /// Other statuses, and requests without a complete response.
    pub(super) failed: u64,
}

/// The clients by name; the first two are those of `bench-user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Name {
    Lean,
    Hyper,
    Wrk,
    #[value(name = "h2load")]
    H2load,
    Autocannon,
    Oha,
}

impl Name {
    const ALL: [Self; 6] =
        [Self::Lean, Self::Hyper, Self::Wrk, Self::H2load, Self::Autocannon, Self::Oha];

    /// As in `--only` and in the table.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Lean => "lean",
            Self::Hyper => "hyper",
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::Autocannon => "autocannon",
            Self::Oha => "oha",
        }
    }

    /// Whether it is a client of `bench-user`.
    pub(super) const fn is_ours(self) -> bool {
        matches!(self, Self::Lean | Self::Hyper)
    }

    /// The command that brings a peer.
    const fn source(self) -> &'static str {
        match self {
            Self::Lean | Self::Hyper => "cargo build --release",
            Self::Wrk => "apt-get install wrk",
            Self::H2load => "apt-get install nghttp2-client",
            Self::Autocannon => "npm install --global autocannon",
            Self::Oha => "cargo install oha --locked",
        }
    }
}

/// A client that can be run.
pub(super) struct Client {
    pub(super) name: Name,
    program: PathBuf,
    arguments: fn(&Load) -> Vec<String>,
    parse: fn(&str) -> Result<Count>,
}

impl Client {
    /// The call that makes this load.
    pub(super) fn command(&self, load: &Load) -> Command {
        let mut command = Command::new(&self.program);
        command.args((self.arguments)(load));
        command
    }

    /// Reads what it printed on standard output.
    ///
    /// # Errors
    /// When that is no complete report.
    pub(super) fn count(&self, output: &str) -> Result<Count> {
        (self.parse)(output)
    }
}

/// The clients of those asked for (all when none is) that are there, and for each of the others a
/// sentence that says how to get it.
pub(super) fn find(only: &[Name], bench_user: &Path) -> (Vec<Client>, Vec<String>) {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for name in Name::ALL {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        type Arguments = fn(&Load) -> Vec<String>;
        type Parse = fn(&str) -> Result<Count>;
        let (arguments, parse): (Arguments, Parse) = match name {
            Name::Lean => (bench_user::lean, bench_user::parse),
            Name::Hyper => (bench_user::hyper, bench_user::parse),
            Name::Wrk => (wrk::arguments, wrk::parse),
            Name::H2load => (h2load::arguments, h2load::parse),
            Name::Autocannon => (autocannon::arguments, autocannon::parse),
            Name::Oha => (oha::arguments, oha::parse),
        };
        let program = if name.is_ours() {
            Some(bench_user.to_owned())
        } else {
            privilege::on_path(name.word())
        };
        match program {
            Some(program) => there.push(Client { name, program, arguments, parse }),
            None => missing.push(absence(name)),
        }
    }
    (there, missing)
}

fn absence(name: Name) -> String {
    format!("{}: not on PATH; `{}` brings it", name.word(), name.source())
}

/// The count at a place in a client's JSON.
pub(super) fn number(json: &Value, place: &str) -> Result<u64> {
    let number = json.pointer(place).and_then(Value::as_u64);
    number.with_context(|| format!("the output has no count at {place}"))
}
