//! What of the kernel side is asked for.

use super::bpf::Hook;
use super::overhead::Bias;
use crate::plan::Explain;

/// What to attach.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The probes.
    pub probes: Probes,
    /// What of it is explained.
    pub explain: Vec<Explain>,
    /// Which hook counts syscalls; `None`: the one that is exact on this kernel.
    pub hook: Option<Hook>,
    /// What the kernel's figure for the run time of probes has too much.
    pub bias: Bias,
    /// The target is stopped until it is released: that is no wait of its own.
    pub starts_held: bool,
    /// Log output of the probes.
    pub probe_log: bool,
}

/// Whether the probes are attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Probes {
    /// They are.
    #[default]
    Attach,
    /// A control stage: they are not, and the other instruments still read.
    Detach,
}

impl Default for Options {
    /// The probes alone.
    fn default() -> Self {
        Self {
            probes: Probes::Attach,
            explain: Vec::new(),
            hook: None,
            bias: Bias::default(),
            starts_held: false,
            probe_log: false,
        }
    }
}
