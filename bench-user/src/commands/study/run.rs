//! `study run`: sets a study up and runs its parts, each of which is kept however it ended.

use std::path::PathBuf;

use anyhow::Context as _;
use bench_user::cli::{StudyRunArgs, ViewArgs};
use bench_user::ladder::Interrupt;
use bench_user::plan::Plan;
use bench_user::study::table::{self, LowestPeak, Records};
use bench_user::study::{Contained, Part, Size, Study, Work, setup};
use bench_user::units::show_count;
use bench_user::{claims, clock, record};

use super::{RESULTS, answered, ending, show};
use crate::commands::{Outcome, measure, say, view};

pub(super) fn run(args: &StudyRunArgs) -> anyhow::Result<Outcome> {
    view::can_open(&args.view)?;
    let study = Study::named(&args.name)?;
    let size = size(args);
    let parts = chosen(&study, &args.part, size)?;
    anyhow::ensure!(
        rustix::process::geteuid().is_root(),
        "making and watching cgroups takes root: run it as `sudo bench-user study run {}`",
        study.name
    );
    let interrupt = Interrupt::install()?;
    // Before what takes minutes.
    let by = |name: &String| Contained::by(name, &study);
    let contained = args.engine.as_ref().map(by).transpose()?;
    let work = Work::unpack(&study, &args.dir)?;
    let tell = |line: &str| {
        if !args.view.quiet {
            say(line);
        }
    };
    setup::set_up(&study, &work, &mut |does| tell(&format!("{}: {does}", study.name)), &|| {
        interrupt.signal().is_some()
    })?;
    let id = record::new_id(&clock::wall_rfc3339(), fastrand::u32(..));
    let results = work.folder.join(RESULTS).join(format!("{id}{}", ending(size)));
    let mut runner = Runner {
        size,
        work: &work,
        contained,
        results,
        view: &args.view,
        interrupt: &interrupt,
        records: Records::new(),
    };
    let mut failed = Vec::new();
    for part in parts {
        tell(&format!("{}: part {}: {}", study.name, part.name, part.about));
        // The other parts can still be measured.
        if let Err(error) = runner.measure(part) {
            say(&format!("warning: part {}: {error:#}", part.name));
            failed.push(&*part.name);
        }
        if let Some(signal) = interrupt.signal() {
            let kept = runner.results.display();
            anyhow::bail!("{signal} ended the study (what is finished is in {kept})");
        }
    }
    let records = runner.records;
    show(&[answered(&study, size, &records)], args.format)?;
    anyhow::ensure!(
        failed.is_empty(),
        "not every part could be run ({}): the warnings above say why",
        failed.join(", ")
    );
    // Figures of fractions of a second answer nothing.
    let claims: Vec<_> = records.into_values().flat_map(|run| run.claims).collect();
    Ok(match size {
        Size::Smoke => Outcome::Done,
        Size::Full | Size::Quick => Outcome::Answered(claims::exit_code(&claims)),
    })
}

/// What the parts of a study are run with, and what came of them so far.
struct Runner<'a> {
    size: Size,
    work: &'a Work,
    contained: Option<Contained<'a>>,
    results: PathBuf,
    view: &'a ViewArgs,
    interrupt: &'a Interrupt,
    records: Records,
}

impl Runner<'_> {
    /// Runs one part and keeps its record, however it ended.
    fn measure(&mut self, part: &Part) -> anyhow::Result<()> {
        let plan = self.plan(part)?;
        measure::can_run(&plan, self.view)?;
        let out = self.results.join(&part.name);
        let (recorder, ended) = measure::measure(&plan, Some(&out), self.view, self.interrupt)?;
        let ill = recorder.death().or(recorder.failed_job());
        self.records.insert(part.name.clone(), recorder.record);
        ended?;
        match ill {
            Some(sentence) => anyhow::bail!(sentence),
            None => Ok(()),
        }
    }

    /// The plan of a part, with the rates that it takes of an earlier one, and as containers where
    /// that is asked for.
    fn plan(&mut self, part: &Part) -> anyhow::Result<Plan> {
        let mut plan = self.work.plan(part, self.size, rates(part, &self.records)?)?;
        if let Some(contained) = &mut self.contained {
            let commands = contained.contain(&mut plan, part, self.work)?;
            if !commands.is_empty() {
                say(&format!(
                    "warning: part {}: these stay commands, not containers: {}",
                    part.name,
                    commands.join(", ")
                ));
            }
        }
        Ok(plan)
    }
}

fn size(args: &StudyRunArgs) -> Size {
    match (args.quick, args.smoke) {
        (_, true) => Size::Smoke,
        (true, _) => Size::Quick,
        _ => Size::Full,
    }
}

/// The parts that were asked for, with those before them that they take rates of, in their order.
fn chosen<'s>(study: &'s Study, names: &[String], size: Size) -> anyhow::Result<Vec<&'s Part>> {
    let manifest = &study.manifest;
    let mut wanted: Vec<&str> = Vec::new();
    for name in names {
        let part = manifest.part(name).ok_or_else(|| study.no_part(name))?;
        wanted.push(&part.name);
        wanted.extend(part.rates.iter().map(|rates| &*rates.part));
    }
    let is_wanted = |part: &&Part| {
        (names.is_empty() || wanted.contains(&&*part.name))
            && !(size == Size::Smoke && part.not_in_smoke)
    };
    let parts: Vec<_> = manifest.parts.iter().filter(is_wanted).collect();
    anyhow::ensure!(!parts.is_empty(), "with --smoke none of these parts is run: take --quick");
    Ok(parts)
}

/// Rates of a part as shares of the lowest peak that another one found.
fn rates(part: &Part, records: &Records) -> anyhow::Result<Option<Vec<f64>>> {
    let Some(wanted) = &part.rates else { return Ok(None) };
    let peak = records.get(&wanted.part).and_then(table::lowest_peak);
    let LowestPeak { rps, is_peak } = peak.with_context(|| {
        format!("it takes its rates of part {}, in which a target served nothing", wanted.part)
    })?;
    if !is_peak {
        say(&format!(
            "warning: part {}: a target of part {} has no valid peak, so the rates are shares of \
             what it served there, {}/s",
            part.name,
            wanted.part,
            show_count(rps)
        ));
    }
    Ok(Some(wanted.shares.iter().map(|share| (share * rps).round().max(1.0)).collect()))
}
