//! Evidence that is made of names: which syscalls a request takes, which threads used the CPU, and
//! how many events a wait brought. Each is asked for in a manifest as a metric is, under a name that
//! begins with `which.`, and is of the stages of one level. Pure, like the table that shows it.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyze::bootstrap::median;
use crate::analyze::metrics;
use crate::observe::Count;
use crate::record::StageRecord;
use crate::units::{show_count, show_per_request};

/// So many names are listed, the greatest first.
const NAMES: usize = 5;

/// Syscalls that wait for events of many descriptors at once.
const WAITS: [&str; 7] =
    ["epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6"];

/// Puts the stages of one level into words, or says why it cannot.
type Kind = fn(&[&StageRecord]) -> Result<String, String>;

/// Kinds of evidence in words, by their names in a manifest.
const KINDS: [(&str, Kind); 4] = [
    ("which.syscalls_per_request", syscalls_per_request),
    ("which.syscalls_per_sec", syscalls_per_sec),
    ("which.threads", threads),
    ("which.events_per_wait", events_per_wait),
];

/// Whether a manifest asks for words by this name, and not for a metric.
#[must_use]
pub fn is_known(name: &str) -> bool {
    KINDS.iter().any(|(known, _)| *known == name)
}

/// The words of that name about the stages of one level; `None` where the name is not of this kind.
pub(super) fn of_level(name: &str, stages: &[&StageRecord]) -> Option<Result<String, String>> {
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
    Some(kind(stages))
}

fn syscalls_per_request(stages: &[&StageRecord]) -> Result<String, String> {
    by_name(stages, |count| count.per_request, show_per_request)
}

fn syscalls_per_sec(stages: &[&StageRecord]) -> Result<String, String> {
    by_name(stages, |count| Some(count.per_sec), |n| format!("{}/s", show_count(n)))
}

fn by_name(
    stages: &[&StageRecord],
    figure: impl Fn(&Count) -> Option<f64>,
    show: impl Fn(f64) -> String,
) -> Result<String, String> {
    let counted = |stage: &&StageRecord| {
        metrics::value(stage, "syscalls.total")?;
        let syscalls = stage.syscalls.as_result()?;
        if syscalls.missed > 0 {
            return Err(format!("{} events were missed", syscalls.missed));
        }
        let one = |(name, count): (&String, &Count)| Some((name.clone(), figure(count)?));
        let none = "no request was completed in this stage".to_owned();
        syscalls.by_name.iter().map(one).collect::<Option<_>>().ok_or(none)
    };
    let shares: Result<Vec<BTreeMap<_, _>>, String> = stages.iter().map(counted).collect();
    Ok(greatest(&shares?, show))
}

/// CPUs that the threads of each name used together: 1.00 is one CPU all the time.
fn threads(stages: &[&StageRecord]) -> Result<String, String> {
    let used = |stage: &&StageRecord| {
        // Refused where the record does not hold all of them.
        metrics::value(stage, "threads.count")?;
        let threads = stage.threads.as_result()?;
        let mut by_name = BTreeMap::new();
        for thread in threads {
            *by_name.entry(thread.comm.clone()).or_insert(0.0) += thread.oncpu_ratio;
        }
        Ok(by_name)
    };
    let shares: Result<Vec<_>, String> = stages.iter().map(used).collect();
    Ok(greatest(&shares?, |cpus| format!("{cpus:.2} CPUs")))
}

/// The median over the stages of what each name has, zero where a stage has none of it.
fn greatest(stages: &[BTreeMap<String, f64>], show: impl Fn(f64) -> String) -> String {
    let names: BTreeSet<&String> = stages.iter().flat_map(BTreeMap::keys).collect();
    let of = |name: &String| {
        let values: Vec<_> = stages.iter().map(|s| s.get(name).copied().unwrap_or(0.0)).collect();
        median(&values).unwrap_or(0.0)
    };
    let mut figures: Vec<_> = names.into_iter().map(|name| (name, of(name))).collect();
    figures.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let listed = figures.iter().filter(|(_, value)| *value > 0.0).take(NAMES);
    let listed: Vec<_> = listed.map(|(name, value)| format!("{name} {}", show(*value))).collect();
    if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
}

/// Events over returns of all the stages together, and the share of the returns without any.
fn events_per_wait(stages: &[&StageRecord]) -> Result<String, String> {
    let mut waits = BTreeMap::<&str, (u64, u64, u64)>::new();
    for stage in stages {
        let asked = stage.explain.syscalls.as_ref();
        let explained =
            asked.ok_or("taken only where the plan explains `syscalls`")?.as_result()?;
        for name in WAITS {
            let Some(call) = explained.by_name.get(name) else { continue };
            let returned = call.events_per_call.as_ref().map_or(0, |spread| spread.count);
            let sum = waits.entry(name).or_default();
            sum.0 += call.events.unwrap_or(0);
            sum.1 += returned;
            sum.2 += call.empty.unwrap_or(0);
        }
    }
    let shown = waits.into_iter().filter(|(_, (_, returned, _))| *returned > 0).map(
        |(name, (events, returned, empty))| {
            let share = |part: u64| ratio(part, returned);
            format!("{name} {:.2} ({:.0} % brought none)", share(events), share(empty) * 100.0)
        },
    );
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() { Err("no wait for events returned".into()) } else { Ok(shown.join(", ")) }
}

#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_stage, a_thread};
    use crate::distribution::Distribution;
    use crate::measured::Measured;
    use crate::observe::{ExplainedCall, SyscallsExplained, Thread};

    fn of(name: &str, stages: &[StageRecord]) -> Result<String, String> {
        of_level(name, &stages.iter().collect::<Vec<_>>()).expect("a kind of words")
    }

    #[test]
    fn threads_of_one_name_are_added_and_the_busiest_name_comes_first() {
        let mut stage = a_stage(1);
        let gc = Thread { comm: "gc".into(), ..a_thread(0.25, 0.0) };
        stage.threads = Measured::Value(vec![a_thread(0.4, 0.0), gc.clone(), gc]);
        assert_eq!(
            of("which.threads", &[stage.clone()]).unwrap(),
            "gc 0.50 CPUs, worker 0.40 CPUs"
        );
        stage.threads = Measured::unavailable("no probes");
        assert!(of("which.threads", &[stage]).unwrap_err().contains("no probes"));
    }

    #[test]
    fn syscalls_are_medians_over_the_stages_and_zero_where_a_stage_has_none() {
        let with = |reads: f64| {
            let mut stage = a_stage(1);
            let count = Count { per_request: Some(reads), ..Count::default() };
            let Measured::Value(syscalls) = &mut stage.syscalls else { panic!("counted") };
            syscalls.by_name.insert("read".into(), count);
            stage
        };
        let stages = [with(1.0), with(3.0), with(2.0)];
        assert_eq!(of("which.syscalls_per_request", &stages).unwrap(), "read 2.00");
        let mut unserved = with(1.0);
        unserved.syscalls = unserved.syscalls.map(|mut syscalls| {
            syscalls.by_name.insert("write".into(), Count::default());
            syscalls
        });
        let why = of("which.syscalls_per_request", &[unserved]).unwrap_err();
        assert!(why.contains("no request"), "{why}");
        let mostly_none = [with(1.0), a_stage(1), a_stage(1)];
        assert_eq!(of("which.syscalls_per_request", &mostly_none).unwrap(), "none");
    }

    #[test]
    fn events_are_of_all_returns_together() {
        let mut stage = a_stage(1);
        assert!(of("which.events_per_wait", &[stage.clone()]).unwrap_err().contains("explain"));
        let call = ExplainedCall {
            events: Some(30),
            empty: Some(1),
            events_per_call: Some(Distribution { count: 4, ..Distribution::default() }),
            ..ExplainedCall::default()
        };
        let mut calls = SyscallsExplained::default();
        calls.by_name.insert("epoll_wait".into(), call);
        stage.explain.syscalls = Some(Measured::Value(calls));
        let words = of("which.events_per_wait", &[stage]).unwrap();
        assert_eq!(words, "epoll_wait 7.50 (25 % brought none)");
    }
}
