//! Metrics of a program that runs to its end, and those that such a stage cannot have: what is
//! about requests, and anything at all of a run that failed.

use super::computed::measured;
use crate::record::{JobRun, StageRecord};

/// Why a stage of load has no figure of a job.
pub(super) const NO_JOB: &str = "the stage is one of load; jobs are of a plan with [job]";

const NO_REQUESTS: &str = "a job has no requests";

/// Why a figure that stands in a stage says nothing there; `None` where it does.
pub(super) fn says_nothing(stage: &StageRecord, name: &str) -> Option<String> {
    let job = stage.job.as_ref()?;
    if let Some(failed) = &job.failed {
        return Some(format!("`{name}`: the job {failed}"));
    }
    is_of_requests(name).then(|| format!("`{name}` has no value: {NO_REQUESTS}"))
}

/// What a metric of the client's side, or of the time before and after a load, begins with.
const OF_LOAD: [&str; 4] = ["load.", "start.", "after.", "climb."];

fn is_of_requests(name: &str) -> bool {
    OF_LOAD.iter().any(|block| name.starts_with(block))
        || name.ends_with("per_request")
        || matches!(name, "error_ratio" | "non_2xx_ratio" | "memory_bytes_per_connection")
}

/// User and system time of its cgroup, ns.
pub(super) fn cpu_ns(stage: &StageRecord) -> Result<f64, String> {
    stage.job.as_ref().ok_or(NO_JOB)?;
    let cgroup = &stage.cgroup;
    let parts = [&cgroup.user_ns, &cgroup.system_ns].map(|part| measured(part).copied());
    let [user, system] = parts;
    #[expect(clippy::cast_precision_loss, reason = "a job takes far less than 2^53 ns")]
    let ns = (user? + system?) as f64;
    Ok(ns)
}

/// Work over wall time, per second.
pub(super) fn work_per_sec(stage: &StageRecord) -> Result<f64, String> {
    let JobRun { wall_ns, work, .. } = stage.job.as_ref().ok_or(NO_JOB)?;
    let work = work.ok_or("the plan's [job] does not say how much `work` one run does")?;
    #[expect(clippy::cast_precision_loss, reason = "a job takes far less than 2^53 ns")]
    let seconds = *wall_ns as f64 / 1e9;
    if seconds > 0.0 { Ok(work / seconds) } else { Err("it took no time".to_owned()) }
}

#[cfg(test)]
mod tests {
    use crate::analyze::builder::{a_job, a_stage};
    use crate::analyze::metrics::value;

    #[test]
    fn a_job_has_its_time_its_work_and_what_the_kernel_counted() {
        let stage = a_job(2.0);
        assert_eq!(value(&stage, "job.wall_ns"), Ok(2e9));
        assert_eq!(value(&stage, "job.work_per_sec"), Ok(500.0));
        assert_eq!(value(&stage, "syscalls.total"), Ok(40_000.0));
        let cpus = value(&stage, "job.cpu_ns").unwrap() / value(&stage, "job.wall_ns").unwrap();
        assert_eq!(value(&stage, "cgroup.cpu_ratio"), Ok(cpus));
        assert_eq!(value(&stage, "syscalls.per_sec"), Ok(20_000.0));
        let mut silent = stage;
        silent.job.as_mut().unwrap().work = None;
        let why = value(&silent, "job.work_per_sec").unwrap_err();
        assert!(why.contains("does not say how much `work`"), "{why}");
    }

    #[test]
    fn nothing_is_said_of_requests_that_a_job_has_not() {
        for name in [
            "load.achieved_rps",
            "load.response_ns.p99",
            "syscalls.per_request",
            "syscalls.by_name.read.per_request",
            "sched.voluntary_per_request",
            "cpu_ns_per_request",
            "error_ratio",
            "memory_bytes_per_connection",
        ] {
            let why = value(&a_job(2.0), name).unwrap_err();
            assert!(why.contains("a job has no requests"), "{name}: {why}");
        }
        let why = value(&a_stage(10), "job.wall_ns").unwrap_err();
        assert!(why.contains("the stage is one of load"), "{why}");
        let why = value(&a_job(2.0), "job.wall_n").unwrap_err();
        assert!(why.contains("the nearest is `job.wall_ns`"), "{why}");
    }

    #[test]
    fn a_failed_run_has_no_figures() {
        let mut stage = a_job(2.0);
        stage.job.as_mut().unwrap().failed = Some("failed: exit code 3".into());
        for name in ["job.wall_ns", "syscalls.total", "cgroup.cpu_ratio"] {
            let why = value(&stage, name).unwrap_err();
            assert!(why.ends_with("the job failed: exit code 3"), "{why}");
        }
    }
}
