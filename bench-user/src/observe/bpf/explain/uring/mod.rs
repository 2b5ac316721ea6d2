//! Work given to io_uring: the part of the probes, and what its map holds.

mod place;

use aya::Ebpf;
use bench_ebpf::abi::uring::{UringCounts, globals, maps, programs};

use crate::measured::Measured;
use crate::observe::bpf::counts::add;
use crate::observe::bpf::fdinfo;
use crate::observe::bpf::kernel::Kernel;
use crate::observe::bpf::map;
use crate::observe::bpf::part::{Part, attach_either, is_loaded};
use crate::observe::bpf::refusal::LoadError;
use crate::observe::explained::{UringExplained, opcode_name};
use crate::observe::sample::Count;

/// `probes/uring.rs`.
pub(super) const PART: Part = Part {
    globals: |kernel| {
        let opcode = place::opcode(kernel)?;
        let mut globals = vec![
            (globals::URING_OPCODE_ARG, opcode.argument),
            (globals::URING_OPCODE, opcode.offset),
        ];
        if let Ok(result) = place::result(kernel) {
            globals.push((globals::URING_RESULT_ARG, result.argument));
            globals.push((globals::URING_RESULT, result.offset));
        }
        Ok(globals)
    },
    maps: &[],
    programs: &PROGRAMS,
    attach,
};

const PROGRAMS: [&str; 4] = [
    programs::URING_SUBMIT,
    programs::URING_SUBMIT_TP,
    programs::URING_COMPLETE,
    programs::URING_COMPLETE_TP,
];

/// Completions may be missing: then they alone are not measured.
fn attach(ebpf: &mut Ebpf, kernel: &Kernel) -> Result<(), LoadError> {
    let submit = place::opcode(kernel)?.tracepoint;
    let either = (programs::URING_SUBMIT, programs::URING_SUBMIT_TP);
    attach_either(ebpf, kernel, either, ("io_uring", submit))?;
    let completions = place::result(kernel).and_then(|place| {
        let either = (programs::URING_COMPLETE, programs::URING_COMPLETE_TP);
        attach_either(ebpf, kernel, either, ("io_uring", place.tracepoint))
    });
    if let Err(why) = completions {
        log::debug!("completions of io_uring are not counted: {why}");
    }
    Ok(())
}

const NO_COMPLETIONS: &str = "this kernel does not show completions of io_uring in a known way";

/// Submissions and completions since the probes were attached.
pub(super) struct Reading {
    counts: UringCounts,
    missed: u64,
    sees_completions: bool,
}

impl Reading {
    /// What the map holds.
    ///
    /// # Errors
    /// When the kernel refuses to read it.
    pub(super) fn read(ebpf: &Ebpf) -> Result<Self, String> {
        let cpus = map::per_cpu(ebpf, maps::URING)?;
        let counts = map::sum(&cpus, add_counts).ok_or("the kernel shows no CPU")?;
        let completes = [programs::URING_COMPLETE, programs::URING_COMPLETE_TP];
        Ok(Self {
            counts,
            missed: fdinfo::missed(ebpf, &PROGRAMS)?,
            sees_completions: completes.into_iter().any(|name| is_loaded(ebpf, name)),
        })
    }

    /// What was added since an earlier reading.
    pub(super) fn since(&self, then: &Self, window_ns: u64) -> UringExplained {
        let (now, before) = (&self.counts, &then.counts);
        let both = now.by_opcode.iter().zip(&before.by_opcode);
        let by_opcode: Vec<(String, u64)> = both
            .enumerate()
            .map(|(number, (now, then))| (opcode_name(number), now - then))
            .filter(|(_, n)| *n > 0)
            .collect();
        let total = by_opcode.iter().map(|(_, n)| n).sum();
        let completed = |n| {
            if self.sees_completions {
                Measured::Value(n)
            } else {
                Measured::unavailable(NO_COMPLETIONS)
            }
        };
        let filter_failed = now.submit_filter_failed + now.complete_filter_failed
            - before.submit_filter_failed
            - before.complete_filter_failed;
        UringExplained {
            submitted: Count::over(total, window_ns),
            by_opcode: by_opcode
                .into_iter()
                .map(|(name, n)| (name, Count::over(n, window_ns)))
                .collect(),
            by_poller: now.by_poller - before.by_poller,
            succeeded: completed(now.succeeded - before.succeeded),
            failed: completed(now.failed - before.failed),
            missed: self.missed - then.missed + filter_failed,
        }
    }
}

fn add_counts(sum: &mut UringCounts, cpu: &UringCounts) {
    add(&mut sum.by_opcode, &cpu.by_opcode);
    sum.by_poller += cpu.by_poller;
    sum.succeeded += cpu.succeeded;
    sum.failed += cpu.failed;
    sum.submit_filter_failed += cpu.submit_filter_failed;
    sum.complete_filter_failed += cpu.complete_filter_failed;
}

#[cfg(test)]
mod tests {
    use bench_ebpf::abi::uring::OPCODE_SLOTS;

    use super::*;

    #[test]
    fn submissions_are_named_and_completions_may_be_missing() {
        let counts = UringCounts {
            by_opcode: [0; OPCODE_SLOTS],
            by_poller: 0,
            succeeded: 0,
            failed: 0,
            submit_filter_failed: 0,
            complete_filter_failed: 0,
        };
        let reading = |counts, sees_completions| Reading { counts, missed: 2, sees_completions };
        let mut later = counts;
        (later.by_opcode[0], later.by_opcode[22], later.by_opcode[200]) = (5, 3, 1);
        (later.by_poller, later.failed, later.submit_filter_failed) = (4, 2, 1);
        let block = reading(later, true).since(&reading(counts, true), 500_000_000);
        assert_eq!((block.submitted.count, block.submitted.per_sec), (9, 18.0));
        let by = |name: &str| block.by_opcode[name].count;
        assert_eq!((by("nop"), by("read"), by("op_200"), block.by_opcode.len()), (5, 3, 1, 3));
        assert_eq!((block.by_poller, block.failed, block.missed), (4, Measured::Value(2), 1));
        let blind = reading(later, false).since(&reading(counts, false), 1);
        assert!(blind.failed.why().is_some() && blind.submitted.count == 9);
    }
}
