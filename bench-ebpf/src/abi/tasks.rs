//! What the iterator over all tasks emits, and its names.

use super::{Books, ThreadKey};

/// Names of the maps.
pub mod maps {
    /// Array of one: the id of the target's directory in the v2 tree, its inode number.
    pub const TARGET_ID: &str = "TARGET_ID";
    /// Ring of [`super::super::EndedThread`].
    pub const ENDED: &str = "ENDED";
}

/// Names of the programs.
pub mod programs {
    /// `iter/task`.
    pub const TASKS: &str = "tasks";
}

/// Names of the read-only globals: offsets in bytes, each from the start of the named struct.
pub mod globals {
    /// `task_struct.pid`: the thread's id in the first pid namespace.
    pub const TASK_PID: &str = "TASK_PID";
    /// `task_struct.tgid`: the process's.
    pub const TASK_TGID: &str = "TASK_TGID";
    /// `task_struct.comm`.
    pub const TASK_COMM: &str = "TASK_COMM";
    /// `task_struct.group_leader`.
    pub const TASK_LEADER: &str = "TASK_LEADER";
    /// `task_struct.cgroups`.
    pub const TASK_CGROUPS: &str = "TASK_CGROUPS";
    /// `css_set.dfl_cgrp`: the cgroup in the v2 tree.
    pub const DFL_CGRP: &str = "DFL_CGRP";
    /// `cgroup.kn`.
    pub const CGROUP_KN: &str = "CGROUP_KN";
    /// `kernfs_node.id`: the inode number of the directory.
    pub const KN_ID: &str = "KN_ID";
    /// `cgroup.self.parent`.
    pub const CGROUP_PARENT: &str = "CGROUP_PARENT";
    /// `cgroup_subsys_state.cgroup`.
    pub const CSS_CGROUP: &str = "CSS_CGROUP";
    /// `task_struct.sched_info.last_queued`: when it began to wait, 0 while it does not.
    pub const LAST_QUEUED: &str = "LAST_QUEUED";
    /// `task_struct.se.cfs_rq`, or [`NO_OFFSET`] where the clock of
    /// `last_queued` cannot be reached by it.
    pub const TASK_CFS_RQ: &str = "TASK_CFS_RQ";
    /// `cfs_rq.rq`.
    pub const CFS_RQ_RQ: &str = "CFS_RQ_RQ";
    /// `rq.clock`: the clock of `last_queued`.
    pub const RQ_CLOCK: &str = "RQ_CLOCK";
    /// `task_struct.sched_info.last_arrival`.
    pub const LAST_ARRIVAL: &str = "LAST_ARRIVAL";
    /// `cfs_rq.throttle_count`, or [`NO_OFFSET`] where the kernel has no quotas.
    pub const THROTTLE_COUNT: &str = "THROTTLE_COUNT";

    #[cfg(doc)]
    use super::super::globals::NO_OFFSET;
}

/// One task; where `has_entry` is 1, its [`super::ThreadEntry`] follows it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its name for good.
    pub key: ThreadKey,
    /// Process id in the first pid namespace.
    pub tgid: u32,
    /// An entry of the switch program follows, as it was after `now` was read.
    pub has_entry: u32,
    /// 1: it is outside of the target now, and has an entry because it was inside.
    pub is_outside: u64,
    /// Where its `task_struct` lies.
    pub task: u64,
    /// When `now` was read, boot time in ns.
    pub at_ns: u64,
    /// Its books.
    pub now: Books,
    /// Waits for a CPU since so long, ns, which is not in the books yet.
    pub open_wait: u64,
    /// Name.
    pub comm: [u8; 16],
    /// Name of its process's first thread.
    pub process: [u8; 16],
}

const _: () = assert!(size_of::<TaskRecord>() == 16 + 16 + 16 + 40 + 8 + 32);
