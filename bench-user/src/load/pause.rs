//! How long a connection waits after a failure before it tries again.

/// First pause after a failure, ns; it doubles with every further one in a row.
const PAUSE_FIRST_NS: u64 = 1_000_000;

/// Longest pause, ns. A dead target costs each connection ten attempts a second and no CPU.
const PAUSE_LONGEST_NS: u64 = 100_000_000;

/// The pause after so many failures in a row, ns.
pub(super) fn pause_ns(failures_in_a_row: u32) -> u64 {
    let doublings = failures_in_a_row.saturating_sub(1).min(16);
    (PAUSE_FIRST_NS << doublings).min(PAUSE_LONGEST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_one_millisecond_to_a_hundred() {
        let ms: Vec<_> = [1, 2, 3, 7, 8, 40, u32::MAX].map(|n| pause_ns(n) / 1_000_000).into();
        assert_eq!(ms, [1, 2, 4, 64, 100, 100, 100]);
    }
}
