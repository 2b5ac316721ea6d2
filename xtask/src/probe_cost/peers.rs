//! The peers of the probes: each counts the same kind of event of the same cgroup.

use std::path::Path;

use anyhow::Result;

use crate::counters::{Bpftrace, Runqlat, Script, Syscount};
use crate::privilege;

/// A tool, and what it is asked to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// `bpftrace`, a `count()` by syscall number.
    BpftraceCount,
    /// `syscount` of libbpf-tools.
    Syscount,
    /// `bpftrace`, the hooks and maps of its own `runqlat.bt`; it watches every cgroup.
    BpftraceRunqlat,
    /// `runqlat` of libbpf-tools.
    Runqlat,
}

/// One of them, attached.
pub(super) enum Attached {
    Bpftrace(Bpftrace),
    Syscount(Syscount),
    Runqlat(Runqlat),
}

impl Peer {
    pub(super) const ALL: [Self; 4] =
        [Self::BpftraceCount, Self::Syscount, Self::BpftraceRunqlat, Self::Runqlat];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BpftraceCount => "bpftrace count()",
            Self::Syscount => "syscount",
            Self::BpftraceRunqlat => "bpftrace runqlat",
            Self::Runqlat => "runqlat",
        }
    }

    /// It measures waits for a CPU, and not syscalls.
    pub(super) fn is_of_switches(self) -> bool {
        matches!(self, Self::BpftraceRunqlat | Self::Runqlat)
    }

    pub(super) fn is_installed(self) -> bool {
        let program = match self {
            Self::BpftraceCount | Self::BpftraceRunqlat => "bpftrace",
            Self::Syscount => "syscount",
            Self::Runqlat => "runqlat",
        };
        privilege::on_path(program).is_some()
    }

    /// Attaches it to a cgroup.
    ///
    /// # Errors
    /// When it ends without attaching.
    pub(super) fn attach(self, cgroup: &Path) -> Result<Attached> {
        Ok(match self {
            Self::BpftraceCount => Attached::Bpftrace(Bpftrace::attach(Script::Syscalls, cgroup)?),
            Self::BpftraceRunqlat => {
                Attached::Bpftrace(Bpftrace::attach(Script::RunQueue, cgroup)?)
            }
            Self::Syscount => Attached::Syscount(Syscount::attach(cgroup)?),
            Self::Runqlat => Attached::Runqlat(Runqlat::attach(cgroup)?),
        })
    }
}

impl Attached {
    /// Takes it off.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub(super) fn detach(self) -> Result<()> {
        match self {
            Self::Bpftrace(it) => it.detach().map(drop),
            Self::Syscount(it) => it.detach("getppid").map(drop),
            Self::Runqlat(it) => it.detach().map(drop),
        }
    }
}
