//! Of who holds the CPU while threads wait for it. Each map has one entry unless this is asked
//! for.

use aya_ebpf::{
    Global,
    macros::map,
    maps::{Array, HashMap, PerCpuArray, PerCpuHashMap},
};
use bench_ebpf::{
    abi::runq::{Counts, Holder},
    queue::{Cpu, Wait},
};

/// By CPU and not per-CPU: a wake-up is on the waker's CPU and needs the account of another. It
/// is written under the lock of that CPU's run queue only.
#[map]
pub(crate) static RUNQ_CPUS: Array<Cpu> = Array::with_max_entries(1, 0);

/// Preallocated. Keyed by the address of the `task_struct`; an entry goes at the last switch of
/// its thread.
#[map]
pub(crate) static RUNQ_WAITS: HashMap<u64, Wait> = HashMap::with_max_entries(1, 0);

/// Preallocated.
#[map]
pub(crate) static RUNQ_HOLDERS: PerCpuHashMap<Holder, u64> = PerCpuHashMap::with_max_entries(1, 0);

#[map]
pub(crate) static RUNQ_COUNTS: PerCpuArray<Counts> = PerCpuArray::with_max_entries(1, 0);

#[unsafe(no_mangle)]
pub(crate) static RQ_CPU: Global<u32> = Global::new(0);
