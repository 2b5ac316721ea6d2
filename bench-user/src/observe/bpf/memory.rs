//! Memory that the kernel lets maps and programs have.
//!
//! Before Linux 5.11 it counts against RLIMIT_MEMLOCK, 64 KiB by default, and a map that does not
//! fit is refused with EPERM; since then it counts as the cgroup's memory (kernel/bpf/syscall.c,
//! bpf_map_charge_memlock, gone in 5.11).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// First kernel series without the limit.
const UNLIMITED_SINCE: (u32, u32) = (5, 11);

/// Lifts the limit where there is one. Without the right to, the hard limit is what there is, and
/// if the maps do not fit the kernel's refusal says so.
pub(super) fn allow() {
    if !is_limited(&rustix::system::uname().release().to_string_lossy()) {
        return;
    }
    let none = Rlimit { current: None, maximum: None };
    if let Err(e) = setrlimit(Resource::Memlock, none) {
        let maximum = getrlimit(Resource::Memlock).maximum;
        log::debug!("RLIMIT_MEMLOCK stays at {maximum:?}: {e}");
        // A process may always raise itself to its hard limit.
        setrlimit(Resource::Memlock, Rlimit { current: maximum, maximum }).ok();
    }
}

fn is_limited(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < UNLIMITED_SINCE,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernels_before_5_11_limit_it() {
        assert!(is_limited("5.10.0-46-cloud-amd64") && is_limited("4.19.0"));
        assert!(!is_limited("5.11.0") && !is_limited("6.1.0-57") && !is_limited("odd"));
    }
}
