//! `completions`: a completion script for a shell.

use bench_user::cli::{Cli, CompletionsArgs};
use clap::CommandFactory as _;

use super::{Outcome, print};

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    // clap_complete panics when its writer fails, and memory does not.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bench-user", &mut script);
    print(|out| out.write_all(&script))?;
    Ok(Outcome::Done)
}
