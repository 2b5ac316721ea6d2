//! Which way a metric is better, for verdicts in words. Names only, as in `catalogue`.

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// Which way a metric of the analysis is better; `None` for those that only say that something is
/// other than it was, such as CPU time used by a closed loop, which rises with the rate.
#[must_use]
pub fn better(metric: &str) -> Option<Better> {
    match metric {
        "load.achieved_rps" | "load.events.per_sec" | "job.work_per_sec" => Some(Better::Higher),
        "load.events.first_event_ns.p50"
        | "load.events.gap_ns.p99"
        | "error_ratio"
        | "non_2xx_ratio"
        | "syscalls.per_request"
        | "sched.per_request"
        | "sched.voluntary_per_request"
        | "sched.involuntary_per_request"
        | "cpu_ns_per_request"
        | "cgroup.memory_peak_bytes"
        | "cgroup.memory_current_bytes"
        | "memory_bytes_per_connection"
        | "net.accept_queue_max"
        | "job.wall_ns"
        | "job.cpu_ns"
        | "syscalls.total"
        | "syscalls.stat_family"
        | "sched.switches" => Some(Better::Lower),
        _ if metric.starts_with("load.response_ns.") => Some(Better::Lower),
        _ if metric.starts_with("sched.runqlat_ns.") => Some(Better::Lower),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::catalogue;
    use crate::plan::Level;

    #[test]
    fn what_rises_with_the_rate_alone_is_neither_better_nor_worse() {
        let names = ["cgroup.cpu_ratio", "syscalls.per_sec", "threads.count", "no.such.metric"];
        assert!(names.iter().all(|name| better(name).is_none()));
        assert_eq!(better("load.achieved_rps"), Some(Better::Higher));
        assert_eq!(better("load.response_ns.p99"), Some(Better::Lower));
        assert_eq!(better("sched.runqlat_ns.p50"), Some(Better::Lower));
        let known = catalogue::of_level(Level::JOB).filter(|m| better(m.name).is_some()).count();
        assert_eq!(known, 27, "each name above is one of the catalogue");
    }
}
