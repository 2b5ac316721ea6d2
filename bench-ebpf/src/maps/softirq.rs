//! Of time in softirqs.

use aya_ebpf::{macros::map, maps::PerCpuArray};
use bench_ebpf::abi::softirq::Counts;

#[map]
pub(crate) static SOFTIRQ: PerCpuArray<Counts> = PerCpuArray::with_max_entries(1, 0);
