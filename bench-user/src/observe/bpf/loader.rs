//! Loads the object for one cgroup and attaches its parts, each for itself: what one kernel lacks
//! costs only the part that needs it.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use aya::{Ebpf, EbpfLoader};
use bench_ebpf::abi::{globals, maps, offcpu, tasks::maps as tasks_maps};

use super::explain;
use super::kernel::Kernel;
use super::memory;
use super::part::{self, Global, Part};
use super::refusal::{LoadError, explain_ebpf, refused};
use super::{slots, tasks};
use crate::measured::Measured;
use crate::observe::Options;
use crate::plan::Explain;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/probes.o"));
static OBJECT_WITH_LOG: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/probes-log.o"));

/// The object with what could be attached.
pub(super) struct Loaded {
    pub(super) ebpf: Ebpf,
    pub(super) syscalls: Measured<()>,
    pub(super) sched: Measured<()>,
    pub(super) tasks: Measured<()>,
    /// The kinds that were asked for.
    pub(super) explain: BTreeMap<Explain, Measured<()>>,
}

/// Loads the object for one cgroup and attaches what is asked for.
///
/// # Errors
/// When there is no object, the kernel takes no map, or the directory is no v2 cgroup.
pub(super) fn load(cgroup: &Path, kernel: &Kernel, options: &Options) -> Result<Loaded, LoadError> {
    let object = object(options.probe_log)?;
    let asked = &options.explain;
    let kinds = || asked.iter().map(|kind| (*kind, explain::part(*kind)));
    let base = [&part::SCHED, &part::SYSCALLS, &tasks::PART];
    let parts = base.into_iter().chain(kinds().map(|(_, part)| part));
    let mut all = vec![(offcpu::globals::STARTS_HELD, u32::from(options.starts_held))];
    let mut reasons = Vec::new();
    for part in parts {
        match (part.globals)(kernel) {
            Ok(globals) => {
                all.extend(globals);
                reasons.push(Ok(()));
            }
            Err(e) => reasons.push(Err(e)),
        }
    }
    let sizes: Vec<_> = Explain::ALL
        .iter()
        .flat_map(|kind| {
            let size = move |n| if asked.contains(kind) { n } else { 1 };
            explain::part(*kind).maps.iter().map(move |(map, n)| (*map, size(*n)))
        })
        .chain([(maps::THREADS, slots::for_threads(cgroup))])
        .collect();
    memory::allow();
    let mut ebpf = open(object, kernel, &all, &sizes)?;
    watch(&mut ebpf, cgroup)?;

    let mut reasons = reasons.into_iter();
    let mut attach = |part: &Part| -> Measured<()> {
        reasons.next().unwrap_or(Ok(())).and_then(|()| (part.attach)(&mut ebpf, kernel)).into()
    };
    let sched = attach(&part::SCHED);
    let syscalls = attach(&part::SYSCALLS);
    let tasks = attach(&tasks::PART);
    let explain = kinds().map(|(kind, part)| (kind, attach(part))).collect();
    Ok(Loaded { ebpf, syscalls, sched, tasks, explain })
}

fn object(with_log: bool) -> Result<&'static [u8], LoadError> {
    match (with_log, OBJECT.is_empty(), OBJECT_WITH_LOG.is_empty()) {
        (false, false, _) => Ok(OBJECT),
        (true, _, false) => Ok(OBJECT_WITH_LOG),
        (true, _, true) => Err(LoadError::NotBuilt(env!("BENCH_PROBES_LOG"))),
        (false, true, _) => Err(LoadError::NotBuilt(env!("BENCH_PROBES"))),
    }
}

fn open(
    object: &[u8],
    kernel: &Kernel,
    constants: &[Global],
    sizes: &[(&'static str, u32)],
) -> Result<Ebpf, LoadError> {
    let since = crate::clock::boottime_ns();
    let mut loader = EbpfLoader::new();
    loader.btf(kernel.btf().ok()).override_global(globals::WATCHING_SINCE, &since, true);
    for (name, value) in constants {
        loader.override_global(name, value, true);
    }
    for (map, entries) in sizes {
        loader.map_max_entries(map, *entries);
    }
    loader.load(object).map_err(|e| refused("maps", &explain_ebpf(&e)))
}

/// Makes a cgroup v2 directory, with all below it, the target.
///
/// # Errors
/// When it is none.
pub(super) fn watch(ebpf: &mut Ebpf, cgroup: &Path) -> Result<(), LoadError> {
    let fail = |why: String| LoadError::Cgroup(cgroup.display().to_string(), why);
    let directory = File::open(cgroup).map_err(|e| fail(e.to_string()))?;
    let map = ebpf.map_mut(maps::TARGET).ok_or_else(|| fail("the object has no map".into()))?;
    aya::maps::CgroupArray::try_from(map)
        .and_then(|mut array| array.set(0, directory.as_fd().as_raw_fd(), 0))
        .map_err(|e| fail(format!("it is no cgroup v2 directory ({e})")))?;
    let id = directory.metadata().map_err(|e| fail(e.to_string()))?.ino();
    let map = ebpf.map_mut(tasks_maps::TARGET_ID);
    let map = map.ok_or_else(|| fail("the object has no map of its id".into()))?;
    aya::maps::Array::<_, u64>::try_from(map)
        .and_then(|mut array| array.set(0, id, 0))
        .map_err(|e| fail(e.to_string()))
}
