//! Whose the files are: what root makes under sudo belongs to the user who called it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{fchown, lchown};
use std::path::Path;

/// A user id and a group id.
pub type Owner = (u32, u32);

/// The user and group behind sudo; `None` when we are not root or sudo is not in play.
#[must_use]
pub fn owner_from_sudo() -> Option<Owner> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let id = |name| std::env::var_os(name).as_deref().and_then(OsStr::to_str)?.parse().ok();
    Some((id("SUDO_UID")?, id("SUDO_GID")?))
}

/// Makes a folder with its parents; those that are new belong to `owner`.
///
/// # Errors
/// What the kernel says.
pub fn make_folder(folder: &Path, owner: Option<Owner>) -> io::Result<()> {
    if folder.is_dir() || folder == Path::new("") {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        make_folder(parent, owner)?;
    }
    fs::create_dir(folder)?;
    owner.map_or(Ok(()), |(uid, gid)| lchown(folder, Some(uid), Some(gid)))
}

/// Makes or empties a file that belongs to `owner`.
///
/// # Errors
/// What the kernel says.
pub fn make_file(path: &Path, owner: Option<Owner>) -> io::Result<File> {
    let file = File::create(path)?;
    if let Some((uid, gid)) = owner {
        fchown(&file, Some(uid), Some(gid))?;
    }
    Ok(file)
}
