//! A network namespace of one's own, with nothing but a loopback.

use anyhow::{Context as _, Result};
use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

/// The flag of a network device that is up.
const IFF_UP: &str = "0x1";

/// Goes into one that ends with this process. To be called before there is a second thread.
pub(crate) fn enter() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).context("a namespace")?;
    // Nothing that is mounted from now on is seen outside.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("private mounts")?;
    // A sysfs shows the devices of the namespace in which it was mounted.
    mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None).context("a sysfs")?;
    std::fs::write("/sys/class/net/lo/flags", IFF_UP).context("bring the loopback up")
}
