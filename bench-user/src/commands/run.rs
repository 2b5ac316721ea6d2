//! `run`: the main job.

use bench_user::claims;
use bench_user::cli::RunArgs;
use bench_user::ladder::{Interrupt, RunEnd};
use bench_user::plan::flags;
use bench_user::record::RunRecord;
use bench_user::report::{self, Format};

use super::recorder::Recorder;
use super::{Outcome, measure, print, say};

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Outcome> {
    let plan = flags::plan(args)?;
    measure::can_run(&plan, &args.view)?;
    let interrupt = Interrupt::install()?;
    let (recorder, ended) = measure::measure(&plan, args.out.as_deref(), &args.view, &interrupt)?;
    // What ended a run before its first stage says all that there is.
    if args.json || has_stages(&recorder.record) {
        show(args, &recorder.record)?;
    }
    let outcome = outcome(ended, &recorder);
    if outcome.is_err() && recorder.has_nothing() && recorder.dir.discard()? {
        recorder.say("nothing was measured: the run folder is removed again");
    }
    outcome
}

/// A run without claims is asked whether the ladders could be climbed; with claims, a target
/// that ended is a matter of what they say.
fn outcome(ended: anyhow::Result<RunEnd>, recorder: &Recorder) -> anyhow::Result<Outcome> {
    let record = &recorder.record;
    let dir = recorder.dir.path().display();
    let kept = if has_stages(record) {
        format!(" (finished stages are kept in {dir})")
    } else {
        String::new()
    };
    match (ended, recorder.death().or(recorder.failed_job())) {
        (Ok(RunEnd::Interrupted(signal)), _) => anyhow::bail!("{signal} ended the run{kept}"),
        (Err(error), _) => anyhow::bail!("{error:#}{kept}"),
        (Ok(RunEnd::Done), death) if !record.claims.is_empty() => {
            if let Some(sentence) = death {
                say(&format!("warning: {sentence}"));
            }
            Ok(Outcome::Answered(claims::exit_code(&record.claims)))
        }
        (Ok(RunEnd::Done), Some(sentence)) => anyhow::bail!("{sentence}{kept}"),
        (Ok(RunEnd::Done), None) => Ok(Outcome::Done),
    }
}

fn has_stages(record: &RunRecord) -> bool {
    record.targets.iter().any(|target| !target.stages.is_empty())
}

fn show(args: &RunArgs, record: &RunRecord) -> anyhow::Result<()> {
    let format = if args.json { Format::Json } else { Format::Text };
    print(|out| report::render(record, format, out))
}
