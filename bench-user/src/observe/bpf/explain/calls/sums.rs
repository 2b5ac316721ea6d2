//! Values of several CPUs as one.

use bench_ebpf::abi::calls::{CallAmounts, CallCounts, CallTimes};

use crate::observe::bpf::counts::add;

/// Each field of one CPU to the same of the others.
pub(super) fn add_counts(sum: &mut CallCounts, cpu: &CallCounts) {
    add(&mut sum.entered, &cpu.entered);
    sum.returned += cpu.returned;
    sum.never_return += cpu.never_return;
    sum.replaced += cpu.replaced;
    sum.calls_full += cpu.calls_full;
    sum.died += cpu.died;
    sum.child_returns += cpu.child_returns;
    sum.no_enter += cpu.no_enter;
    sum.renumbered += cpu.renumbered;
    sum.times_full += cpu.times_full;
    sum.amounts_full += cpu.amounts_full;
    sum.errors_full += cpu.errors_full;
    sum.runq_unknown += cpu.runq_unknown;
    sum.enter_filter_failed += cpu.enter_filter_failed;
    sum.exit_filter_failed += cpu.exit_filter_failed;
}

/// As [`add_counts`].
pub(super) fn add_times(sum: &mut CallTimes, cpu: &CallTimes) {
    sum.returned += cpu.returned;
    sum.sum_ns += cpu.sum_ns;
    sum.off_ns += cpu.off_ns;
    sum.runq_ns += cpu.runq_ns;
    add(&mut sum.latency, &cpu.latency);
}

/// As [`add_counts`].
pub(super) fn add_amounts(sum: &mut CallAmounts, cpu: &CallAmounts) {
    sum.sum += cpu.sum;
    sum.small += cpu.small;
    add(&mut sum.amounts, &cpu.amounts);
}
