//! Tries of rights and of what the kernel was built with.

use btf_rs::Btf;
use rustix::process::{Resource, getrlimit};

use super::Tried;

const SYS_ADMIN: (u32, &str) = (21, "CAP_SYS_ADMIN");
const PERFMON: (u32, &str) = (38, "CAP_PERFMON");
const BPF: (u32, &str) = (39, "CAP_BPF");

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Loading probes and watching other users' tasks.
pub(super) fn rights() -> Tried {
    let effective =
        effective_capabilities().map_err(|why| (why, "mount procfs at /proc".to_owned()))?;
    let has = |(bit, _): (u32, &str)| effective & (1 << bit) != 0;
    if has(SYS_ADMIN) || (has(PERFMON) && has(BPF)) {
        let names: Vec<_> =
            [SYS_ADMIN, PERFMON, BPF].into_iter().filter(|c| has(*c)).map(|c| c.1).collect();
        return Ok(format!("has {}", names.join(", ")));
    }
    let missing: Vec<_> = [PERFMON, BPF].into_iter().filter(|c| !has(*c)).map(|c| c.1).collect();
    Err((format!("lacks {}", missing.join(" and ")), "run it with sudo".into()))
}

fn effective_capabilities() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|e| format!("/proc/self/status cannot be read: {e}"))?;
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .ok_or_else(|| "/proc/self/status shows no capabilities".into())
}

/// The type information that the probes take their offsets from.
pub(super) fn btf() -> Tried {
    let remedy = || "use a kernel with CONFIG_DEBUG_INFO_BTF, as every distribution has".to_owned();
    let btf = Btf::from_file(BTF).map_err(|e| (format!("{BTF} cannot be read: {e}"), remedy()))?;
    match btf.resolve_types_by_name("task_struct") {
        Ok(_) => Ok("holds task_struct".into()),
        Err(e) => Err((format!("{BTF} has no task_struct: {e}"), remedy())),
    }
}

/// In confidentiality mode the kernel lets nobody read its memory.
pub(super) fn lockdown() -> Tried {
    let Ok(text) = std::fs::read_to_string("/sys/kernel/security/lockdown") else {
        return Ok("the kernel has none, or securityfs is not mounted".into());
    };
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some(("confidentiality", _)) => Err((
            "confidentiality: probes must not read kernel memory".into(),
            "boot without lockdown=confidentiality".into(),
        )),
        Some((mode, _)) => Ok(mode.into()),
        None => Ok(text.trim().into()),
    }
}

/// Kernels before 5.11 charge BPF maps to this limit; later ones to the memory cgroup.
pub(super) fn memlock() -> Tried {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map(str::parse::<u32>);
    let version = match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
        _ => return Ok(format!("the kernel `{release}` is taken for one that needs none")),
    };
    if version >= (5, 11) {
        return Ok("no limit applies to probes since kernel 5.11".into());
    }
    match getrlimit(Resource::Memlock).current {
        None => Ok("no limit is set".into()),
        Some(bytes) => Err((
            format!("kernel {release} charges probes to the limit of {bytes} bytes"),
            "run `ulimit -l unlimited` first".into(),
        )),
    }
}

/// The per-thread books, as a capability.
pub(super) fn books() -> Tried {
    match thread_books() {
        Ok(()) => Ok("the kernel books them (CONFIG_SCHED_INFO)".into()),
        Err(why) => Err((why, "use a kernel with CONFIG_SCHED_INFO".into())),
    }
}

/// Whether the kernel books run-queue times per thread.
///
/// # Errors
/// When it does not, saying so.
pub fn thread_books() -> Result<(), String> {
    let path = "/proc/thread-self/schedstat";
    let keeps_none = "the kernel keeps no run-queue times per thread";
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("{keeps_none}: {path} cannot be read: {e}"))?;
    // The reader is on a CPU, so it was put there at least once.
    match text.split_whitespace().nth(2).and_then(|stints| stints.parse::<u64>().ok()) {
        Some(1..) => Ok(()),
        _ => Err(format!("{keeps_none}: {path} stays zero")),
    }
}
