//! The disk of a Debian with systemd and the container engines, made once.
//!
//! What is installed comes from the archive of this machine's sources, into a folder and from
//! there into a file system. The kernel and its initramfs are those that Debian's package leaves
//! in `/boot`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::privilege;
use crate::process::run;
use crate::vm_test::apt::{Apt, folder};
use crate::workspace::Workspace;

/// Debian 12: systemd 252, Podman 4.3, Docker 20.10.
const RELEASE: &str = "bookworm";

/// Where its packages are: archive and suite.
const SUITES: [(&str, &str); 2] = [("Debian", RELEASE), ("Debian-Security", "bookworm-security")];

/// What a check needs, with what it depends on.
const PACKAGES: [&str; 11] = [
    "crun",
    "dbus",
    "docker.io",
    "iproute2",
    "kmod",
    "linux-image-cloud-amd64",
    "podman",
    "procps",
    "systemd",
    "systemd-sysv",
    "udev",
];

/// Runs the checks, see there.
const SERVICE: &str = include_str!("host-test.service");

/// Three times what is installed: images and layers come to it.
const SIZE: &str = "3G";

/// A machine that can be booted.
pub(super) struct Disk {
    pub(super) file: PathBuf,
    pub(super) kernel: PathBuf,
    pub(super) initramfs: PathBuf,
}

impl Disk {
    /// Takes the one that is there, unless it was made by another recipe.
    pub(super) fn get(workspace: &Workspace, apt: &Apt) -> Result<Self> {
        let folder = folder(workspace).join("debian");
        let stamp = folder.join("recipe");
        let recipe = recipe();
        if fs::read_to_string(&stamp).is_ok_and(|made_by| made_by == recipe) {
            return Self::find(&folder);
        }
        ensure!(privilege::can_be_root(), "to install a Debian into a folder takes root: use sudo");
        ensure!(privilege::on_path("mkfs.ext4").is_some(), "there is no mkfs.ext4 here");
        eprintln!("Making the disk of a Debian {RELEASE}: some minutes, once ...");
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let tree = folder.join("tree");
        // From another recipe, or from a try that failed.
        run(remove(&tree).arg(folder.join("boot")))?;
        install(workspace, apt, &folder, &tree)?;
        let file = folder.join("disk");
        run(privilege::as_root("mkfs.ext4")
            .args(["-q", "-F", "-d"])
            .arg(&tree)
            .arg(&file)
            .arg(SIZE))?;
        run(&mut remove(&tree))?;
        fs::write(&stamp, recipe).with_context(|| format!("write {}", stamp.display()))?;
        Self::find(&folder)
    }

    fn find(folder: &Path) -> Result<Self> {
        let in_boot = |beginning: &str| {
            let entries = fs::read_dir(folder.join("boot")).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path())
                .find(|path| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    name.starts_with(beginning)
                })
                .with_context(|| format!("{} has no boot/{beginning}*", folder.display()))
        };
        Ok(Self {
            file: folder.join("disk"),
            kernel: in_boot("vmlinuz-")?,
            initramfs: in_boot("initrd.img-")?,
        })
    }
}

/// As root, whose files they are.
fn remove(tree: &Path) -> Command {
    let mut command = privilege::as_root("rm");
    command.args(["-rf", "--one-file-system"]).arg(tree);
    command
}

/// By which a disk is known to be the one that is needed.
fn recipe() -> String {
    format!("{RELEASE} {SIZE}\n{}\n{SERVICE}", PACKAGES.join(" "))
}

fn install(workspace: &Workspace, apt: &Apt, folder: &Path, tree: &Path) -> Result<()> {
    let (sources, service) = (folder.join("sources.list"), folder.join("host-test.service"));
    for (file, text) in [(&sources, &*apt.sources(&SUITES)?), (&service, SERVICE)] {
        fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
    }
    let hook = |what: String| format!("--customize-hook={what}");
    let chroot = |command: &str| hook(format!("chroot \"$1\" {command}"));
    run(installer(workspace, apt)?
        .args(["--variant=minbase", "--format=directory"])
        .arg(format!("--include={}", PACKAGES.join(",")))
        .arg(hook(format!("copy-in '{}' /etc/systemd/system", service.display())))
        .arg(chroot("systemctl enable host-test.service"))
        // Started by the check that needs it, and not beside the others.
        .arg(chroot("systemctl disable docker.service containerd.service"))
        .arg(hook(format!("copy-out /boot '{}'", folder.display())))
        .arg(RELEASE)
        .arg(tree)
        .arg(&sources))
}

/// `mmdebstrap` as root, unpacked beside the disk where it is not installed.
fn installer(workspace: &Workspace, apt: &Apt) -> Result<Command> {
    if let Some(program) = privilege::on_path("mmdebstrap") {
        return Ok(privilege::as_root(program));
    }
    let root = folder(workspace).join("mmdebstrap");
    apt.unpack(&["mmdebstrap".to_owned()], &root)?;
    let mut command = privilege::as_root("perl");
    command.arg(root.join("usr/bin/mmdebstrap"));
    Ok(command)
}
