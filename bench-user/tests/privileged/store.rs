//! What only root can arrange: a disk that is full, and a user behind sudo.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bench_user::record::{self, RunDir, RunRecord, StoreError};
use libtest_mimic::{Failed, Trial};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// The tests of this module.
pub(crate) fn tests() -> Vec<Trial> {
    vec![
        Trial::test("store::a_full_disk_keeps_the_last_saved_stage", full_disk),
        Trial::test("store::a_disk_that_is_full_from_the_start_is_said_so", full_from_the_start),
        Trial::test("store::what_is_made_belongs_to_the_user_behind_sudo", ownership),
    ]
}

/// A file system of 64 KiB, unmounted on drop.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    fn new() -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), c"size=64k,mode=0755")?;
        Ok(Self { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Takes every free byte.
    fn fill(&self) {
        let zeros = vec![0; 1 << 20];
        std::fs::write(self.path().join("ballast"), zeros)
            .expect_err("a megabyte does not fit on 64 KiB");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Detached, so that a failed test that still holds a file leaves no mount behind.
        if let Err(e) = unmount(self.folder.path(), UnmountFlags::DETACH) {
            eprintln!("unmount {}: {e}", self.folder.path().display());
        }
    }
}

fn stored(name: &str) -> Result<RunRecord, Failed> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    Ok(record::read(&fixtures.join(name))?)
}

fn full_disk() -> Result<(), Failed> {
    let disk = SmallDisk::new()?;
    let out: PathBuf = disk.path().join("run");
    let dir = RunDir::create_for(Some(&out), "x", "y", None)?;
    let small = stored("run-unavailable.json")?;
    dir.save(&small)?;
    disk.fill();

    let error = dir.save(&stored("run-two-targets.json")?).expect_err("there is no room");
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    let sentence = error.to_string();
    let kept = out.join("run.json");
    assert!(sentence.contains("disk is full") && sentence.contains(&kept.display().to_string()));
    assert_eq!(record::read(&out)?, small);
    let left: Vec<_> = std::fs::read_dir(&out)?.collect::<Result<_, _>>()?;
    assert_eq!(left.len(), 2, "only the record and the logs: {left:?}");

    std::fs::remove_file(disk.path().join("ballast"))?;
    dir.save(&small)?;
    Ok(())
}

fn full_from_the_start() -> Result<(), Failed> {
    let disk = SmallDisk::new()?;
    let dir = RunDir::create_for(Some(&disk.path().join("run")), "x", "y", None)?;
    disk.fill();
    let error = dir.save(&stored("run-two-targets.json")?).expect_err("there is no room");
    assert!(matches!(error, StoreError::FullFromTheStart(_)), "{error:?}");
    Ok(())
}

fn ownership() -> Result<(), Failed> {
    /// No account is needed: the kernel knows numbers only.
    const USER: (u32, u32) = (12_345, 23_456);
    let owner = |path: &Path| -> Result<(u32, u32), Failed> {
        let of = path.symlink_metadata()?;
        Ok((of.uid(), of.gid()))
    };
    let base = tempfile::tempdir()?;
    let before = owner(base.path())?;
    let dir = RunDir::create_for(Some(&base.path().join("a/b")), "x", "y", Some(USER))?;
    let log = dir.logs_dir().join("lean.stdout");
    std::fs::write(&log, "ready\n")?;
    dir.save(&stored("run-unavailable.json")?)?;

    assert_eq!(owner(base.path())?, before, "a folder that was there keeps its owner");
    for made in ["a", "a/b", "a/b/logs", "a/b/logs/lean.stdout", "a/b/run.json"] {
        assert_eq!(owner(&base.path().join(made))?, USER, "{made}");
    }
    Ok(())
}
