//! What is attached together, and works or is missing as a whole.

use aya::Ebpf;
use aya::programs::{BtfTracePoint, ProgramError, TracePoint};
use bench_ebpf::abi::{globals, programs};

use super::hook::Hook;
use super::kernel::Kernel;
use super::offsets::{Offsets, compat_status, has_function};
use super::refusal::{LoadError, explain, refused};

/// Read-only data of the programs: its name and value.
pub(super) type Global = (&'static str, u32);

/// One part of the probes.
pub(super) struct Part {
    /// Read-only data that its programs need, mostly offsets into the kernel's types.
    pub(super) globals: fn(&Kernel) -> Result<Vec<Global>, LoadError>,
    /// Its maps and how many entries they get when it is asked for; otherwise one.
    pub(super) maps: &'static [(&'static str, u32)],
    /// Its programs: any of them may be attached.
    pub(super) programs: &'static [&'static str],
    /// Loads and attaches its programs.
    pub(super) attach: fn(&mut Ebpf, &Kernel) -> Result<(), LoadError>,
}

/// Switches and waits (`probes/sched.rs`).
pub(super) const SCHED: Part = Part {
    globals: |kernel| Ok(Offsets::look_up(kernel.types()?)?.globals()),
    // Its hash of threads has the size that the target needs (`slots.rs`).
    maps: &[],
    programs: &[programs::SCHED_SWITCH, programs::SCHED_EXEC],
    attach: |ebpf, kernel| {
        attach_btf(ebpf, kernel, programs::SCHED_EXEC, "sched_process_exec")?;
        attach_btf(ebpf, kernel, programs::SCHED_SWITCH, "sched_switch")
    },
};

/// Syscalls entered (`probes/syscall.rs`).
pub(super) const SYSCALLS: Part = Part {
    globals: |kernel| {
        // Without type information 32-bit calls cannot be told apart, and nothing else is lost.
        let status = kernel.types().ok().and_then(|types| compat_status(types).ok().flatten());
        let has_typed = |types| has_function(types, "bpf_get_current_task_btf");
        Ok(vec![
            (globals::COMPAT_STATUS, status.unwrap_or(globals::NO_OFFSET)),
            (globals::HAS_TYPED_TASK, u32::from(kernel.types().is_ok_and(has_typed))),
        ])
    },
    maps: &[],
    programs: &[programs::SYS_ENTER_BTF, programs::SYS_ENTER_CLASSIC],
    attach: |ebpf, kernel| {
        if kernel.hook == Hook::ClassicTracePoint {
            check_format()?;
        }
        let either = (programs::SYS_ENTER_BTF, programs::SYS_ENTER_CLASSIC);
        attach_either(ebpf, kernel, either, ("raw_syscalls", "sys_enter"))
    },
};

/// Attaches a program to a BTF tracepoint.
///
/// # Errors
/// Why the kernel refuses it.
pub(super) fn attach_btf(
    ebpf: &mut Ebpf,
    kernel: &Kernel,
    name: &'static str,
    tracepoint: &'static str,
) -> Result<(), LoadError> {
    let program: &mut BtfTracePoint = program(ebpf, name)?;
    program
        .load(tracepoint, kernel.btf()?)
        .and_then(|()| program.attach())
        .map(drop)
        .map_err(|e| refused(tracepoint, &explain(&e)))
}

/// Attaches a program to a classic tracepoint, a category and a name.
///
/// # Errors
/// Why the kernel refuses it.
fn attach_classic(
    ebpf: &mut Ebpf,
    name: &'static str,
    (category, tracepoint): (&'static str, &'static str),
) -> Result<(), LoadError> {
    let program: &mut TracePoint = program(ebpf, name)?;
    program
        .load()
        .and_then(|()| program.attach(category, tracepoint))
        .map(drop)
        .map_err(|e| refused(tracepoint, &explain(&e)))
}

/// Attaches one of two programs that do the same: to a BTF tracepoint, or to the classic one of
/// this category, where the kernel's hook for syscalls is one.
///
/// # Errors
/// Why the kernel refuses it.
pub(super) fn attach_either(
    ebpf: &mut Ebpf,
    kernel: &Kernel,
    (btf, classic): (&'static str, &'static str),
    (category, tracepoint): (&'static str, &'static str),
) -> Result<(), LoadError> {
    match kernel.hook {
        Hook::BtfTracePoint => attach_btf(ebpf, kernel, btf, tracepoint),
        Hook::ClassicTracePoint => attach_classic(ebpf, classic, (category, tracepoint)),
    }
}

/// A program of the object, as its kind.
///
/// # Errors
/// When the object has none of that name and kind.
pub(super) fn program<'a, P>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<P, LoadError>
where
    P: TryFrom<&'a mut aya::programs::Program, Error = ProgramError>,
{
    ebpf.program_mut(name)
        .ok_or_else(|| refused(name, "the object has no such program"))?
        .try_into()
        .map_err(|e: ProgramError| refused(name, &e.to_string()))
}

/// Whether a program has been loaded, and so is or was attached.
pub(super) fn is_loaded(ebpf: &Ebpf, name: &str) -> bool {
    ebpf.program(name).is_some_and(|program| program.fd().is_ok())
}

/// The text of a classic tracepoint's `format` file.
///
/// # Errors
/// When tracefs is not mounted, or the kernel has no such tracepoint.
pub(super) fn format_of(category: &str, tracepoint: &'static str) -> Result<String, LoadError> {
    let roots = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let read = |root| {
        std::fs::read_to_string(format!("{root}/events/{category}/{tracepoint}/format")).ok()
    };
    roots.into_iter().find_map(read).ok_or_else(|| {
        refused(
            tracepoint,
            "the kernel has no such tracepoint, or tracefs is not mounted: \
             mount -t tracefs tracefs /sys/kernel/tracing",
        )
    })
}

/// The probes read the number at byte 8; some vendors' kernels have more common fields.
pub(super) fn check_format() -> Result<(), LoadError> {
    let text = format_of("raw_syscalls", "sys_enter")?;
    let fits = text.lines().any(|line| line.contains(" id;") && line.contains("offset:8;"));
    if fits { Ok(()) } else { Err(refused("sys_enter", "the tracepoint has an unknown layout")) }
}
