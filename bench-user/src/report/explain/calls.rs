//! Syscalls explained: a row a name, and what is between enters and returns.

use crate::measured::Measured;
use crate::observe::{ExplainedCall, SyscallsExplained};
use crate::report::figures::{NONE, bytes, count, ns, percent};
use crate::report::page::{Item, Table};

/// So many syscalls by name are listed; the rest is in the data.
const SYSCALLS: usize = 15;

/// So many errors of a name are listed.
const ERRORS: usize = 2;

/// What took longest in all first.
pub(super) fn table(calls: &SyscallsExplained) -> Table {
    let mut names: Vec<_> = calls.by_name.iter().collect();
    names.sort_by(|a, b| b.1.sum_ns.cmp(&a.1.sum_ns).then(a.0.cmp(b.0)));
    let mut table = Table::new([
        "syscall", ">calls", ">p50", ">p99", ">in all", ">on CPU", ">runq", ">blocked", "errors",
        "per call",
    ]);
    for (name, call) in names.iter().take(SYSCALLS) {
        let time = |ns_of: Option<u64>| ns_of.map_or(NONE.into(), ns);
        table.rows.push(vec![
            (*name).clone(),
            count(call.count),
            time(call.latency_ns.p50),
            time(call.latency_ns.p99),
            ns(call.sum_ns),
            part(&call.oncpu_ns, call),
            part(&call.runq_ns, call),
            part(&call.blocked_ns, call),
            errors(call),
            per_call(call),
        ]);
    }
    if names.len() > SYSCALLS {
        let rest = || names.iter().skip(SYSCALLS).map(|(_, call)| call);
        let mut row = vec![String::new(); table.columns.len()];
        row[0] = format!("{} others", names.len() - SYSCALLS);
        row[1] = count(rest().map(|call| call.count).sum());
        row[4] = ns(rest().map(|call| call.sum_ns).sum());
        table.rows.push(row);
    }
    table
}

/// A part of the time as a share of it.
#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
fn part(part: &Measured<u64>, call: &ExplainedCall) -> String {
    match part.value() {
        Some(part) if call.sum_ns > 0 => percent(*part as f64 / call.sum_ns as f64),
        _ => NONE.into(),
    }
}

fn errors(call: &ExplainedCall) -> String {
    let mut errors: Vec<_> = call.errors.iter().collect();
    errors.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let shown = errors.iter().take(ERRORS).map(|(name, n)| format!("{name} {}", count(**n)));
    let mut parts: Vec<String> = shown.collect();
    if errors.len() > ERRORS {
        parts.push(format!("{} others", errors.len() - ERRORS));
    }
    if call.interrupted > 0 {
        parts.push(format!("interrupted {}", count(call.interrupted)));
    }
    parts.join(", ")
}

/// What a call brought on average, and how many brought nothing or little.
#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
fn per_call(call: &ExplainedCall) -> String {
    let spread = call.events_per_call.as_ref().or(call.bytes_per_call.as_ref());
    let Some(of) = spread.map(|spread| spread.count).filter(|n| *n > 0) else {
        return String::new();
    };
    let mean = |sum: u64| sum as f64 / of as f64;
    let share = |n: u64| percent(n as f64 / of as f64);
    let mut parts = Vec::new();
    parts.extend(call.events.map(|sum| format!("{:.2} events", mean(sum))));
    parts.extend(call.bytes.map(|sum| bytes(mean(sum))));
    parts.extend(call.empty.filter(|n| *n > 0).map(|n| format!("{} empty", share(n))));
    parts.extend(call.small_writes.filter(|n| *n > 0).map(|n| format!("{} small", share(n))));
    parts.join(", ")
}

/// What does not pair, what has not returned, and what is missing.
pub(super) fn items(calls: &SyscallsExplained) -> Vec<Item> {
    let mut items = Vec::new();
    let of = &calls.unpaired;
    let causes = [
        (of.never_return, "never return (exit)"),
        (of.child_returns, "returned in a new child too"),
        (of.no_enter, "returned without an enter (refused by seccomp, or begun before)"),
        (of.died, "ended with their thread"),
        (of.replaced, "were entered before the one before had returned"),
        (of.renumbered, "returned under another number"),
    ];
    let unpaired: Vec<String> = causes
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", count(n)))
        .collect();
    if !unpaired.is_empty() {
        items.push(Item::new("unpaired", unpaired.join("; ")));
    }
    let mut flying: Vec<_> = calls.in_flight.iter().collect();
    flying.sort_by(|a, b| b.1.count.cmp(&a.1.count).then(a.0.cmp(b.0)));
    let flying: Vec<String> = flying
        .into_iter()
        .map(|(name, of)| format!("{} {name} (longest {})", count(of.count), ns(of.longest_ns)))
        .collect();
    if !flying.is_empty() {
        items.push(Item::new("in flight at the end", flying.join(", ")));
    }
    items.extend(super::missed(calls.missed));
    items.extend(super::lost(&calls.lost));
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use crate::observe::{InFlight, Unpaired};

    fn a_wait() -> ExplainedCall {
        ExplainedCall {
            count: 100,
            sum_ns: 1000,
            oncpu_ns: Measured::Value(100),
            runq_ns: Measured::unavailable("x"),
            blocked_ns: Measured::Value(900),
            errors: [("EINTR".into(), 3)].into(),
            events_per_call: Some(Distribution { count: 97, ..Distribution::default() }),
            events: Some(194),
            empty: Some(1),
            ..ExplainedCall::default()
        }
    }

    #[test]
    fn a_row_shows_shares_errors_and_what_a_call_brings() {
        let calls = SyscallsExplained {
            by_name: [("epoll_wait".into(), a_wait())].into(),
            ..SyscallsExplained::default()
        };
        let row = &table(&calls).rows[0];
        assert_eq!(row[5..8], ["10%", NONE, "90%"]);
        assert_eq!(row[8..], ["EINTR 3", "2.00 events, 1.0% empty"]);
        assert!(items(&calls).is_empty());
    }

    #[test]
    fn what_spoils_the_figures_stands_below_them() {
        let calls = SyscallsExplained {
            unpaired: Unpaired { never_return: 2, no_enter: 1, ..Unpaired::default() },
            in_flight: [("futex".into(), InFlight { count: 4, longest_ns: 1_000_000_000 })].into(),
            missed: 5,
            lost: [("calls_full".into(), 7)].into(),
            ..SyscallsExplained::default()
        };
        let lines: Vec<String> =
            items(&calls).into_iter().map(|item| item.lines.join("")).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].starts_with("2 never return") && lines[1].starts_with("4 futex (longest"));
        assert!(lines[2].contains("lower bounds") && lines[3] == "7 calls full", "{lines:?}");
    }
}
