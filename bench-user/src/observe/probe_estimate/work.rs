//! The known work: syscalls that do next to nothing, and switches between two threads on one CPU.

use std::os::fd::OwnedFd;
use std::thread;

use rustix::io::{read, write};
use rustix::pipe::pipe;
use rustix::process::getppid;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::{Added, ProbeEstimate};
use crate::clock;
use crate::host::topology;

/// Calls in a slice.
pub(super) const CALLS: u32 = 5000;
/// Switches in a slice: a byte goes to and fro half as often.
const SWITCHES: u32 = 1000;
/// Slices without probes, before and after.
pub(super) const BARE: u32 = 10;
/// Slices with them, inside and outside each.
pub(super) const ATTACHED: u32 = 15;
/// A switch of the ping-pong comes with a read and a write.
const SYSCALLS_PER_SWITCH: f64 = 2.0;

/// CPU time of every slice, ns per event.
#[derive(Debug, Default)]
pub(super) struct Slices {
    calls: Vec<f64>,
    switches: Vec<f64>,
}

/// The work, with the other thread of the ping-pong, which ends with it.
pub(super) struct Work {
    to: OwnedFd,
    from: OwnedFd,
}

/// Runs `measure` on a thread that stays on one CPU, as do the threads that it makes; ours goes
/// where it went before.
///
/// # Errors
/// When there is no CPU to stay on.
pub(super) fn on_one_cpu<T: Send>(
    measure: impl FnOnce() -> Result<T, String> + Send,
) -> Result<Result<T, String>, String> {
    let cpus = topology::allowed_cpus().map_err(|e| format!("{e:#}"))?;
    let last = cpus.last().copied().filter(|cpu| *cpu < CpuSet::MAX_CPU);
    let mut one = CpuSet::new();
    one.set(last.ok_or("no CPU to stay on")?);
    thread::scope(|scope| {
        let pinned = || {
            sched_setaffinity(None, &one).map_err(|e| e.to_string())?;
            measure()
        };
        let thread = thread::Builder::new().name("probe-estimate".into());
        let thread = thread.spawn_scoped(scope, pinned).map_err(|e| e.to_string())?;
        thread.join().map_err(|_panic| "the estimate panicked".to_owned())
    })
}

impl Work {
    /// Starts the other thread; call it where it should run.
    ///
    /// # Errors
    /// When there is no pipe or no thread to be had.
    pub(super) fn new() -> Result<Self, String> {
        let pipes = || rustix::io::Result::Ok((pipe()?, pipe()?));
        let ((there, to), (from, back)) = pipes().map_err(|e| e.to_string())?;
        let echo = move || {
            // Until the other side is gone, which is the end of either pipe.
            while matches!(read(&there, &mut [0_u8]), Ok(1)) && write(&back, &[0]).is_ok() {}
        };
        let thread = thread::Builder::new().name("probe-estimate".into());
        thread.spawn(echo).map_err(|e| e.to_string())?;
        let mut work = Self { to, from };
        // The first exchange waits for the thread to start.
        work.exchange(1)?;
        Ok(work)
    }

    /// Times so many slices of both kinds, each after `prepare`.
    ///
    /// # Errors
    /// When `prepare` fails, or a pipe breaks.
    pub(super) fn slices(
        &mut self,
        n: u32,
        mut prepare: impl FnMut() -> Result<(), String>,
    ) -> Result<Slices, String> {
        let mut slices = Slices::default();
        for _ in 0..n {
            prepare()?;
            slices.calls.push(self.calls());
            let begin = clock::process_cpu_ns();
            self.exchange(SWITCHES / 2)?;
            slices.switches.push(each(clock::process_cpu_ns() - begin, SWITCHES));
        }
        Ok(slices)
    }

    /// CPU time of one call, ns.
    #[expect(clippy::unused_self, reason = "the other kind of work has a thread behind it")]
    pub(super) fn calls(&mut self) -> f64 {
        let begin = clock::thread_cpu_ns();
        for _ in 0..CALLS {
            std::hint::black_box(getppid());
        }
        each(clock::thread_cpu_ns() - begin, CALLS)
    }

    fn exchange(&mut self, rounds: u32) -> Result<(), String> {
        for _ in 0..rounds {
            write(&self.to, &[0]).map_err(|e| e.to_string())?;
            read(&self.from, &mut [0_u8]).map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

impl Slices {
    pub(super) fn extend(&mut self, more: Self) {
        self.calls.extend(more.calls);
        self.switches.extend(more.switches);
    }

    /// From slices without probes to what each kind of event costs more with them.
    ///
    /// # Errors
    /// That nothing was timed, or that a syscall took no longer with the probes: then something
    /// else changed on the machine meanwhile, and no figure is one.
    pub(super) fn estimate(&self, inside: &Self, outside: &Self) -> Result<ProbeEstimate, String> {
        let of = |values: &[f64]| quartiles(values).ok_or("nothing was timed");
        let (call, switch) = (of(&self.calls)?, of(&self.switches)?);
        let syscall_inside_ns = of(&inside.calls)?.less(call);
        let syscall_outside_ns = of(&outside.calls)?.less(call);
        if syscall_inside_ns.median <= 0.0 {
            return Err(
                "a syscall took no longer with the probes than without, because something \
                        else on this machine changed meanwhile (another bench-user, say)"
                    .into(),
            );
        }
        let alone = |slices: &Self, syscall: Added| {
            let syscalls = syscall.times(SYSCALLS_PER_SWITCH);
            Ok::<_, String>(of(&slices.switches)?.less(switch).less(syscalls))
        };
        Ok(ProbeEstimate {
            syscall_bare_ns: call.median,
            syscall_inside_ns,
            syscall_outside_ns,
            switch_bare_ns: switch.median,
            switch_inside_ns: alone(inside, syscall_inside_ns)?,
            switch_outside_ns: alone(outside, syscall_outside_ns)?,
            run_bias_ns: 0.0,
            cpu_ratio_of_100k_syscalls_per_sec: syscall_inside_ns.median * 1e5 / 1e9,
        })
    }
}

impl Added {
    /// The difference of two, as uncertain as both together.
    fn less(self, other: Self) -> Self {
        Self {
            median: self.median - other.median,
            low: self.low - other.high,
            high: self.high - other.low,
        }
    }

    fn times(self, n: f64) -> Self {
        Self { median: self.median * n, low: self.low * n, high: self.high * n }
    }
}

fn each(ns: u64, events: u32) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a slice is far below 2^53 ns")]
    let ns = ns as f64;
    ns / f64::from(events)
}

/// The nearest value to each quarter; `None` without values.
fn quartiles(values: &[f64]) -> Option<Added> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = |quarter: usize| sorted[(last * quarter + 2) / 4];
    Some(Added { median: at(2), low: at(1), high: at(3) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(call: f64, switch: f64) -> Slices {
        Slices { calls: vec![call - 1.0, call, call + 1.0], switches: vec![switch; 3] }
    }

    #[test]
    fn what_is_added_is_over_the_bare_median_and_a_switch_is_without_its_syscalls() {
        let found =
            slices(100.0, 1000.0).estimate(&slices(130.0, 1120.0), &slices(120.0, 1060.0)).unwrap();
        assert_eq!(found.syscall_inside_ns, Added { median: 30.0, low: 29.0, high: 31.0 });
        assert_eq!(found.syscall_outside_ns.median, 20.0);
        assert_eq!((found.switch_inside_ns.median, found.switch_outside_ns.median), (60.0, 20.0));
        assert!((found.cpu_ratio_of_100k_syscalls_per_sec - 0.003).abs() < 1e-12);
        let nothing = Slices::default().estimate(&slices(1.0, 1.0), &slices(1.0, 1.0));
        assert_eq!(nothing.unwrap_err(), "nothing was timed");
    }

    #[test]
    fn a_cost_below_zero_is_no_cost() {
        let busy = slices(100.0, 1000.0).estimate(&slices(41.0, 900.0), &slices(41.0, 900.0));
        assert!(busy.unwrap_err().starts_with("a syscall took no longer with the probes"));
    }

    #[test]
    fn quartiles_are_the_nearest_values() {
        let five = quartiles(&[5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!(five, Some(Added { low: 2.0, median: 3.0, high: 4.0 }));
        assert_eq!(quartiles(&[7.0]), Some(Added { low: 7.0, median: 7.0, high: 7.0 }));
        assert_eq!(quartiles(&[]), None);
    }

    #[test]
    fn the_work_is_done_on_one_cpu_and_takes_time() {
        let slices = on_one_cpu(|| Work::new()?.slices(2, || Ok(()))).unwrap().unwrap();
        assert_eq!((slices.calls.len(), slices.switches.len()), (2, 2));
        assert!(slices.calls.iter().chain(&slices.switches).all(|ns| *ns > 0.0), "{slices:?}");
    }
}
