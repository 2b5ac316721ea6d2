//! `study`: lists the studies, runs one, shows again what was measured, or removes all but that.

mod clean;
mod results;
mod run;

use bench_user::cli::{StudyCommand, StudyListArgs};
use bench_user::report::{self, StudyResults};
use bench_user::study::table::{self, Records};
use bench_user::study::{Size, Study};

use serde_json::json;

use super::{Outcome, format, print, print_json};

/// Below a study's folder: a folder for every time it was run, with one for every part.
const RESULTS: &str = "results";

/// Ends the folder of results whose figures say nothing.
const SMOKE: &str = "-smoke";

pub(crate) fn run(command: &StudyCommand) -> anyhow::Result<Outcome> {
    match command {
        StudyCommand::List(args) => list(args),
        StudyCommand::Run(args) => run::run(args),
        StudyCommand::Results(args) => results::show_again(args),
        StudyCommand::Clean(args) => clean::clean(args),
    }
}

fn list(args: &StudyListArgs) -> anyhow::Result<Outcome> {
    let studies = Study::all()?;
    if args.json {
        let studies = studies.iter().map(|Study { name, manifest }| {
            let parts = manifest.parts.iter();
            let parts: Vec<_> =
                parts.map(|part| json!({ "name": part.name, "about": part.about })).collect();
            json!({
                "name": name,
                "title": manifest.title,
                "article": manifest.article,
                "runtimes": manifest.runtimes,
                "parts": parts,
                "sentences": manifest.sentences.len(),
            })
        });
        print_json(&studies.collect::<Vec<_>>())?;
        return Ok(Outcome::Done);
    }
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

/// Tells the results of one size from those of another.
const fn ending(size: Size) -> &'static str {
    match size {
        Size::Full => "",
        Size::Quick => "-quick",
        Size::Smoke => SMOKE,
    }
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
