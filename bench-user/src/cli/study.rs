//! Arguments of `study`: what the studies that come with the tool take.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ViewArgs;
use super::value::Format;

/// Where studies are kept where the user names no folder, below the current directory.
const STUDIES: &str = "bench-studies";

/// Check the claims of published articles on this machine
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: StudyCommand,
}

/// The commands of `study`.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// List the studies and their parts
    List(StudyListArgs),
    /// Set a study up, run its parts and set its article's sentences beside what was measured
    Run(StudyRunArgs),
    /// Set the sentences beside what the last run of each study measured, without root
    Results(StudyResultsArgs),
    /// Remove what was installed and built for studies, and keep their results
    Clean(StudyCleanArgs),
}

/// Arguments of `study list`.
#[derive(Debug, Args)]
pub struct StudyListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `study run`.
#[derive(Debug, Args)]
pub struct StudyRunArgs {
    /// Name of the study
    pub name: String,
    /// Fewer repetitions and shorter stages: minutes instead of an hour
    #[arg(long)]
    pub quick: bool,
    /// Seconds: shows whether everything works; the figures say nothing
    #[arg(long, conflicts_with = "quick")]
    pub smoke: bool,
    /// Only this part, and those that it takes its rates of; again for several
    #[arg(long, value_name = "NAME")]
    pub part: Vec<String>,
    /// Run the servers as containers of images that are made here and removed afterwards: `docker`,
    /// `podman`, or the path of an engine's socket; without it they are commands in cgroups
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// Folder that studies are unpacked, set up and measured in
    #[arg(long, value_name = "FOLDER", default_value = STUDIES)]
    pub dir: PathBuf,
    /// What is shown meanwhile.
    #[command(flatten)]
    pub view: ViewArgs,
    /// How the table is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `study results`.
#[derive(Debug, Args)]
pub struct StudyResultsArgs {
    /// Names of studies; default: every one that was run
    pub names: Vec<String>,
    /// Folder that studies were run in
    #[arg(long, value_name = "FOLDER", default_value = STUDIES)]
    pub dir: PathBuf,
    /// How the tables are written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `study clean`.
#[derive(Debug, Args)]
pub struct StudyCleanArgs {
    /// Names of studies; default: every one, and the runtimes
    pub names: Vec<String>,
    /// Folder that studies were run in
    #[arg(long, value_name = "FOLDER", default_value = STUDIES)]
    pub dir: PathBuf,
}
