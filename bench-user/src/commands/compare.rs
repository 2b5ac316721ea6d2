//! `compare`: two stored runs, or targets of them, side by side.

use std::path::Path;

use bench_user::cli::CompareArgs;
use bench_user::record;
use bench_user::report::{self, Side};

use super::{Outcome, format, print};

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Outcome> {
    let (path_a, target_a) = run_and_target(&args.a);
    let (path_b, target_b) = run_and_target(&args.b);
    let (run_a, run_b) = (record::read(path_a)?, record::read(path_b)?);
    let a = Side { label: label(path_a, &run_a.id), run: &run_a, target: target_a };
    let b = Side { label: label(path_b, &run_b.id), run: &run_b, target: target_b };
    // Into memory first: an error here is about the two runs and not about the output.
    let mut page = Vec::new();
    report::compare(&a, &b, format(args.format), &mut page)?;
    print(|out| out.write_all(&page))?;
    Ok(Outcome::Done)
}

/// The name of the run's folder: who keeps runs side by side has named them. The id where the
/// path has no name, as `.` has none.
fn label<'a>(path: &'a Path, id: &'a str) -> &'a str {
    let folder = if path.ends_with("run.json") { path.parent() } else { Some(path) };
    folder.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or(id)
}

/// Splits `RUN:TARGET` behind the first part that is a path which exists: both a path and the
/// name of a target may hold colons.
fn run_and_target(text: &str) -> (&Path, Option<&str>) {
    if Path::new(text).exists() {
        return (Path::new(text), None);
    }
    text.match_indices(':')
        .map(|(at, _)| (Path::new(&text[..at]), Some(&text[at + 1..])))
        .find(|(path, _)| path.exists())
        .unwrap_or((Path::new(text), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_follows_the_colon_behind_an_existing_path() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("a:b");
        std::fs::create_dir(&run).unwrap();
        let run = run.to_str().unwrap();
        assert_eq!(run_and_target(run), (Path::new(run), None));
        let with_target = format!("{run}:127.0.0.1:80");
        assert_eq!(run_and_target(&with_target), (Path::new(run), Some("127.0.0.1:80")));
        assert_eq!(run_and_target("no/such:x"), (Path::new("no/such:x"), None));
    }

    #[test]
    fn a_run_is_called_as_its_folder() {
        for path in ["bench-runs/before", "bench-runs/before/", "bench-runs/before/run.json"] {
            assert_eq!(label(Path::new(path), "id"), "before", "{path}");
        }
        assert_eq!(label(Path::new("run.json"), "id"), "id");
        assert_eq!(label(Path::new("."), "id"), "id");
    }
}
