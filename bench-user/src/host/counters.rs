//! Opening a perf counter on a cgroup, and why it cannot be opened.

use std::fs::File;
use std::io;

use perf_event::events::Event;
use perf_event::{Builder, Counter};
use rustix::io::Errno;

/// Opens a counter of one event, counting at once, for the tasks of a cgroup (and its
/// descendants) while they run on one CPU.
///
/// `cgroup` is a directory of the tree that owns the `perf_event` controller.
///
/// # Errors
/// As `perf_event_open`; [`why_not`] puts them into words.
pub fn open_on_cgroup(event: Event, cgroup: &File, cpu: usize) -> io::Result<Counter> {
    let mut builder = Builder::new().kind(event).observe_cgroup(cgroup).one_cpu(cpu);
    // Context switches happen in the kernel: without its part they would all be left out.
    builder.include_kernel().include_hv().enabled(true);
    builder.build()
}

/// Why an event cannot be counted, and what to do, in one sentence.
#[must_use]
pub fn why_not(event: &Event, error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP)
            if matches!(event, Event::Hardware(_)) =>
        {
            format!(
                "this machine shows no hardware counter for this event ({error}), \
                 as most virtual machines"
            )
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            format!("perf_event_open was refused ({error}): run as root or with CAP_PERFMON")
        }
        Some(Errno::MFILE | Errno::NFILE) => format!(
            "there are too few descriptors for one counter per CPU ({error}): raise `ulimit -n`"
        ),
        Some(Errno::BADF) => {
            format!("the directory is not in the cgroup tree that owns perf_event ({error})")
        }
        _ => format!("perf_event_open failed: {error}"),
    }
}
