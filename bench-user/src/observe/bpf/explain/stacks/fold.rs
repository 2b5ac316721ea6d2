//! Addresses to folded stacks, and the heaviest of many.

use std::collections::{BTreeMap, HashMap};

use bench_ebpf::abi::stacks::StackKey;

use crate::observe::comm;
use crate::observe::symbols::Names;

/// The helper found another stack in the place of this one.
const EEXIST: i32 = -17;

/// The helper found no stack of this half: the thread was not in the kernel, or never in user
/// space, or nothing could be walked (kernel/bpf/stackmap.c, `__bpf_get_stackid`).
const EFAULT: i32 = -14;

/// In the kernel, a wait begins here; what stands above are the frames of the probe.
const SWITCH: [&str; 2] = ["__schedule_[k]", "schedule_[k]"];

/// So many frames of the probe are looked through.
const PROBE_FRAMES: usize = 12;

/// What names addresses.
pub(super) trait Naming {
    /// A function of the kernel.
    fn of_kernel(&mut self, address: u64) -> String;
    /// A function of a process.
    fn of_process(&mut self, pid: u32, address: u64) -> String;
}

impl Naming for Names<'_> {
    fn of_kernel(&mut self, address: u64) -> String {
        Names::of_kernel(self, address)
    }

    fn of_process(&mut self, pid: u32, address: u64) -> String {
        Names::of_process(self, pid, address)
    }
}

/// Addresses of every stack by its id, from the innermost outwards.
type Traces = HashMap<i32, Vec<u64>>;

/// A sampled stack.
pub(super) fn on_cpu(key: &StackKey, traces: &Traces, names: &mut dyn Naming) -> String {
    let kernel = frames(key.kernel, traces, "_[k]", |address| names.of_kernel(address));
    folded(key, kernel, traces, names)
}

/// The stack of a wait.
pub(super) fn off_cpu(key: &StackKey, traces: &Traces, names: &mut dyn Naming) -> String {
    let mut kernel = frames(key.kernel, traces, "_[k]", |address| names.of_kernel(address));
    let probe = |frame: &String| SWITCH.contains(&frame.as_str());
    if let Some(above) = kernel.iter().take(PROBE_FRAMES).position(probe) {
        kernel.drain(..above);
    }
    folded(key, kernel, traces, names)
}

fn folded(key: &StackKey, kernel: Vec<String>, traces: &Traces, names: &mut dyn Naming) -> String {
    let user = frames(key.user, traces, "", |address| names.of_process(key.tgid, address));
    let mut stack = clean(&comm::text(&key.comm));
    // Innermost frames come first in a trace and last in a folded stack.
    for frame in user.iter().rev().chain(kernel.iter().rev()) {
        stack.push(';');
        stack += &clean(frame);
    }
    stack
}

/// Names from the innermost outwards.
fn frames(
    id: i32,
    traces: &Traces,
    mark: &str,
    mut name: impl FnMut(u64) -> String,
) -> Vec<String> {
    match (id, traces.get(&id)) {
        (_, Some(addresses)) => {
            // All but the innermost are where a call returns to, which may be the first byte of
            // the next function.
            let at = |(n, address): (usize, &u64)| if n == 0 { *address } else { address - 1 };
            addresses.iter().enumerate().map(|frame| name(at(frame))).collect()
        }
        (EFAULT, None) => Vec::new(),
        (EEXIST, None) => vec![format!("[lost: collision]{mark}")],
        (errno, None) => vec![format!("[lost: errno {}]{mark}", -i64::from(errno))],
    }
}

/// A name without what would end a frame or a line.
fn clean(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            ';' => ':',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

/// The heaviest stacks, heaviest first, and the weight of the others together.
pub(super) fn heaviest<W>(
    stacks: BTreeMap<String, W>,
    most: usize,
    weight: impl Fn(&W) -> u64,
) -> (Vec<(String, W)>, u64) {
    let mut stacks: Vec<(String, W)> = stacks.into_iter().collect();
    // By name where they weigh the same, as the map had them.
    stacks.sort_by_key(|(_, w)| std::cmp::Reverse(weight(w)));
    let others = stacks.split_off(most.min(stacks.len()));
    (stacks, others.iter().map(|(_, w)| weight(w)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Hex;

    impl Naming for Hex {
        fn of_kernel(&mut self, address: u64) -> String {
            match address {
                0x5c => "__schedule_[k]".into(),
                _ => format!("k{address:x}_[k]"),
            }
        }

        fn of_process(&mut self, pid: u32, address: u64) -> String {
            format!("p{pid};{address:x}")
        }
    }

    fn key(user: i32, kernel: i32) -> StackKey {
        let mut comm = [0; 16];
        comm[..5].copy_from_slice(b"a;b c");
        StackKey { tgid: 7, user, kernel, zero: 0, comm }
    }

    #[test]
    fn frames_go_from_the_thread_inwards_and_calls_lie_before_where_they_return_to() {
        let traces = HashMap::from([(1, vec![0x10, 0x21]), (2, vec![0xa0, 0xb1])]);
        let stack = on_cpu(&key(1, 2), &traces, &mut Hex);
        assert_eq!(stack, "a:b c;p7:20;p7:10;kb0_[k];ka0_[k]");
    }

    #[test]
    fn a_half_that_is_not_there_is_left_out_and_one_that_was_lost_is_named() {
        let traces = HashMap::from([(1, vec![0x10])]);
        assert_eq!(on_cpu(&key(1, EFAULT), &traces, &mut Hex), "a:b c;p7:10");
        assert_eq!(
            on_cpu(&key(EEXIST, -12), &traces, &mut Hex),
            "a:b c;[lost: collision];[lost: errno 12]_[k]"
        );
    }

    #[test]
    fn a_wait_begins_at_the_switch() {
        let traces = HashMap::from([(2, vec![0xa0, 0xa1, 0x5d, 0xb1])]);
        assert_eq!(off_cpu(&key(EFAULT, 2), &traces, &mut Hex), "a:b c;kb0_[k];__schedule_[k]");
        assert!(on_cpu(&key(EFAULT, 2), &traces, &mut Hex).ends_with("ka0_[k]"));
    }

    #[test]
    fn the_heaviest_are_kept_and_nothing_is_dropped() {
        let stacks = BTreeMap::from([("a".to_owned(), 1), ("b".into(), 5), ("c".into(), 3)]);
        let (kept, other) = heaviest(stacks.clone(), 2, |n| *n);
        assert_eq!((kept, other), (vec![("b".to_owned(), 5), ("c".into(), 3)], 1));
        assert_eq!(heaviest(stacks, 9, |n| *n).1, 0);
    }
}
