//! The kernel's books of every thread in a cgroup, as procfs shows them.
//!
//! Source: `/proc/PID/task/TID/{schedstat,status,stat}` of the threads that `cgroup.threads`
//! names, descendants included. The values are the kernel's own, unchanged.
//! Blind to: threads that ended before the reading; threads outside our pid namespace; the part
//! of a running thread's time on CPU since its last tick.
//! Costs: one directory walk and three file reads a thread.
//!
//! `cgroup.threads` and not `cgroup.procs`, because a process may have threads in several
//! cgroups of a threaded subtree, where `cgroup.procs` refuses to be read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::io::Errno;

use crate::clock;
use crate::host::doctor::thread_books;

/// What the kernel has booked for one thread since it was born.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadBooks {
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub pid: u32,
    /// Thread name.
    pub comm: String,
    /// When it was born, in clock ticks since boot; with the tid it names a thread for good.
    pub start_ticks: u64,
    /// Time on a CPU, ns.
    pub oncpu_ns: u64,
    /// Time runnable but waiting for a CPU, ns.
    pub runq_ns: u64,
    /// Times it was put on a CPU.
    pub timeslices: u64,
    /// Switches that it had to make.
    pub voluntary: u64,
    /// Switches that it was made to make.
    pub involuntary: u64,
    /// CPUs that it may run on, as a list.
    pub cpus_allowed: String,
    /// When these books were read, ns of boot time.
    pub at_ns: u64,
}

/// Reads the books of every thread in a cgroup v2 directory and its descendants, by rising tid.
/// Threads that end meanwhile are left out.
///
/// # Errors
/// When the cgroup cannot be read, or the kernel keeps no such books.
pub fn read_cgroup(cgroup: &Path) -> io::Result<Vec<ThreadBooks>> {
    thread_books().map_err(|why| io::Error::new(io::ErrorKind::Unsupported, why))?;
    let mut tids = Vec::new();
    collect_tids(cgroup, &mut tids).map_err(|e| named(cgroup, &e))?;
    // A thread may be seen twice when it moves between the reads of two cgroups.
    tids.sort_unstable();
    tids.dedup();
    let mut buffer = Vec::with_capacity(4096);
    let mut books = Vec::with_capacity(tids.len());
    for tid in tids {
        books.extend(read_thread(tid, &mut buffer)?);
    }
    Ok(books)
}

fn collect_tids(cgroup: &Path, tids: &mut Vec<u32>) -> io::Result<()> {
    let text = std::fs::read_to_string(cgroup.join("cgroup.threads"))?;
    // A thread of a pid namespace that we cannot see into reads as 0.
    tids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|tid| *tid != 0));
    for entry in std::fs::read_dir(cgroup)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            leave_out_gone(collect_tids(&entry.path(), tids), &entry.path())?;
        }
    }
    Ok(())
}

/// A child that ended meanwhile is no error. It is told by its errno, which a named one lacks.
fn leave_out_gone(child: io::Result<()>, path: &Path) -> io::Result<()> {
    match child {
        Err(e) if is_gone(&e) => Ok(()),
        other => other.map_err(|e| named(path, &e)),
    }
}

fn named(cgroup: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", cgroup.display()))
}

/// The books of one thread; `None` when it is gone.
fn read_thread(tid: u32, buffer: &mut Vec<u8>) -> io::Result<Option<ThreadBooks>> {
    match try_read_thread(tid, buffer) {
        Ok(books) => Ok(Some(books)),
        Err(e) if is_gone(&e) => Ok(None),
        Err(e) => Err(io::Error::new(e.kind(), format!("thread {tid}: {e}"))),
    }
}

fn try_read_thread(tid: u32, buffer: &mut Vec<u8>) -> io::Result<ThreadBooks> {
    // procfs answers for any thread at /proc/TID; below task/ the figures are its own and not
    // those of its process.
    let mut parsed = |file: &str, parse: &mut dyn FnMut(&str) -> Option<()>| {
        buffer.clear();
        File::open(format!("/proc/{tid}/task/{tid}/{file}"))?.read_to_end(buffer)?;
        // A thread's name may be any bytes.
        parse(&String::from_utf8_lossy(buffer)).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{file} has another form"))
        })
    };
    let (mut pid, mut voluntary, mut involuntary) = (0, 0, 0);
    let mut cpus_allowed = String::new();
    let mut at_ns = 0;
    let (mut comm, mut start_ticks) = (String::new(), 0);
    let (mut oncpu_ns, mut runq_ns, mut timeslices) = (0, 0, 0);
    parsed("schedstat", &mut |text| {
        at_ns = clock::boottime_ns();
        (oncpu_ns, runq_ns, timeslices) = parse_schedstat(text)?;
        Some(())
    })?;
    parsed("status", &mut |text| {
        (pid, voluntary, involuntary, cpus_allowed) = parse_status(text)?;
        Some(())
    })?;
    parsed("stat", &mut |text| {
        (comm, start_ticks) = parse_stat(text)?;
        Some(())
    })?;
    Ok(ThreadBooks {
        tid,
        pid,
        comm,
        start_ticks,
        oncpu_ns,
        runq_ns,
        timeslices,
        voluntary,
        involuntary,
        cpus_allowed,
        at_ns,
    })
}

/// CPUs that the thread of this id and start may run on, as a list; `None` when it is gone.
pub(super) fn cpus_allowed((tid, start_ticks): (u32, u64)) -> Option<String> {
    let read = |file| std::fs::read(format!("/proc/{tid}/task/{tid}/{file}")).ok();
    let stat = read("stat")?;
    let (_, start) = parse_stat(&String::from_utf8_lossy(&stat))?;
    let (_, _, _, cpus) = parse_status(&String::from_utf8_lossy(&read("status")?))?;
    (start == start_ticks).then_some(cpus)
}

/// The thread or cgroup ended between being named and being read.
fn is_gone(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::SRCH | Errno::NODEV))
        || error.kind() == io::ErrorKind::NotFound
}

/// Time on CPU (ns), time waiting for one (ns), times put on one.
fn parse_schedstat(text: &str) -> Option<(u64, u64, u64)> {
    let mut fields = text.split_whitespace().map(|field| field.parse().ok());
    Some((fields.next()??, fields.next()??, fields.next()??))
}

/// Process id, voluntary and involuntary switches, CPUs.
fn parse_status(text: &str) -> Option<(u32, u64, u64, String)> {
    let value = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    Some((
        value("Tgid")?.parse().ok()?,
        value("voluntary_ctxt_switches")?.parse().ok()?,
        value("nonvoluntary_ctxt_switches")?.parse().ok()?,
        value("Cpus_allowed_list")?.to_owned(),
    ))
}

/// Name and start time. The name may itself hold parentheses and spaces.
fn parse_stat(text: &str) -> Option<(String, u64)> {
    let (head, tail) = text.rsplit_once(')')?;
    let (_, comm) = head.split_once('(')?;
    // Field 22 of the file; what follows the name begins with field 3.
    let start_ticks = tail.split_whitespace().nth(19)?.parse().ok()?;
    Some((comm.to_owned(), start_ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_is_time_on_cpu_time_waiting_and_stints() {
        assert_eq!(parse_schedstat("123 456 7\n"), Some((123, 456, 7)));
        assert_eq!(parse_schedstat("123 456\n"), None);
    }

    #[test]
    fn switches_of_a_thread_are_told_apart_in_its_status() {
        let status = "Name:\tvoluntary_ctxt_switches:\t9\nTgid:\t40\nPid:\t41\n\
                      Cpus_allowed:\tb\nCpus_allowed_list:\t0-1,3\n\
                      voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(parse_status(status), Some((40, 150, 3, "0-1,3".to_owned())));
        assert_eq!(parse_status("Tgid:\t40\n"), None);
    }

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = "41 (a) b (c)) S 1 41 41 0 -1 4194304 101 0 0 0 5 6 0 0 20 0 1 0 112476 3133440";
        assert_eq!(parse_stat(stat), Some(("a) b (c)".into(), 112_476)));
    }

    #[test]
    fn our_own_thread_has_books() {
        thread_books().unwrap();
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let books = read_thread(tid, &mut Vec::new()).unwrap().unwrap();
        assert_eq!((books.tid, books.pid), (tid, std::process::id()));
        // Not its time on CPU: that is booked at the first tick or switch.
        assert!(books.timeslices > 0 && books.start_ticks > 0);
    }

    #[test]
    fn a_thread_that_ended_is_left_out() {
        let ended = std::thread::spawn(rustix::thread::gettid).join().unwrap();
        let tid = ended.as_raw_nonzero().get().unsigned_abs();
        // The thread's last steps in the kernel come after it was joined.
        while read_thread(tid, &mut Vec::new()).unwrap().is_some() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_cgroup_that_ends_while_it_is_read_is_left_out_and_another_error_is_not() {
        let child = Path::new("/cg/child");
        let with = |errno: Errno| leave_out_gone(Err(errno.into()), child);
        // What the kernel says of a file that was open when its cgroup was removed.
        with(Errno::NODEV).unwrap();
        with(Errno::NOENT).unwrap();
        let error = with(Errno::OPNOTSUPP).unwrap_err().to_string();
        assert!(error.contains("/cg/child"), "{error}");
    }

    #[test]
    fn a_missing_cgroup_is_named() {
        let error = read_cgroup(Path::new("/no/such/cgroup")).unwrap_err();
        assert!(error.to_string().contains("/no/such/cgroup"), "{error}");
    }
}
