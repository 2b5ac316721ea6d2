//! `study results`: the tables of the last runs again, from their records alone.

use std::path::{Path, PathBuf};

use bench_user::cli::StudyResultsArgs;
use bench_user::record::{self, RunRecord};
use bench_user::study::table::Records;
use bench_user::study::{Size, Study, StudyError};

use super::{RESULTS, SMOKE, answered, ending, show};
use crate::commands::{Outcome, say};

pub(super) fn show_again(args: &StudyResultsArgs) -> anyhow::Result<Outcome> {
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
        "no study was run in {} but with --smoke, which leaves no results: run one with `sudo \
         bench-user study run NAME`, or name the folder with --dir",
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

/// The size of what is in a folder of results.
fn size_of(folder: &Path) -> Size {
    let is = |size: &Size| folder.to_string_lossy().ends_with(ending(*size));
    [Size::Smoke, Size::Quick].into_iter().find(is).unwrap_or(Size::Full)
}
