//! What a target holds before the first request.

use std::path::PathBuf;

use procfs::process::Process;

use super::Idle;
use crate::host::processes_below;
use crate::measured::Measured;

/// Sums what `/proc` says of every process in the cgroup. Pages that processes share are counted
/// in each of them. A process that ends meanwhile is left out.
pub(super) fn look(cgroup: &Measured<PathBuf>) -> Idle {
    let processes = cgroup.as_result().map_err(str::to_owned).and_then(|dir| {
        processes_below(dir).map_err(|e| format!("{}: cgroup.procs: {e}", dir.display()))
    });
    let status =
        |pid: &u32| i32::try_from(*pid).ok().and_then(|pid| Process::new(pid).ok()?.status().ok());
    match processes {
        Ok(pids) => {
            let statuses: Vec<_> = pids.iter().filter_map(status).collect();
            // A kernel thread or a zombie has no memory of its own.
            let rss_kib: u64 = statuses.iter().filter_map(|s| s.vmrss).sum();
            Idle {
                rss_bytes: Measured::Value(rss_kib * 1024),
                processes: Measured::Value(statuses.len() as u64),
                threads: Measured::Value(statuses.iter().map(|s| s.threads).sum()),
            }
        }
        Err(why) => Idle {
            rss_bytes: Measured::unavailable(&why),
            processes: Measured::unavailable(&why),
            threads: Measured::unavailable(&why),
        },
    }
}
