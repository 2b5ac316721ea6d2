//! What the self-test showed, as capabilities. Pure.

use super::{CALLS, CLOCK_READINGS, NAPS};
use crate::host::doctor::Capability;
use crate::measured::Measured;
use crate::observe::Sample;
use crate::units::show_count;

/// What was counted while we worked, and what the kernel's other books say of the time around.
pub(super) struct Counted {
    pub(super) sample: Sample,
    pub(super) around: Usage,
    /// Why there are no probes.
    pub(super) probes: Option<String>,
}

/// Events that the kernel books for a process or its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub(super) switches: u64,
    pub(super) faults: u64,
}

impl Usage {
    pub(super) fn since(self, then: Self) -> Self {
        Self {
            switches: self.switches.saturating_sub(then.switches),
            faults: self.faults.saturating_sub(then.faults),
        }
    }
}

/// Name, whether the main job needs it, and what to do without it.
struct Kind(&'static str, bool, &'static str);

const SYSCALLS: Kind = Kind(
    "probe of syscalls",
    true,
    "without it syscalls stay unavailable, and with them the claims about them",
);
const SWITCHES: Kind =
    Kind("probe of switches", true, "without it switches and run-queue waits stay unavailable");
const MISSES: Kind = Kind(
    "skipped events (recursion_misses)",
    false,
    "use a kernel from 5.12 on; counts cannot be known to be whole without it",
);
const STATISTICS: Kind = Kind(
    "BPF statistics",
    false,
    "without them the probes' own run time is unavailable: use a kernel from 5.8 on, as root",
);
const PERF: Kind =
    Kind("perf software events", false, "run it with sudo, on a kernel with CONFIG_CGROUP_PERF");
const CLOCK: Kind = Kind(
    "clock without a syscall",
    false,
    "every reading of the clock counts as a syscall of the target: use the clock source of the \
     CPU (tsc, kvm-clock, arch_sys_counter), see /sys/devices/system/clocksource/clocksource0",
);

const PAGES: u64 = super::PAGES as u64;

type Seen = Result<String, String>;

/// Every capability, none of which could be tried.
pub(super) fn none(why: &str) -> Vec<Capability> {
    [SYSCALLS, SWITCHES, MISSES, STATISTICS, PERF, CLOCK]
        .map(|kind| tried(&kind, Err(why.to_owned())))
        .into()
}

/// Every capability.
pub(super) fn all(counted: &Result<Counted, String>) -> Vec<Capability> {
    let counted = match counted {
        Ok(counted) => counted,
        Err(why) => return none(why),
    };
    vec![
        tried(&SYSCALLS, syscalls(counted)),
        tried(&SWITCHES, switches(counted)),
        tried(&MISSES, misses(counted)),
        tried(&STATISTICS, statistics(counted)),
        tried(&PERF, perf(counted)),
        tried(&CLOCK, clock(counted)),
    ]
}

fn tried(kind: &Kind, seen: Seen) -> Capability {
    let Kind(name, needed, remedy) = *kind;
    Capability::tried(name, needed, seen.map_err(|why| (why, remedy.to_owned())))
}

fn count(counted: &Counted, call: &str) -> Result<u64, String> {
    let syscalls = counted.sample.syscalls.as_result()?;
    Ok(syscalls.by_name.get(call).map_or(0, |count| count.count))
}

fn syscalls(counted: &Counted) -> Seen {
    if let Some(why) = &counted.probes {
        return Err(why.clone());
    }
    let (counted, hook) = (count(counted, "getppid")?, &counted.sample.syscalls.as_result()?.hook);
    if counted != CALLS {
        return Err(format!("{CALLS} calls were made, and a {hook} counted {counted}"));
    }
    Ok(format!("a {hook} counted {} of {} calls", number(counted), number(CALLS)))
}

/// The probe's own count against the kernel's books, which are read in the same window: at its
/// edges each thread may be in one switch that only one of them has.
fn switches(counted: &Counted) -> Seen {
    if let Some(why) = &counted.probes {
        return Err(why.clone());
    }
    let sched = counted.sample.sched.as_result()?;
    let threads = counted.sample.threads.as_result()?.len() as u64;
    let seen = sched.switches_seen;
    let booked = sched.switches_voluntary + sched.switches_involuntary;
    let (least, most) = (NAPS, counted.around.switches);
    if !(least..=most).contains(&seen) || seen.abs_diff(booked) > threads {
        return Err(format!(
            "the probe counted {seen} switches, the kernel's books {booked} in the window and \
             {most} around it, and {least} were forced"
        ));
    }
    Ok(format!("it counted {seen} switches, the kernel's own books of the threads {booked}"))
}

fn misses(counted: &Counted) -> Seen {
    match counted.sample.syscalls.as_result()?.missed {
        0 => Ok("can be read; none was skipped".into()),
        n => Ok(format!("can be read; {n} events were skipped, and counts are lower bounds")),
    }
}

fn statistics(counted: &Counted) -> Seen {
    let cost = &counted.sample.observer_cost;
    match (cost.bpf_runs, cost.bpf_ns) {
        (Some(runs @ 1..), Some(ns)) => {
            #[expect(clippy::cast_precision_loss, reason = "for people")]
            let each = crate::units::show_ns(ns as f64 / runs as f64);
            Ok(format!("{} runs of the probes took {each} each", number(runs)))
        }
        _ => Err("the kernel shows no run time of the probes".into()),
    }
}

fn perf(counted: &Counted) -> Seen {
    let read = |event: &str| -> Result<u64, String> {
        let count = counted.sample.perf.get(event).map(Measured::as_result);
        Ok(count.ok_or_else(|| format!("there is no counter of {event}"))??.value)
    };
    let (faults, switches) = (read("page-faults")?, read("context-switches")?);
    let within = |what: &str, n: u64, least: u64, most: u64| {
        if (least..=most).contains(&n) {
            return Ok(());
        }
        Err(format!("{n} {what} were counted; {least} were made, and the books say {most}"))
    };
    within("page faults", faults, PAGES, counted.around.faults)?;
    within("switches", switches, NAPS, counted.around.switches)?;
    Ok(format!("counted {faults} page faults of {PAGES} fresh pages, and {switches} switches"))
}

fn clock(counted: &Counted) -> Seen {
    match count(counted, "clock_gettime")? {
        // Some readings go to clocks that the kernel alone knows, such as CPU time of a thread.
        n if n < CLOCK_READINGS => Ok(format!("{CLOCK_READINGS} readings made no syscall")),
        n => Err(format!("{CLOCK_READINGS} readings made {n} syscalls")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn number(n: u64) -> String {
    show_count(n as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::observe::{Count, PerfCount, Sched, Syscalls, Thread};

    /// A self-test in which everything was counted as it was made.
    fn all_counted() -> Counted {
        let by_name = BTreeMap::from([("getppid".to_owned(), Count::over(CALLS, 1))]);
        let counts = [("page-faults", PAGES + 3), ("context-switches", NAPS + 1)];
        let mut sample = Sample::empty("not tried");
        sample.syscalls = Measured::Value(Syscalls { by_name, ..Syscalls::default() });
        sample.sched = Measured::Value(Sched {
            switches_seen: NAPS + 1,
            switches_voluntary: NAPS,
            ..Sched::default()
        });
        sample.threads = Measured::Value(vec![Thread::default()]);
        sample.perf = counts
            .map(|(name, value)| {
                (name.to_owned(), Measured::Value(PerfCount { value, scaled: false }))
            })
            .into();
        sample.observer_cost.bpf_runs = Some(10);
        sample.observer_cost.bpf_ns = Some(1000);
        let around = Usage { switches: NAPS + 2, faults: PAGES + 9 };
        Counted { sample, around, probes: None }
    }

    /// The names of what does not work after `change`.
    fn failing(change: impl FnOnce(&mut Counted)) -> Vec<String> {
        let mut counted = all_counted();
        change(&mut counted);
        all(&Ok(counted)).into_iter().filter(|c| !c.works).map(|c| c.name).collect()
    }

    fn calls(counted: &mut Counted, name: &str, n: u64) {
        if let Measured::Value(syscalls) = &mut counted.sample.syscalls {
            syscalls.by_name.insert(name.into(), Count::over(n, 1));
        }
    }

    #[test]
    fn what_was_counted_as_it_was_made_works() {
        assert_eq!(failing(|_| {}), Vec::<String>::new());
    }

    #[test]
    fn a_count_that_is_off_by_one_does_not_work() {
        assert_eq!(failing(|t| calls(t, "getppid", CALLS - 1)), ["probe of syscalls"]);
        let fewer = failing(|t| t.around.switches = NAPS);
        assert_eq!(fewer, ["probe of switches", "perf software events"]);
        let faults = failing(|t| t.around.faults = PAGES + 2);
        assert_eq!(faults, ["perf software events"]);
        let slow = failing(|t| calls(t, "clock_gettime", CLOCK_READINGS));
        assert_eq!(slow, ["clock without a syscall"]);
    }

    #[test]
    fn what_is_missing_says_why() {
        let none = all(&Err("not root".into()));
        assert!(none.len() == 6 && none.iter().all(|c| c.why == "not root" && !c.works));
        let blind = failing(|t| t.sample.syscalls = Measured::unavailable("no BTF"));
        let expected = ["probe of syscalls", "skipped events (recursion_misses)"];
        assert_eq!(blind[..2], expected);
        assert_eq!(blind[2], "clock without a syscall");
    }
}
