//! Arithmetic with the kernel's books of a thread, figure by figure.

use bench_ebpf::abi::Books;

fn each(a: Books, b: Books, f: impl Fn(u64, u64) -> u64) -> Books {
    Books {
        run_delay: f(a.run_delay, b.run_delay),
        pcount: f(a.pcount, b.pcount),
        sum_exec: f(a.sum_exec, b.sum_exec),
        nvcsw: f(a.nvcsw, b.nvcsw),
        nivcsw: f(a.nivcsw, b.nivcsw),
    }
}

pub(super) fn later(a: Books, b: Books) -> Books {
    each(a, b, u64::max)
}

pub(super) fn plus(a: Books, b: Books) -> Books {
    each(a, b, |a, b| a + b)
}

/// Books only grow; a figure that went back (an exec that took over another thread's id) adds
/// nothing rather than a number near 2^64.
pub(in crate::observe) fn minus(a: Books, b: Books) -> Books {
    each(a, b, u64::saturating_sub)
}
