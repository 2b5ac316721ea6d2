//! A study's servers as containers: makes an image for every runtime on this machine, turns the
//! commands of a plan into containers of them, and removes the images when it is dropped, however
//! the study ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::files::{Study, StudyError};
use super::layer;
use super::manifest::Part;
use super::work::{Work, failed};
use crate::plan::{Plan, TargetSpec};
use crate::target::{Engine, EngineError, mark};

/// The names of our images begin so.
const PREFIX: &str = "bench-user-study/";

/// The engine of a study and the images that it was given.
pub struct Contained<'s> {
    engine: Engine,
    /// As plans name it.
    name: String,
    study: &'s Study,
    /// By runtime and folder.
    images: BTreeMap<(String, PathBuf), String>,
}

impl<'s> Contained<'s> {
    /// Of the engine `name`: `docker`, `podman`, or the path of a socket. Removes images that studies
    /// which were killed have left there.
    ///
    /// # Errors
    /// When no such engine answers.
    pub fn by(name: &str, study: &'s Study) -> Result<Self, StudyError> {
        let cannot = |error: EngineError| StudyError::Setup(error.to_string());
        let engine = Engine::named(name).map_err(cannot)?;
        for left in engine.remove_left_images(PREFIX).map_err(cannot)? {
            log::warn!("removed the image {left}, which a study that was killed had left");
        }
        Ok(Self { engine, name: name.to_owned(), study, images: BTreeMap::new() })
    }

    /// Turns every target of a plan that is a command of one of the study's runtimes into a
    /// container; services stay what they are. The image is made when it is first needed. Gives the
    /// names of the targets that stay commands: jobs, and programs that are no runtime.
    ///
    /// # Errors
    /// That an image cannot be made.
    pub fn contain(
        &mut self,
        plan: &mut Plan,
        part: &Part,
        work: &Work,
    ) -> Result<Vec<String>, StudyError> {
        let is_job = plan.job.is_some();
        let mut commands = Vec::new();
        let runtimes = &self.study.manifest.runtimes;
        let shared: Vec<String> =
            part.shared.iter().map(|path| volume(&work.folder.join(path))).collect();
        for target in &mut plan.targets {
            let program = target.command.as_ref().and_then(|command| command.first());
            let runtime = program.filter(|program| !is_job && runtimes.contains(program));
            let Some(runtime) = runtime.cloned() else {
                commands.push(target.name.clone());
                continue;
            };
            let folder = target.dir.clone().unwrap_or_else(|| work.folder.clone());
            target.image = Some(self.image(&runtime, folder, work)?);
            target.engine = Some(self.name.clone());
            target.volumes = shared.clone();
            path_inside(target, work);
        }
        Ok(commands)
    }

    fn image(&mut self, runtime: &str, folder: PathBuf, work: &Work) -> Result<String, StudyError> {
        let key = (runtime.to_owned(), folder);
        if let Some(made) = self.images.get(&key) {
            return Ok(made.clone());
        }
        let link = work.programs().join(runtime);
        let program = std::fs::canonicalize(&link).map_err(|cause| failed("find", &link, cause))?;
        let mut archive = tempfile::tempfile_in(&work.folder)
            .map_err(|cause| failed("write in", &work.folder, cause))?;
        layer::write(&mut archive, &program, &link, &key.1)?;
        std::io::Seek::rewind(&mut archive)
            .map_err(|cause| failed("read in", &work.folder, cause))?;
        let number = self.images.len() + 1;
        // Names this process, so that a later one knows an image that was left.
        let tag =
            mark(&number.to_string()).map_err(|error| StudyError::Setup(error.to_string()))?;
        let reference = format!("{PREFIX}{}-{runtime}:{tag}", self.study.name);
        let cannot =
            |error| StudyError::Setup(format!("cannot make the image {reference}: {error}"));
        self.engine.import(archive, &reference, &[] as &[&str]).map_err(cannot)?;
        self.images.insert(key, reference.clone());
        Ok(reference)
    }
}

impl Drop for Contained<'_> {
    fn drop(&mut self) {
        for reference in self.images.values() {
            if let Err(error) = self.engine.remove_image(reference) {
                log::warn!("the image {reference} is left behind: {error}");
            }
        }
    }
}

/// A folder of the host, at the same place inside.
fn volume(path: &Path) -> String {
    format!("{0}:{0}", path.display())
}

/// The PATH of the host means nothing inside but for the runtimes.
fn path_inside(target: &mut TargetSpec, work: &Work) {
    target.env.insert("PATH".into(), work.programs().display().to_string());
}
