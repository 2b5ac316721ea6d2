//! Of what threads wait in while they are off the CPU. Each map has one entry unless this is
//! asked for.

use aya_ebpf::{
    Global,
    macros::map,
    maps::{Array, HashMap, PerCpuArray},
};
use bench_ebpf::{
    abi::offcpu::{Counts, Entry},
    hist::BUCKETS,
};

/// Preallocated, as memory cannot be had safely inside `sched_switch` on older kernels. Keyed by
/// the address of the `task_struct`, which an exec does not change. An entry goes at the last
/// switch of its thread.
#[map]
pub(crate) static OFFCPU: HashMap<u64, Entry> = HashMap::with_max_entries(1, 0);

/// All zero: an entry is too big to be made on the stack.
#[map]
pub(crate) static OFFCPU_EMPTY: Array<Entry> = Array::with_max_entries(1, 0);

/// Where the iterator, of which one runs at a time, makes an entry or copies one.
#[map]
pub(crate) static OFFCPU_COPY: Array<Entry> = Array::with_max_entries(1, 0);

#[map]
pub(crate) static OFFCPU_COUNTS: PerCpuArray<Counts> = PerCpuArray::with_max_entries(1, 0);

#[map]
pub(crate) static OFFCPU_HIST: PerCpuArray<[u64; BUCKETS]> = PerCpuArray::with_max_entries(1, 0);

#[unsafe(no_mangle)]
pub(crate) static HAS_PT_REGS: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static STACK_REGS: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static REGS_CALL: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static CALL_IS_32: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static TASK_STACK: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static TASK_FLAGS: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static TASK_ON_CPU: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static STARTS_HELD: Global<u32> = Global::new(0);
