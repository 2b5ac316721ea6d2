//! The studies as they are built into the program: which there are, and their files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use rust_embed::Embed;

use super::manifest::Manifest;
use crate::plan::suggest;

/// Every file below `bench-user/studies/`, but what setting a study up leaves there.
#[derive(Embed)]
#[folder = "studies/"]
#[exclude = "*/node_modules/*"]
#[exclude = "records/*"]
#[exclude = "RESULTS.md"]
struct Embedded;

/// The name of a manifest in its folder.
const MANIFEST: &str = "study.toml";

/// Folder of the runtimes that all studies share; no study.
pub const RUNTIMES: &str = "runtimes";

/// Why a study cannot be used; each is one sentence with its remedy.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No study of this name.
    #[error("there is no study \"{name}\": {hint}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest one, or all.
        hint: String,
    },
    /// No part of this name.
    #[error("the study \"{study}\" has no part \"{name}\": {hint}")]
    UnknownPart {
        /// The study.
        study: String,
        /// What was asked for.
        name: String,
        /// The nearest one, or all.
        hint: String,
    },
    /// The manifest is none.
    #[error("the manifest of the study \"{study}\" cannot be read: {problem}")]
    Manifest {
        /// The study.
        study: String,
        /// What is wrong with it, with the line.
        problem: String,
    },
    /// A plan of the study is none.
    #[error("part \"{part}\": {problem}")]
    Plan {
        /// The part.
        part: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file operation failed.
    #[error("cannot {doing} {path}: {cause}")]
    Io {
        /// What was being done, as a verb.
        doing: &'static str,
        /// To what.
        path: String,
        /// What the kernel said.
        cause: std::io::Error,
    },
    /// A step of setting up failed.
    #[error("{0}")]
    Setup(String),
}

/// One study.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The name of its folder.
    pub name: String,
    /// What it is made of.
    pub manifest: Manifest,
}

impl Study {
    /// Every study, by name.
    ///
    /// # Errors
    /// A manifest that cannot be read.
    pub fn all() -> Result<Vec<Self>, StudyError> {
        names().iter().map(|name| Self::named(name)).collect()
    }

    /// The study of this name.
    ///
    /// # Errors
    /// That there is none, with the nearest name, or that its manifest cannot be read.
    pub fn named(name: &str) -> Result<Self, StudyError> {
        let manifest = text(&format!("{name}/{MANIFEST}")).ok_or_else(|| {
            let known = names();
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            StudyError::Unknown { name: name.to_owned(), hint: suggest(name, &known) }
        })?;
        let manifest = Manifest::parse(&manifest)
            .map_err(|problem| StudyError::Manifest { study: name.to_owned(), problem })?;
        Ok(Self { name: name.to_owned(), manifest })
    }

    /// The error that it has no part of this name.
    #[must_use]
    pub fn no_part(&self, name: &str) -> StudyError {
        let known: Vec<_> = self.manifest.parts.iter().map(|part| &*part.name).collect();
        let hint = suggest(name, &known);
        StudyError::UnknownPart { study: self.name.clone(), name: name.to_owned(), hint }
    }
}

/// Paths of the files below a folder of the studies, relative to it.
pub(super) fn files_below(folder: &str) -> Vec<String> {
    let below =
        |path: Cow<'static, str>| path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
    Embedded::iter().filter_map(below).collect()
}

/// The bytes of a file of the studies.
pub(super) fn bytes(path: &str) -> Option<Cow<'static, [u8]>> {
    Embedded::get(path).map(|file| file.data)
}

fn text(path: &str) -> Option<String> {
    bytes(path).and_then(|bytes| String::from_utf8(bytes.into_owned()).ok())
}

fn names() -> BTreeSet<String> {
    let folder = |path: Cow<'static, str>| {
        let path = Path::new(&*path);
        let is_manifest = path.file_name()? == MANIFEST && path.components().count() == 2;
        is_manifest.then(|| path.parent().map(|folder| folder.display().to_string()))?
    };
    Embedded::iter().filter_map(folder).collect()
}
