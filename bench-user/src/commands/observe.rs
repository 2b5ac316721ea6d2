//! `observe`: counts what a running target does while any other generator loads it, or none.

use std::path::Path;

use bench_user::cli::ObserveArgs;
use bench_user::clock;
use bench_user::fetch::Fetcher;
use bench_user::host;
use bench_user::ladder::{Interrupt, Waited};
use bench_user::observe::{Look, ObserverSet, Options, Sample};
use bench_user::plan::flags;
use bench_user::report::{self, Format};
use bench_user::target::{Contact, Exit, StartOptions, Target, TargetHandle, TargetKind};
use bench_user::units::{Bytes, show_count};
use serde::Serialize;

use super::metrics::{Endpoint, Metrics};
use super::otlp::{self, Collector, Pusher};
use super::{Outcome, flame, print, print_json, say};

/// The blocks of a stage, how long was counted, and how the target ended if it did.
#[derive(Debug, Serialize)]
struct Observed<'a> {
    wall_ns: u64,
    exit: Option<Exit>,
    #[serde(flatten)]
    sample: &'a Sample,
}

pub(crate) fn run(args: &ObserveArgs) -> anyhow::Result<Outcome> {
    let spec = flags::observed_target(args)?;
    anyhow::ensure!(
        rustix::process::geteuid().is_root(),
        "watching a cgroup takes root: run it as `sudo bench-user observe`"
    );
    let endpoint = args.outlets.metrics.map(Endpoint::bind).transpose()?;
    let collect = |flag: &String| Collector::find(flag, &otlp::variable);
    let collector = args.outlets.otlp.as_ref().map(collect).transpose()?;
    let interrupt = Interrupt::install()?;
    let run_id = format!("observe-{}", std::process::id());
    let fetcher = Fetcher::default();
    let options = StartOptions {
        run_id: &run_id,
        logs_dir: Path::new(""),
        shim: None,
        fetcher: &fetcher,
        interrupted: None,
        contact: Contact::default(),
    };
    let mut target = Target::start(&spec, &options)?;
    // On a machine without the v2 tree, the v1 ones keep some books too.
    if let Some(why) = target.handle.cgroup.why().filter(|_| target.handle.controllers.is_empty()) {
        anyhow::bail!("nothing to observe: {why}");
    }
    let explain = flags::explained_or_drawn(&args.explain, &args.flame);
    let asked = Options { explain, ..Options::default() };
    let mut observers = ObserverSet::attach(&target.handle, &asked);
    if let Some(why) = observers.probes_missing() {
        say(&format!("warning: no probes: {why}"));
    }
    let begin_ns = clock::now_ns();
    observers.begin();
    let mut outlets = Outlets::open(endpoint, collector, &target.handle, &interrupt)?;
    if !args.quiet {
        say("observing; Ctrl-C ends");
    }
    let end_ns = args.duration.map_or(u64::MAX, |d| begin_ns.saturating_add(d.as_ns()));
    let mut next = begin_ns;
    loop {
        next = next.saturating_add(args.interval.as_ns().max(1_000_000));
        let goes_on = outlets.wait(&interrupt, next.min(end_ns), &mut observers);
        if !goes_on || next >= end_ns {
            break;
        }
        let look = observers.look();
        if !args.json && !args.quiet {
            say(&line(&look));
        }
        // A cgroup may be empty for a while; what was asked for is its directory.
        if target.handle.kind != TargetKind::Cgroup && target.poll_exit().is_some() {
            say("the target ended");
            break;
        }
    }
    let wall_ns = clock::now_ns() - begin_ns;
    let sample = observers.end().unwrap_or_else(|| Sample::empty("nothing was observed"));
    let exit = target.poll_exit();
    drop(target);
    flame::draw(&args.flame, &sample)?;
    outlets.close(&sample);
    if args.json {
        print_json(&Observed { wall_ns, exit, sample: &sample })?;
    } else {
        print(|out| report::sample(&sample, Format::Text, out))?;
    }
    Ok(Outcome::Done)
}

/// Where figures go while they are counted.
struct Outlets {
    metrics: Option<Metrics>,
    pusher: Option<Pusher>,
}

impl Outlets {
    fn open(
        endpoint: Option<Endpoint>,
        collector: Option<Collector>,
        target: &TargetHandle,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Self> {
        let metrics = endpoint.map(|endpoint| endpoint.serve(target, interrupt)).transpose()?;
        let push = |to| Pusher::start(to, target, &host::environment::look(), &otlp::variable);
        Ok(Self { metrics, pusher: collector.map(push).transpose()? })
    }

    /// Waits until this instant, answers scrapes and pushes meanwhile; `false` when a signal ended
    /// the wait.
    fn wait(
        &mut self,
        interrupt: &Interrupt,
        deadline_ns: u64,
        observers: &mut ObserverSet,
    ) -> bool {
        loop {
            let due_ns = self.pusher.as_ref().map_or(u64::MAX, Pusher::due_ns);
            let waited = interrupt.wait_until_or_nudge(deadline_ns.min(due_ns));
            match (waited, &mut self.metrics, &mut self.pusher) {
                (Waited::Interrupted, ..) => return false,
                (Waited::Nudged, Some(metrics), _) => metrics.answer(|| observers.so_far()),
                (Waited::Nudged, None, _) => {}
                (Waited::Reached, _, Some(pusher)) if due_ns < deadline_ns => {
                    if let Some(sample) = observers.so_far() {
                        pusher.push(&sample);
                    }
                }
                (Waited::Reached, ..) => return true,
            }
        }
    }

    /// Hands on the whole.
    fn close(self, sample: &Sample) {
        if let Some(pusher) = self.pusher {
            pusher.finish(sample);
        }
    }
}

/// The figures since the line before, `n/a` for what is not measured.
fn line(look: &Look) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let rate = |n: Option<u64>| {
        n.map_or("n/a".into(), |n| show_count(n as f64 * 1e9 / look.interval_ns.max(1) as f64))
    };
    let ratio = |n: Option<f64>| n.map_or("n/a".into(), |n| format!("{:.0} %", n * 100.0));
    format!(
        "{} syscalls/s, {} switches/s, CPU {}, busiest thread {}, memory {}",
        rate(look.syscalls),
        rate(look.switches),
        ratio(look.cpu_ratio),
        ratio(look.busiest_thread_ratio()),
        look.memory_bytes.map_or("n/a".into(), |n| Bytes(n).to_string()),
    )
}
