//! The plans in `examples/`, which people copy: they must be what this version reads.

use std::fs;
use std::path::{Path, PathBuf};

use bench_user::claims;
use bench_user::plan::file;

fn plans() -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let folders = fs::read_dir(examples).expect("the folder of examples");
    folders.map(|entry| entry.expect("a folder").path().join("plan.toml")).collect()
}

#[test]
fn every_example_is_a_plan_whose_claims_can_be_checked() {
    let plans = plans();
    assert!(!plans.is_empty());
    for path in plans {
        let plan = file::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<_> = plan.targets.iter().map(|target| target.name.as_str()).collect();
        claims::validate(&plan.claims, &names)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!plan.claims.is_empty(), "{}", path.display());
    }
}

#[test]
fn the_files_that_an_example_runs_are_beside_its_plan() {
    for path in plans() {
        let plan = file::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let folder = path.parent().expect("a file is in a folder");
        for target in &plan.targets {
            let script = target.command.iter().flatten().next_back().expect("a command");
            assert!(folder.join(script).is_file(), "{}: {script}", target.name);
        }
    }
}
