//! Every thread of the target in one reading of a task iterator.
//!
//! Source: the BPF iterator `task` (5.8 and later). Yields the kernel's books of each thread as
//! they stand, an open wait included, and the switch program's entry of it.
//! Blind to: the part of a running thread's time on CPU since its last tick; threads that were
//! released and wait for their last switch; threads outside of our pid namespace.
//! Costs: one read for each 100 threads or so, and a look at every other task of the machine.

use aya::Ebpf;
use bench_ebpf::abi::tasks::{TaskRecord, programs};
use bench_ebpf::abi::{ThreadEntry, value_of};

use super::iterator;
use super::offsets::{Offsets, task_globals};
use super::part::Part;

/// The iterator.
pub(super) const PART: Part = Part {
    globals: |kernel| {
        let types = kernel.types()?;
        // The books come from the offsets of the switch program, which are set with its part.
        Offsets::look_up(types)?;
        Ok(task_globals(types)?)
    },
    maps: &[],
    programs: &[programs::TASKS],
    attach: |ebpf, kernel| iterator::load(ebpf, kernel, programs::TASKS),
};

/// A thread that is or was in the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::observe) struct Task {
    pub(in crate::observe) record: TaskRecord,
    /// What the switch program has of its id.
    pub(in crate::observe) entry: Option<ThreadEntry>,
}

/// Reads them all.
///
/// # Errors
/// When the kernel refuses, or answers in another form.
pub(super) fn read(ebpf: &mut Ebpf) -> Result<Vec<Task>, String> {
    let bytes = iterator::read(ebpf, programs::TASKS)?;
    parse(&bytes).ok_or_else(|| "the task iterator's answer was cut off".to_owned())
}

fn parse(mut bytes: &[u8]) -> Option<Vec<Task>> {
    let mut tasks = Vec::new();
    while !bytes.is_empty() {
        let record: TaskRecord = value_of(bytes)?;
        bytes = &bytes[size_of::<TaskRecord>()..];
        let mut entry = None;
        if record.has_entry != 0 {
            entry = Some(value_of(bytes)?);
            bytes = &bytes[size_of::<ThreadEntry>()..];
        }
        tasks.push(Task { record, entry });
    }
    Some(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_ends_in_a_record_is_refused() {
        assert_eq!(parse(&[]), Some(Vec::new()));
        let alone = vec![0; size_of::<TaskRecord>()];
        assert_eq!(parse(&alone).map(|tasks| tasks.len()), Some(1));
        assert_eq!(parse(&alone[1..]), None);
        let mut with_entry = alone;
        // `has_entry` stands behind the key and the process id.
        with_entry[20] = 1;
        assert_eq!(parse(&with_entry), None, "the entry is missing");
        with_entry.extend(vec![0; size_of::<ThreadEntry>()]);
        assert_eq!(parse(&with_entry).map(|tasks| tasks[0].entry.is_some()), Some(true));
    }
}
