//! A study's working folder: the files that were built into the program, unpacked where the user
//! can read and change them, and the plans of its parts as they are run here.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::files::{RUNTIMES, Study, StudyError, bytes, files_below};
use super::manifest::{Part, Size};
use crate::host::owner::{Owner, make_file, make_folder, owner_from_sudo};
use crate::plan::{Plan, file};

/// The working folder of one study, beside that of the runtimes.
#[derive(Debug)]
pub struct Work {
    /// The study's own folder.
    pub folder: PathBuf,
    /// That of the runtimes.
    pub runtimes: PathBuf,
    pub(super) owner: Option<Owner>,
}

impl Work {
    /// Unpacks a study below `root`. A file that is as it should be is left alone, so that what was
    /// built from it stays fresh; one that differs is written anew.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn unpack(study: &Study, root: &Path) -> Result<Self, StudyError> {
        let root = std::path::absolute(root).map_err(|cause| failed("find", root, cause))?;
        let owner = owner_from_sudo();
        let work = Self { folder: root.join(&study.name), runtimes: root.join(RUNTIMES), owner };
        for (name, folder) in [(&*study.name, &work.folder), (RUNTIMES, &work.runtimes)] {
            for path in files_below(name) {
                if let Some(bytes) = bytes(&format!("{name}/{path}")) {
                    work.put(&folder.join(&path), &bytes)?;
                }
            }
        }
        Ok(work)
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
        if fs::read(path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        let cannot = |cause| failed("write", path, cause);
        if let Some(folder) = path.parent() {
            make_folder(folder, self.owner).map_err(cannot)?;
        }
        let mut file = make_file(path, self.owner).map_err(cannot)?;
        std::io::Write::write_all(&mut file, bytes).map_err(cannot)
    }

    /// The folder with the programs of the runtimes, for `PATH`.
    #[must_use]
    pub fn programs(&self) -> PathBuf {
        self.runtimes.join("bin")
    }

    /// Our `PATH` with the runtimes first.
    pub(super) fn path(&self) -> String {
        let inherited = std::env::var("PATH").unwrap_or_default();
        format!("{}:{inherited}", self.programs().display())
    }

    /// The plan of a part, as it is run at this size: its file with the changes of the manifest, and
    /// every command with the runtimes first in its `PATH`.
    ///
    /// # Errors
    /// That the plan cannot be read, or is none after the changes.
    pub fn plan(
        &self,
        part: &Part,
        size: Size,
        rates: Option<Vec<f64>>,
    ) -> Result<Plan, StudyError> {
        let path = self.folder.join(&part.plan);
        let fault = |problem: String| StudyError::Plan { part: part.name.clone(), problem };
        let text = fs::read_to_string(&path).map_err(|cause| failed("read", &path, cause))?;
        let mut table: Table = toml::from_str(&text).map_err(|error| fault(error.to_string()))?;
        lay_over(&mut table, &part.with);
        if size != Size::Full {
            lay_over(&mut table, &part.quick);
        }
        if size == Size::Smoke {
            lay_over(&mut table, &part.smoke);
        }
        if let Some(rates) = rates {
            let rates = rates.into_iter().map(Value::Float).collect();
            let ladder = table.entry("ladder").or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(ladder) = ladder {
                ladder.insert("rates".into(), Value::Array(rates));
            }
        }
        let changed = table.to_string();
        let mut plan =
            file::read_text(&changed, &path).map_err(|error| fault(error.to_string()))?;
        self.lead_paths(&mut plan);
        Ok(plan)
    }

    fn lead_paths(&self, plan: &mut Plan) {
        let path = self.path();
        let targets = plan.targets.iter_mut().filter(|target| target.command.is_some());
        let services = plan.services.iter_mut().map(|service| &mut service.env);
        for env in targets.map(|target| &mut target.env).chain(services) {
            env.entry("PATH".into()).or_insert_with(|| path.clone());
        }
    }
}

/// Sets the keys of `upper`; tables are merged, also into each table of a list, and everything else is
/// replaced.
fn lay_over(lower: &mut Table, upper: &Table) {
    for (key, value) in upper {
        match (lower.get_mut(key), value) {
            (Some(Value::Table(lower)), Value::Table(upper)) => lay_over(lower, upper),
            (Some(Value::Array(list)), Value::Table(upper)) => {
                let tables = list.iter_mut().filter_map(Value::as_table_mut);
                tables.for_each(|lower| lay_over(lower, upper));
            }
            _ => {
                lower.insert(key.clone(), value.clone());
            }
        }
    }
}

pub(super) fn failed(doing: &'static str, path: &Path, cause: std::io::Error) -> StudyError {
    StudyError::Io { doing, path: path.display().to_string(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_merged_into_tables_and_replace_everything_else() {
        let table = |text: &str| toml::from_str::<Table>(text).unwrap();
        let mut plan = table("repeat = 7\n[ladder]\nconnections = [1, 2]\nduration = '30s'\n");
        lay_over(&mut plan, &table("repeat = 3\n[ladder]\nconnections = [4]\n"));
        assert_eq!(plan, table("repeat = 3\n[ladder]\nconnections = [4]\nduration = '30s'\n"));
    }

    #[test]
    fn a_table_over_a_list_changes_each_table_of_it() {
        let table = |text: &str| toml::from_str::<Table>(text).unwrap();
        let mut plan =
            table("[[target]]\nname = 'a'\nenv = { N = '9', P = 'x' }\n[[target]]\nname = 'b'");
        lay_over(&mut plan, &table("target = { env = { N = '1' } }"));
        let changed = "[[target]]\nname = 'a'\nenv = { N = '1', P = 'x' }\n\
                       [[target]]\nname = 'b'\nenv = { N = '1' }";
        assert_eq!(plan, table(changed));
    }

    #[test]
    fn what_a_study_starts_finds_the_runtimes_first() {
        let root = tempfile::tempdir().unwrap();
        let study = Study::named("llm-proxy").unwrap();
        let work = Work::unpack(&study, root.path()).unwrap();
        let plan = work.plan(study.manifest.part("through").unwrap(), Size::Full, None).unwrap();
        let first = format!("{}:", work.programs().display());
        let targets = plan.targets.iter().map(|target| &target.env);
        let services = plan.services.iter().map(|service| &service.env);
        assert!(!plan.services.is_empty());
        assert!(targets.chain(services).all(|env| env["PATH"].starts_with(&first)));
    }

    #[test]
    fn every_plan_of_every_study_is_one_at_every_size() {
        let root = tempfile::tempdir().unwrap();
        for study in Study::all().unwrap() {
            let work = Work::unpack(&study, root.path()).unwrap();
            for part in &study.manifest.parts {
                for size in [Size::Full, Size::Quick, Size::Smoke] {
                    let rates = part.rates.as_ref().map(|_| vec![1000.0]);
                    let plan = work.plan(part, size, rates).unwrap();
                    crate::plan::validate::plan(&plan).unwrap();
                    let names: Vec<_> = plan.targets.iter().map(|t| &*t.name).collect();
                    crate::claims::validate(&plan.claims, &names).unwrap();
                }
            }
        }
    }
}
