//! `study`: lists the studies, runs one, or shows again what was measured.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bench_user::cli::{StudyCommand, StudyResultsArgs, StudyRunArgs};
use bench_user::ladder::{Interrupt, RunEnd};
use bench_user::plan::Plan;
use bench_user::record::{self, RunRecord};
use bench_user::report::StudyResults;
use bench_user::study::table::{self, Records};
use bench_user::study::{Contained, Part, Size, Study, StudyError, Work, setup};
use bench_user::{claims, clock, report};

use super::recorder::Recorder;
use super::{Outcome, format, measure, print, say};

/// Below a study's folder: a folder for every time it was run, with one for every part.
const RESULTS: &str = "results";

pub(crate) fn run(command: &StudyCommand) -> anyhow::Result<Outcome> {
    match command {
        StudyCommand::List => list(),
        StudyCommand::Run(args) => run_one(args),
        StudyCommand::Results(args) => results(args),
    }
}

fn list() -> anyhow::Result<Outcome> {
    let studies = Study::all()?;
    print(|out| {
        for Study { name, manifest } in &studies {
            writeln!(out, "{name}: {}", manifest.title)?;
            for part in &manifest.parts {
                writeln!(out, "  {}: {}", part.name, part.about)?;
            }
        }
        Ok(())
    })?;
    Ok(Outcome::Done)
}

fn run_one(args: &StudyRunArgs) -> anyhow::Result<Outcome> {
    let study = Study::named(&args.name)?;
    let size = size(args);
    let parts = chosen(&study, &args.part, size)?;
    anyhow::ensure!(
        rustix::process::geteuid().is_root(),
        "making and watching cgroups takes root: run it as `sudo bench-user study run {}`",
        study.name
    );
    let interrupt = Interrupt::install()?;
    let work = Work::unpack(&study, &args.dir)?;
    let tell = |line: &str| {
        if !args.quiet {
            say(line);
        }
    };
    setup::set_up(&study, &work, &mut |does| tell(&format!("{}: {does}", study.name)), &|| {
        interrupt.signal().is_some()
    })?;
    let by = |name: &String| Contained::by(name, &study);
    let mut contained = args.engine.as_ref().map(by).transpose()?;
    let id = record::new_id(&clock::wall_rfc3339(), fastrand::u32(..));
    let results = work.folder.join(RESULTS).join(format!("{id}{}", ending(size)));
    let mut records = Records::new();
    let mut failed = Vec::new();
    for part in parts {
        tell(&format!("{}: part {}: {}", study.name, part.name, part.about));
        let out = results.join(&part.name);
        let plan = plan(part, &work, size, &records).and_then(|mut plan| {
            match &mut contained {
                Some(contained) => contained.contain(&mut plan, part, &work)?,
                None => {}
            }
            Ok(plan)
        });
        let measured = plan.and_then(|plan| {
            let run = || measure::measure(&plan, Some(&out), args.quiet, &interrupt);
            measured(part, &plan, &mut records, run)
        });
        // The other parts can still be measured.
        if let Err(error) = measured {
            say(&format!("warning: part {}: {error:#}", part.name));
            failed.push(&*part.name);
        }
        if let Some(signal) = interrupt.signal() {
            let kept = results.display();
            anyhow::bail!("{signal} ended the study (what is finished is in {kept})");
        }
    }
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

/// The plan of a part, with the rates that it takes of an earlier one.
fn plan(part: &Part, work: &Work, size: Size, records: &Records) -> anyhow::Result<Plan> {
    Ok(work.plan(part, size, rates(part, records)?)?)
}

/// Runs one part and keeps its record, however it ended.
fn measured(
    part: &Part,
    plan: &Plan,
    records: &mut Records,
    run: impl FnOnce() -> anyhow::Result<(Recorder, anyhow::Result<RunEnd>)>,
) -> anyhow::Result<()> {
    measure::can_run(plan)?;
    let (recorder, ended) = run()?;
    let death = recorder.death().or(recorder.failed_job());
    records.insert(part.name.clone(), recorder.record);
    ended?;
    match death {
        Some(sentence) => anyhow::bail!(sentence),
        None => Ok(()),
    }
}

/// Tells the results of one size from those of another.
const fn ending(size: Size) -> &'static str {
    match size {
        Size::Full => "",
        Size::Quick => "-quick",
        Size::Smoke => SMOKE,
    }
}

/// The size of what is in a folder of results.
fn size_of(folder: &Path) -> Size {
    let is = |size: &Size| folder.to_string_lossy().ends_with(ending(*size));
    [Size::Smoke, Size::Quick].into_iter().find(is).unwrap_or(Size::Full)
}

/// Ends the folder of results whose figures say nothing.
const SMOKE: &str = "-smoke";

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
    let peaks = records.get(&wanted.part).and_then(table::lowest_peak);
    let peak = peaks.with_context(|| {
        format!("it takes its rates of part {}, which has no peak", wanted.part)
    })?;
    Ok(Some(wanted.shares.iter().map(|share| (share * peak).round().max(1.0)).collect()))
}

fn results(args: &StudyResultsArgs) -> anyhow::Result<Outcome> {
    let studies = match &args.names[..] {
        [] => Study::all()?,
        names => names.iter().map(|name| Study::named(name)).collect::<Result<_, StudyError>>()?,
    };
    let mut found = Vec::new();
    for study in studies {
        let folder = args.dir.join(&study.name).join(RESULTS);
        let Some(last) = last(&folder) else {
            anyhow::ensure!(
                args.names.is_empty(),
                "no results of the study {} in {}: run `sudo bench-user study run {0}` first",
                study.name,
                folder.display()
            );
            continue;
        };
        say(&format!("{}: from {}", study.name, last.display()));
        let records = records(&study, &last)?;
        found.push((study, size_of(&last), records));
    }
    anyhow::ensure!(
        !found.is_empty(),
        "no study was run in {}: run one with `sudo bench-user study run NAME`, or name the folder \
         with --dir",
        args.dir.display()
    );
    let found: Vec<_> =
        found.iter().map(|(study, size, records)| answered(study, *size, records)).collect();
    show(&found, args.format)?;
    Ok(Outcome::Done)
}

/// The newest folder of results, but for those whose figures say nothing; their names begin with the
/// date.
fn last(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| !path.to_string_lossy().ends_with(SMOKE)).max()
}

fn records(study: &Study, folder: &Path) -> anyhow::Result<Records> {
    let mut records = Records::new();
    for part in &study.manifest.parts {
        let run = folder.join(&part.name);
        if run.is_dir() {
            let run: RunRecord = record::read(&run)?;
            records.insert(part.name.clone(), run);
        }
    }
    Ok(records)
}

fn answered<'r>(study: &'r Study, size: Size, records: &'r Records) -> StudyResults<'r> {
    StudyResults {
        name: &study.name,
        title: &study.manifest.title,
        article: &study.manifest.article,
        size: size.name(),
        runs: records,
        sentences: table::rows(&study.manifest, records),
    }
}

fn show(studies: &[StudyResults<'_>], wanted: bench_user::cli::Format) -> anyhow::Result<()> {
    print(|out| report::studies(studies, format(wanted), out))
}
