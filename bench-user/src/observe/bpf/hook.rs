//! Which hook counts syscalls.

use bench_ebpf::abi::programs;

/// First kernel series whose BTF tracepoint on `sys_enter` skips events when it is preempted.
/// Measured on Debian's kernels with a million calls of four threads on two CPUs, three times each
/// (`cargo xtask vm-test 7.1 7.2 --preempt lazy --preempt full -- hooks::`): exact on 5.10, 6.1 and
/// 6.12, on 6.19 with `preempt=full`, and on 7.0 and 7.1 with `lazy` and `full`; 1 to 5 % skipped on
/// 7.2 with either and on 7.3. The classic tracepoint was exact on all of them.
const PREEMPTED_SINCE: (u32, u32) = (7, 2);

/// Which hook counts syscalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// `sys_enter` as a BTF tracepoint: the cheaper one.
    BtfTracePoint,
    /// `raw_syscalls:sys_enter` as a classic tracepoint: it cannot be preempted, and needs no
    /// type information.
    ClassicTracePoint,
}

impl Hook {
    /// As the record names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BtfTracePoint => "btf-tracepoint",
            Self::ClassicTracePoint => "tracepoint",
        }
    }

    /// Name of the program that is attached to it.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::BtfTracePoint => programs::SYS_ENTER_BTF,
            Self::ClassicTracePoint => programs::SYS_ENTER_CLASSIC,
        }
    }

    /// The one that is exact on a kernel of this release.
    pub(super) fn for_kernel(release: &str) -> Self {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < PREEMPTED_SINCE => {
                Self::BtfTracePoint
            }
            _ => Self::ClassicTracePoint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_follows_the_kernel() {
        for (release, hook) in [
            ("5.10.0-46-cloud-amd64", Hook::BtfTracePoint),
            ("6.18.44", Hook::BtfTracePoint),
            ("7.1.13+deb13", Hook::BtfTracePoint),
            ("7.2.0", Hook::ClassicTracePoint),
            ("7.3.4+deb13", Hook::ClassicTracePoint),
            ("odd", Hook::ClassicTracePoint),
        ] {
            assert_eq!(Hook::for_kernel(release), hook, "{release}");
        }
    }
}
