//! Every map: why this kind, why this many entries.
//!
//! Counters only grow; user space reads and subtracts and never clears. A per-CPU array of one
//! big value makes a reading one lookup, and an add needs no atomic because the hooks run with
//! preemption off or behind the kernel's recursion guard.

pub(crate) mod calls;
pub(crate) mod offcpu;
pub(crate) mod runq;
pub(crate) mod softirq;
pub(crate) mod stacks;
pub(crate) mod tasks;
pub(crate) mod uring;

use aya_ebpf::{
    Global,
    macros::map,
    maps::{CgroupArray, HashMap, PerCpuArray},
};
use bench_ebpf::abi::{
    SchedCounts, SyscallCounts, THREAD_SLOTS, ThreadEntry, ThreadKey, globals::NO_OFFSET,
};

/// The target's directory of the v2 tree.
#[map]
pub(crate) static TARGET: CgroupArray = CgroupArray::with_max_entries(1, 0);

#[map]
pub(crate) static SYSCALLS: PerCpuArray<SyscallCounts> = PerCpuArray::with_max_entries(1, 0);

#[map]
pub(crate) static SCHED: PerCpuArray<SchedCounts> = PerCpuArray::with_max_entries(1, 0);

/// Preallocated, because memory cannot be had safely inside `sched_switch` on older kernels. A
/// thread that ends moves into the ring of ended threads, so the size bounds the threads alive;
/// while that ring is full it stays here until user space takes it out.
#[map]
pub(crate) static THREADS: HashMap<ThreadKey, ThreadEntry> =
    HashMap::with_max_entries(THREAD_SLOTS, 0);

/// Where the entry of a thread that is seen first is put together.
#[map]
pub(crate) static BORN: PerCpuArray<ThreadEntry> = PerCpuArray::with_max_entries(1, 0);

// Read-only data that the loader fills and the kernel freezes: the verifier sees constants, and
// refuses an offset that does not meet a member of the kernel's own type. Those that a program can
// do without are `NO_OFFSET` where the kernel has no such member.

#[unsafe(no_mangle)]
pub(crate) static COMPAT_STATUS: Global<u32> = Global::new(NO_OFFSET);
#[unsafe(no_mangle)]
pub(crate) static HAS_TYPED_TASK: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static STATE: Global<u32> = Global::new(NO_OFFSET);
#[unsafe(no_mangle)]
pub(crate) static START_BOOTTIME: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static RUN_DELAY: Global<u32> = Global::new(NO_OFFSET);
#[unsafe(no_mangle)]
pub(crate) static PCOUNT: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static SUM_EXEC: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static NVCSW: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static NIVCSW: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static WATCHING_SINCE: Global<u64> = Global::new(u64::MAX);
