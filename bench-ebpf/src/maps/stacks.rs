//! Of stacks on the CPU and off it. Each map has one entry unless this is asked for.

use aya_ebpf::{
    macros::map,
    maps::{HashMap, PerCpuArray, PerCpuHashMap, StackTrace},
};
use bench_ebpf::abi::stacks::{Away, Blocked, StackCounts, StackKey};

#[map]
pub(crate) static STACK_COUNTS: PerCpuArray<StackCounts> = PerCpuArray::with_max_entries(1, 0);

/// One slot a hash of a stack, without chaining: what is there first stays.
#[map]
pub(crate) static STACK_TRACES: StackTrace = StackTrace::with_max_entries(1, 0);

/// Where the place was taken: few stacks come here, so next to none of them meets another.
#[map]
pub(crate) static STACK_SPILL: StackTrace = StackTrace::with_max_entries(1, 0);

// Preallocated, as the kernel demands of a program in a timer's interrupt; per CPU, because an
// atomic add cannot be written in Rust for this target.

#[map]
pub(crate) static STACKS_ON_CPU: PerCpuHashMap<StackKey, u64> =
    PerCpuHashMap::with_max_entries(1, 0);

#[map]
pub(crate) static STACKS_OFF_CPU: PerCpuHashMap<StackKey, Blocked> =
    PerCpuHashMap::with_max_entries(1, 0);

/// Threads take themselves out when they end, wherever that is, so the size bounds those alive. By
/// the address of the `task_struct`: an exec by another thread than the first changes its id while
/// it waits.
#[map]
pub(crate) static STACK_AWAY: HashMap<u64, Away> = HashMap::with_max_entries(1, 0);
