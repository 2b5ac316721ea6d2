//! Which file a command's first word means.
//!
//! Looked up here and not by `execvp`, so that the started process makes exactly one `execve`
//! and a missing program is known before anything was made for it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Why a command cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The command has no words.
    #[error("the command is empty; name a program and its arguments")]
    Empty,
    /// A bare name that no folder of PATH has.
    #[error("there is no program `{0}` in PATH ({1}); give its full path (sudo may shorten PATH)")]
    NotInPath(String, String),
    /// A path with nothing there.
    #[error("there is no file {0}; is the command's path right?")]
    Missing(PathBuf),
    /// A path that cannot be run.
    #[error("{0} is not an executable file; `chmod +x` it or name its interpreter first")]
    NotExecutable(PathBuf),
}

/// The file of `program`: a path is taken relative to `dir`, a bare name is looked up in
/// `search`, the value of PATH.
///
/// # Errors
/// One of [`ProgramError`].
pub(super) fn resolve(
    program: &OsStr,
    dir: &Path,
    search: &OsStr,
) -> Result<PathBuf, ProgramError> {
    if program.is_empty() {
        return Err(ProgramError::Empty);
    }
    if program.as_encoded_bytes().contains(&b'/') {
        let path = dir.join(program);
        return match (path.exists(), is_executable(&path)) {
            (_, true) => Ok(path),
            (true, false) => Err(ProgramError::NotExecutable(path)),
            (false, false) => Err(ProgramError::Missing(path)),
        };
    }
    let mut candidates = std::env::split_paths(search).map(|folder| dir.join(folder).join(program));
    candidates.find(|path| is_executable(path)).ok_or_else(|| {
        ProgramError::NotInPath(program.display().to_string(), search.display().to_string())
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(program: &str, dir: &Path, search: &str) -> Result<PathBuf, ProgramError> {
        resolve(OsStr::new(program), dir, OsStr::new(search))
    }

    #[test]
    fn a_bare_name_is_the_first_executable_in_path() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("sh"), "not executable").unwrap();
        let search = format!("{}:/bin", dir.path().display());
        assert_eq!(resolved("sh", Path::new("/"), &search).unwrap(), Path::new("/bin/sh"));
    }

    #[test]
    fn a_path_is_relative_to_the_working_folder() {
        assert_eq!(resolved("./sh", Path::new("/bin"), "").unwrap(), Path::new("/bin/./sh"));
    }

    #[test]
    fn what_cannot_be_run_is_said_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plain"), "").unwrap();
        let error = |program| resolved(program, dir.path(), "/nowhere").unwrap_err().to_string();
        assert!(error("nodee").contains("no program `nodee` in PATH (/nowhere)"));
        assert!(error("./gone").contains("no file") && error("./plain").contains("chmod"));
        assert!(error("").contains("empty"));
    }
}
