//! The block of the record: what two readings differ in.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::os::unix::fs::DirEntryExt as _;
use std::path::Path;

use bench_ebpf::queue::{CAUSES, cause};

use super::Reading;
use crate::host::CgroupTrees;
use crate::observe::bpf::lost;
use crate::observe::comm;
use crate::observe::explained::{Holder, HolderGroup, RunQueue, Share};
use crate::observe::sample::Count;

/// Holders that are shown one by one.
const HOLDERS_KEPT: usize = 32;

impl Reading {
    /// What came since.
    pub(in crate::observe::bpf::explain) fn since(&self, then: &Self, window_ns: u64) -> RunQueue {
        // An open wait is cut by two clocks, so that a part may have shrunk by the time between
        // their readings.
        let mut gained = [0; CAUSES];
        for (cause, gained) in gained.iter_mut().enumerate() {
            *gained = self.by_cause[cause].saturating_sub(then.by_cause[cause]);
        }
        let waited_ns =
            gained.iter().sum::<u64>() + self.unattributed.saturating_sub(then.unattributed);
        let known = &gained[..cause::UNKNOWN];
        let unattributed = waited_ns - known.iter().sum::<u64>();
        let share = |ns| Share::of(ns, waited_ns);
        let waits = Count::over(self.waits - then.waits, window_ns);
        let (holders, by_cgroup) = self.holders_since(then, waited_ns);
        RunQueue {
            waited_ns,
            waiting: Share::of(waited_ns, window_ns).ratio,
            waits: waits.count,
            waits_per_sec: waits.per_sec,
            own_threads: share(gained[cause::OURS]),
            others: share(gained[cause::FOREIGN]),
            idle: share(gained[cause::IDLE]),
            quota: share(gained[cause::QUOTA]),
            unattributed: share(unattributed),
            holders,
            by_cgroup,
            lost: lost::since(&self.lost, &then.lost),
        }
    }

    fn holders_since(&self, then: &Self, waited_ns: u64) -> (Vec<Holder>, Vec<HolderGroup>) {
        let mut gained: Vec<_> = self
            .holders
            .iter()
            .map(|(holder, ns)| (holder, ns - then.holders.get(holder).copied().unwrap_or(0)))
            .filter(|(_, ns)| *ns > 0)
            .collect();
        gained.sort_by_key(|(holder, ns)| (Reverse(*ns), **holder));
        let mut groups = BTreeMap::<u64, u64>::new();
        for (holder, ns) in &gained {
            *groups.entry(holder.cgroup).or_default() += ns;
        }
        let paths = if groups.is_empty() { BTreeMap::new() } else { paths() };
        let path = |id: &u64| paths.get(id).cloned().unwrap_or_else(|| format!("id {id}"));
        let mut by_cgroup: Vec<_> = groups
            .iter()
            .map(|(id, ns)| HolderGroup { cgroup: path(id), covered: Share::of(*ns, waited_ns) })
            .collect();
        by_cgroup.sort_by_key(|group| Reverse(group.covered.ns));
        let shown = |(holder, ns): &(&bench_ebpf::abi::runq::Holder, u64)| Holder {
            comm: comm::text(&holder.comm).into_owned(),
            pid: u32::try_from(holder.tgid).unwrap_or(u32::MAX),
            cgroup: path(&holder.cgroup),
            covered: Share::of(*ns, waited_ns),
        };
        (gained.iter().take(HOLDERS_KEPT).map(shown).collect(), by_cgroup)
    }
}

/// The paths of all cgroups below the v2 mount by their id, which is the directory's inode.
fn paths() -> BTreeMap<u64, String> {
    let mut paths = BTreeMap::new();
    let Some(root) = CgroupTrees::discover().ok().and_then(|trees| trees.v2) else {
        return paths;
    };
    if let Ok(metadata) = std::fs::metadata(&root) {
        use std::os::unix::fs::MetadataExt as _;
        paths.insert(metadata.ino(), "/".to_owned());
    }
    collect(&root, "", &mut paths);
    paths
}

/// One that ends meanwhile keeps its number only.
fn collect(directory: &Path, above: &str, paths: &mut BTreeMap<u64, String>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = format!("{above}/{}", entry.file_name().to_string_lossy());
            collect(&entry.path(), &path, paths);
            paths.insert(entry.ino(), path);
        }
    }
}
