//! `compare`: two stored runs, or targets or repetitions of them, side by side.

use std::path::Path;

use bench_user::cli::CompareArgs;
use bench_user::record::{self, RunRecord};
use bench_user::report::{self, Repetitions, Side};

use super::{Outcome, format, print};

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Outcome> {
    let (a, b) = (Named::read(&args.a)?, Named::read(&args.b)?);
    let (run_a, run_b) = (record::read(a.path)?, record::read(b.path)?);
    let (label_a, label_b) = (a.label(&run_a.id), b.label(&run_b.id));
    let (a, b) = (a.side(&label_a, &run_a), b.side(&label_b, &run_b));
    let tolerance = args.tolerance.map_or(0.0, |share| share.0);
    // Into memory first: an error here is about the two runs and not about the output.
    let mut page = Vec::new();
    let code = report::compare(&a, &b, format(args.format), tolerance, &mut page)?;
    print(|out| out.write_all(&page))?;
    Ok(if args.fail_on.is_some() { Outcome::Answered(code) } else { Outcome::Done })
}

/// A side as it is named: `RUN`, `RUN:TARGET`, either with `#REPETITIONS`.
struct Named<'a> {
    path: &'a Path,
    target: Option<&'a str>,
    repetitions: Option<Repetitions>,
}

impl<'a> Named<'a> {
    /// A path or a target may have a `#` in its name: repetitions are what reads as some.
    fn read(text: &'a str) -> anyhow::Result<Self> {
        let whole = |text, repetitions| {
            let (path, target) = run_and_target(text);
            Self { path, target, repetitions }
        };
        let Some((run, some)) = text.rsplit_once('#').filter(|_| !Path::new(text).exists()) else {
            return Ok(whole(text, None));
        };
        match some.parse::<Repetitions>() {
            Ok(repetitions) => Ok(whole(run, Some(repetitions))),
            Err(why) if Path::new(run).exists() => anyhow::bail!(why),
            Err(_part_of_a_name) => Ok(whole(text, None)),
        }
    }

    fn label(&self, id: &str) -> String {
        let run = label(self.path, id);
        self.repetitions.as_ref().map_or(run.to_owned(), |some| format!("{run}#{some}"))
    }

    fn side(&'a self, label: &'a str, run: &'a RunRecord) -> Side<'a> {
        Side { label, run, target: self.target, repetitions: self.repetitions.as_ref() }
    }
}

/// The name of the run's folder: who keeps runs side by side has named them. The id where the
/// path has no name, as `.` has none.
fn label<'a>(path: &'a Path, id: &'a str) -> &'a str {
    let is_file = path.ends_with("run.json") || path.ends_with("run.json.gz");
    let folder = if is_file { path.parent() } else { Some(path) };
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
    fn repetitions_follow_a_hash_and_are_in_the_label() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("week#2");
        std::fs::create_dir(&run).unwrap();
        let run = run.to_str().unwrap();
        let read = |text: &str| {
            Named::read(text)
                .map(|n| (n.path.to_path_buf(), n.target.map(str::to_owned), n.label("")))
        };
        let named = |target: Option<&str>, label: &str| {
            (Path::new(run).to_path_buf(), target.map(str::to_owned), label.to_owned())
        };
        assert_eq!(read(run).unwrap(), named(None, "week#2"));
        assert_eq!(read(&format!("{run}#1-5")).unwrap(), named(None, "week#2#1-5"));
        assert_eq!(read(&format!("{run}:a#b#3")).unwrap(), named(Some("a#b"), "week#2#3"));
        assert_eq!(read(&format!("{run}:a#b")).unwrap(), named(Some("a#b"), "week#2"));
        let said = read(&format!("{run}#first")).unwrap_err().to_string();
        assert_eq!(said, "`#first` names no repetitions: write #2, #1-5 or #1,3,5");
    }

    #[test]
    fn a_run_is_called_as_its_folder() {
        for path in ["before", "before/", "before/run.json", "before/run.json.gz"] {
            let path = format!("bench-runs/{path}");
            assert_eq!(label(Path::new(&path), "id"), "before", "{path}");
        }
        assert_eq!(label(Path::new("run.json"), "id"), "id");
        assert_eq!(label(Path::new("."), "id"), "id");
    }
}
