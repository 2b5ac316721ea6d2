//! Syscalls explained: what the record keeps of `--explain=syscalls`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::measured::Measured;

/// Syscalls of the cgroup from enter to return.
///
/// Times, errors and amounts are of calls that returned inside the window, also of those entered
/// before it; a call that has not returned is in `in_flight` alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SyscallsExplained {
    /// Every name that was entered or returned from; `compat32` holds 32-bit calls, `unknown`
    /// numbers outside the table.
    pub by_name: BTreeMap<String, ExplainedCall>,
    /// Calls that had not returned at the end of the window, by name.
    pub in_flight: BTreeMap<String, InFlight>,
    /// Calls that had not returned at its begin.
    pub in_flight_before: u64,
    /// Enters without a return, and returns without an enter.
    pub unpaired: Unpaired,
    /// Events that the kernel skipped (`recursion_misses` of the programs): with any, every
    /// figure here is a lower bound and no claim may rest on it.
    pub missed: u64,
    /// What there was no room for, by cause; causes without one are left out.
    pub lost: BTreeMap<String, u64>,
    /// Which hook showed the calls: `btf-tracepoint` or `tracepoint`.
    pub hook: String,
}

/// The calls of one name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedCall {
    /// Entered inside the window, as `syscalls.by_name` counts them.
    pub count: u64,
    /// The same per complete response; `null` where there was no load.
    pub per_request: Option<f64>,
    /// From enter to return, ns, to 1/32: each is at the middle of its bucket. What took less
    /// than 33 ns is entered as 32, what took more than 18 minutes as that.
    pub latency_ns: Distribution,
    /// The same of all of them together, exact, ns.
    pub sum_ns: u64,
    /// Of `sum_ns`, on a CPU: between two timestamps of the switches away and back. Time of
    /// interrupts and of a hypervisor that took the CPU is in it.
    pub oncpu_ns: Measured<u64>,
    /// Of `sum_ns`, waiting for a CPU, from the kernel's own books (`sched_info.run_delay`); what
    /// was off the CPU without having to wait for anything else is all of this kind.
    pub runq_ns: Measured<u64>,
    /// Of `sum_ns`, the rest: it waited for what the call is about, and was not runnable.
    pub blocked_ns: Measured<u64>,
    /// Calls that failed, by errno.
    pub errors: BTreeMap<String, u64>,
    /// `errors.EAGAIN` as a share of the calls that returned, 0..=1; `null` where none did.
    pub eagain_ratio: Option<f64>,
    /// Calls that a signal interrupted and that the kernel restarts or turns into `EINTR`
    /// (results -512 to -516); they are in no other error.
    pub interrupted: u64,
    /// Bytes that a call moved, to 1/32; of reads and writes that did not fail, 0 included.
    pub bytes_per_call: Option<Distribution>,
    /// The same of all of them together, exact.
    pub bytes: Option<u64>,
    /// Writes that moved some bytes, but fewer than 1,448, which a TCP segment carries on
    /// Ethernet; to sockets and to anything else.
    pub small_writes: Option<u64>,
    /// Events that a wait brought, messages that a `recvmmsg` or `sendmmsg` moved, submissions
    /// that an `io_uring_enter` took; exact below 16, to 1/32 above.
    pub events_per_call: Option<Distribution>,
    /// The same of all of them together, exact.
    pub events: Option<u64>,
    /// Calls that succeeded and brought nothing: the timeouts of a wait, the end of a stream.
    pub empty: Option<u64>,
}

/// Calls of one name that have not returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// How many.
    pub count: u64,
    /// How long the oldest is under way, ns.
    pub longest_ns: u64,
}

/// Why enters and returns do not pair.
///
/// Without skipped events, `entered + in_flight_before = returned + never_return + died +
/// replaced + lost.calls_full + in_flight`, and all returns are `returned + child_returns +
/// no_enter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// All enters.
    pub entered: u64,
    /// Returns whose enter was seen.
    pub returned: u64,
    /// Enters of `exit` and `exit_group`, which never return.
    pub never_return: u64,
    /// Threads that ended inside a call.
    pub died: u64,
    /// Enters of a thread whose call before had not returned.
    pub replaced: u64,
    /// Returns of a child from the call that made it: one enter, two returns (x86).
    pub child_returns: u64,
    /// Other returns without an enter: calls that seccomp refused, calls that were in flight when
    /// the probes were attached or when the thread joined the cgroup.
    pub no_enter: u64,
    /// Returns under another number than the enter's, other than the -1 of `rt_sigreturn`: a
    /// tracer changed it. They pair all the same.
    pub renumbered: u64,
}
