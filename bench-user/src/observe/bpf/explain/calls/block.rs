//! The block of the record for the time between two readings.

use std::collections::BTreeMap;

use bench_ebpf::abi::calls::{
    AMOUNT_BUCKETS, COMPAT, CallAmounts, CallTimes, FIRST_LATENCY, LATENCY_BUCKETS, UNKNOWN,
    error_key, kinds as kind,
};

use super::{Reading, kinds};
use crate::measured::Measured;
use crate::observe::bpf::{buckets, counts, lost};
use crate::observe::explained::{ExplainedCall, InFlight, SyscallsExplained, Unpaired};

const NO_SWITCHES: &str = "time off the CPU inside a call needs the kernel's type information \
    (CONFIG_DEBUG_INFO_BTF)";

const NO_RUN_DELAY: &str = "what a call waited for a CPU cannot be told from what it was blocked: \
    that needs a kernel with CONFIG_SCHED_INFO";

/// Results from -516 to -512 never reach a program: the kernel restarts the call or makes them
/// `EINTR` (include/linux/errno.h, `ERESTARTSYS` to `ERESTART_RESTARTBLOCK`).
const RESTARTS: std::ops::RangeInclusive<u32> = 512..=516;

const NO_TIMES: CallTimes =
    CallTimes { returned: 0, sum_ns: 0, off_ns: 0, runq_ns: 0, latency: [0; LATENCY_BUCKETS] };

const NO_AMOUNTS: CallAmounts = CallAmounts { sum: 0, small: 0, amounts: [0; AMOUNT_BUCKETS] };

impl Reading {
    /// What was added since an earlier reading.
    pub(in crate::observe::bpf::explain) fn since(&self, then: &Self) -> SyscallsExplained {
        let unpaired = self.unpaired_since(then);
        let mut by_name = BTreeMap::new();
        for index in 0..=UNKNOWN {
            let call = self.call_since(then, index);
            if call.count > 0 || call.latency_ns.count > 0 {
                by_name.insert(name(index), call);
            }
        }
        let flight = |(index, of): (&u32, &super::Flights)| {
            (name(*index), InFlight { count: of.count, longest_ns: of.longest_ns })
        };
        SyscallsExplained {
            by_name,
            in_flight: self.in_flight.iter().map(flight).collect(),
            in_flight_before: then.in_flight.values().map(|of| of.count).sum(),
            unpaired,
            missed: self.missed - then.missed,
            lost: self.lost_since(then),
            hook: self.hook.to_owned(),
        }
    }

    fn unpaired_since(&self, then: &Self) -> Unpaired {
        let (now, then) = (&self.counts, &then.counts);
        Unpaired {
            entered: now.entered.iter().sum::<u64>() - then.entered.iter().sum::<u64>(),
            returned: now.returned - then.returned,
            never_return: now.never_return - then.never_return,
            died: now.died - then.died,
            replaced: now.replaced - then.replaced,
            child_returns: now.child_returns - then.child_returns,
            no_enter: now.no_enter - then.no_enter,
            renumbered: now.renumbered - then.renumbered,
        }
    }

    fn lost_since(&self, then: &Self) -> BTreeMap<String, u64> {
        let (now, then) = (&self.counts, &then.counts);
        lost::by_cause([
            ("calls_full", now.calls_full - then.calls_full),
            ("times_full", now.times_full - then.times_full),
            ("amounts_full", now.amounts_full - then.amounts_full),
            ("errors_full", now.errors_full - then.errors_full),
            ("enter_filter_failed", now.enter_filter_failed - then.enter_filter_failed),
            ("exit_filter_failed", now.exit_filter_failed - then.exit_filter_failed),
        ])
    }

    fn call_since(&self, then: &Self, index: u32) -> ExplainedCall {
        let entered = |reading: &Self| reading.counts.entered[index as usize];
        let now_times = self.times.get(&index).unwrap_or(&NO_TIMES);
        let then_times = then.times.get(&index).unwrap_or(&NO_TIMES);
        let returned = now_times.returned - then_times.returned;
        let sum_ns = now_times.sum_ns - then_times.sum_ns;
        let off_ns = now_times.off_ns - then_times.off_ns;
        let runq_ns = now_times.runq_ns - then_times.runq_ns;
        let (errors, interrupted) = self.errors_since(then, index);
        let mut call = ExplainedCall {
            count: entered(self) - entered(then),
            per_request: None,
            latency_ns: buckets::since(&now_times.latency, &then_times.latency, FIRST_LATENCY),
            sum_ns,
            oncpu_ns: self.if_split(then, sum_ns - off_ns, false),
            runq_ns: self.if_split(then, runq_ns, true),
            blocked_ns: self.if_split(then, off_ns - runq_ns, true),
            eagain_ratio: ratio(errors.get("EAGAIN").copied().unwrap_or(0), returned),
            errors,
            interrupted,
            ..ExplainedCall::default()
        };
        self.amounts_since(then, index, &mut call);
        call
    }

    fn if_split(&self, then: &Self, ns: u64, needs_run_delay: bool) -> Measured<u64> {
        if !self.sees_switches {
            Measured::unavailable(NO_SWITCHES)
        } else if needs_run_delay && self.counts.runq_unknown > then.counts.runq_unknown {
            Measured::unavailable(NO_RUN_DELAY)
        } else {
            Measured::Value(ns)
        }
    }

    fn errors_since(&self, then: &Self, index: u32) -> (BTreeMap<String, u64>, u64) {
        let mut errors = BTreeMap::new();
        let mut interrupted = 0;
        for (key, now) in self.errors.range(error_key(index, 0)..error_key(index + 1, 0)) {
            let n = now - then.errors.get(key).copied().unwrap_or(0);
            let errno = key - error_key(index, 0);
            if RESTARTS.contains(&errno) {
                interrupted += n;
            } else if n > 0 {
                errors.insert(errno_name(errno), n);
            }
        }
        (errors, interrupted)
    }

    fn amounts_since(&self, then: &Self, index: u32, call: &mut ExplainedCall) {
        let now = self.amounts.get(&index).unwrap_or(&NO_AMOUNTS);
        let then = then.amounts.get(&index).unwrap_or(&NO_AMOUNTS);
        let sum = Some(now.sum - then.sum);
        let spread = Some(buckets::since(&now.amounts, &then.amounts, 0));
        match kinds::of(index) {
            kind::EVENTS => (call.events, call.events_per_call) = (sum, spread),
            kind::BYTES => (call.bytes, call.bytes_per_call) = (sum, spread),
            kind::WRITES => {
                (call.bytes, call.bytes_per_call) = (sum, spread);
                call.small_writes = Some(now.small - then.small);
            }
            _ => return,
        }
        call.empty = Some(now.amounts[0] - then.amounts[0]);
    }
}

fn name(index: u32) -> String {
    match index {
        COMPAT => "compat32".into(),
        UNKNOWN => "unknown".into(),
        number => counts::name(number as usize),
    }
}

fn errno_name(errno: u32) -> String {
    let known = i32::try_from(errno).map(nix::errno::Errno::from_raw);
    match known {
        Ok(nix::errno::Errno::UnknownErrno) | Err(_) => format!("errno_{errno}"),
        Ok(known) => format!("{known:?}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use bench_ebpf::abi::calls::{CALL_SLOTS, CallCounts};
    use bench_ebpf::hist;
    use syscalls::Sysno;

    use super::*;

    fn reading() -> Reading {
        let counts = CallCounts {
            entered: [0; CALL_SLOTS],
            returned: 0,
            never_return: 0,
            replaced: 0,
            calls_full: 0,
            died: 0,
            child_returns: 0,
            no_enter: 0,
            renumbered: 0,
            times_full: 0,
            amounts_full: 0,
            errors_full: 0,
            runq_unknown: 0,
            enter_filter_failed: 0,
            exit_filter_failed: 0,
        };
        Reading {
            counts,
            times: BTreeMap::new(),
            amounts: BTreeMap::new(),
            errors: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            missed: 0,
            hook: "tracepoint",
            sees_switches: true,
        }
    }

    fn ten_writes() -> Reading {
        let index = Sysno::write as u32;
        let mut now = reading();
        now.counts.entered[index as usize] = 10;
        now.counts.returned = 10;
        let mut times = NO_TIMES;
        (times.returned, times.sum_ns, times.off_ns, times.runq_ns) = (10, 10_000, 4_000, 1_000);
        times.latency[hist::bucket(1000) - FIRST_LATENCY] = 10;
        now.times.insert(index, times);
        let mut amounts = NO_AMOUNTS;
        (amounts.sum, amounts.small, amounts.amounts[0]) = (500, 6, 1);
        amounts.amounts[hist::bucket(100)] = 6;
        now.amounts.insert(index, amounts);
        now.errors.insert(error_key(index, 11), 2);
        now.errors.insert(error_key(index, 512), 1);
        now.errors.insert(error_key(index + 1, 2), 7);
        now
    }

    #[test]
    fn a_call_is_split_into_its_times_errors_and_bytes() {
        let block = ten_writes().since(&reading());
        let call = &block.by_name["write"];
        assert_eq!((call.count, call.sum_ns, call.latency_ns.count), (10, 10_000, 10));
        let split =
            [&call.oncpu_ns, &call.runq_ns, &call.blocked_ns].map(|part| *part.value().unwrap());
        assert_eq!(split, [6_000, 1_000, 3_000]);
        assert_eq!((call.errors.clone(), call.interrupted), ([("EAGAIN".into(), 2)].into(), 1));
        assert_eq!(call.eagain_ratio, Some(0.2));
        assert_eq!((call.bytes, call.small_writes, call.empty), (Some(500), Some(6), Some(1)));
        assert_eq!((call.events, block.by_name.len()), (None, 1), "what did not happen has no row");
        let nothing = ten_writes().since(&ten_writes());
        assert_eq!(nothing.by_name, BTreeMap::new());
    }

    #[test]
    fn what_could_not_be_told_apart_is_unavailable() {
        let mut now = ten_writes();
        now.counts.runq_unknown = 1;
        let call = now.since(&reading()).by_name["write"].clone();
        assert_eq!(call.oncpu_ns, Measured::Value(6_000));
        assert!(call.blocked_ns.why().is_some() && call.runq_ns.why().is_some());
        now.sees_switches = false;
        assert!(now.since(&reading()).by_name["write"].oncpu_ns.why().is_some());
    }

    #[test]
    fn an_error_without_a_name_keeps_its_number() {
        assert_eq!((errno_name(11), errno_name(4000)), ("EAGAIN".into(), "errno_4000".into()));
    }
}
