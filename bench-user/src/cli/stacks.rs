//! Arguments about stacks and flame graphs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Which stacks are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum StackKindName {
    /// Sampled on the CPU, by samples
    #[default]
    #[value(name = "oncpu")]
    OnCpu,
    /// Waiting off the CPU, by time in us
    #[value(name = "offcpu")]
    OffCpu,
}

/// Which stacks of a run go into folded text or a flame graph.
#[derive(Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Stacks (--format folded and flamegraph)")]
pub struct StackArgs {
    /// On the CPU or off it [default: oncpu]
    #[arg(long, value_enum)]
    pub kind: Option<StackKindName>,
    /// Those of this target alone [default: all, each below its name]
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
    /// Those of stages with so many connections alone [default: all stages together]
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,
    /// Those of stages in this place of the ladder alone, from 0 [default: all stages together]
    #[arg(long, value_name = "INDEX")]
    pub stage: Option<u32>,
}

/// A flame graph of what was observed.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Observation")]
pub struct FlameArgs {
    /// Draw a flame graph of the stacks into this file (SVG); asks for them too
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,
    /// Stacks on the CPU or off it
    #[arg(long, value_enum, value_name = "KIND", default_value_t, requires = "flamegraph")]
    pub flamegraph_kind: StackKindName,
}
