//! A cgroup of our own: made in every tree, limited, and in the end removed with all in it.
//!
//! It lies at `bench-user/RUN-PID-STARTTICKS/TARGET` under the root of the v2 tree and of every
//! v1 tree whose controller is watched or limits. On a machine with v2 alone the controllers
//! are enabled in the `cgroup.subtree_control` of the root, where they are not, and of our own
//! two parents; nothing else outside our own directories is written. In a container whose cgroup
//! holds its processes they stay as they are, and what they would count is unavailable.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use procfs::ProcError;
use rustix::io::Errno;

use super::delegate;
use super::empty;
use super::limits::{self, Limits};
use super::owner::{ADOPTED, PARENT, file_name, run_dir};
use super::{ControllerDir, write_file};
use crate::host::{CgroupTrees, is_kept_by_processes};
use crate::measured::Measured;

/// The controllers whose files are read, or whose limits are set.
pub(super) const CONTROLLERS: [&str; 6] =
    ["cpu", "cpuacct", "cpuset", "memory", "perf_event", "pids"];

/// Attempts at a directory whose parent another run may be removing at the same time.
const ATTEMPTS: u32 = 5;

/// Why a cgroup could not be made, filled or removed.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// `/proc` could not be read.
    #[error("cannot look up the cgroups of this machine: {0}; is /proc mounted?")]
    Proc(#[from] ProcError),
    /// There is no tree at all.
    #[error("no cgroup tree is mounted; mount one with `mount -t cgroup2 none /sys/fs/cgroup`")]
    NoTree,
    /// A directory could not be made.
    #[error("cannot make the cgroup {0}: {1}; it takes root (sudo) and a writable cgroup tree")]
    Make(PathBuf, io::Error),
    /// A limit was refused.
    #[error("cannot limit the {what} to {value} ({}): {source}", file.display())]
    Limit {
        /// What is limited, in words.
        what: &'static str,
        /// The value that was written.
        value: String,
        /// The file that it was written to.
        file: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A limit that this machine cannot set.
    #[error("cannot limit the {0}: no cgroup tree here has the `{1}` controller; leave it out")]
    NoController(&'static str, &'static str),
    /// A limit whose controller stops above us.
    #[error(
        "cannot limit the {0}: {2} holds processes of its own and hands no `{1}` controller down; \
         leave it out and limit the container, or move those processes into a cgroup below first"
    )]
    NotHandedDown(&'static str, &'static str, PathBuf),
    /// A process could not be moved.
    #[error("cannot move process {0} into the cgroup {1}: {2}{hint}", hint = admit_hint(.2))]
    Admit(u32, PathBuf, io::Error),
    /// Processes that even SIGKILL did not end in time.
    #[error("processes {0:?} are still alive after SIGKILL; their cgroup stays until the next run")]
    Alive(Vec<u32>),
    /// A directory could not be removed.
    #[error("cannot remove the cgroup {0}: {1}; the next run will try again")]
    Remove(PathBuf, io::Error),
}

/// A cgroup that we made; dropping it kills what is in it and removes it.
#[derive(Debug)]
pub struct OwnCgroup {
    v2: Option<PathBuf>,
    controllers: BTreeMap<String, ControllerDir>,
    /// Its directory in every tree.
    dirs: Vec<PathBuf>,
    /// The run's directory in every tree.
    parents: Vec<PathBuf>,
}

impl OwnCgroup {
    /// Makes the cgroup of target `name` in all trees and sets its limits.
    ///
    /// # Errors
    /// When a directory cannot be made or a limit cannot be set; nothing is left behind then.
    pub fn create(
        trees: &CgroupTrees,
        run_id: &str,
        name: &str,
        limits: &Limits,
    ) -> Result<Self, CgroupError> {
        let run = Path::new(PARENT).join(run_dir(run_id)?);
        let name = &file_name(name);
        let mut own = Self::nowhere();
        if let Some(mount) = &trees.v2 {
            let dir = own.make(mount, &run, name)?;
            delegate::controllers(&dir, mount);
            for controller in words(&dir.join("cgroup.controllers")) {
                if CONTROLLERS.contains(&controller.as_str()) {
                    let place = ControllerDir { path: dir.clone(), is_v1: false };
                    own.controllers.insert(controller, place);
                }
            }
            own.v2 = Some(dir);
        }
        for controller in CONTROLLERS {
            let Some(mount) = trees.v1.get(controller) else { continue };
            let dir = own.make(mount, &run, name)?;
            if controller == "cpuset" {
                limits::inherit_cpuset(mount, &dir)?;
            }
            let place = ControllerDir { path: dir, is_v1: true };
            own.controllers.insert(controller.to_owned(), place);
        }
        if own.dirs.is_empty() {
            return Err(CgroupError::NoTree);
        }
        limits::apply(limits, &own.controllers).map_err(|error| match (error, &trees.v2) {
            (CgroupError::NoController(what, controller), Some(mount))
                if is_kept_by_processes(mount) =>
            {
                CgroupError::NotHandedDown(what, controller, mount.clone())
            }
            (error, _) => error,
        })?;
        Ok(own)
    }

    /// Makes a cgroup in the v2 tree alone, to watch a stranger's processes, whose limits stay
    /// elsewhere.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn create_for_adopted(
        mount: &Path,
        run_id: &str,
        name: &str,
    ) -> Result<Self, CgroupError> {
        let run = Path::new(PARENT).join(run_dir(run_id)?);
        let mut own = Self::nowhere();
        own.v2 = Some(own.make(mount, &run, &(file_name(name) + ADOPTED))?);
        Ok(own)
    }

    /// Makes one in the v2 tree alone that stays empty.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create_empty(mount: &Path, run_id: &str, name: &str) -> Result<Self, CgroupError> {
        let run = Path::new(PARENT).join(run_dir(run_id)?);
        let mut own = Self::nowhere();
        own.v2 = Some(own.make(mount, &run, &file_name(name))?);
        Ok(own)
    }

    const fn nowhere() -> Self {
        Self { v2: None, controllers: BTreeMap::new(), dirs: Vec::new(), parents: Vec::new() }
    }

    /// Trees that share a mount point share the directory.
    fn make(&mut self, mount: &Path, run: &Path, name: &str) -> Result<PathBuf, CgroupError> {
        let parent = mount.join(run);
        let dir = parent.join(name);
        if self.dirs.contains(&dir) {
            return Ok(dir);
        }
        for attempt in 1.. {
            let made = fs::create_dir_all(&parent).and_then(|()| {
                if !self.parents.contains(&parent) {
                    self.parents.push(parent.clone());
                }
                fs::create_dir(&dir)
            });
            match made {
                Ok(()) => break,
                Err(e) if e.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {}
                Err(e) => return Err(CgroupError::Make(dir, e)),
            }
        }
        self.dirs.push(dir.clone());
        Ok(dir)
    }

    /// The v2 directory, or why there is none.
    #[must_use]
    pub fn v2(&self) -> Measured<PathBuf> {
        self.v2.clone().ok_or(super::NO_V2).into()
    }

    /// Where each controller's files are.
    #[must_use]
    pub const fn controllers(&self) -> &BTreeMap<String, ControllerDir> {
        &self.controllers
    }

    /// Its directory in every tree.
    #[must_use]
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Moves a process into it, in every tree.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn admit(&self, pid: u32) -> Result<(), CgroupError> {
        self.dirs.iter().try_for_each(|dir| admit(pid, dir))
    }

    /// The processes in it and below it, in any tree.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        empty::processes(&self.dirs)
    }

    /// Gives it up: it stays, with what is in it.
    pub(super) fn leave(&mut self) {
        self.dirs.clear();
        self.parents.clear();
    }

    /// Kills what is in it and removes it from every tree; the run's own directories go with
    /// the last of them.
    ///
    /// # Errors
    /// When a process survives or a directory cannot be removed.
    pub fn remove(&mut self) -> Result<(), CgroupError> {
        let (dirs, parents) = (std::mem::take(&mut self.dirs), std::mem::take(&mut self.parents));
        let removed = empty::remove(&dirs);
        empty::remove_parents(&parents);
        removed
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            log::warn!("{error}");
        }
    }
}

fn admit_hint(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::OPNOTSUPP) => {
            "; a cgroup above it holds processes and hands controllers down all the same: take \
             those out of its cgroup.subtree_control, or move the processes into a cgroup below"
        }
        _ => "",
    }
}

/// Moves a process into `dir`.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn admit(pid: u32, dir: &Path) -> Result<(), CgroupError> {
    write_file(&dir.join("cgroup.procs"), &pid.to_string())
        .map_err(|e| CgroupError::Admit(pid, dir.to_owned(), e))
}

/// The words of a cgroup file; none when it cannot be read.
pub(super) fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}
