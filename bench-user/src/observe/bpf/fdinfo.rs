//! Figures of a program that the kernel shows only in its descriptor's fdinfo
//! (kernel/bpf/syscall.c, `bpf_prog_show_fdinfo`).

use std::os::fd::{AsFd as _, AsRawFd as _};

use aya::Ebpf;

use super::part::is_loaded;

/// A figure of a loaded program. `recursion_misses` is there since 5.12; before, a BTF tracepoint
/// had no guard that could skip an event, so absent is zero.
///
/// # Errors
/// When the program is not loaded or its fdinfo cannot be read.
pub(super) fn figure(ebpf: &Ebpf, program: &str, name: &str) -> Result<u64, String> {
    let fd = ebpf
        .program(program)
        .ok_or_else(|| format!("the object has no program {program}"))?
        .fd()
        .map_err(|e| e.to_string())?
        .as_fd()
        .as_raw_fd();
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}"))
        .map_err(|e| format!("/proc/self/fdinfo/{fd}: {e}"))?;
    Ok(field(&text, name).unwrap_or(0))
}

/// Events that the kernel skipped, of all of these programs that are loaded.
///
/// # Errors
/// As [`figure`].
pub(super) fn missed(ebpf: &Ebpf, programs: &[&str]) -> Result<u64, String> {
    let loaded = programs.iter().filter(|name| is_loaded(ebpf, name));
    loaded.map(|name| figure(ebpf, name, "recursion_misses")).sum()
}

/// The value of a line `name:<tab>value` of an fdinfo text.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|value| value.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "pos:\t0\nrun_cnt:\t12\nrecursion_misses:\t34\n";
        assert_eq!((field(text, "recursion_misses"), field(text, "run")), (Some(34), None));
    }
}
