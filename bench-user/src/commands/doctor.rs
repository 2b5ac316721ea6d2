//! `doctor`: what this machine can measure and what is missing.

use bench_user::cli::DoctorArgs;
use bench_user::host::doctor::{Capability, doctor, doctor_summary};
use bench_user::observe;

use super::{Outcome, print, print_json};

const PROBES_REMEDY: &str = "without them syscalls, switches and run-queue waits stay unavailable";

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<Outcome> {
    let probes = observe::try_probes().map_err(|why| (why, PROBES_REMEDY.to_owned()));
    let capabilities = doctor(vec![Capability::tried("probes", true, probes)]);
    let can_run = capabilities.iter().all(|capability| capability.works || !capability.needed);
    let outcome = if can_run { Outcome::Done } else { Outcome::Answered(2) };
    if args.json {
        print_json(&capabilities)?;
        return Ok(outcome);
    }
    print(|out| {
        for capability in &capabilities {
            let mark = if capability.works { "ok" } else { "no" };
            writeln!(out, "{mark}  {}: {}", capability.name, capability.why)?;
            if !capability.works && !capability.remedy.is_empty() {
                writeln!(out, "    {}", capability.remedy)?;
            }
        }
        writeln!(out, "\n{}", doctor_summary(&capabilities))
    })?;
    Ok(outcome)
}
