//! The rules of `[job]`: what a program that runs to its end can have, and what only a server can.

use super::{ensure, refuse};
use crate::plan::target::default_ready_within;
use crate::plan::{
    JobSpec, Ladder, LoadSpec, ObserveSpec, Plan, PlanError, StageSelector, StopRules, TargetSpec,
    ValidRules,
};

/// Work that can be divided by a time and be read by people.
const WORK: std::ops::RangeInclusive<f64> = 1e-6..=1e15;

/// Checks what the table says and that nothing in the plan is about requests.
pub(super) fn job(plan: &Plan, job: &JobSpec) -> Result<(), PlanError> {
    ensure(job.work.is_none_or(|work| WORK.contains(&work)), || {
        "`work` of the job must be from 0.000001 to 1e15: say how much one run does, in a unit that \
         suits it, or leave it out"
            .into()
    })?;
    ensure(job.unit.is_none() || job.work.is_some(), || {
        "the job has a `unit` and no `work`: say how much of it one run does".into()
    })?;
    ensure(!job.timeout.0.is_zero(), || {
        "`timeout` of the job is 0s, in which nothing can end: raise it".into()
    })?;
    let of_requests = [
        ("ladder", plan.ladder != Ladder::default()),
        ("load", plan.load != LoadSpec::default()),
        ("stop", plan.stop != StopRules::default()),
        ("valid", plan.valid != ValidRules::default()),
    ];
    if let Some((table, _)) = of_requests.iter().find(|(_, is_set)| *is_set) {
        return refuse(format!(
            "the plan has a [job], which gets no requests, and sets something of [{table}] \
             (or by a flag): take one of the two out"
        ));
    }
    ensure(plan.observe.max_overhead.is_none(), || {
        "`max_overhead` is held against a warm-up, which a [job] has not: take it out".into()
    })?;
    let observe = ObserveSpec::default();
    let between_stages = [
        ("control", plan.observe.control != observe.control),
        ("interval", plan.observe.interval != observe.interval),
    ];
    if let Some((key, _)) = between_stages.iter().find(|(_, is_set)| *is_set) {
        return refuse(format!(
            "`{key}` of [observe] (or its flag) is for the stages of a ladder, which a [job] has \
             not: take it out"
        ));
    }
    let has_time = |target: &&TargetSpec| target.ready_within != default_ready_within();
    if let Some(target) = plan.targets.iter().find(has_time) {
        return refuse(format!(
            "target \"{}\" is a job, which nobody waits for to get ready: take `ready_within` out",
            target.name
        ));
    }
    let of_ladder = plan.claims.iter().find(|claim| claim.stages != StageSelector::All);
    of_ladder.map_or(Ok(()), |claim| {
        refuse(format!(
            "claim \"{}\" names `stages`, and a [job] has no ladder: take them out",
            claim.id
        ))
    })
}

/// What a target has only in a plan with a job.
pub(super) fn not_of_a_job(target: &TargetSpec) -> Result<(), PlanError> {
    ensure(target.before.is_none(), || {
        format!(
            "target \"{}\" has `before`, which is for plans with a [job]: take it out",
            target.name
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::plan::{file, validate};

    const JOB: &str = "[job]\nwork = 5.0\nunit = \"records\"\ntimeout = \"1m\"\n";
    const TARGET: &str = "[[target]]\nname = \"a\"\ncommand = [\"true\"]\n";

    fn said(toml: &str) -> Result<(), String> {
        let plan = file::parse(toml, "the plan").unwrap();
        validate::plan(&plan).map_err(|error| error.to_string())
    }

    #[test]
    fn a_job_needs_a_command_and_no_address() {
        assert_eq!(said(&format!("{JOB}{TARGET}before = [\"rm\", \"-r\", \"x\"]")), Ok(()));
        assert_eq!(said(&format!("[job]\n{TARGET}cpus = 1.5\nmemory = \"64MiB\"")), Ok(()));
        for (more, sentence) in [
            ("url = \"http://127.0.0.1:1/\"", "is a job and gets no requests: take `url` out"),
            ("ready_within = \"5s\"", "take `ready_within` out"),
            ("ready = \"/\"", "is a job and gets no requests: take `ready` out"),
            ("before = []", "has an empty `before`"),
        ] {
            let why = said(&format!("{JOB}{TARGET}{more}")).unwrap_err();
            assert!(why.starts_with("target \"a\" ") && why.contains(sentence), "{why}");
        }
        for way in ["pid = 1", "builtin = \"lean\"", "unit = \"x\""] {
            let why = said(&format!("{JOB}[[target]]\nname = \"a\"\n{way}")).unwrap_err();
            assert!(why.contains("a job is a program: give it a `command`"), "{why}");
        }
    }

    #[test]
    fn what_a_job_has_not_is_refused_in_one_sentence() {
        for (toml, sentence) in [
            ("[job]\nwork = 0.0\n", "`work` of the job must be from 0.000001"),
            ("[job]\nunit = \"x\"\n", "has a `unit` and no `work`"),
            ("[job]\ntimeout = \"0s\"\n", "in which nothing can end"),
            ("[job]\n[ladder]\nconnections = [4]\n", "sets something of [ladder]"),
            ("[job]\n[load]\nworkers = 1\n", "sets something of [load]"),
            ("[job]\n[stop]\np99 = false\n", "sets something of [stop]"),
            ("[job]\n[valid]\nlive = 0.5\n", "sets something of [valid]"),
            ("[job]\n[observe]\ncontrol = false\n", "`control` of [observe]"),
            ("[job]\n[observe]\ninterval = \"2s\"\n", "`interval` of [observe]"),
            ("[job]\n[observe]\nmax_overhead = \"2%\"\n", "which a [job] has not"),
            (
                "[job]\n[[claim]]\nid = \"c\"\ncel = \"true\"\nstages = \"peak\"\n",
                "claim \"c\" names `stages`",
            ),
        ] {
            let why = said(&format!("{toml}{TARGET}")).unwrap_err();
            assert!(why.contains(sentence), "{toml}: {why}");
        }
    }

    #[test]
    fn what_only_a_job_has_is_refused_without_one() {
        let why = said(&format!("{TARGET}url = \"http://127.0.0.1:1/\"\nbefore = [\"true\"]"));
        assert!(why.unwrap_err().contains("is for plans with a [job]"));
    }
}
