//! Loads and attaches the probes; everything that knows aya's types of programs.

use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;

use aya::programs::{BtfTracePoint, ProgramError, TracePoint};
use aya::{Ebpf, EbpfError, EbpfLoader};
use bench_ebpf::abi::{THREAD_SLOTS, globals, maps, programs};

use super::offsets::{OffsetError, Offsets};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/probes.o"));
static OBJECT_WITH_LOG: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/probes-log.o"));

/// Where the kernel keeps its type information.
const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

/// First kernel series whose BTF tracepoint on `sys_enter` skipped events when it was preempted
/// (measured: exact on 5.10, 6.1, 6.12 and 6.18, also with full and lazy preemption; 8 to 11 %
/// skipped on 7.3). The classic tracepoint was exact on all of them.
const PREEMPTED_SINCE: (u32, u32) = (7, 0);

/// Which hook counts syscalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    /// The cheaper one.
    BtfTracePoint,
    /// The one that cannot be preempted.
    ClassicTracePoint,
}

impl Hook {
    /// As the record names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BtfTracePoint => "btf-tracepoint",
            Self::ClassicTracePoint => "tracepoint",
        }
    }

    /// Name of the program that is attached to it.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::BtfTracePoint => programs::SYS_ENTER_BTF,
            Self::ClassicTracePoint => programs::SYS_ENTER_CLASSIC,
        }
    }

    fn for_kernel(release: &str) -> Self {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < PREEMPTED_SINCE => {
                Self::BtfTracePoint
            }
            _ => Self::ClassicTracePoint,
        }
    }
}

/// Why the probes cannot be had; each names the remedy.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The binary holds no object.
    #[error("this bench-user has no probes ({0})")]
    NotBuilt(&'static str),
    /// No type information.
    #[error(
        "{KERNEL_BTF} cannot be read ({0}): the probes need a kernel with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf(String),
    /// A member is missing.
    #[error(transparent)]
    Offsets(#[from] OffsetReason),
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

/// A reason about the kernel's types, as text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OffsetReason(String);

impl From<OffsetError> for OffsetReason {
    fn from(e: OffsetError) -> Self {
        Self(e.to_string())
    }
}

/// Loads the object for one cgroup and attaches its programs.
pub(super) fn load(cgroup: &Path, with_log: bool) -> Result<(Ebpf, Hook), LoadError> {
    let object = object(with_log)?;
    let btf_bytes = std::fs::read(KERNEL_BTF).map_err(|e| LoadError::NoBtf(e.to_string()))?;
    let types = btf_rs::Btf::from_bytes(&btf_bytes).map_err(|e| LoadError::NoBtf(e.to_string()))?;
    let offsets = Offsets::look_up(&types).map_err(OffsetReason::from)?;
    let btf = aya::Btf::parse(&btf_bytes, aya::Endianness::default())
        .map_err(|e| LoadError::NoBtf(e.to_string()))?;
    let hook = Hook::for_kernel(&rustix::system::uname().release().to_string_lossy());

    let mut ebpf = open(object, &btf, offsets)?;
    watch(&mut ebpf, cgroup)?;
    attach(&mut ebpf, &btf, hook)?;
    Ok((ebpf, hook))
}

fn object(with_log: bool) -> Result<&'static [u8], LoadError> {
    match (with_log, OBJECT.is_empty(), OBJECT_WITH_LOG.is_empty()) {
        (false, false, _) => Ok(OBJECT),
        (true, _, false) => Ok(OBJECT_WITH_LOG),
        (true, _, true) => Err(LoadError::NotBuilt(env!("BENCH_PROBES_LOG"))),
        (false, true, _) => Err(LoadError::NotBuilt(env!("BENCH_PROBES"))),
    }
}

fn open(object: &[u8], btf: &aya::Btf, offsets: Offsets) -> Result<Ebpf, LoadError> {
    let compat = offsets.compat_status.unwrap_or(globals::NO_COMPAT);
    let since = crate::clock::boottime_ns();
    EbpfLoader::new()
        .btf(Some(btf))
        .override_global(globals::COMPAT_STATUS, &compat, true)
        .override_global(globals::STATE, &offsets.state, true)
        .override_global(globals::START_BOOTTIME, &offsets.start_boottime, true)
        .override_global(globals::RUN_DELAY, &offsets.run_delay, true)
        .override_global(globals::PCOUNT, &offsets.pcount, true)
        .override_global(globals::SUM_EXEC, &offsets.sum_exec, true)
        .override_global(globals::NVCSW, &offsets.nvcsw, true)
        .override_global(globals::NIVCSW, &offsets.nivcsw, true)
        .override_global(globals::WATCHING_SINCE, &since, true)
        .map_max_entries(maps::THREADS, THREAD_SLOTS)
        .load(object)
        .map_err(|e| refused("maps", &explain_ebpf(&e)))
}

fn watch(ebpf: &mut Ebpf, cgroup: &Path) -> Result<(), LoadError> {
    let fail = |why: String| LoadError::Cgroup(cgroup.display().to_string(), why);
    let directory = File::open(cgroup).map_err(|e| fail(e.to_string()))?;
    let map = ebpf.map_mut(maps::TARGET).ok_or_else(|| fail("the object has no map".into()))?;
    aya::maps::CgroupArray::try_from(map)
        .and_then(|mut array| array.set(0, directory.as_fd().as_raw_fd(), 0))
        .map_err(|e| fail(format!("it is no cgroup v2 directory ({e})")))
}

fn attach(ebpf: &mut Ebpf, btf: &aya::Btf, hook: Hook) -> Result<(), LoadError> {
    let sched: &mut BtfTracePoint = program(ebpf, programs::SCHED_SWITCH)?;
    sched
        .load(programs::SCHED_SWITCH, btf)
        .and_then(|()| sched.attach())
        .map_err(|e| refused("sched_switch", &explain(&e)))?;
    match hook {
        Hook::BtfTracePoint => {
            let enter: &mut BtfTracePoint = program(ebpf, hook.program())?;
            enter.load(programs::SYS_ENTER_BTF, btf).and_then(|()| enter.attach()).map(drop)
        }
        Hook::ClassicTracePoint => {
            check_format()?;
            let enter: &mut TracePoint = program(ebpf, hook.program())?;
            enter.load().and_then(|()| enter.attach("raw_syscalls", "sys_enter")).map(drop)
        }
    }
    .map_err(|e| refused("sys_enter", &explain(&e)))
}

/// The probe reads the number at byte 8; some vendors' kernels have more common fields.
fn check_format() -> Result<(), LoadError> {
    let texts = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(|root| {
        std::fs::read_to_string(format!("{root}/events/raw_syscalls/sys_enter/format"))
    });
    let text = texts.into_iter().find_map(Result::ok).ok_or_else(|| {
        refused("sys_enter", "tracefs is not mounted; mount -t tracefs tracefs /sys/kernel/tracing")
    })?;
    let fits = text.lines().any(|line| line.contains(" id;") && line.contains("offset:8;"));
    if fits { Ok(()) } else { Err(refused("sys_enter", "the tracepoint has an unknown layout")) }
}

fn program<'a, P>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<P, LoadError>
where
    P: TryFrom<&'a mut aya::programs::Program, Error = ProgramError>,
{
    ebpf.program_mut(name)
        .ok_or_else(|| refused(name, "the object has no such program"))?
        .try_into()
        .map_err(|e: ProgramError| refused(name, &e.to_string()))
}

fn refused(what: &'static str, why: &str) -> LoadError {
    LoadError::Refused { what, why: why.to_owned() }
}

/// One line instead of a verifier log: the errno with its usual cause, or the log's last line.
fn explain(error: &ProgramError) -> String {
    match error {
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            log::debug!("verifier: {log}");
            let last = log.lines().rev().find(|line| {
                !line.trim().is_empty()
                    && !line.starts_with("processed")
                    && !line.contains("verification time")
            });
            explain_errno(io_error, last)
        }
        ProgramError::SyscallError(e) => explain_errno(&e.io_error, Some(e.call)),
        other => one_line(other),
    }
}

fn explain_ebpf(error: &EbpfError) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_follows_the_kernel() {
        for (release, hook) in [
            ("5.10.0-46-cloud-amd64", Hook::BtfTracePoint),
            ("6.18.44", Hook::BtfTracePoint),
            ("7.0.1", Hook::ClassicTracePoint),
            ("7.3.4+deb13", Hook::ClassicTracePoint),
            ("odd", Hook::ClassicTracePoint),
        ] {
            assert_eq!(Hook::for_kernel(release), hook, "{release}");
        }
    }
}
