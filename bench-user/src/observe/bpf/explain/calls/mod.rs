//! Syscalls explained: the part of the probes, and what its maps hold.

mod block;
mod kinds;
mod sums;

use std::collections::BTreeMap;

use aya::Ebpf;
use aya::maps::{Array, HashMap};
use bench_ebpf::abi::calls::{
    AMOUNT_SLOTS, Call, CallAmounts, CallCounts, CallTimes, ERROR_SLOTS, IN_FLIGHT_SLOTS,
    TIMED_SLOTS, UNKNOWN, globals::CALL_NUMBER, maps, programs,
};
use bench_ebpf::abi::globals;

use crate::clock;
use crate::observe::bpf::fdinfo;
use crate::observe::bpf::hook::Hook;
use crate::observe::bpf::kernel::Kernel;
use crate::observe::bpf::map;
use crate::observe::bpf::offsets::offset;
use crate::observe::bpf::part::{
    self, Global, Part, attach_btf, attach_either, format_of, is_loaded,
};
use crate::observe::bpf::refusal::{LoadError, refused};

/// `probes/calls`.
pub(super) const PART: Part = Part {
    globals: |kernel| Ok(offsets(kernel)),
    maps: &[
        (maps::CALLS, IN_FLIGHT_SLOTS),
        (maps::CALL_TIMES, TIMED_SLOTS),
        (maps::CALL_AMOUNTS, AMOUNT_SLOTS),
        (maps::CALL_ERRORS, ERROR_SLOTS),
        (maps::CALL_KINDS, UNKNOWN + 1),
    ],
    programs: &PROGRAMS,
    attach,
};

const PROGRAMS: [&str; 5] = [
    programs::CALLS_ENTER,
    programs::CALLS_ENTER_TP,
    programs::CALLS_EXIT,
    programs::CALLS_EXIT_TP,
    programs::CALLS_SWITCH,
];

/// What can be had of the offsets: a kernel without type information still shows how long calls
/// take and how they fail.
fn offsets(kernel: &Kernel) -> Vec<Global> {
    let types = kernel.types().ok();
    let find = |structure, path| types.and_then(|t| offset(t, structure, path).ok().flatten());
    let state = find("task_struct", "__state").or_else(|| find("task_struct", "state"));
    let number = find("pt_regs", "orig_ax").or_else(|| find("pt_regs", "syscallno"));
    let run_delay = find("task_struct", "sched_info.run_delay");
    let or_none = |offset: Option<u32>| offset.unwrap_or(globals::NO_OFFSET);
    vec![
        (globals::STATE, or_none(state)),
        (globals::RUN_DELAY, or_none(run_delay)),
        (CALL_NUMBER, or_none(number)),
    ]
}

/// The switch first and the enter last, so that a call whose enter was seen is seen whole.
fn attach(ebpf: &mut Ebpf, kernel: &Kernel) -> Result<(), LoadError> {
    fill_kinds(ebpf).map_err(|why| refused(maps::CALL_KINDS, &why))?;
    if kernel.types().is_ok() {
        attach_btf(ebpf, kernel, programs::CALLS_SWITCH, "sched_switch")?;
    }
    if kernel.hook == Hook::ClassicTracePoint {
        part::check_format()?;
        check_exit_format()?;
    }
    let exit = (programs::CALLS_EXIT, programs::CALLS_EXIT_TP);
    attach_either(ebpf, kernel, exit, ("raw_syscalls", "sys_exit"))?;
    let enter = (programs::CALLS_ENTER, programs::CALLS_ENTER_TP);
    attach_either(ebpf, kernel, enter, ("raw_syscalls", "sys_enter"))
}

/// The probe reads the number at byte 8 and the result at byte 16.
fn check_exit_format() -> Result<(), LoadError> {
    let text = format_of("raw_syscalls", "sys_exit")?;
    let has = |field, place| text.lines().any(|line| line.contains(field) && line.contains(place));
    if has(" id;", "offset:8;") && has(" ret;", "offset:16;") {
        Ok(())
    } else {
        Err(refused("sys_exit", "the tracepoint has an unknown layout"))
    }
}

fn fill_kinds(ebpf: &mut Ebpf) -> Result<(), String> {
    let map = ebpf.map_mut(maps::CALL_KINDS).ok_or("the object has no such map")?;
    let mut map: Array<_, u32> = Array::try_from(map).map_err(|e| e.to_string())?;
    for (number, kind) in kinds::by_number() {
        map.set(number, kind, 0).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Calls since the probes were attached.
pub(super) struct Reading {
    counts: CallCounts,
    times: BTreeMap<u32, CallTimes>,
    amounts: BTreeMap<u32, CallAmounts>,
    errors: BTreeMap<u32, u64>,
    in_flight: BTreeMap<u32, Flights>,
    missed: u64,
    hook: &'static str,
    /// Whether time off the CPU is kept apart.
    sees_switches: bool,
}

/// Calls of one index that have not returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Flights {
    count: u64,
    longest_ns: u64,
}

impl Reading {
    /// What the maps hold.
    ///
    /// # Errors
    /// When the kernel refuses to read one.
    pub(super) fn read(ebpf: &Ebpf) -> Result<Self, String> {
        let hook = if is_loaded(ebpf, programs::CALLS_ENTER) {
            Hook::BtfTracePoint
        } else {
            Hook::ClassicTracePoint
        };
        Ok(Self {
            in_flight: in_flight(ebpf)?,
            counts: map::sum(&map::per_cpu(ebpf, maps::CALL_COUNTS)?, sums::add_counts)
                .ok_or("the kernel shows no CPU")?,
            times: map::sums(ebpf, maps::CALL_TIMES, sums::add_times)?,
            amounts: map::sums(ebpf, maps::CALL_AMOUNTS, sums::add_amounts)?,
            errors: map::sums(ebpf, maps::CALL_ERRORS, |sum: &mut u64, n| *sum += n)?,
            missed: fdinfo::missed(ebpf, &PROGRAMS)?,
            hook: hook.name(),
            sees_switches: is_loaded(ebpf, programs::CALLS_SWITCH),
        })
    }
}

/// Calls in flight now, by index. A call of a thread that is running can come or go meanwhile.
fn in_flight(ebpf: &Ebpf) -> Result<BTreeMap<u32, Flights>, String> {
    // A thread that ends meanwhile can make the walk begin again, so each is taken once.
    let calls: BTreeMap<u64, Call> =
        map::read(ebpf, maps::CALLS, |map| HashMap::try_from(map)?.iter().collect())?;
    let mut flights = BTreeMap::<u32, Flights>::new();
    for call in calls.values().filter(|call| call.in_flight != 0) {
        let of = flights.entry(call.index).or_default();
        of.count += 1;
        of.longest_ns = of.longest_ns.max(clock::now_ns().saturating_sub(call.since_ns));
    }
    Ok(flights)
}
