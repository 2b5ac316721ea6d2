//! Names of explanations that a stage does not hold: zero where a map lists only what happened,
//! and a reason where there was nothing to take a figure of.

use serde_json::Value;

use super::{Found, Miss, is_syscall, unknown, walk};
use crate::distribution::Distribution;
use crate::measured::Measured;
use crate::observe::{
    Explained, ExplainedCall, OffCpu, RunQueue, SOFTIRQS, Softirq, SyscallsExplained,
    UringExplained, WAITS_WITHOUT_SYSCALL, is_opcode,
};

/// Why a kind of explanation is `null` as a whole.
pub(super) const NOT_ASKED: &str = "this explanation was not asked for (--explain)";

/// Every kind whose figures are listed by names that depend on what happened, with none in it.
pub(in crate::analyze) fn template() -> Explained {
    let io_uring = UringExplained {
        succeeded: Measured::Value(0),
        failed: Measured::Value(0),
        ..UringExplained::default()
    };
    Explained {
        syscalls: Some(Measured::Value(SyscallsExplained::default())),
        io_uring: Some(Measured::Value(io_uring)),
        off_cpu: Some(Measured::Value(OffCpu::default())),
        run_queue: Some(Measured::Value(RunQueue::default())),
        softirq: Some(Measured::Value(Softirq::default())),
        ..Explained::default()
    }
}

/// The figure of a name that the maps of a stage do not hold; `parts` are those after `explain`.
pub(super) fn absent(name: &str, parts: &[&str], has_load: bool) -> Result<f64, Miss> {
    match parts {
        ["off_cpu", "by_reason", reason, ..] if is_reason(reason) => Ok(0.0),
        ["softirq", "by_vector", kind, _] if SOFTIRQS.contains(kind) => Ok(0.0),
        ["syscalls", "by_name", call, ..] | ["syscalls", "in_flight", call, ..]
            if !is_syscall(call) =>
        {
            Err(Miss::NoSuchName(format!("`{name}`: no syscall is named `{call}`")))
        }
        ["syscalls", "by_name", _, "errors", errno] if errno.to_lowercase().starts_with('e') => {
            Ok(0.0)
        }
        ["syscalls", "by_name", call, field @ ..] => never_made(name, call, field, has_load),
        ["syscalls", "in_flight", _, "count" | "longest_ns"] | ["syscalls", "lost", _] => Ok(0.0),
        ["io_uring", "by_opcode", opcode, field @ ("count" | "per_sec" | "per_request")] => {
            if !is_opcode(opcode) {
                return Err(Miss::NoSuchName(format!(
                    "`{name}`: io_uring has no opcode named `{opcode}`"
                )));
            }
            zero(name, field, has_load)
        }
        _ => Err(unknown(name)),
    }
}

/// What a thread can be blocked in: a syscall, or what the probe has a word for.
fn is_reason(name: &str) -> bool {
    is_syscall(name) || WAITS_WITHOUT_SYSCALL.iter().any(|(_, word)| *word == name)
}

/// A figure of a call that was not made: what is summed is zero, and the rest has no value.
fn never_made(name: &str, call: &str, field: &[&str], has_load: bool) -> Result<f64, Miss> {
    let spread = || Some(Distribution::default());
    let template = ExplainedCall {
        oncpu_ns: Measured::Value(0),
        runq_ns: Measured::Value(0),
        blocked_ns: Measured::Value(0),
        bytes_per_call: spread(),
        events_per_call: spread(),
        bytes: Some(0),
        small_writes: Some(0),
        events: Some(0),
        empty: Some(0),
        ..ExplainedCall::default()
    };
    let json = serde_json::to_value(template).unwrap_or(Value::Null);
    match (walk(&json, &field.join(".")), field) {
        (Found::Number(_), [_]) | (Found::Null, ["per_request"]) => zero(name, field[0], has_load),
        (Found::Number(_) | Found::Null, _) => Err(Miss::NotMeasured(format!(
            "`{name}` has no value: no {call} returned in this stage"
        ))),
        _ => Err(unknown(name)),
    }
}

fn zero(name: &str, field: &str, has_load: bool) -> Result<f64, Miss> {
    if field == "per_request" && !has_load {
        let why = format!("`{name}` has no value: no request was completed in this stage");
        return Err(Miss::NotMeasured(why));
    }
    Ok(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::a_stage;
    use crate::analyze::metrics::{check_name, value};

    #[test]
    fn names_are_checked_before_anything_is_measured() {
        for name in [
            "explain.syscalls.by_name.read.latency_ns.p99",
            "explain.syscalls.by_name.read.errors.EAGAIN",
            "explain.syscalls.by_name.epoll_wait.events_per_call.mean",
            "explain.syscalls.by_name.read.blocked_ns",
            "explain.syscalls.unpaired.no_enter",
            "explain.syscalls.in_flight.futex.count",
            "explain.io_uring.by_opcode.recv.per_request",
            "explain.io_uring.failed",
            "explain.off_cpu.by_reason.page_fault.ns",
            "explain.off_cpu.by_reason.compat32.ns",
        ] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for (name, says) in [
            ("explain.syscalls.by_name.raed.count", "no syscall is named `raed`"),
            ("explain.syscalls.by_name.read.latency.p99", "the nearest is"),
            ("explain.io_uring.by_opcode.rcv.count", "no opcode named `rcv`"),
            ("explain.syscall.by_name.read.count", "the nearest is"),
        ] {
            let why = check_name(name).unwrap_err();
            assert!(why.contains(says), "{name}: {why}");
        }
    }

    #[test]
    fn what_was_not_asked_for_is_not_zero_and_what_did_not_happen_is() {
        let mut stage = a_stage(50);
        let name = "explain.syscalls.by_name.read.errors.EAGAIN";
        let why = value(&stage, name).unwrap_err();
        assert!(why.contains("not asked for"), "{why}");
        stage.explain = template();
        assert_eq!(value(&stage, name), Ok(0.0));
        assert_eq!(value(&stage, "explain.syscalls.by_name.read.per_request"), Ok(0.0));
        let why = value(&stage, "explain.syscalls.by_name.read.latency_ns.p50").unwrap_err();
        assert!(why.contains("no read returned"), "{why}");
        stage.explain.syscalls = Some(Measured::unavailable("no right"));
        let why = value(&stage, name).unwrap_err();
        assert!(why.contains("no right"), "{why}");
    }
}
