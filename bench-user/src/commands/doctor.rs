//! `doctor`: what this machine can measure and what is missing.

use bench_user::cli::DoctorArgs;
use bench_user::host::doctor::{doctor, doctor_summary};
use bench_user::observe;

use super::{Outcome, print, print_json, say};

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<Outcome> {
    let capabilities = doctor(observe::self_test());
    let can_run = capabilities.iter().all(|capability| capability.works || !capability.needed);
    let outcome = if can_run { Outcome::Done } else { Outcome::Answered(2) };
    if args.json {
        print_json(&capabilities)?;
        say(&doctor_summary(&capabilities));
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
