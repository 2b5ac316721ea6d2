//! Arguments of the commands that measure: `run`, `observe` and `exec`.

use std::path::PathBuf;

use clap::Args;
use url::Url;

use super::value::{address, connections, rate, variable};
use super::{
    BuiltinName, ConnectionArgs, ExplainArgs, FlameArgs, OrOff, OrderName, OutletArgs, RequestArgs,
    ViewArgs,
};
use crate::units::{Bytes, Share, Span};

/// `run`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  sudo bench-user run
      measures the two built-in servers, in under two minutes
  sudo bench-user run plan.toml --repeat 1
      measures what a plan file describes, with one of its keys overridden
  sudo bench-user run --container web --url http://127.0.0.1:8080/ --urls crawl
      measures a running container at every address that its home page links to
  sudo bench-user run --cpus 1 --memory 512MiB --env PORT=3000 \\
      --url http://127.0.0.1:3000/ --connections 10,50,100 -- node server.mjs
      starts a command in a cgroup of its own and measures it
  sudo bench-user run --image web:1.0 --engine docker --url http://127.0.0.1:8080/
      starts a container of a local image, measures it and removes it
  bench-user run --url http://127.0.0.1:8080/
      client numbers only: an address has no kernel side
  bench-user run --url http://127.0.0.1:8080/ --connections 100 --rate 1000,2000,4000
      open loop: sends by a schedule, also while answers are slow

A target is given by flags or by a plan file, not by both. Without either, the built-in pair is
measured. The flags of the ladder, the stop rules, the load and the observation override a plan.")]
pub struct RunArgs {
    /// Plan file (TOML)
    pub plan: Option<PathBuf>,
    /// What is measured.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How it is measured.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Name of the run; with target flags, also of the target
    #[arg(long, help_heading = "Output")]
    pub name: Option<String>,
    /// TOML file of [[claim]] tables to check besides those of the plan
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub claims: Option<PathBuf>,
    /// Run folder to make [default: bench-runs/NAME-ID]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Print the record as JSON on standard output instead of the report
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// What is shown meanwhile.
    #[command(flatten)]
    pub view: ViewArgs,
}

/// A single target on the command line.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub struct TargetArgs {
    /// A target that runs already.
    #[command(flatten)]
    pub find: FindArgs,
    /// Measure a built-in server
    #[arg(long, value_enum)]
    pub builtin: Option<BuiltinName>,
    /// Local Docker or Podman image; a container of it is started, in the host's network, and removed
    #[arg(long, value_name = "REF")]
    pub image: Option<String>,
    /// What the container of --image sees of this machine's files; may be given again
    #[arg(long = "volume", value_name = "/HOST:/PATH[:ro]")]
    pub volumes: Vec<String>,
    /// Where requests go; alone, client numbers only are measured
    #[arg(long, value_parser = address)]
    pub url: Option<Url>,
    /// Addresses to request in turn: `crawl`, or a file with one a line [default: --url alone]
    #[arg(long, value_name = "crawl|FILE")]
    pub urls: Option<String>,
    /// Path or URL that answers 2xx when the target is ready [default: --url answers at all]
    #[arg(long, value_name = "PATH|URL")]
    pub ready: Option<String>,
    /// How long it may take to get ready [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub ready_within: Option<Span>,
    /// What a started command or container may use.
    #[command(flatten)]
    pub limits: CommandArgs,
    /// Command to start in a cgroup of its own, after `--`; with --image, in its container
    #[arg(last = true, value_name = "CMD", help_heading = "Started command")]
    pub command: Vec<String>,
}

/// How a target that runs already is found.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub struct FindArgs {
    /// Process whose cgroup is watched
    #[arg(long)]
    pub pid: Option<u32>,
    /// cgroup v2 directory that is watched with all below it
    #[arg(long, value_name = "DIR")]
    pub cgroup: Option<PathBuf>,
    /// Running Docker or Podman container, by name or id
    #[arg(long, value_name = "NAME")]
    pub container: Option<String>,
    /// Container engine [default: the first of DOCKER_HOST, CONTAINER_HOST and the usual places that
    /// has it]
    #[arg(long, value_name = "docker|podman|SOCKET")]
    pub engine: Option<String>,
    /// systemd unit
    #[arg(long)]
    pub unit: Option<String>,
    /// Move a target that has no v2 cgroup of its own into one that is removed afterwards
    #[arg(long)]
    pub adopt: bool,
}

/// Limits and surroundings of a command that is started.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Started command")]
pub struct CommandArgs {
    /// CPU quota, in CPUs, such as 1.5
    #[arg(long, value_name = "N")]
    pub cpus: Option<f64>,
    /// CPUs it may run on, such as 0-3,6 [default: those that the load leaves free]
    #[arg(long, value_name = "LIST")]
    pub cpuset: Option<String>,
    /// Memory limit, such as 512MiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// Environment variable, added to ours; may be given again
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Working folder
    #[arg(long)]
    pub dir: Option<PathBuf>,
}

/// Ladder, stop rules, load and observation; each overrides the plan's key of that name.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// Connections of each stage, such as 10,20,50
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', value_parser = connections)]
    pub connections: Vec<u32>,
    /// Requests per second of each stage, whether or not earlier ones were answered (open loop),
    /// over one number of --connections [default: none, closed loop]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = rate)]
    pub rate: Vec<f64>,
    /// Search for the highest rate that holds this, such as 'p99 < 8ms and error_ratio < 0.1%',
    /// over one number of --connections [default: the first of the plan]
    #[arg(long, value_name = "OBJECTIVE")]
    pub find_rate: Option<String>,
    /// Length of the measured window of a stage [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Load before the window, not measured [default: 5s]
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Span>,
    /// Rest between two stages [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub pause: Option<Span>,
    /// How many times the ladder is climbed per target [default: 1]
    #[arg(long, value_name = "N")]
    pub repeat: Option<u32>,
    /// How many of the first climbs are left out of the analysis [default: 0]
    #[arg(long, value_name = "N")]
    pub discard: Option<u32>,
    /// How the repetitions of several targets alternate [default: interleaved]
    #[arg(long, value_enum)]
    pub order: Option<OrderName>,
    /// Load threads [default: half of the CPUs]
    #[arg(long, value_name = "N")]
    pub workers: Option<u32>,
    /// CPUs the load threads are pinned to, such as 4-7 [default: the last half of four or more]
    #[arg(long, value_name = "LIST")]
    pub load_cpus: Option<String>,
    /// What is requested.
    #[command(flatten)]
    pub request: RequestArgs,
    /// Over which connections.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// End a ladder after more failed requests than this [default: 0]
    #[arg(long, value_name = "N|off", help_heading = "Stop rules")]
    pub stop_errors: Option<OrOff<u64>>,
    /// End a ladder after more responses than this whose status is not 2xx [default: 0]
    #[arg(long, value_name = "N|off", help_heading = "Stop rules")]
    pub stop_non_2xx: Option<OrOff<u64>>,
    /// End a ladder when the 99th percentile reaches this [default: 1s]
    #[arg(long, value_name = "TIME|off", help_heading = "Stop rules")]
    pub stop_p99: Option<OrOff<Span>>,
    /// Client numbers only
    #[arg(long, help_heading = "Observation")]
    pub no_observe: bool,
    /// Leave out the control stages, which give the throughput without the probes
    #[arg(long, help_heading = "Observation")]
    pub no_control: bool,
    /// What of it is explained.
    #[command(flatten)]
    pub explain: ExplainArgs,
    /// Take off explanations, or refuse the run, where the probes cost more than this share of the
    /// CPU time of target and load, such as 2%
    #[arg(long, value_name = "SHARE", help_heading = "Observation")]
    pub max_overhead: Option<Share>,
    /// Between two samples inside a stage [default: 500ms]
    #[arg(long, value_name = "TIME", help_heading = "Observation")]
    pub interval: Option<Span>,
    /// Print what the probes log (needs probes that were built with it)
    #[arg(long, help_heading = "Observation")]
    pub probe_log: bool,
}

/// `observe`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  sudo bench-user observe --pid 4242 --duration 10s
      counts for ten seconds, while any other generator runs
  sudo bench-user observe --container web --duration 30s --flamegraph cpu.svg
      draws where its threads were on the CPU
  sudo bench-user observe --container web --json
      counts until Ctrl-C; prints the blocks of a stage as in run.json
  sudo bench-user observe --unit web.service --metrics 127.0.0.1:9464
      serves the counters so far, for Prometheus; --otlp pushes them to OpenTelemetry's collector")]
pub struct ObserveArgs {
    /// How long to count [default: until Ctrl-C]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Between two lines of figures
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: Span,
    /// Print the blocks of a stage as JSON when it ends, and no lines before
    #[arg(long)]
    pub json: bool,
    /// Where the figures go while it counts.
    #[command(flatten)]
    pub outlets: OutletArgs,
    /// Only warnings, errors and the result
    #[arg(long, short)]
    pub quiet: bool,
    /// What of it is explained.
    #[command(flatten)]
    pub explain: ExplainArgs,
    /// What is drawn of it.
    #[command(flatten)]
    pub flame: FlameArgs,
    /// What is watched.
    #[command(flatten)]
    pub find: FindArgs,
}

/// `exec`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  sudo bench-user exec -- npm ci
      wall time, CPU time and syscalls by name of an installation
  sudo bench-user exec --cpus 1 --json -- ./batch-job > batch-job.json

Exits with the code of the command, 128 where a signal ended it, or 2 when it could not run.")]
pub struct ExecArgs {
    /// Print the blocks of a stage, `wall_ns` and `exit` as JSON
    #[arg(long)]
    pub json: bool,
    /// Only warnings, errors, the result and what the command itself prints
    #[arg(long, short)]
    pub quiet: bool,
    /// Keep the command's output and the figures in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What of it is explained.
    #[command(flatten)]
    pub explain: ExplainArgs,
    /// What is drawn of it.
    #[command(flatten)]
    pub flame: FlameArgs,
    /// What it may use.
    #[command(flatten)]
    pub limits: CommandArgs,
    /// Command to run, after `--`
    #[arg(last = true, required = true, value_name = "CMD", help_heading = "Started command")]
    pub command: Vec<String>,
}
