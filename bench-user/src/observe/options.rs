//! What of the kernel side is asked for.

/// What to attach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The probes.
    pub probes: Probes,
    /// Log output of the probes.
    pub probe_log: bool,
}

/// Whether the probes are attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probes {
    /// They are.
    Attach,
    /// A control stage: they are not, and the other instruments still read.
    Detach,
}
