//! Moves running processes into a v2 cgroup of ours, and back in the end.
//!
//! For a target that has no cgroup of its own. Only the v2 tree is touched: its limits, where
//! it has some, lie in trees that stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::TargetError;
use super::cgroup::{CgroupError, OwnCgroup, admit};
use crate::host::CgroupTrees;

/// Rounds of looking for processes that were forked while others were being moved.
const ROUNDS: u32 = 16;

/// Processes in a cgroup of ours; dropping it moves them back and removes the cgroup.
#[derive(Debug)]
pub(super) struct Adopted {
    cgroup: OwnCgroup,
    dir: PathBuf,
    /// Where each process came from.
    origins: BTreeMap<u32, PathBuf>,
    /// Where the main process came from, for those that were born here.
    home: PathBuf,
}

impl Adopted {
    /// Moves `pid` and all that descend from it.
    ///
    /// # Errors
    /// When we ourselves are among them, or the kernel refuses.
    pub(super) fn adopt(
        pid: u32,
        mount: &Path,
        run_id: &str,
        name: &str,
        trees: &CgroupTrees,
    ) -> Result<Self, TargetError> {
        if family(pid)?.contains(&std::process::id()) {
            return Err(TargetError::Ancestor(pid));
        }
        let place = |pid| trees.of_process(pid).ok().and_then(|places| places.v2);
        let home = place(pid).ok_or(TargetError::NoProcess(pid))?;
        let cgroup = OwnCgroup::create_for_adopted(mount, run_id, name)?;
        let dir = cgroup.dirs().first().cloned().ok_or(CgroupError::NoTree)?;
        let mut adopted = Self { cgroup, dir, origins: BTreeMap::new(), home };
        for _ in 0..ROUNDS {
            let mut moved = false;
            for member in family(pid)? {
                let Some(origin) = place(member).filter(|origin| *origin != adopted.dir) else {
                    continue;
                };
                match admit(member, &adopted.dir) {
                    Ok(()) => {
                        adopted.origins.insert(member, origin);
                        moved = true;
                    }
                    Err(error) if member == pid => return Err(error.into()),
                    // It ended between the list and the move.
                    Err(error) => log::debug!("{error}"),
                }
            }
            if !moved {
                break;
            }
        }
        Ok(adopted)
    }

    /// The cgroup that they are in now.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        for _ in 0..ROUNDS {
            let here = self.cgroup.processes();
            for pid in &here {
                let origin = self.origins.get(pid).unwrap_or(&self.home);
                if let Err(error) = admit(*pid, origin).or_else(|_gone| admit(*pid, &self.home)) {
                    log::debug!("{error}");
                }
            }
            if here.is_empty() {
                return;
            }
        }
        // Removing the cgroup would kill them: they are not ours to kill.
        self.cgroup.leave();
        log::warn!("processes stay in {}: they could not be moved back", self.dir.display());
    }
}

/// `pid` and everything that descends from it.
fn family(pid: u32) -> Result<BTreeSet<u32>, TargetError> {
    let processes = procfs::process::all_processes().map_err(CgroupError::from)?;
    let stats = processes.filter_map(|process| process.ok()?.stat().ok());
    let parents = stats
        .filter_map(|stat| Some((u32::try_from(stat.pid).ok()?, u32::try_from(stat.ppid).ok()?)));
    Ok(descendants(pid, &parents.collect()))
}

/// `pid` and its descendants by a table of pid and parent.
fn descendants(pid: u32, parents: &BTreeMap<u32, u32>) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([pid]);
    loop {
        let known = family.len();
        let born = parents.iter().filter(|(_, parent)| family.contains(parent));
        let born: Vec<u32> = born.map(|(pid, _)| *pid).collect();
        family.extend(born);
        if family.len() == known {
            return family;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_the_process_and_all_below_it() {
        // 2 is older than its parent 9: pids wrap.
        let parents = BTreeMap::from([(1, 0), (5, 1), (9, 5), (2, 9), (7, 1)]);
        assert_eq!(descendants(5, &parents), BTreeSet::from([5, 9, 2]));
        assert_eq!(descendants(7, &parents), BTreeSet::from([7]));
    }

    #[test]
    fn our_own_family_holds_us() {
        assert!(family(std::process::id()).unwrap().contains(&std::process::id()));
    }
}
