//! How many threads the probes can keep in their books.
//!
//! The hash is allocated before the probes are attached, because memory cannot be had safely
//! inside a switch on older kernels: an entry takes about 250 bytes of the kernel's memory, so
//! 65,536 take 16 MiB.

use std::path::Path;

use bench_ebpf::abi::THREAD_SLOTS;

/// As many as are prepared for without a reason to expect more.
const USUAL: u32 = 65_536;

/// As many as are prepared for at all: 250 MiB.
const MOST: u32 = 1 << 20;

/// For all threads that the machine or the target may have, as far as that is no more than
/// [`USUAL`]; for four times those that the target has now, where that is more.
pub(super) fn for_threads(cgroup: &Path) -> u32 {
    let kernel = |name: &str| number(Path::new("/proc/sys/kernel").join(name).as_path());
    let may_have = [kernel("pid_max"), kernel("threads-max"), number(&cgroup.join("pids.max"))];
    slots(may_have, number(&cgroup.join("pids.current")))
}

fn slots(may_have: [Option<u64>; 3], has: Option<u64>) -> u32 {
    let bounded = |n: u64, most: u32| u32::try_from(n).unwrap_or(most).min(most);
    let usual = may_have.into_iter().flatten().min().map_or(USUAL, |n| bounded(n, USUAL));
    let expected = bounded(has.unwrap_or(0).saturating_mul(4), MOST);
    usual.max(expected).max(THREAD_SLOTS)
}

/// `None` where there is no such file, or no limit in it.
fn number(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_may_come_within_reason_and_for_what_is_there() {
        let small = [Some(32_768), Some(192_730), None];
        assert_eq!(slots(small, None), 32_768);
        assert_eq!(slots([Some(4_194_304), Some(500_000), None], Some(100)), USUAL);
        assert_eq!(slots([Some(4_194_304), Some(500_000), Some(20_000)], None), 20_000);
        assert_eq!(slots([None; 3], Some(100)), USUAL);
        assert_eq!(slots(small, Some(20_000)), 80_000, "what is there doubles twice");
        assert_eq!(slots([None; 3], Some(u64::MAX)), MOST);
        assert_eq!(slots([Some(100), None, None], None), THREAD_SLOTS);
    }
}
