//! `completions`: a script for a shell, and the answers to what the script asks while the user types.
//!
//! The script runs this program again, with `COMPLETE` in its environment, so that the names of
//! containers, images and studies are those of the moment and of this version.

use anyhow::Context as _;
use bench_user::cli::{Cli, CompletionsArgs};
use bench_user::study::Study;
use bench_user::target::engine;
use clap::CommandFactory as _;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use super::{Outcome, print};

const NAME: &str = "bench-user";

/// What tells this program that a shell asks, and which.
const VARIABLE: &str = "COMPLETE";

/// Looks up what may stand in an argument.
type Names = fn() -> Vec<String>;

/// Arguments whose values are looked up, by the commands that lead to them.
const LOOKED_UP: [(&[&str], &str, Names); 7] = [
    (&["run"], "container", engine::running_containers),
    (&["run"], "image", engine::local_images),
    (&["run"], "engine", engines),
    (&["observe"], "container", engine::running_containers),
    (&["observe"], "engine", engines),
    (&["study", "run"], "name", studies),
    (&["study", "run"], "engine", engines),
];

/// Answers a shell that asks what could be typed, and ends the process; does nothing where none does.
pub(crate) fn answer() {
    CompleteEnv::with_factory(command).var(VARIABLE).bin(NAME).complete();
}

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).context("this shell is not known")?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut script)?;
    print(|out| out.write_all(&script))?;
    Ok(Outcome::Done)
}

fn command() -> clap::Command {
    LOOKED_UP
        .into_iter()
        .fold(Cli::command(), |cli, (path, argument, names)| with_names(cli, path, argument, names))
}

fn with_names(
    command: clap::Command,
    path: &'static [&'static str],
    argument: &'static str,
    names: Names,
) -> clap::Command {
    match path {
        [] => command.mut_arg(argument, |arg| {
            let candidates = move || names().into_iter().map(CompletionCandidate::new).collect();
            arg.add(ArgValueCandidates::new(candidates))
        }),
        [next, rest @ ..] => {
            command.mut_subcommand(next, |next| with_names(next, rest, argument, names))
        }
    }
}

fn engines() -> Vec<String> {
    ["docker", "podman"].map(str::to_owned).into()
}

fn studies() -> Vec<String> {
    Study::all().unwrap_or_default().into_iter().map(|study| study.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_that_is_looked_up_is_there() {
        // `mut_arg` makes an argument that is not there, which then has no help.
        for (path, argument, _) in LOOKED_UP {
            let mut found = &command();
            for name in path {
                found = found.find_subcommand(name).unwrap();
            }
            let argument = found.get_arguments().find(|arg| arg.get_id() == argument).unwrap();
            assert!(argument.get_help().is_some(), "{path:?} {}", argument.get_id());
        }
    }
}
