//! Arguments of what is shown while a command measures.

use clap::{Args, ValueEnum};

/// How a command shows what it does.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct ViewArgs {
    /// Only warnings, errors and the result
    #[arg(long, short)]
    pub quiet: bool,
    /// Show the run on a full screen, with charts
    #[arg(long, conflicts_with = "quiet")]
    pub tui: bool,
    /// Colours on standard error; `auto` heeds NO_COLOR and CLICOLOR_FORCE
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: ColorName,
}

/// When words are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorName {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
