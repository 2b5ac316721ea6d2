//! Why it was slow, as far as that was asked for: a file for every kind of explanation.

mod calls;
mod stacks;
mod uring;

use super::page::Page;
use crate::observe::Explained;

/// Adds what was explained of one window, or of the repetitions of a level; `of` follows each
/// heading. Stacks are taken together; the other kinds are shown of the last repetition, because
/// what happened in several is not one thing that happened.
pub(super) fn sections(page: &mut Page, of: &str, windows: &[&Explained]) {
    if let Some(last) = windows.last() {
        let which = match windows.len() {
            1 => of.to_owned(),
            n => format!("{of}, repetition {n} of {n}"),
        };
        one(page, &which, last);
    }
    let stacks: Vec<_> = windows.iter().filter_map(|w| w.stacks.as_ref()?.value()).collect();
    stacks::sections(page, of, &stacks);
}

fn one(page: &mut Page, of: &str, explained: &Explained) {
    if let Some(calls) = explained.syscalls.as_ref().and_then(|block| block.value()) {
        page.heading(format!("Syscalls explained{of}"));
        page.table(calls::table(calls));
        page.items(calls::items(calls));
    }
    if let Some(uring) = explained.io_uring.as_ref().and_then(|block| block.value()) {
        page.heading(format!("io_uring{of}"));
        if let Some(table) = uring::table(uring) {
            page.table(table);
        }
        page.items(uring::items(uring));
    }
}
