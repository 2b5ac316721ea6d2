//! `serve`: one of the built-in targets, until it is ended.

use std::io;

use anyhow::Context as _;
use bench_user::cli::ServeArgs;
use bench_user::plan::flags;
use bench_user::target::builtin;

use super::Outcome;

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Outcome> {
    builtin::serve(flags::builtin(args.builtin), args.address, &mut io::stdout())
        .with_context(|| format!("cannot serve at {}", args.address))?;
    Ok(Outcome::Done)
}
