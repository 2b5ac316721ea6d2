//! Text that is kept in the repository and compared with what the program writes now.
//!
//! `BLESS=1` in the environment of a test stores what is written instead; the change is then
//! reviewed as a diff.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::path::{Path, PathBuf};

pub(crate) fn below(folder: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder).join(name)
}

/// Compares with a stored text, or stores it.
pub(crate) fn check(folder: &str, name: &str, text: &str) {
    let path = below(folder, name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    if stored == text {
        return;
    }
    let line = stored.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
    panic!(
        "{name} differs from line {}:\nstored: {}\n   now: {}\nall of it:\n{text}\n(BLESS=1 rewrites)",
        line + 1,
        stored.lines().nth(line).unwrap_or("(end)"),
        text.lines().nth(line).unwrap_or("(end)"),
    );
}
