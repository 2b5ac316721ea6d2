//! Where threads were on the CPU and what they waited in, in a few rows; the whole is for a flame
//! graph.

use std::collections::BTreeMap;

use super::super::figures::{count, ns, percent};
use super::super::page::{Item, Page, Table};
use crate::measured::Measured;
use crate::observe::Stacks;

/// So many functions are listed.
const FUNCTIONS: usize = 10;

/// So many stacks are listed.
const STACKS: usize = 5;

/// Characters of a stack that fit beside its figures.
const WIDTH: usize = 96;

/// Marks a frame of the kernel.
const KERNEL: &str = "_[k]";

/// What a figure is.
type Show = fn(u64) -> String;

/// Stacks by weight.
#[derive(Default)]
struct Weighed<'a> {
    stacks: BTreeMap<&'a str, u64>,
    total: u64,
    lost: BTreeMap<&'a str, u64>,
}

/// Adds both kinds, as far as there are any.
pub(super) fn sections(page: &mut Page, of: &str, windows: &[&Stacks]) {
    let (mut on, mut off) = (Weighed::default(), Weighed::default());
    for window in windows {
        if let Measured::Value(oncpu) = &window.oncpu {
            on.add(oncpu.folded.iter().map(|of| (of.stack.as_str(), of.count)), &oncpu.lost);
            on.total += oncpu.samples;
        }
        if let Measured::Value(offcpu) = &window.offcpu {
            let stacks = offcpu.folded.iter().map(|of| (of.stack.as_str(), of.blocked_ns));
            off.add(stacks, &offcpu.lost);
            off.total += offcpu.blocked_ns;
        }
    }
    if on.total > 0 {
        page.heading(format!("On the CPU{of}"));
        on.show(page, "samples", count, innermost);
    }
    if off.total > 0 {
        page.heading(format!("Waiting off the CPU{of}"));
        off.show(page, "waited", ns, outside_kernel);
    }
    let mut notes: Vec<&String> = windows.iter().flat_map(|window| &window.notes).collect();
    notes.sort_unstable();
    notes.dedup();
    page.items(notes.into_iter().map(|note| Item::new("names", note)).collect());
}

impl<'a> Weighed<'a> {
    fn add(
        &mut self,
        stacks: impl Iterator<Item = (&'a str, u64)>,
        lost: &'a BTreeMap<String, u64>,
    ) {
        for (stack, weight) in stacks {
            *self.stacks.entry(stack).or_default() += weight;
        }
        for (cause, n) in lost {
            *self.lost.entry(cause).or_default() += n;
        }
    }

    fn show(&self, page: &mut Page, unit: &str, figure: Show, function: fn(&str) -> &str) {
        let mut functions = BTreeMap::<&str, u64>::new();
        for (stack, weight) in &self.stacks {
            *functions.entry(function(stack)).or_default() += weight;
        }
        let mut table = Table::new(["function", &format!(">{unit}"), ">share"]);
        for (name, weight) in heaviest(functions, FUNCTIONS) {
            table.rows.push(vec![shortened(name), figure(weight), self.share(weight)]);
        }
        page.table(table);
        let mut table = Table::new([">share", "stack, innermost last"]);
        for (stack, weight) in heaviest(self.stacks.clone(), STACKS) {
            table.rows.push(vec![self.share(weight), shortened(stack)]);
        }
        page.table(table);
        page.items(super::lost(&self.lost).into_iter().collect());
    }

    #[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
    fn share(&self, weight: u64) -> String {
        percent(weight as f64 / self.total as f64)
    }
}

fn heaviest(of: BTreeMap<&str, u64>, most: usize) -> Vec<(&str, u64)> {
    let mut of: Vec<_> = of.into_iter().collect();
    of.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    of.truncate(most);
    of
}

fn innermost(stack: &str) -> &str {
    stack.rsplit(';').next().unwrap_or(stack)
}

/// The innermost frame of the program: in the kernel every wait ends in the scheduler.
fn outside_kernel(stack: &str) -> &str {
    let outside = |frame: &&str| !frame.ends_with(KERNEL);
    // The first frame is the name of the thread; a thread of the kernel has nothing else.
    stack.rsplit(';').find(outside).unwrap_or(stack)
}

/// The innermost frames that fit.
fn shortened(stack: &str) -> String {
    let length = stack.chars().count();
    if length <= WIDTH {
        return stack.to_owned();
    }
    let end: String = stack.chars().skip(length - WIDTH + 1).collect();
    let whole = end.split_once(';').map_or(end.as_str(), |(_cut, whole)| whole);
    format!("…;{whole}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_the_innermost_frame_that_says_something() {
        let stack = "worker;main;poll;sys_poll_[k];__schedule_[k]";
        assert_eq!((innermost(stack), outside_kernel(stack)), ("__schedule_[k]", "poll"));
        assert_eq!(outside_kernel("kworker;thread_[k]"), "kworker");
    }

    #[test]
    fn a_long_stack_keeps_whole_frames_from_its_inner_end() {
        let stack = format!("a;{};inner", "b".repeat(WIDTH));
        assert_eq!(shortened(&stack), "…;inner");
        assert_eq!(shortened("a;b"), "a;b");
    }
}
