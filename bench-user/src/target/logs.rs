//! A started target's standard output and standard error, kept in the run folder.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::TargetError;
use super::owner::file_name;

/// So much of a log's end is looked at for its last lines, bytes.
const TAIL_BYTES: u64 = 4096;
/// So many lines are quoted in an error.
const TAIL_LINES: usize = 5;

/// Both logs of one start. A target that is started again appends to them.
#[derive(Debug)]
pub(super) struct Logs {
    /// Standard output.
    pub(super) stdout: Log,
    /// Standard error.
    pub(super) stderr: Log,
}

/// One log, from where this start of the target begins in it.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    begin: u64,
}

/// The name of the file that has a target's standard error.
pub(super) fn stderr_file(target: &str) -> String {
    file(target, "stderr")
}

fn file(target: &str, stream: &str) -> String {
    format!("{}.{stream}.log", file_name(target))
}

impl Logs {
    /// Opens `TARGET.stdout.log` and `TARGET.stderr.log` in `dir`.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub(super) fn open(dir: &Path, target: &str) -> Result<Self, TargetError> {
        let open = |stream| {
            let path = dir.join(file(target, stream));
            Log::open(&path).map_err(|e| TargetError::Log(path, e))
        };
        Ok(Self { stdout: open("stdout")?, stderr: open("stderr")? })
    }
}

impl Log {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let begin = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, begin })
    }

    /// A descriptor for the target to write to.
    ///
    /// # Errors
    /// When there are no more descriptors.
    pub(super) fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The first whole line that begins with `start`, without it.
    pub(super) fn line_after(&self, start: &str) -> Option<String> {
        let text = self.read_from(self.begin).ok()?;
        let whole = &text[..=text.rfind('\n')?];
        whole.lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned)
    }

    /// The last lines as a clause for an error.
    pub(super) fn last_words(&self) -> String {
        let length = self.file.metadata().map_or(self.begin, |meta| meta.len());
        let text = self.read_from(self.begin.max(length.saturating_sub(TAIL_BYTES)));
        let text = text.unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        if lines.is_empty() {
            return format!("it wrote nothing to {}", self.path.display());
        }
        let tail = lines[lines.len().saturating_sub(TAIL_LINES)..].join(" | ");
        format!("{} ends with: {tail}", self.path.display())
    }

    fn read_from(&self, offset: u64) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_second_start_keeps_the_first_ones_lines_and_quotes_only_its_own() {
        let dir = tempfile::tempdir().unwrap();
        for start in ["one", "two"] {
            let logs = Logs::open(dir.path(), "a/b").unwrap();
            assert!(logs.stderr.last_words().contains("nothing"));
            let mut writer = logs.stderr.writer().unwrap();
            write!(writer, "{start}\n\nport {start}\nhalf").unwrap();
            assert_eq!(logs.stderr.line_after("port ").as_deref(), Some(start));
            assert_eq!(logs.stderr.line_after("ha"), None, "a line without its end");
            assert!(
                logs.stderr.last_words().ends_with(&format!(": {start} | port {start} | half"))
            );
        }
        let text = std::fs::read_to_string(dir.path().join("a%2Fb.stderr.log")).unwrap();
        assert!(text.contains("port one") && text.contains("port two"), "{text}");
    }

    #[test]
    fn a_missing_folder_is_said_with_the_path() {
        let error = Logs::open(Path::new("/nowhere"), "x").unwrap_err().to_string();
        assert!(error.contains("/nowhere/x.stdout.log"), "{error}");
    }
}
