//! Where the running kernel keeps the books inside `task_struct`.
//!
//! The layout differs from kernel to kernel and rustc emits no relocations, so the offsets are
//! looked up in the kernel's own type information and become constants of the programs.

use bench_ebpf::abi::globals;
use bench_ebpf::abi::tasks::globals as tasks;
use btf_rs::{Btf, Type};

use super::part::Global;

/// Byte offsets from the start of `task_struct`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offsets {
    /// `__state`, or `state` before 5.14 (and some kernels carry the new name back).
    pub(super) state: u32,
    pub(super) start_boottime: u32,
    pub(super) run_delay: u32,
    pub(super) pcount: u32,
    pub(super) sum_exec: u32,
    pub(super) nvcsw: u32,
    pub(super) nivcsw: u32,
}

/// The kernel's types do not have what the probes need.
#[derive(Debug, thiserror::Error)]
pub(super) enum OffsetError {
    #[error("the kernel's type information cannot be read: {0}")]
    Btf(#[from] btf_rs::Error),
    #[error("this kernel's types have no {0}; run-queue latency needs CONFIG_SCHED_INFO")]
    Missing(&'static str),
}

impl Offsets {
    /// Looks the members up.
    ///
    /// # Errors
    /// When the type information is broken or lacks a member.
    pub(super) fn look_up(btf: &Btf) -> Result<Self, OffsetError> {
        let member = |path: &'static str| {
            offset(btf, "task_struct", path)?.ok_or(OffsetError::Missing(path))
        };
        let state = match offset(btf, "task_struct", "__state")? {
            Some(offset) => offset,
            None => member("state")?,
        };
        Ok(Self {
            state,
            start_boottime: member("start_boottime")?,
            run_delay: member("sched_info.run_delay")?,
            pcount: member("sched_info.pcount")?,
            sum_exec: member("se.sum_exec_runtime")?,
            nvcsw: member("nvcsw")?,
            nivcsw: member("nivcsw")?,
        })
    }

    /// As the programs' read-only data.
    pub(super) fn globals(&self) -> Vec<Global> {
        vec![
            (globals::STATE, self.state),
            (globals::START_BOOTTIME, self.start_boottime),
            (globals::RUN_DELAY, self.run_delay),
            (globals::PCOUNT, self.pcount),
            (globals::SUM_EXEC, self.sum_exec),
            (globals::NVCSW, self.nvcsw),
            (globals::NIVCSW, self.nivcsw),
        ]
    }
}

/// Where the iterator over all tasks finds a task's names, its cgroup and the clock of its run
/// queue; that clock alone may be missing.
///
/// # Errors
/// When the type information is broken or lacks another member.
pub(super) fn task_globals(btf: &Btf) -> Result<Vec<Global>, OffsetError> {
    let mut found = Vec::new();
    for (global, name, path) in [
        (tasks::TASK_PID, "task_struct", "pid"),
        (tasks::TASK_TGID, "task_struct", "tgid"),
        (tasks::TASK_COMM, "task_struct", "comm"),
        (tasks::TASK_LEADER, "task_struct", "group_leader"),
        (tasks::TASK_CGROUPS, "task_struct", "cgroups"),
        (tasks::DFL_CGRP, "css_set", "dfl_cgrp"),
        (tasks::CGROUP_KN, "cgroup", "kn"),
        (tasks::KN_ID, "kernfs_node", "id"),
        (tasks::CGROUP_PARENT, "cgroup", "self.parent"),
        (tasks::CSS_CGROUP, "cgroup_subsys_state", "cgroup"),
        (tasks::LAST_QUEUED, "task_struct", "sched_info.last_queued"),
    ] {
        found.push((global, offset(btf, name, path)?.ok_or(OffsetError::Missing(path))?));
    }
    // Only a kernel with CONFIG_FAIR_GROUP_SCHED has this way to the clock.
    let clock = [
        (tasks::TASK_CFS_RQ, offset(btf, "task_struct", "se.cfs_rq")?),
        (tasks::CFS_RQ_RQ, offset(btf, "cfs_rq", "rq")?),
        (tasks::RQ_CLOCK, offset(btf, "rq", "clock")?),
    ];
    if let [(a, Some(task)), (b, Some(queue)), (c, Some(clock))] = clock {
        found.extend([(a, task), (b, queue), (c, clock)]);
    }
    Ok(found)
}

/// What explanations find in a thread's run queue, which they reach through the group's queue, and
/// when it came to it. Only a kernel with CONFIG_CFS_BANDWIDTH has quotas.
///
/// # Errors
/// When the type information is broken or lacks another member.
pub(super) fn queue_globals(btf: &Btf) -> Result<Vec<Global>, OffsetError> {
    let member = |name, path| offset(btf, name, path)?.ok_or(OffsetError::Missing(path));
    member("task_struct", "se.cfs_rq")?;
    member("cfs_rq", "rq")?;
    let quota = offset(btf, "cfs_rq", "throttle_count")?;
    Ok(vec![
        (tasks::LAST_ARRIVAL, member("task_struct", "sched_info.last_arrival")?),
        (tasks::THROTTLE_COUNT, quota.unwrap_or(globals::NO_OFFSET)),
    ])
}

/// Size of a named struct, bytes; `None` where there is none.
pub(super) fn size_of_struct(btf: &Btf, name: &str) -> Result<Option<u32>, OffsetError> {
    let structs = btf.resolve_types_by_name(name)?;
    Ok(structs.into_iter().find_map(|found| match found {
        Type::Struct(structure) => u32::try_from(structure.size()).ok(),
        _ => None,
    }))
}

/// Whether the kernel has a BPF helper, by its name in `enum bpf_func_id`.
pub(super) fn has_helper(btf: &Btf, name: &str) -> Result<bool, OffsetError> {
    for candidate in btf.resolve_types_by_name("bpf_func_id")? {
        if let Type::Enum(helpers) = candidate {
            for member in &helpers.members {
                if btf.resolve_name(member)? == name {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Where `thread_info.status` is in `task_struct`; `None` where the architecture or the kernel has
/// none, and with it no 32-bit calls to tell apart.
///
/// # Errors
/// When the type information is broken.
pub(super) fn compat_status(btf: &Btf) -> Result<Option<u32>, OffsetError> {
    if cfg!(target_arch = "x86_64") {
        offset(btf, "task_struct", "thread_info.status")
    } else {
        Ok(None)
    }
}

/// Whether the kernel has a function of this name.
pub(super) fn has_function(btf: &Btf, name: &str) -> bool {
    let types = btf.resolve_types_by_name(name).unwrap_or_default();
    types.iter().any(|found| matches!(found, Type::Func(_)))
}

/// Byte offset of a dotted member path in a named struct; `None` where there is no such member.
pub(super) fn offset(btf: &Btf, name: &str, path: &str) -> Result<Option<u32>, OffsetError> {
    for candidate in btf.resolve_types_by_name(name)? {
        if let Type::Struct(structure) = candidate {
            return Ok(walk(btf, &structure, path)?.map(|bits| bits / 8));
        }
    }
    Ok(None)
}

fn walk(btf: &Btf, structure: &btf_rs::Struct, path: &str) -> Result<Option<u32>, OffsetError> {
    let (head, rest) = path.split_once('.').map_or((path, None), |(h, r)| (h, Some(r)));
    for member in &structure.members {
        let name = btf.resolve_name(member)?;
        // A member without a name is an anonymous struct or union: its members count as ours.
        let wanted = if name == head { rest } else { Some(path) };
        if name != head && !name.is_empty() {
            continue;
        }
        let Some(wanted) = wanted else {
            return Ok(Some(member.bit_offset()));
        };
        if let Some(Type::Struct(inner) | Type::Union(inner)) = resolve(btf, member)?
            && let Some(bits) = walk(btf, &inner, wanted)?
        {
            return Ok(Some(member.bit_offset() + bits));
        }
    }
    Ok(None)
}

/// The type of a member, through typedefs and qualifiers.
fn resolve(btf: &Btf, member: &btf_rs::Member) -> Result<Option<Type>, OffsetError> {
    let mut found = btf.resolve_chained_type(member)?;
    while let Type::Typedef(_) | Type::Const(_) | Type::Volatile(_) | Type::TypeTag(_) = found {
        let Some(inner) = found.as_btf_type() else { return Ok(None) };
        if inner.get_type_id().is_none() {
            return Ok(None);
        }
        found = btf.resolve_chained_type(inner)?;
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_kernel_has_every_member_and_an_unknown_one_is_named() {
        let Ok(btf) = Btf::from_file("/sys/kernel/btf/vmlinux") else { return };
        let found = Offsets::look_up(&btf).unwrap();
        assert_eq!(found.nivcsw, found.nvcsw + 8, "the two counters stand side by side");
        assert_eq!(found.run_delay, found.pcount + 8, "as in struct sched_info");
        assert_eq!(offset(&btf, "task_struct", "no_such_member").unwrap(), None);
    }
}
