//! Arguments of the commands that need no root: those on stored runs and those beside a run.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use url::Url;

use super::{BuiltinName, CheckFormat, Format, ReportFormat, StackArgs};

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
  bench-user report bench-runs/ID --format csv --out stages.csv
  bench-user report bench-runs/ID --format hlog --out run.hlog
  bench-user report bench-runs/ID --format flamegraph --target node --connections 50 --out cpu.svg
  bench-user report bench-runs/ID --format folded --kind offcpu > waits.folded
  bench-user report bench-runs/ID --format junit --out claims.xml
  bench-user report bench-runs/ID --format github >> \"$GITHUB_STEP_SUMMARY\"

In CSV an empty cell was not measured, or is a percentile that the samples do not support.")]
pub struct ReportArgs {
    /// Run folder, or a run.json
    pub run: PathBuf,
    /// How to render it
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// Write into this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
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

RUN:TARGET takes one target of a run.")]
pub struct CompareArgs {
    /// The run, or RUN:TARGET, that the other is compared with
    pub a: String,
    /// The run, or RUN:TARGET, that is compared
    pub b: String,
    /// How to render it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
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

/// `completions`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  bench-user completions bash > /etc/bash_completion.d/bench-user")]
pub struct CompletionsArgs {
    /// Which shell
    pub shell: Shell,
}
