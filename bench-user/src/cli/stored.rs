//! Arguments of the commands that need no root: those on stored runs and those beside a run.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use url::Url;

use super::{BuiltinName, CheckFormat, FailOn, Format, HistoryFormat, ReportFormat, StackArgs};
use crate::units::Share;

/// `crawl`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  bench-user crawl http://127.0.0.1:3000/ > urls.txt
  sudo bench-user run --pid 4242 --url http://127.0.0.1:3000/ --urls urls.txt

An address is listed as the one it is finally at after redirects.")]
pub struct CrawlArgs {
    /// Page to start from
    pub url: Url,
    /// Stop after this many pages
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_pages: usize,
    /// List scripts, styles and images too
    #[arg(long)]
    pub assets: bool,
    /// Print JSON, with what was left out and why
    #[arg(long)]
    pub json: bool,
}

/// `report`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bench-user report bench-runs/ID --format markdown --out report.md
  bench-user report bench-runs/ID --html --out report.html
  bench-user report bench-runs/ID --format csv --out stages.csv
  bench-user report bench-runs/ID --format hlog --out run.hlog
  bench-user report bench-runs/ID --format flamegraph --target node --connections 50 --out cpu.svg
  bench-user report bench-runs/ID --format folded --kind offcpu > waits.folded
  bench-user report bench-runs/ID --format junit --out claims.xml
  bench-user report bench-runs/ID --format github >> \"$GITHUB_STEP_SUMMARY\"
  bench-user report bench-runs/ID --otlp http://127.0.0.1:4318

In CSV an empty cell was not measured, or is a percentile that the samples do not support.")]
pub struct ReportArgs {
    /// Run folder, or a run.json
    pub run: PathBuf,
    /// How to render it
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// The same as --format html
    #[arg(long, conflicts_with = "format")]
    pub html: bool,
    /// Write into this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Push the last stage of each target to an OpenTelemetry collector by OTLP over HTTP instead
    /// [default: $OTEL_EXPORTER_OTLP_ENDPOINT, else http://127.0.0.1:4318]
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["format", "out"]
    )]
    pub otlp: Option<String>,
    /// Which stacks are written.
    #[command(flatten)]
    pub stacks: StackArgs,
}

/// `compare`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bench-user compare bench-runs/MONDAY bench-runs/TUESDAY
  bench-user compare bench-runs/ID:node bench-runs/ID:bun
  bench-user compare bench-runs/ID#1-5 bench-runs/ID#6-10
      the first repetitions with the later ones: has the machine drifted?
  bench-user compare base new --fail-on worse --tolerance 5% --format markdown > comment.md
      for CI: fails where a figure is worse by more than 5 %

RUN:TARGET takes one target of a run, RUN#2, RUN#1-5 or RUN#1,3,5 some of its repetitions.

Exit codes: 0 done; with --fail-on worse 0 where nothing is worse, 1 where a figure is, 2 could not
compare, 3 where one may be or too little could be said.")]
pub struct CompareArgs {
    /// The run (RUN, RUN:TARGET, RUN#REPETITIONS) that the other is compared with
    pub a: String,
    /// The run (the same) that is compared
    pub b: String,
    /// How to render it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Fail where a figure is worse
    #[arg(long, value_enum)]
    pub fail_on: Option<FailOn>,
    /// Fail only where it is worse by more than this, such as 5%
    #[arg(long, value_name = "SHARE", requires = "fail_on")]
    pub tolerance: Option<Share>,
}

/// `check`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bench-user check bench-runs/ID claims.toml && echo every claim holds
  bench-user check bench-runs/ID --format junit --out claims.xml
      JUnit XML: passed is what holds, failed what fails, skipped what is neither
  bench-user check bench-runs/ID --github
      in a step of GitHub Actions: its summary, and an annotation for each claim that does not hold

Exit codes: 0 every claim holds, 1 one fails, 2 could not check, 3 one is inconclusive or what
it is about was not measured.")]
pub struct CheckArgs {
    /// Run folder, or a run.json
    pub run: PathBuf,
    /// TOML file of [[claim]] tables; without one, the claims of the run's own plan
    pub claims: Option<PathBuf>,
    /// How to render the answers
    #[arg(long, value_enum, default_value_t)]
    pub format: CheckFormat,
    /// Write them into this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Append the summary of this step of GitHub Actions ($GITHUB_STEP_SUMMARY), and print an error
    /// for each claim that fails and a warning for each that is neither
    #[arg(long)]
    pub github: bool,
}

/// `history`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bench-user history
  bench-user history nightly --metric load.achieved_rps --target node
      its figure in every run at the newest one's peak, and whether the last differs
  bench-user history nightly --metric syscalls.per_request --connections 50 --format csv

A trend is of one target at one level. Whether the newest run differs from the one before is said
by the rule of `compare`, with the conditions that are not the same.")]
pub struct HistoryArgs {
    /// Folder of run folders, or of their run.json, also compressed (.gz)
    #[arg(default_value = "bench-runs")]
    pub dir: PathBuf,
    /// Show the trend of this metric, by its name in claims
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Target that the trend is of [default: the only one of the newest run]
    #[arg(long, value_name = "NAME", requires = "metric")]
    pub target: Option<String>,
    /// Level that the trend is of, by its connections [default: the peak of the newest run]
    #[arg(long, short, value_name = "N", requires = "metric")]
    pub connections: Option<u32>,
    /// How to render it
    #[arg(long, value_enum, default_value_t)]
    pub format: HistoryFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Tries everything by using it: counts known numbers of calls, switches and page faults of its own in
a cgroup that it makes, sets a limit of each controller, asks the engines. Leaves nothing behind.

Exits with 0 where this machine can run the main job and check its claims, else with 2; what else
is missing does not change it.")]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `serve`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  bench-user serve --builtin chatty --address 127.0.0.1:8080

Ends by Ctrl-C.")]
pub struct ServeArgs {
    /// Which one
    #[arg(long, value_enum, default_value = "lean")]
    pub builtin: BuiltinName,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub address: SocketAddr,
}

/// `man`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bench-user man run | man -l -
  sudo bench-user man --out /usr/local/share/man/man1")]
pub struct ManArgs {
    /// Command whose page is printed, such as `run` or `study run` [default: the tool's own]
    pub command: Vec<String>,
    /// Folder that every page is written into instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

/// `completions`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bench-user completions bash > /etc/bash_completion.d/bench-user
  source <(bench-user completions zsh)
  bench-user completions fish > ~/.config/fish/completions/bench-user.fish

Completes names of running containers and local images too, as far as you may ask their engine.")]
pub struct CompletionsArgs {
    /// Which shell
    pub shell: Shell,
}
