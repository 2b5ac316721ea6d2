//! Why it was slow, as far as that was asked for: a section for each kind.

mod calls;
mod uring;

use super::levels::Row;
use super::page::Page;
use crate::observe::Explained;

/// The sections of one window.
pub(super) fn sections(page: &mut Page, explained: &Explained) {
    add(page, explained, "");
}

/// The sections of each target at its peak: of one of its repetitions, because what happened in
/// several is not one thing that happened.
pub(super) fn peaks(page: &mut Page, peaks: &[(&str, &Row<'_>)]) {
    for (name, row) in peaks {
        if let Some(stage) = row.stages.last() {
            let which = match row.stages.len() {
                1 => String::new(),
                n => format!(", repetition {n} of {n}"),
            };
            add(page, &stage.explain, &format!(": {name} at {}{which}", row.at));
        }
    }
}

fn add(page: &mut Page, explained: &Explained, of: &str) {
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
