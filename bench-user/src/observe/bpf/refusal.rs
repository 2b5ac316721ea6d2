//! Why a probe cannot be had, in one sentence each.

use aya::EbpfError;
use aya::programs::ProgramError;

use super::kernel::KERNEL_BTF;
use super::offsets::OffsetError;

/// Why the probes cannot be had; each names the remedy.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The binary holds no object.
    #[error("this bench-user has no probes ({0})")]
    NotBuilt(&'static str),
    /// No type information.
    #[error("{KERNEL_BTF} cannot be read ({0}): this needs a kernel with CONFIG_DEBUG_INFO_BTF")]
    NoBtf(String),
    /// The kernel's types lack a member.
    #[error("{0}")]
    Offsets(String),
    /// The target's directory is no v2 cgroup.
    #[error("{0} cannot be watched: {1}")]
    Cgroup(String, String),
    /// The kernel refused a program or a map.
    #[error("the kernel refused the probes ({what}): {why}")]
    Refused {
        /// Program or map, and the step.
        what: &'static str,
        /// The kernel's reason and what it usually means.
        why: String,
    },
}

impl From<OffsetError> for LoadError {
    fn from(e: OffsetError) -> Self {
        Self::Offsets(e.to_string())
    }
}

/// The kernel refused this.
pub(super) fn refused(what: &'static str, why: &str) -> LoadError {
    LoadError::Refused { what, why: why.to_owned() }
}

/// Beginnings of the lines with figures that follow the reason in a verifier's log.
const FIGURES: [&str; 5] =
    ["processed", "verification time", "stack depth", "subprog", "insns processed"];

/// One line instead of a verifier log: the errno with its usual cause, or the log's last line.
pub(super) fn explain(error: &ProgramError) -> String {
    match error {
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            log::debug!("verifier: {log}");
            let is_reason = |line: &&str| {
                !line.trim().is_empty() && !FIGURES.iter().any(|figure| line.starts_with(figure))
            };
            let last = log.lines().rev().find(is_reason);
            explain_errno(io_error, last)
        }
        ProgramError::SyscallError(e) => explain_errno(&e.io_error, Some(e.call)),
        other => one_line(other),
    }
}

pub(super) fn explain_ebpf(error: &EbpfError) -> String {
    log::debug!("the object was refused: {error:?}");
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(e) = source {
        if let Some(e) = e.downcast_ref::<std::io::Error>() {
            return explain_errno(e, Some(&one_line(error)));
        }
        source = e.source();
    }
    one_line(error)
}

fn explain_errno(error: &std::io::Error, detail: Option<&str>) -> String {
    let detail = detail.map(|d| format!(" ({d})")).unwrap_or_default();
    let cause = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => {
            "; it takes root, or CAP_BPF with CAP_PERFMON, and no lockdown=confidentiality"
        }
        _ => "",
    };
    format!("{error}{detail}{cause}")
}

fn one_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
