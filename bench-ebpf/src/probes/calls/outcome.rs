//! What a returned call took, how it failed, what it brought.

use aya_ebpf::maps::PerCpuHashMap;
use bench_ebpf::abi::{
    calls::{
        AMOUNT_BUCKETS, Call, CallCounts, FIRST_LATENCY, LATENCY_BUCKETS, SMALL_WRITE, error_key,
        kinds,
    },
    globals::NO_OFFSET,
};

use super::now_ns;
use crate::maps::RUN_DELAY;
use crate::maps::calls::{CALL_AMOUNTS, CALL_ERRORS, CALL_TIMES, CALL_ZERO};
use crate::{compiler, task};

#[inline(always)]
pub(super) fn time(counts: &mut CallCounts, call: &Call) {
    let Some(times) = value_of(&CALL_TIMES, call.index) else {
        counts.times_full += 1;
        return;
    };
    let latency = now_ns().saturating_sub(call.since_ns);
    // The scheduler's clock is not ours to the nanosecond, so neither part may pass the whole.
    let off = call.off_ns.min(latency);
    times.returned += 1;
    times.sum_ns += latency;
    if off > 0 {
        times.off_ns += off;
        times.runq_ns += match waited(call) {
            _ if call.has_blocked == 0 => off,
            Some(waited) => waited.min(off),
            None => {
                counts.runq_unknown += 1;
                0
            }
        };
    }
    let bucket = compiler::bucket(latency).saturating_sub(FIRST_LATENCY);
    let bucket = if bucket < LATENCY_BUCKETS { bucket } else { LATENCY_BUCKETS - 1 };
    times.latency[bucket] += 1;
}

/// How long the current thread has waited for a CPU since it first left one in this call. Its
/// books are brought up to date when it comes back (kernel/sched/stats.h, `sched_info_arrive`),
/// so they are exact now. `None` where this kernel does not let them be read.
#[inline(always)]
fn waited(call: &Call) -> Option<u64> {
    let offset = RUN_DELAY.load();
    if offset == NO_OFFSET {
        return None;
    }
    Some(task::load_current::<u64>(offset)?.saturating_sub(call.run_delay_ns))
}

#[inline(always)]
pub(super) fn outcome(counts: &mut CallCounts, call: &Call, result: i64) {
    if (-4095..0).contains(&result) {
        let key = error_key(call.index, -result as u32);
        match CALL_ERRORS.get_ptr_mut(key) {
            // SAFETY: a per-CPU value, which only this program adds to.
            Some(n) => unsafe { *n += 1 },
            None if CALL_ERRORS.insert(key, 1, 0).is_err() => counts.errors_full += 1,
            None => {}
        }
    } else if call.kind >= kinds::EVENTS && result >= 0 {
        let Some(amounts) = value_of(&CALL_AMOUNTS, call.index) else {
            counts.amounts_full += 1;
            return;
        };
        let amount = result as u64;
        amounts.sum += amount;
        amounts.small +=
            u64::from(call.kind == kinds::WRITES && (1..SMALL_WRITE).contains(&amount));
        let bucket = compiler::bucket(amount);
        let bucket = if bucket < AMOUNT_BUCKETS { bucket } else { AMOUNT_BUCKETS - 1 };
        amounts.amounts[bucket] += 1;
    }
}

/// The value of an index on this CPU, made when it is not there yet.
#[inline(always)]
fn value_of<'a, V>(map: &PerCpuHashMap<u32, V>, index: u32) -> Option<&'a mut V> {
    let found = match map.get_ptr_mut(index) {
        Some(found) => Some(found),
        None => {
            let zero = CALL_ZERO.get_ptr(0)?.cast::<V>();
            // SAFETY: the larger of the two kinds of value lies there, and zeroes are one of
            // either. That another CPU was faster is no failure.
            map.insert(index, unsafe { &*zero }, 1).ok();
            map.get_ptr_mut(index)
        }
    };
    // SAFETY: a per-CPU value, which only the return of a call adds to.
    found.map(|value| unsafe { &mut *value })
}
