//! Of syscalls from enter to return. Each map has one entry unless this is asked for.

use aya_ebpf::{
    Global,
    macros::map,
    maps::{Array, HashMap, PerCpuArray, PerCpuHashMap},
};
use bench_ebpf::abi::{
    calls::{Call, CallAmounts, CallCounts, CallTimes},
    globals::NO_OFFSET,
};

/// Keyed by the address of the `task_struct`.
#[map]
pub(crate) static CALLS: HashMap<u64, Call> = HashMap::with_max_entries(1, 0);
#[map]
pub(crate) static CALL_KINDS: Array<u32> = Array::with_max_entries(1, 0);
#[map]
pub(crate) static CALL_COUNTS: PerCpuArray<CallCounts> = PerCpuArray::with_max_entries(1, 0);

// Preallocated hashes: a value appears at the first call of its name, and a per-CPU array of all
// 514 would take 2.3 MiB on every CPU.
#[map]
pub(crate) static CALL_TIMES: PerCpuHashMap<u32, CallTimes> = PerCpuHashMap::with_max_entries(1, 0);
#[map]
pub(crate) static CALL_AMOUNTS: PerCpuHashMap<u32, CallAmounts> =
    PerCpuHashMap::with_max_entries(1, 0);
#[map]
pub(crate) static CALL_ERRORS: PerCpuHashMap<u32, u64> = PerCpuHashMap::with_max_entries(1, 0);

/// Never written: new values are copied from here, because they do not fit on the stack.
#[map]
pub(crate) static CALL_ZERO: Array<CallTimes> = Array::with_max_entries(1, 0);

#[unsafe(no_mangle)]
pub(crate) static CALL_NUMBER: Global<u32> = Global::new(NO_OFFSET);
