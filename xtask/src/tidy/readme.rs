//! The README against the programs: every command that a program has is mentioned there.

use anyhow::{Context, Result};
use clap::CommandFactory;

use super::read;
use crate::Cli;
use crate::process::capture;
use crate::workspace::Workspace;

/// The commands that the README does not mention.
///
/// # Errors
/// When there is no README or `bench-user` cannot be built and asked.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let readme = read(&workspace.root.join("README.md"))?;
    let help = capture(workspace.cargo().args([
        "run",
        "--quiet",
        "--package",
        "bench-user",
        "--",
        "--help",
    ]))
    .context("ask bench-user for its commands")?;
    let own: Vec<String> = Cli::command()
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let mut breaches = unmentioned(&readme, "bench-user", &commands(&help));
    breaches.extend(unmentioned(&readme, "cargo xtask", &own));
    Ok(breaches)
}

/// The names below `Commands:` in clap's help.
fn commands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| line.trim() != "Commands:")
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        // Descriptions that go on in the next line are indented deeper.
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn unmentioned(readme: &str, program: &str, commands: &[String]) -> Vec<String> {
    let is_mentioned = |command: &str| {
        let call = format!("{program} {command}");
        readme.match_indices(&call).any(|(at, _)| {
            !readme[at + call.len()..]
                .starts_with(|next: char| next.is_alphanumeric() || next == '-')
        })
    };
    commands
        .iter()
        .filter(|command| !is_mentioned(command))
        .map(|command| format!("README.md:1: `{program} {command}` is not mentioned"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_read_from_the_help() {
        let help = "Does.\n\nUsage: x\n\nCommands:\n  run   Runs, and\n        more\n  exec  Executes\n  \
                    help  Prints\n\nOptions:\n  -h\n";
        assert_eq!(commands(help), ["run", "exec"]);
    }

    #[test]
    fn a_longer_command_does_not_stand_for_a_shorter_one() {
        let missing =
            |readme: &str| unmentioned(readme, "cargo xtask", &["build".to_owned()]).len();
        assert_eq!(missing("call `cargo xtask build-ebpf`"), 1);
        assert_eq!(missing("call `cargo xtask build --release`"), 0);
    }
}
