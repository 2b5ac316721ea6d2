//! The texts of cgroup files, apart from reading them.

/// A limit that a cgroup file states.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Limit<T> {
    /// Up to this much.
    At(T),
    /// The file says that there is none.
    None,
}

/// v1 has no word for "no limit": it shows the largest page-aligned value of a signed long,
/// which depends on the page size. No machine has as much memory as a quarter of that.
const V1_NO_LIMIT_BYTES: u64 = 1 << 61;

/// A file that holds one number.
pub(super) fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The number beside `key` in a file of `key value` lines.
pub(super) fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        if name == key { number(value) } else { None }
    })
}

/// `cpu.max` of v2, in CPUs: `max 100000` or `50000 100000`, both in microseconds.
pub(super) fn cpu_max(text: &str) -> Option<Limit<f64>> {
    let (quota, period) = text.trim().split_once(' ')?;
    cpus(quota, period, "max")
}

/// `cpu.cfs_quota_us` and `cpu.cfs_period_us` of v1, in CPUs; a quota of -1 is none.
pub(super) fn cfs_quota(quota: &str, period: &str) -> Option<Limit<f64>> {
    cpus(quota.trim(), period, "-1")
}

fn cpus(quota: &str, period: &str, none: &str) -> Option<Limit<f64>> {
    let period_us: f64 = period.trim().parse().ok().filter(|period| *period > 0.0)?;
    if quota == none {
        return Some(Limit::None);
    }
    let quota_us: u32 = quota.parse().ok()?;
    Some(Limit::At(f64::from(quota_us) / period_us))
}

/// `memory.max` of v2 or `memory.limit_in_bytes` of v1, bytes.
pub(super) fn memory_limit(text: &str) -> Option<Limit<u64>> {
    match text.trim() {
        "max" => Some(Limit::None),
        text => match text.parse().ok()? {
            V1_NO_LIMIT_BYTES.. => Some(Limit::None),
            bytes => Some(Limit::At(bytes)),
        },
    }
}

/// `total=` of the `some` or `full` line of a pressure file, microseconds.
pub(super) fn pressure_total_us(text: &str, line: &str) -> Option<u64> {
    let fields = text.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(' '))?;
    fields.split(' ').find_map(|field| number(field.strip_prefix("total=")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2_CPU_STAT: &str = "usage_usec 2500123\nuser_usec 2000100\nsystem_usec 500023\n\
        nice_usec 0\nnr_periods 31\nnr_throttled 12\nthrottled_usec 601234\n";
    const V1_CPU_STAT: &str =
        "nr_periods 31\nnr_throttled 12\nthrottled_time 601234567\nnr_bursts 0\nburst_time 0\n";

    #[test]
    fn the_books_of_v2_and_v1_are_found_by_their_whole_key() {
        assert_eq!(keyed(V2_CPU_STAT, "user_usec"), Some(2_000_100));
        assert_eq!(keyed(V2_CPU_STAT, "throttled_usec"), Some(601_234));
        assert_eq!(keyed(V2_CPU_STAT, "throttled_time"), None);
        assert_eq!(keyed(V1_CPU_STAT, "throttled_time"), Some(601_234_567));
        assert_eq!(keyed("oom_kill_disable 1\nunder_oom 0\noom_kill 3\n", "oom_kill"), Some(3));
        assert_eq!(keyed("low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n", "oom_kill"), Some(1));
    }

    #[test]
    fn a_quota_is_in_cpus_and_may_be_none() {
        assert_eq!(cpu_max("50000 100000\n"), Some(Limit::At(0.5)));
        assert_eq!(cpu_max("max 100000\n"), Some(Limit::None));
        assert_eq!(cfs_quota("250000\n", "100000\n"), Some(Limit::At(2.5)));
        assert_eq!(cfs_quota("-1\n", "100000\n"), Some(Limit::None));
        for broken in ["", "max", "x 100000", "50000 0"] {
            assert_eq!(cpu_max(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_huge_memory_limit_of_v1_is_none_on_any_page_size() {
        assert_eq!(memory_limit("max\n"), Some(Limit::None));
        assert_eq!(memory_limit("9223372036854771712\n"), Some(Limit::None));
        assert_eq!(memory_limit("9223372036854710272\n"), Some(Limit::None));
        assert_eq!(memory_limit("536870912\n"), Some(Limit::At(536_870_912)));
        assert_eq!(memory_limit("much\n"), None);
    }

    #[test]
    fn the_total_of_each_pressure_line_is_found() {
        let text = "some avg10=1.33 avg60=1.53 avg300=3.10 total=36454033\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n";
        assert_eq!(pressure_total_us(text, "some"), Some(36_454_033));
        assert_eq!(pressure_total_us(text, "full"), Some(17));
        // CPU pressure had no `full` line before 5.13.
        assert_eq!(pressure_total_us("some avg10=0.00 total=1\n", "full"), None);
    }
}
