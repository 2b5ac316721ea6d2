//! Why a tool's count is not the truth: one sentence for each that differs.

use super::{Column, Seen};

/// Switches and waits on the way from one piece of work to the next, which the tools see and the
/// work's own books do not.
const BETWEEN: u64 = 100;

/// For every tool whose counts differ from the truth.
pub(super) fn reasons(seen: &Seen) -> Vec<String> {
    seen.tools.iter().flat_map(|tool| of(tool, seen)).collect()
}

fn of(tool: &Column, seen: &Seen) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some((count, truth)) = differ(tool.calls, seen.truth.calls, 0) {
        let why = match tool.name {
            "bpftrace ++" => {
                "`++` reads, adds and writes without an atomic, and threads on two CPUs overwrite \
                 each other's sums; `count()` keeps one for each CPU"
                    .to_owned()
            }
            "perf trace -s" => format!(
                "it hands every event to user space, enters and exits, and its buffers overflow: it \
                 says itself that it lost {} events",
                tool.lost.unwrap_or(0)
            ),
            _ => "no cause is known".to_owned(),
        };
        reasons.push(format!("{} counted {count} of {truth} calls: {why}", tool.name));
    }
    if let Some((count, truth)) = differ(tool.switches, seen.truth.switches, BETWEEN) {
        reasons.push(format!("{} counted {count} switches and not {truth}", tool.name));
    }
    if let Some((count, truth)) = differ(tool.waits, seen.truth.waits, BETWEEN) {
        let why = match tool.name {
            "runqlat" => format!(
                "at a wake-up it asks for the cgroup of the current task, which is the waker: of \
                 the {} waits that a timer's interrupt began, it has those whose interrupt came on \
                 top of a thread of the cgroup; and a thread that is preempted is a wait of its own",
                seen.naps
            ),
            _ => "no cause is known".to_owned(),
        };
        reasons.push(format!("{} has {count} of {truth} waits: {why}", tool.name));
    }
    reasons
}

/// The two counts, where both are known and further apart than allowed.
fn differ(count: Option<u64>, truth: Option<u64>, allowed: u64) -> Option<(u64, u64)> {
    let (count, truth) = (count?, truth?);
    (count.abs_diff(truth) > allowed).then_some((count, truth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_explained() {
        let truth = Column {
            name: "truth",
            calls: Some(1000),
            switches: Some(500),
            waits: Some(700),
            lost: None,
        };
        let exact = Column { name: "bench-user", switches: Some(520), ..truth.clone() };
        let plain = Column { name: "bpftrace ++", calls: Some(998), ..Column::default() };
        let waker = Column { name: "runqlat", waits: Some(300), ..Column::default() };
        let seen = Seen { truth, tools: vec![exact, plain, waker], ..Seen::default() };
        let found = reasons(&seen);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("bpftrace ++ counted 998 of 1000 calls"), "{found:?}");
        assert!(found[1].starts_with("runqlat has 300 of 700 waits"), "{found:?}");
    }
}
