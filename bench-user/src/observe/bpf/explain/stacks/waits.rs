//! Waits that go on while the maps are read.
//!
//! A wait is entered when its thread is switched away from again, which may be long after the
//! window; so at both of its edges the waits that go on are closed by the thread's books in procfs
//! (`/proc/PID/task/TID/schedstat`).
//! Blind to: the wait for a CPU that follows and still goes on, which counts as part of it until
//! the kernel books it.

use std::collections::HashMap;

use bench_ebpf::abi::stacks::{Away, StackKey};

use crate::clock;

/// How long each stack has been waited in by now, ns.
pub(super) fn open(away: &HashMap<u64, Away>) -> HashMap<StackKey, u64> {
    let mut open = HashMap::<StackKey, u64>::new();
    for away in away.values().filter(|away| away.blocks != 0) {
        let path = format!("/proc/{}/task/{}/schedstat", away.key.tgid, away.tid);
        // One that has ended meanwhile waits no more.
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if let Some(ns) = blocked(away, &text, clock::now_ns()) {
            *open.entry(away.key).or_default() += ns;
        }
    }
    open
}

/// How long a thread has waited since it was switched away from, by its books of this moment;
/// `None` when it has been switched away from again since.
fn blocked(away: &Away, schedstat: &str, now_ns: u64) -> Option<u64> {
    let mut numbers = schedstat.split_ascii_whitespace().map(str::parse::<u64>);
    let mut number = || numbers.next()?.ok();
    let (sum_exec, run_delay, pcount) = (number()?, number()?, number()?);
    if pcount > away.pcount + 1 {
        return None;
    }
    let ran = sum_exec.saturating_sub(away.sum_exec) + run_delay.saturating_sub(away.run_delay);
    Some(now_ns.saturating_sub(away.since_ns).saturating_sub(ran))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWAY: Away = Away {
        since_ns: 1_000,
        tid: 1,
        run_delay: 50,
        pcount: 7,
        sum_exec: 300,
        blocks: 1,
        key: StackKey { tgid: 1, user: 1, kernel: 1, zero: 0, comm: [0; 16] },
    };

    #[test]
    fn a_wait_lasts_until_the_thread_could_run_again() {
        assert_eq!(blocked(&AWAY, "300 50 7\n", 5_000), Some(4_000), "it still waits");
        assert_eq!(blocked(&AWAY, "1300 150 8\n", 5_000), Some(2_900), "it runs again");
        assert_eq!(blocked(&AWAY, "1300 150 9\n", 5_000), None, "it has gone again");
        assert_eq!(blocked(&AWAY, "1 2", 5_000), None);
    }
}
