//! The files of an image for one runtime and one folder of a study, as a tar archive: the program,
//! the shared libraries that it is linked with, and the folder. Everything lies where it lies on the
//! host, so that a command means the same on both sides; nothing of an image registry is needed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tar::{Builder, EntryType, Header};

use super::files::StudyError;
use super::work::failed;

/// What a study's folder holds that no server reads.
const LEFT_OUT: [&str; 3] = ["results", ".set-up", "set-up.log"];

/// What programs expect to find anywhere.
const ETC: [(&str, &str); 3] = [
    ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    ("etc/group", "root:x:0:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n"),
];

/// Writes the archive: `program` by the name of `link` and under its own path, and `folder` whole.
///
/// # Errors
/// What cannot be read or written, and a program whose libraries cannot be found.
pub(super) fn write(
    to: &mut File,
    program: &Path,
    link: &Path,
    folder: &Path,
) -> Result<(), StudyError> {
    let libraries = libraries(program)?;
    let written = archive(to, program, link, folder, &libraries);
    written.map_err(|cause| failed("make an image of", folder, cause))
}

fn archive(
    to: &mut File,
    program: &Path,
    link: &Path,
    folder: &Path,
    libraries: &BTreeSet<PathBuf>,
) -> io::Result<()> {
    let mut tar = Builder::new(to);
    // As they are on the host: what points out of the folder points to what is copied too, or to
    // nothing that a server needs.
    tar.follow_symlinks(false);
    for (path, text) in ETC {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        tar.append_data(&mut header, path, text.as_bytes())?;
    }
    folder_entry(&mut tar, "tmp", 0o1777)?;
    for library in libraries {
        // The file behind the name that the program asks for.
        tar.append_file(inside(library), &mut File::open(library)?)?;
    }
    tar.append_file(inside(program), &mut File::open(program)?)?;
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Symlink);
    header.set_size(0);
    tar.append_link(&mut header, inside(link), program)?;
    whole(&mut tar, folder, &|name| !LEFT_OUT.iter().any(|out| name == out.as_bytes()))?;
    tar.into_inner()?.flush()
}

fn folder_entry<W: Write>(tar: &mut Builder<W>, path: &str, mode: u32) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Directory);
    header.set_mode(mode);
    header.set_size(0);
    tar.append_data(&mut header, path, io::empty())
}

/// A folder with what is in it; `keep` is asked about the entries at its top.
fn whole<W: Write>(
    tar: &mut Builder<W>,
    folder: &Path,
    keep: &dyn Fn(&[u8]) -> bool,
) -> io::Result<()> {
    tar.append_dir(inside(folder), folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if !keep(entry.file_name().as_bytes()) {
            continue;
        }
        if kind.is_dir() {
            whole(tar, &path, &|_| true)?;
        } else if kind.is_file() || kind.is_symlink() {
            tar.append_path_with_name(&path, inside(&path))?;
        }
    }
    Ok(())
}

/// A path of the host as a tar archive has it.
fn inside(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// The shared libraries of a program and its loader, by the paths that the loader would open.
fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>, StudyError> {
    let cannot = |why: &str| {
        let program = program.display();
        StudyError::Setup(format!("cannot find the libraries of {program} for its image: {why}"))
    };
    let said = Command::new("ldd").arg(program).output().map_err(|error| {
        cannot(&format!("`ldd` does not start ({error}); install it (libc-bin)"))
    })?;
    if !said.status.success() {
        return Err(cannot(String::from_utf8_lossy(&said.stderr).trim()));
    }
    libraries_in(&String::from_utf8_lossy(&said.stdout)).map_err(|missing| {
        cannot(&format!("`{missing}` is not on this machine; install the package that has it"))
    })
}

/// Paths in what `ldd` says: `name => /path (0x...)`, or the loader's `/path (0x...)`.
fn libraries_in(said: &str) -> Result<BTreeSet<PathBuf>, String> {
    let mut paths = BTreeSet::new();
    for line in said.lines() {
        if let Some((name, _)) = line.split_once("=> not found") {
            return Err(name.trim().to_owned());
        }
        paths.extend(line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_what_ldd_found_and_the_loader() {
        let said = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths = ["/lib/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(libraries_in(said).unwrap(), BTreeSet::from(paths));
        assert_eq!(libraries_in("\tlibx.so.1 => not found\n").unwrap_err(), "libx.so.1");
    }

    #[test]
    fn an_image_holds_the_program_by_both_names_its_libraries_and_the_folder() {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join("study");
        fs::create_dir_all(folder.join("app/deep")).unwrap();
        fs::create_dir_all(folder.join("results/old")).unwrap();
        fs::write(folder.join("app/deep/server.mjs"), "x".repeat(3000)).unwrap();
        let (program, link) = (Path::new("/bin/sh"), work.path().join("bin/sh"));
        let mut file = tempfile::tempfile().unwrap();
        write(&mut file, program, &link, &folder).unwrap();

        io::Seek::rewind(&mut file).unwrap();
        let mut archive = tar::Archive::new(file);
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.path().unwrap().into_owned(), (entry.size(), entry.header().entry_type()))
        });
        let entries: std::collections::BTreeMap<_, _> = entries.collect();
        let at = |path: &Path| entries.get(inside(path));
        let served = folder.join("app/deep/server.mjs");
        assert_eq!(at(&served), Some(&(3000, EntryType::Regular)));
        assert_eq!(at(&link).unwrap().1, EntryType::Symlink);
        let size = fs::metadata(program).unwrap().len();
        assert_eq!(at(program), Some(&(size, EntryType::Regular)));
        assert!(entries.keys().any(|path| path.to_string_lossy().contains("libc.so")));
        assert!(at(&folder.join("results/old")).is_none());
    }
}
