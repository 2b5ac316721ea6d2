//! The command line: types and help text only. What the flags mean is said in `plan/flags/`
//! and in the commands.

mod explain;
mod measure;
mod outlets;
mod request;
mod stacks;
mod stored;
mod study;
mod value;
mod view;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand, ValueEnum as _};

pub use explain::ExplainArgs;
pub use measure::{CommandArgs, ExecArgs, FindArgs, LoadArgs, ObserveArgs, RunArgs, TargetArgs};
pub use outlets::OutletArgs;
pub use request::{ConnectionArgs, RequestArgs};
pub use stacks::{FlameArgs, StackArgs, StackKindName};
pub use stored::{
    CheckArgs, CompareArgs, CompletionsArgs, CrawlArgs, DoctorArgs, HistoryArgs, ManArgs,
    ReportArgs, ServeArgs,
};
pub use study::{
    StudyArgs, StudyCleanArgs, StudyCommand, StudyListArgs, StudyResultsArgs, StudyRunArgs,
};
pub use value::{
    ArrivalsName, BuiltinName, CatchUpName, CheckFormat, ClientName, ExplainName, FailOn, Format,
    HistoryFormat, OrOff, OrderName, ProtocolName, ReportFormat, WebsocketName,
};
pub use view::{ColorName, ViewArgs};

/// Drives a ladder of HTTP load at a server and counts in the kernel what the server's cgroup does
///
/// Climbs a ladder of load levels, watches the server's cgroup from inside the kernel at the same
/// time, and checks claims about what it saw: syscalls and context switches per request, waits
/// for a CPU, the busiest thread, throttling, beside throughput and response times.
#[derive(Debug, Parser)]
#[command(name = "bench-user", version, after_long_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// The command line of this process; what is wrong with it is printed, and ends the process.
    #[must_use]
    pub fn of_process() -> Self {
        Self::try_parse().unwrap_or_else(|error| with_remedy(error).exit())
    }
}

/// `observe --explain all`: the flag may stand alone, so its list must stand behind `=`.
fn with_remedy(mut error: clap::Error) -> clap::Error {
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) => given.clone(),
        _ => return error,
    };
    let is_kind = |word| ExplainName::from_str(word, false).is_ok();
    if error.kind() == ErrorKind::UnknownArgument && given.split(',').all(is_kind) {
        let remedy = format!("the list of --explain stands behind `=`: --explain={given}");
        let tips = ContextValue::StyledStrs(vec![remedy.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

const EXAMPLES: &str = "\
Examples:
  sudo bench-user run                           measure the two built-in servers
  sudo bench-user run plan.toml                 measure what a plan file describes
  sudo bench-user run --url http://127.0.0.1:3000/ -- node server.mjs
  bench-user report bench-runs/ID | less        read it again, without root
  bench-user check bench-runs/ID claims.toml    check claims about it, without root

Exit codes:
  0  done; every claim holds
  1  a claim fails
  2  could not run
  3  a claim is inconclusive, or what it is about was not measured";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Climb the ladder against one target or several and check claims about them
    Run(Box<RunArgs>),
    /// Count what a running target does, without making load
    Observe(ObserveArgs),
    /// Run a command in a cgroup of its own and count what it does until it ends
    Exec(ExecArgs),
    /// List the addresses that same-origin links reach from a page
    Crawl(CrawlArgs),
    /// Render a stored run
    Report(ReportArgs),
    /// Set two stored runs, or targets or repetitions of them, side by side
    Compare(CompareArgs),
    /// List the runs of a folder, or the trend of a metric over them
    History(HistoryArgs),
    /// Check claims against a stored run
    Check(CheckArgs),
    /// Say what this machine can measure and what is missing
    Doctor(DoctorArgs),
    /// Check the claims of published articles on this machine
    Study(StudyArgs),
    /// Print the JSON Schema of run.json
    Schema,
    /// Serve one of the built-in targets
    Serve(ServeArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a manual page, or write all of them
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definitions_contradict_nothing() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_list_of_explain_without_its_sign_has_the_remedy() {
        for command in [&["observe"][..], &["exec"]] {
            let line = [&["bench-user"], command, &["--explain", "off-cpu,stacks"]].concat();
            let said = with_remedy(Cli::try_parse_from(line).unwrap_err()).to_string();
            assert!(said.contains("behind `=`: --explain=off-cpu,stacks"), "{said}");
        }
        let other = Cli::try_parse_from(["bench-user", "observe", "offcpu"]).unwrap_err();
        assert!(!with_remedy(other).to_string().contains("--explain="));
    }

    #[test]
    fn every_option_is_documented() {
        for command in Cli::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for option in command.get_arguments() {
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty(), "{} {}", command.get_name(), option.get_id());
            }
        }
    }
}
