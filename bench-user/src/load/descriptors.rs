//! Enough file descriptors for a stage, made sure of before it.
//!
//! A generator that runs out half way measures fewer connections than it says. The soft limit
//! is raised no further than needed: programs that we start later inherit it, and some size
//! their tables by it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For what the program opens besides connections: runtimes, record, observers.
const RESERVE: u64 = 64;

/// A runtime has an epoll, an event and a socket descriptor.
const PER_WORKER: u64 = 4;

/// The limit is too low and cannot be raised.
#[derive(Debug, thiserror::Error)]
#[error(
    "{connections} connections need {needed} file descriptors and only {limit} are allowed; \
     raise the hard limit (`ulimit -Hn {needed}` as root) or ask for fewer connections"
)]
pub struct DescriptorError {
    /// Connections asked for.
    pub connections: u32,
    /// Descriptors that they need, with those already open.
    pub needed: u64,
    /// Most that this process may have.
    pub limit: u64,
}

/// Raises the soft limit where it is too low for so many connections. A run does so once, before
/// it starts the first target, so that every target inherits the same limit.
///
/// `besides` are the descriptors that were open before the first connection
/// ([`descriptors_in_use`]): later ones may be connections of the stage before, which are kept.
///
/// # Errors
/// When the hard limit forbids it.
pub fn ensure_descriptors(
    connections: u32,
    workers: u32,
    besides: u64,
) -> Result<(), DescriptorError> {
    let needed = u64::from(connections) + u64::from(workers) * PER_WORKER + besides + RESERVE;
    let limit = getrlimit(Resource::Nofile);
    let Some(raised) = raised(limit, needed) else {
        let limit = limit.maximum.unwrap_or(u64::MAX);
        return Err(DescriptorError { connections, needed, limit });
    };
    if raised == limit || setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    Err(DescriptorError { connections, needed, limit: limit.current.unwrap_or(u64::MAX) })
}

/// The limit with room for `needed`; `None` where the hard limit forbids it. An absent limit is
/// no limit.
fn raised(limit: Rlimit, needed: u64) -> Option<Rlimit> {
    if limit.current.is_none_or(|soft| soft >= needed) {
        return Some(limit);
    }
    let is_allowed = limit.maximum.is_none_or(|hard| hard >= needed);
    is_allowed.then_some(Rlimit { current: Some(needed), maximum: limit.maximum })
}

/// How many descriptors this process has open.
#[must_use]
pub fn descriptors_in_use() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_as_far_as_needed_and_never_past_the_hard_one() {
        let limit = |current, maximum| Rlimit { current, maximum };
        let after = |current, maximum| raised(limit(current, maximum), 1000);
        assert_eq!(after(Some(4096), Some(4096)), Some(limit(Some(4096), Some(4096))));
        assert_eq!(after(None, None), Some(limit(None, None)));
        assert_eq!(after(Some(256), Some(4096)), Some(limit(Some(1000), Some(4096))));
        assert_eq!(after(Some(256), None), Some(limit(Some(1000), None)));
        assert_eq!(after(Some(256), Some(999)), None);
    }

    #[test]
    fn a_stage_beyond_the_hard_limit_is_refused_with_both_numbers() {
        let error = ensure_descriptors(u32::MAX, 1, 3).unwrap_err();
        assert!(error.needed > u64::from(u32::MAX) && error.limit < error.needed);
        assert!(error.to_string().contains("ulimit"), "{error}");
    }
}
