//! Why it was slow, as far as that was asked for: a file for every kind of explanation.

mod calls;
mod off_cpu;
mod run_queue;
mod softirq;
mod stacks;
mod uring;

use std::collections::BTreeMap;

use super::figures::{count, plural};
use super::page::{Item, Page};
use crate::measured::Measured;
use crate::observe::Explained;

/// Adds what was explained of one window, all but the stacks; `of` follows each heading.
pub(super) fn window(page: &mut Page, of: &str, explained: &Explained) {
    let Explained { syscalls, io_uring, off_cpu, run_queue, softirq, stacks: _ } = explained;
    if let Some(block) = value(syscalls) {
        page.heading(format!("Syscalls explained{of}"));
        page.table(calls::table(block));
        page.items(calls::items(block));
    }
    if let Some(block) = value(io_uring) {
        page.heading(format!("io_uring{of}"));
        if let Some(table) = uring::table(block) {
            page.table(table);
        }
        page.items(uring::items(block));
    }
    if let Some(block) = value(off_cpu) {
        page.heading(format!("Off CPU{of}"));
        off_cpu::add(page, block);
    }
    if let Some(block) = value(run_queue) {
        page.heading(format!("Waiting for a CPU{of}"));
        run_queue::add(page, block);
    }
    if let Some(block) = value(softirq) {
        page.heading(format!("Softirqs{of}"));
        softirq::add(page, block);
    }
}

/// Adds the stacks of all these windows together: samples are few, and add up.
/// What one of them is called is `noun`.
pub(super) fn stacks(page: &mut Page, of: &str, windows: &[&Explained], noun: &str) {
    let stacks: Vec<_> = windows.iter().filter_map(|w| value(&w.stacks)).collect();
    let together = match stacks.len() {
        0 | 1 => String::new(),
        n => format!(", {n} {noun}s together"),
    };
    stacks::sections(page, &format!("{of}{together}"), &stacks);
}

fn value<T>(block: &Option<Measured<T>>) -> Option<&T> {
    block.as_ref()?.value()
}

/// Events that the kernel skipped; nothing where it skipped none.
fn missed(events: u64) -> Option<Item> {
    let skipped = plural(events, "event", "events");
    (events > 0).then(|| Item::new("MISSED", format!("{skipped}: these are lower bounds")))
}

/// What spoils the figures of a block; nothing where nothing does.
fn lost<C: AsRef<str>>(lost: &BTreeMap<C, u64>) -> Option<Item> {
    let causes: Vec<String> = lost
        .iter()
        .map(|(cause, n)| format!("{} {}", count(*n), cause.as_ref().replace('_', " ")))
        .collect();
    (!causes.is_empty()).then(|| Item::new("incomplete", causes.join(", ")))
}
