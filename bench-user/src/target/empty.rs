//! Empties cgroups that we made and removes them: every process in them is killed.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::cgroup::{CgroupError, admit};
use super::owner::{ADOPTED, PARENT, owner_is_dead};
use super::write_file;
use crate::clock;
use crate::host::{CgroupTrees, children, processes_below};

/// How long killed processes may take to go and the kernel to let go of a directory.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Between two looks; freeing the memory of a large process takes several of them.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Kills what is in `dirs` (one cgroup, in every tree) and removes them.
///
/// # Errors
/// When a process survives or a directory cannot be removed.
pub(super) fn remove(dirs: &[PathBuf]) -> Result<(), CgroupError> {
    let deadline = clock::now_ns() + PATIENCE_NS;
    // One write that also ends whoever forks faster than we can read a list (v2 since 5.14).
    for dir in dirs.iter().filter(|dir| dir.join("cgroup.kill").exists()) {
        if let Err(error) = write_file(&dir.join("cgroup.kill"), "1") {
            log::debug!("{}: {error}", dir.display());
        }
    }
    while let alive @ [_, ..] = kill_all(dirs).as_slice() {
        if clock::now_ns() > deadline {
            return Err(CgroupError::Alive(alive.to_vec()));
        }
        thread::sleep(LOOK_AGAIN);
    }
    dirs.iter().try_for_each(|dir| remove_tree(dir, deadline))
}

/// Removes the directories of a run that hold nothing any more, and then those of all runs.
pub(super) fn remove_parents(run_dirs: &[PathBuf]) {
    for dir in run_dirs.iter().flat_map(|run| [Some(run.as_path()), run.parent()]).flatten() {
        match fs::remove_dir(dir) {
            Ok(()) => {}
            // Other targets or other runs are in it: the last one removes it.
            Err(error) => log::debug!("{} stays: {error}", dir.display()),
        }
    }
}

/// Removes the cgroups of earlier runs whose process is gone, with everything in them, from
/// every tree, and names those runs.
#[must_use]
pub fn remove_leftovers() -> Vec<String> {
    let trees = match CgroupTrees::discover() {
        Ok(trees) => trees,
        Err(error) => {
            log::warn!("cannot look for leftovers of earlier runs: {error}");
            return Vec::new();
        }
    };
    let parents: Vec<PathBuf> = trees.mounts().iter().map(|mount| mount.join(PARENT)).collect();
    let found = parents.iter().flat_map(|parent| children(parent));
    let mut names: Vec<String> = found
        .filter_map(|dir| Some(dir.file_name()?.to_str()?.to_owned()))
        .filter(|name| owner_is_dead(name) == Some(true))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| {
        let dirs: Vec<PathBuf> =
            parents.iter().map(|p| p.join(name)).filter(|dir| dir.is_dir()).collect();
        let strangers_left = trees.v2.as_deref().is_some_and(|mount| !let_go(mount, &dirs));
        if strangers_left {
            log::warn!("{PARENT}/{name} stays: adopted processes in it could not be moved");
            return false;
        }
        let removed = remove(&dirs);
        remove_parents(&dirs);
        removed.inspect_err(|e| log::warn!("a leftover of an earlier run stays: {e}")).is_ok()
    });
    names
}

/// Moves the strangers that a dead run had adopted to the root of the v2 tree; whether all went.
fn let_go(mount: &Path, run_dirs: &[PathBuf]) -> bool {
    let is_adopted =
        |dir: &PathBuf| dir.as_os_str().as_encoded_bytes().ends_with(ADOPTED.as_bytes());
    let adopted: Vec<PathBuf> =
        run_dirs.iter().flat_map(|run| children(run)).filter(is_adopted).collect();
    adopted.iter().all(|dir| {
        for pid in processes_below(dir).unwrap_or_default() {
            if let Err(error) = admit(pid, mount) {
                log::debug!("{error}");
            }
        }
        processes_below(dir).is_ok_and(|left| left.is_empty())
    })
}

/// The processes of one cgroup, and of those below it, in any of its trees, ascending.
pub(super) fn processes(dirs: &[PathBuf]) -> Vec<u32> {
    let lists = dirs.iter().filter_map(|dir| processes_below(dir).ok());
    let mut pids: Vec<u32> = lists.flatten().collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Sends SIGKILL to every process below `dirs` and gives those that were there.
fn kill_all(dirs: &[PathBuf]) -> Vec<u32> {
    let list = || {
        let mut pids = processes(dirs);
        pids.retain(|pid| *pid != std::process::id());
        pids
    };
    // A pid may be another process by the time it is signalled: hold it first, and signal only
    // what is listed again.
    let held: Vec<(u32, OwnedFd)> =
        list().into_iter().filter_map(|pid| Some((pid, open(pid)?))).collect();
    let alive = list();
    for (pid, process) in &held {
        if alive.contains(pid)
            && let Err(error) = pidfd_send_signal(process, Signal::KILL)
        {
            log::debug!("kill {pid}: {error}");
        }
    }
    alive
}

fn open(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Removes a cgroup and those that its processes made below it, the deepest first.
fn remove_tree(dir: &Path, deadline: u64) -> Result<(), CgroupError> {
    for child in children(dir) {
        remove_tree(&child, deadline)?;
    }
    loop {
        match fs::remove_dir(dir) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            // The kernel still counts a process that is just going.
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && clock::now_ns() < deadline => {
                thread::sleep(LOOK_AGAIN);
            }
            Err(e) => return Err(CgroupError::Remove(dir.to_owned(), e)),
        }
    }
}
