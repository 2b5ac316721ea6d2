//! perf counters on the target's cgroup, descendants included.
//!
//! Yields: `task-clock` (ns), `context-switches`, `cpu-migrations`, `page-faults`, of these
//! `minor-faults` and `major-faults` (those that had to wait for I/O); where there is a PMU also `cycles`, `instructions`, `cache-misses`, `branch-misses`.
//! Blind to: hardware events without a PMU, which are unavailable with the reason; CPUs that come
//! online after the start.
//! Costs: one descriptor per event and online CPU, and one read of each per reading.
//!
//! A counter in cgroup mode belongs to one CPU, and its clocks stand still while no task of the
//! cgroup runs there: `time_enabled` is the time that the cgroup ran on that CPU, and
//! `time_running` the part of it in which the counter was on the hardware. So a CPU with no
//! enabled time in a window counted a true zero, and a CPU with enabled but no running time
//! counted nothing that can be known.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use perf_event::Counter;
use perf_event::events::{Event, Hardware, Software};

use super::PerfCount;
use crate::host::{counters, topology};
use crate::measured::Measured;

const EVENTS: [(&str, Event); 10] = [
    ("task-clock", Event::Software(Software::TASK_CLOCK)),
    ("context-switches", Event::Software(Software::CONTEXT_SWITCHES)),
    ("cpu-migrations", Event::Software(Software::CPU_MIGRATIONS)),
    ("page-faults", Event::Software(Software::PAGE_FAULTS)),
    ("minor-faults", Event::Software(Software::PAGE_FAULTS_MIN)),
    ("major-faults", Event::Software(Software::PAGE_FAULTS_MAJ)),
    ("cycles", Event::Hardware(Hardware::CPU_CYCLES)),
    ("instructions", Event::Hardware(Hardware::INSTRUCTIONS)),
    ("cache-misses", Event::Hardware(Hardware::CACHE_MISSES)),
    ("branch-misses", Event::Hardware(Hardware::BRANCH_MISSES)),
];

/// The counters of one cgroup; they count from the moment they are opened until it is dropped.
#[derive(Debug)]
pub struct PerfObserver {
    events: Vec<(&'static str, Measured<Vec<Counter>>)>,
}

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PerfReading {
    events: BTreeMap<&'static str, Measured<Vec<OnCpu>>>,
}

/// One counter on one CPU since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct OnCpu {
    value: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl PerfObserver {
    /// Opens what can be opened on `cgroup`, the directory in the tree that owns `perf_event`:
    /// the v2 tree, or a v1 tree on hosts that keep that controller there.
    #[must_use]
    pub fn open(cgroup: &Path) -> Self {
        let ready = File::open(cgroup)
            .map_err(|e| format!("the cgroup {} cannot be opened: {e}", cgroup.display()))
            .and_then(|dir| Ok((dir, topology::online_cpus().map_err(|e| format!("{e:#}"))?)));
        let events = EVENTS.into_iter().map(|(name, event)| {
            let counters = match &ready {
                Ok((dir, cpus)) => {
                    open_event(&event, dir, cpus).map_err(|e| counters::why_not(&event, &e))
                }
                Err(why) => Err(why.clone()),
            };
            (name, counters.into())
        });
        Self { events: events.collect() }
    }

    /// No counter at all, for this reason: a target without a cgroup.
    #[must_use]
    pub fn none(why: &str) -> Self {
        Self { events: EVENTS.map(|(name, _)| (name, Measured::unavailable(why))).into() }
    }

    /// Reads every counter.
    #[must_use]
    pub fn read(&mut self) -> PerfReading {
        let events = self.events.iter_mut().map(|(name, counters)| {
            let reading = match counters {
                Measured::Value(counters) => counters
                    .iter_mut()
                    .map(read_counter)
                    .collect::<io::Result<Vec<_>>>()
                    .map_err(|e| format!("a {name} counter cannot be read: {e}"))
                    .into(),
                Measured::Unavailable { unavailable } => Measured::unavailable(&**unavailable),
            };
            (*name, reading)
        });
        PerfReading { events: events.collect() }
    }
}

impl PerfReading {
    /// What was counted since `earlier`, by event.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> BTreeMap<String, Measured<PerfCount>> {
        self.events
            .iter()
            .map(|(name, later)| {
                let earlier = earlier.events.get(name);
                let count = match (later, earlier) {
                    (Measured::Value(later), Some(Measured::Value(earlier))) => {
                        difference(later, earlier).into()
                    }
                    (Measured::Unavailable { unavailable }, _)
                    | (_, Some(Measured::Unavailable { unavailable })) => {
                        Measured::unavailable(unavailable)
                    }
                    (_, None) => Measured::unavailable("not read at the start of the window"),
                };
                ((*name).to_owned(), count)
            })
            .collect()
    }
}

fn open_event(event: &Event, cgroup: &File, cpus: &[usize]) -> io::Result<Vec<Counter>> {
    cpus.iter().map(|&cpu| counters::open_on_cgroup(event.clone(), cgroup, cpu)).collect()
}

fn read_counter(counter: &mut Counter) -> io::Result<OnCpu> {
    let now = counter.read_count_and_time()?;
    Ok(OnCpu { value: now.count, enabled_ns: now.time_enabled, running_ns: now.time_running })
}

/// Multiplexing happens on each CPU apart, so each is scaled by its own clocks; a CPU on which
/// the counter never ran gets the mean rate of the others.
fn difference(later: &[OnCpu], earlier: &[OnCpu]) -> Result<PerfCount, String> {
    let (mut value, mut known_ns, mut enabled_ns, mut scaled) = (0_u128, 0_u128, 0_u128, false);
    for (later, earlier) in later.iter().zip(earlier) {
        let delta = later.minus(earlier).ok_or("a counter went back")?;
        enabled_ns += u128::from(delta.enabled_ns);
        if delta.running_ns == 0 {
            // With the clocks still, an event can only be one at the very edge of a stint.
            value += u128::from(delta.value);
            scaled |= delta.enabled_ns > 0;
            continue;
        }
        known_ns += u128::from(delta.enabled_ns);
        scaled |= delta.running_ns < delta.enabled_ns;
        value += stretch(delta.value.into(), delta.enabled_ns.into(), delta.running_ns.into());
    }
    if enabled_ns > 0 && known_ns == 0 {
        return Err("the counter never got onto the hardware in this window: \
                    count fewer events at once, or end other users of perf"
            .into());
    }
    if scaled {
        value = stretch(value, enabled_ns, known_ns);
    }
    Ok(PerfCount { value: u64::try_from(value).unwrap_or(u64::MAX), scaled })
}

fn stretch(value: u128, enabled_ns: u128, running_ns: u128) -> u128 {
    if enabled_ns == running_ns { value } else { value * enabled_ns / running_ns }
}

impl OnCpu {
    fn minus(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            value: self.value.checked_sub(earlier.value)?,
            enabled_ns: self.enabled_ns.checked_sub(earlier.enabled_ns)?,
            running_ns: self.running_ns.checked_sub(earlier.running_ns)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(cpus: &[(u64, u64, u64)]) -> PerfReading {
        let cpus = cpus.iter().map(|&(value, enabled_ns, running_ns)| OnCpu {
            value,
            enabled_ns,
            running_ns,
        });
        PerfReading { events: [("cycles", Measured::Value(cpus.collect()))].into() }
    }

    fn counted(later: &[(u64, u64, u64)], earlier: &[(u64, u64, u64)]) -> Measured<PerfCount> {
        at(later).since(&at(earlier)).remove("cycles").unwrap()
    }

    #[test]
    fn a_counter_that_always_ran_is_exact() {
        let got = counted(&[(700, 50, 50), (30, 20, 20)], &[(100, 10, 10), (0, 0, 0)]);
        assert_eq!(got, Measured::Value(PerfCount { value: 630, scaled: false }));
    }

    #[test]
    fn each_cpu_is_scaled_by_its_own_clocks_over_the_window() {
        // CPU 0 ran half of its 100 ns, CPU 1 all of its 300 ns.
        let got = counted(&[(150, 110, 60), (40, 300, 300)], &[(50, 10, 10), (0, 0, 0)]);
        assert_eq!(got, Measured::Value(PerfCount { value: 240, scaled: true }));
    }

    #[test]
    fn a_cpu_that_never_ran_gets_the_rate_of_the_others() {
        let got = counted(&[(100, 100, 100), (0, 50, 0)], &[(0, 0, 0), (0, 0, 0)]);
        assert_eq!(got, Measured::Value(PerfCount { value: 150, scaled: true }));
    }

    #[test]
    fn enabled_without_running_is_no_zero() {
        let got = counted(&[(5, 90, 10)], &[(5, 50, 10)]);
        assert!(got.why().unwrap().contains("never got onto the hardware"), "{got:?}");
    }

    #[test]
    fn a_cgroup_that_did_not_run_counted_a_true_zero() {
        let got = counted(&[(5, 50, 50)], &[(5, 50, 50)]);
        assert_eq!(got, Measured::Value(PerfCount { value: 0, scaled: false }));
    }

    #[test]
    fn a_missing_cgroup_makes_every_event_unavailable_with_its_reason() {
        let mut observer = PerfObserver::open(Path::new("/no/such/cgroup"));
        let (first, second) = (observer.read(), observer.read());
        let counts = second.since(&first);
        assert_eq!(counts.len(), EVENTS.len());
        for count in counts.values() {
            assert!(count.why().unwrap().contains("/no/such/cgroup"), "{count:?}");
        }
    }
}
