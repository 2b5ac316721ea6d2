//! Tells fresh probes from stale ones: a hash of what they are made from, kept beside each object.
//!
//! Included by `bench-user/build.rs` too, so that the side that writes a stamp and the side that
//! checks it cannot drift apart. It uses the standard library only and guards against a forgotten
//! rebuild, not against anybody's ill will.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// A build of the probes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Object {
    /// Name of the object file in `dir`; the stamp is beside it.
    file: &'static str,
}

/// The probes as they are measured with.
pub(crate) const SILENT: Object = Object { file: "bench-ebpf.o" };

/// The probes with their log lines.
pub(crate) const LOGGING: Object = Object { file: "bench-ebpf-log.o" };

impl Object {
    /// Where the object is, or will be.
    pub(crate) fn path(self, root: &Path) -> PathBuf {
        dir(root).join(self.file)
    }

    /// Where its stamp is, or will be.
    pub(crate) fn stamp(self, root: &Path) -> PathBuf {
        dir(root).join(self.file).with_extension("stamp")
    }
}

/// Cargo's output folder. A relative `CARGO_TARGET_DIR` counts from the root, where we start cargo.
pub(crate) fn target_dir(root: &Path) -> PathBuf {
    root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The folder of the objects and stamps; nothing else is in it, so that cargo can watch it cheaply.
pub(crate) fn dir(root: &Path) -> PathBuf {
    target_dir(root).join("bpf")
}

/// The hash of what the probes are made from: their package, the versions of aya in the lock file,
/// and the machine's architecture, on which the layout of registers depends.
///
/// # Errors
/// When a source cannot be read.
pub(crate) fn of_sources(root: &Path, arch: &str) -> io::Result<String> {
    let package = root.join("bench-ebpf");
    let mut files = vec![package.join("Cargo.toml")];
    collect(&package.join("src"), &mut files)?;
    files.sort();

    let mut hash = Fnv::default();
    hash.add(arch.as_bytes());
    hash.add(aya_versions(&fs::read_to_string(root.join("Cargo.lock"))?).as_bytes());
    for file in files {
        let name = file.strip_prefix(&package).unwrap_or(&file);
        hash.add(name.as_os_str().as_encoded_bytes());
        hash.add(&fs::read(&file)?);
    }
    Ok(format!("{:016x}", hash.0))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Names and versions of the packages in a lock file that the probes are compiled with.
fn aya_versions(lock: &str) -> String {
    lock.split("[[package]]")
        .filter(|package| package.trim_start().starts_with("name = \"aya-"))
        .flat_map(|package| package.trim().lines().take(2))
        .collect::<Vec<_>>()
        .join("\n")
}

/// FNV-1a: stable across compilers, which the standard library's hasher does not promise.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds the bytes and their number, so that moving a byte from one file to the next shows.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&bytes.len().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(main: &str, lock: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(root.path().join("bench-ebpf/src")).expect("make folders");
        for (file, text) in
            [("bench-ebpf/Cargo.toml", ""), ("bench-ebpf/src/main.rs", main), ("Cargo.lock", lock)]
        {
            fs::write(root.path().join(file), text).expect("write a file");
        }
        root
    }

    fn hash(main: &str, lock: &str) -> String {
        of_sources(workspace(main, lock).path(), "x86_64").expect("sources are there")
    }

    const LOCK: &str = "[[package]]\nname = \"aya-ebpf\"\nversion = \"0.2.1\"\n\n\
                        [[package]]\nname = \"serde\"\nversion = \"1.0.1\"\n";

    #[test]
    fn the_same_sources_in_another_folder_have_the_same_hash() {
        assert_eq!(hash("fn a() {}", LOCK), hash("fn a() {}", LOCK));
    }

    #[test]
    fn a_changed_source_changes_the_hash() {
        assert_ne!(hash("fn a() {}", LOCK), hash("fn b() {}", LOCK));
    }

    #[test]
    fn of_the_lock_file_only_aya_counts() {
        let reference = hash("", LOCK);
        assert_ne!(reference, hash("", &LOCK.replace("0.2.1", "0.2.2")));
        assert_eq!(reference, hash("", &LOCK.replace("1.0.1", "1.0.2")));
    }

    #[test]
    fn another_architecture_has_another_hash() {
        let root = workspace("", LOCK);
        let of = |arch| of_sources(root.path(), arch).expect("sources are there");
        assert_ne!(of("x86_64"), of("aarch64"));
    }
}
