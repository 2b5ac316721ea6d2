//! Work that no syscall shows.

use super::levels::Step;
use super::warnings::stages_where;
use crate::measured::Measured;
use crate::observe::{Explained, Syscalls, Thread, ThreadKind};
use crate::plan::ClaimSpec;
use crate::record::RunRecord;

/// Work that a target gives to io_uring needs few syscalls or none, so fewer syscalls are not less
/// work there.
pub(super) fn warning(run: &RunRecord, steps: &[Step]) -> Option<String> {
    let rests = |claim: &ClaimSpec| {
        let expression = claim.cel.as_deref().unwrap_or_default();
        claim.metric.as_deref().unwrap_or_default().starts_with("syscalls.")
            || expression.contains("syscalls.")
    };
    let but = if run.plan.claims.iter().any(rests) { ", and a claim rests on them" } else { "" };
    let what =
        format!("syscalls per request do not show the work done through io_uring{but}: {REMEDY}");
    stages_where(steps, &what, |s| is_hidden(&s.explain, &s.syscalls, &s.threads))
}

/// What makes it seen.
pub const REMEDY: &str = "--explain=io-uring counts it";

/// Whether a window has work through io_uring that was not counted: a call that submits, or a
/// thread that the kernel makes for a ring (io_uring/sqpoll.c, io-wq.c).
#[must_use]
pub fn is_hidden(
    explained: &Explained,
    syscalls: &Measured<Syscalls>,
    threads: &Measured<Vec<Thread>>,
) -> bool {
    let is_counted = explained.io_uring.as_ref().is_some_and(|uring| uring.value().is_some());
    let enters = syscalls.value().and_then(|s| s.by_name.get("io_uring_enter"));
    let uses = enters.is_some_and(|count| count.count > 0)
        || threads.value().is_some_and(|all| all.iter().any(|t| ThreadKind::of(&t.comm).is_some()));
    uses && !is_counted
}

#[cfg(test)]
mod tests {
    use crate::analyze::warnings::tests::warned;
    use crate::measured::Measured;
    use crate::observe::{Count, Thread, UringExplained};
    use crate::record::StageRecord;

    #[test]
    fn work_through_io_uring_is_hidden_until_it_is_counted() {
        let poller = |stage: &mut StageRecord| {
            let thread = Thread { comm: "iou-sqp-7".into(), ..Thread::default() };
            stage.threads = Measured::Value(vec![thread]);
        };
        let hidden = warned(5, poller).join("\n");
        assert!(hidden.contains("through io_uring: --explain=io-uring"), "{hidden}");
        let calls = |stage: &mut StageRecord| {
            stage.syscalls = stage.syscalls.clone().map(|mut s| {
                s.by_name.insert("io_uring_enter".into(), Count::over(1, 1));
                s
            });
        };
        assert_eq!(warned(5, calls).len(), 1);
        let counted = |stage: &mut StageRecord| {
            calls(stage);
            stage.explain.io_uring = Some(Measured::Value(UringExplained::default()));
        };
        assert_eq!(warned(5, counted), Vec::<String>::new());
    }
}
