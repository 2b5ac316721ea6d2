//! Of work given to io_uring.

use aya_ebpf::{Global, macros::map, maps::PerCpuArray};
use bench_ebpf::abi::uring::{UringCounts, globals::BY_VALUE};

#[map]
pub(crate) static URING: PerCpuArray<UringCounts> = PerCpuArray::with_max_entries(1, 0);

#[unsafe(no_mangle)]
pub(crate) static URING_OPCODE_ARG: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static URING_OPCODE: Global<u32> = Global::new(BY_VALUE);
#[unsafe(no_mangle)]
pub(crate) static URING_RESULT_ARG: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static URING_RESULT: Global<u32> = Global::new(BY_VALUE);
