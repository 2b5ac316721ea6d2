//! What a study leaves behind when it is killed.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::place::trial;

pub(crate) fn tests() -> Vec<Trial> {
    vec![trial("studies::cleaning_takes_off_what_is_still_mounted", mounted)]
}

/// One file system inside of another, as a service would leave them that was killed.
fn mounted() -> Result<()> {
    let root = tempfile::tempdir()?;
    let outer = root.path().join("fs-read/slow");
    let inner = outer.join("deeper");
    let beside = root.path().join("mine");
    for (place, above) in [(&outer, root.path()), (&inner, &*outer), (&beside, root.path())] {
        ensure!(above.is_dir(), "{} is there", above.display());
        fs::create_dir_all(place)?;
        mount("left-behind", place, "tmpfs", MountFlags::empty(), None)?;
    }
    let tool = env!("CARGO_BIN_EXE_bench-user");
    let cleaned = Command::new(tool)
        .args(["study", "clean", "fs-read", "--dir"])
        .arg(root.path())
        .output()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let is_left = mounts.contains(&*outer.to_string_lossy());
    let is_kept = mounts.contains(&*beside.to_string_lossy());
    for place in [&inner, &outer, &beside] {
        // Gone already where all is well.
        unmount(place, UnmountFlags::DETACH).ok();
    }
    ensure!(cleaned.status.success(), "{}", String::from_utf8_lossy(&cleaned.stderr));
    ensure!(!is_left && !outer.exists(), "it is still there");
    ensure!(is_kept, "what lies beside the studies was unmounted");
    Ok(())
}
