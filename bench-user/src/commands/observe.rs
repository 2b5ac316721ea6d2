//! `observe`: counts what a running target does while any other generator loads it, or none.

use std::path::Path;

use bench_user::cli::ObserveArgs;
use bench_user::clock;
use bench_user::fetch::Fetcher;
use bench_user::ladder::{Interrupt, Waited};
use bench_user::observe::{Look, ObserverSet, Options, Sample};
use bench_user::plan::flags;
use bench_user::report::{self, Format};
use bench_user::target::{Contact, Exit, StartOptions, Target, TargetKind};
use bench_user::units::{Bytes, show_count};
use serde::Serialize;

use super::metrics::{Endpoint, Metrics};
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
    let serve = |endpoint: Endpoint| endpoint.serve(&target.handle, &interrupt);
    let mut metrics = endpoint.map(serve).transpose()?;
    say("observing; Ctrl-C ends");
    let end_ns = args.duration.map_or(u64::MAX, |d| begin_ns.saturating_add(d.as_ns()));
    let mut next = begin_ns;
    loop {
        next = next.saturating_add(args.interval.as_ns().max(1_000_000));
        let goes_on = wait(&interrupt, next.min(end_ns), &mut metrics, &mut observers);
        if !goes_on || next >= end_ns {
            break;
        }
        let look = observers.look();
        if !args.json {
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
    if args.json {
        print_json(&Observed { wall_ns, exit, sample: &sample })?;
    } else {
        print(|out| report::sample(&sample, Format::Text, out))?;
    }
    Ok(Outcome::Done)
}

/// Waits until this instant and answers scrapes meanwhile; `false` when a signal ended the wait.
fn wait(
    interrupt: &Interrupt,
    deadline_ns: u64,
    metrics: &mut Option<Metrics>,
    observers: &mut ObserverSet,
) -> bool {
    loop {
        match interrupt.wait_until_or_nudge(deadline_ns) {
            Waited::Reached => return true,
            Waited::Interrupted => return false,
            Waited::Nudged => {
                if let Some(metrics) = metrics {
                    metrics.answer(|| observers.so_far());
                }
            }
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
        ratio(look.busiest_thread_ratio),
        look.memory_bytes.map_or("n/a".into(), |n| Bytes(n).to_string()),
    )
}
