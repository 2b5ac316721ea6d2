//! The books that the kernel keeps of a cgroup, descendants included.
//!
//! Sources: `cpu.stat` or `cpuacct.*`, the CPU quota, the cpuset, `memory.*`, `pids.*` and the
//! pressure files, each from the hierarchy that owns it.
//! Blind to: limits of ancestors that lie outside our cgroup namespace; on v1, OOM kills in
//! descendants, because v1 counts them where they happen.
//! Costs: about twenty small file reads a reading.

mod parse;
mod reading;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

pub use reading::CgroupReading;

use self::parse::Limit;
use crate::cpu_list;
use crate::host::topology;
use crate::measured::Measured;
use crate::target::ControllerDir;

/// What is under pressure, as the files and the record name it.
const PRESSURES: [&str; 3] = ["cpu", "memory", "io"];

/// A value or the reason why there is none, as a sentence.
type Known<T> = Result<T, String>;

/// Reads one cgroup.
#[derive(Debug, Clone)]
pub struct CgroupObserver {
    controllers: BTreeMap<String, ControllerDir>,
    v2: Option<PathBuf>,
    main_pid: Option<u32>,
}

impl CgroupObserver {
    /// For the cgroup whose controllers' files are in `controllers` and whose v2 directory, where
    /// it has one, is `v2`.
    #[must_use]
    pub fn new(controllers: &BTreeMap<String, ControllerDir>, v2: Option<&Path>) -> Self {
        let v2 = v2.map(Path::to_path_buf);
        Self { controllers: controllers.clone(), v2, main_pid: None }
    }

    /// The same, with the process whose affinity narrows the CPUs that the cgroup may use.
    #[must_use]
    pub fn with_main_pid(mut self, main_pid: Option<u32>) -> Self {
        self.main_pid = main_pid;
        self
    }

    /// Reads everything once; what cannot be read is unavailable with its reason.
    #[must_use]
    pub fn read(&self) -> CgroupReading {
        let quota = self.cpu_limit();
        let [nr_periods, nr_throttled, throttled_ns] = self.throttling(quota.as_ref().ok());
        let [usage_ns, user_ns, system_ns] = self.cpu_time();
        CgroupReading {
            usage_ns: usage_ns.into(),
            user_ns: user_ns.into(),
            system_ns: system_ns.into(),
            cpu_limit: quota.map(|(cpus, _)| cpus).into(),
            cpus_allowed: self.cpus_allowed().into(),
            nr_periods: nr_periods.into(),
            nr_throttled: nr_throttled.into(),
            throttled_ns: throttled_ns.into(),
            memory_peak_bytes: self.memory("memory.max_usage_in_bytes", "memory.peak").into(),
            memory_current_bytes: self.memory("memory.usage_in_bytes", "memory.current").into(),
            memory_limit_bytes: self.memory_limit().map(|(bytes, _)| bytes).into(),
            oom_kills: self.oom_kills().into(),
            memory_events: self.memory_events(),
            pids_peak: self.pids("pids.peak").into(),
            pids_current: self.pids("pids.current").into(),
            psi: self.pressure(),
        }
    }

    fn controller(&self, name: &str) -> Known<&ControllerDir> {
        self.controllers
            .get(name)
            .ok_or_else(|| format!("the {name} controller is not enabled on this cgroup"))
    }

    /// Total, user and system time, ns. Every v2 directory keeps them, with any controllers.
    fn cpu_time(&self) -> [Known<u64>; 3] {
        if let Some(dir) = &self.v2 {
            let stat = text(dir, "cpu.stat");
            return ["usage_usec", "user_usec", "system_usec"]
                .map(|key| stat.clone().and_then(|stat| keyed(&stat, key, "cpu.stat", 1000)));
        }
        ["cpuacct.usage", "cpuacct.usage_user", "cpuacct.usage_sys"]
            .map(|file| number(&self.controller("cpuacct")?.path, file))
    }

    /// Periods, throttled periods and throttled time (ns), from the directory whose quota binds:
    /// an ancestor's throttling holds the cgroup back without a trace in its own books.
    fn throttling(&self, binding: Option<&(f64, PathBuf)>) -> [Known<u64>; 3] {
        let stat = self.limiting("cpu").and_then(|(_, is_v1)| {
            let dir = match binding {
                Some((_, dir)) => dir,
                None => &self.controller("cpu")?.path,
            };
            Ok((text(dir, "cpu.stat")?, is_v1))
        });
        let find = |v1: (&str, u64), v2: (&str, u64)| {
            let (stat, is_v1) = stat.as_ref().map_err(Clone::clone)?;
            let (key, unit_ns) = if *is_v1 { v1 } else { v2 };
            keyed(stat, key, "cpu.stat", unit_ns)
        };
        [
            find(("nr_periods", 1), ("nr_periods", 1)),
            find(("nr_throttled", 1), ("nr_throttled", 1)),
            find(("throttled_time", 1), ("throttled_usec", 1000)),
        ]
    }

    /// The quota that binds, in CPUs, and the directory that sets it.
    fn cpu_limit(&self) -> Known<(f64, PathBuf)> {
        smallest_limit(self.limiting("cpu")?, "CPU quota", |dir, is_v1| {
            if is_v1 {
                let quota = text_if_there(dir, "cpu.cfs_quota_us")?;
                let period = text_if_there(dir, "cpu.cfs_period_us")?;
                Some(parse::cfs_quota(&quota, &period))
            } else {
                Some(parse::cpu_max(&text_if_there(dir, "cpu.max")?))
            }
        })
    }

    fn memory_limit(&self) -> Known<(u64, PathBuf)> {
        smallest_limit(self.limiting("memory")?, "memory limit", |dir, is_v1| {
            let file = if is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
            Some(parse::memory_limit(&text_if_there(dir, file)?))
        })
    }

    /// Where to look for limits upward. On v2 an ancestor may hold the controller even where the
    /// cgroup itself does not.
    fn limiting(&self, controller: &str) -> Known<(&Path, bool)> {
        match (self.controller(controller), &self.v2) {
            (Ok(dir), _) => Ok((&dir.path, dir.is_v1)),
            (Err(_), Some(v2)) => Ok((v2, false)),
            (Err(why), None) => Err(why),
        }
    }

    /// The affinity of a process never reaches beyond its cpuset, so it is the narrower answer.
    fn cpus_allowed(&self) -> Known<u32> {
        let cpus = match (self.main_pid, self.controller("cpuset")) {
            (Some(pid), _) => {
                topology::allowed_cpus_of(&pid.to_string()).map_err(|e| format!("{e:#}"))?
            }
            (None, Ok(dir)) => {
                let file =
                    if dir.is_v1 { "cpuset.effective_cpus" } else { "cpuset.cpus.effective" };
                cpu_list::parse(&text(&dir.path, file)?)?
            }
            (None, Err(why)) => return Err(format!("{why} and its main process is not known")),
        };
        u32::try_from(cpus.len()).map_err(|e| e.to_string())
    }

    fn memory(&self, v1: &str, v2: &str) -> Known<u64> {
        let dir = self.controller("memory")?;
        number(&dir.path, if dir.is_v1 { v1 } else { v2 })
    }

    fn oom_kills(&self) -> Known<u64> {
        let dir = self.controller("memory")?;
        let file = if dir.is_v1 { "memory.oom_control" } else { "memory.events" };
        keyed(&text(&dir.path, file)?, "oom_kill", file, 1)
    }

    /// Every counter of `memory.events` on v2; on v1 the two that it keeps.
    fn memory_events(&self) -> BTreeMap<String, Measured<u64>> {
        let Ok(dir) = self.controller("memory") else {
            return BTreeMap::new();
        };
        if dir.is_v1 {
            let failcnt = number(&dir.path, "memory.failcnt");
            let kills = self.oom_kills();
            return [("failcnt", failcnt), ("oom_kill", kills)]
                .map(|(name, count)| (name.to_owned(), count.into()))
                .into();
        }
        let events = text_if_there(&dir.path, "memory.events").unwrap_or_default();
        let counts = events.lines().filter_map(|line| line.split_once(' '));
        counts
            .filter_map(|(name, count)| Some((name.to_owned(), parse::number(count)?)))
            .map(|(name, count)| (name, Measured::Value(count)))
            .collect()
    }

    fn pids(&self, file: &str) -> Known<u64> {
        number(&self.controller("pids")?.path, file)
    }

    fn pressure(&self) -> BTreeMap<String, Measured<u64>> {
        let mut psi = BTreeMap::new();
        for name in PRESSURES {
            let file = format!("{name}.pressure");
            let stalls = match &self.v2 {
                Some(dir) => std::fs::read_to_string(dir.join(&file)).map_err(|e| no_psi(&e)),
                None => Err("pressure is kept only for cgroups of the v2 tree".into()),
            };
            for line in ["some", "full"] {
                let total = stalls.clone().and_then(|text| {
                    parse::pressure_total_us(&text, line)
                        .map(|us| us * 1000)
                        .ok_or_else(|| format!("this kernel's {file} has no `{line}` line"))
                });
                psi.insert(format!("{name}.{line}"), total.into());
            }
        }
        psi
    }
}

/// The smallest limit of a cgroup and its ancestors, the one that binds, and the directory that
/// sets it. `read` gives `None` for a directory without the file, as the root of a v2 tree.
fn smallest_limit<T: PartialOrd>(
    (dir, is_v1): (&Path, bool),
    what: &str,
    read: impl Fn(&Path, bool) -> Option<Option<Limit<T>>>,
) -> Known<(T, PathBuf)> {
    // Every cgroup directory has this file, and nothing above a mount point does.
    let cgroups = dir.ancestors().take_while(|dir| dir.join("cgroup.procs").exists());
    let mut seen = false;
    let mut smallest: Option<(T, PathBuf)> = None;
    for dir in cgroups {
        let Some(limit) = read(dir, is_v1) else { continue };
        seen = true;
        match limit.ok_or_else(|| format!("the {what} of {} is not a number", dir.display()))? {
            Limit::At(at) if smallest.as_ref().is_none_or(|(least, _)| at < *least) => {
                smallest = Some((at, dir.to_path_buf()));
            }
            Limit::At(_) | Limit::None => {}
        }
    }
    smallest.ok_or_else(|| {
        if seen {
            format!("no {what} is set")
        } else {
            format!("no controller for a {what} is enabled on this cgroup")
        }
    })
}

fn text(dir: &Path, file: &str) -> Known<String> {
    std::fs::read_to_string(dir.join(file)).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound if dir.exists() => format!("this kernel has no {file} here"),
        io::ErrorKind::NotFound => format!("the cgroup {} is gone", dir.display()),
        _ => format!("{} cannot be read: {e}", dir.join(file).display()),
    })
}

fn text_if_there(dir: &Path, file: &str) -> Option<String> {
    std::fs::read_to_string(dir.join(file)).ok()
}

fn number(dir: &Path, file: &str) -> Known<u64> {
    parse::number(&text(dir, file)?).ok_or_else(|| format!("{file} does not hold a number"))
}

fn keyed(text: &str, key: &str, file: &str, unit: u64) -> Known<u64> {
    parse::keyed(text, key)
        .map(|value| value * unit)
        .ok_or_else(|| format!("this kernel's {file} has no {key}"))
}

/// The files are there but refuse to be read when pressure is off.
fn no_psi(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::OPNOTSUPP) => {
            "pressure accounting is off: boot with psi=1 to turn it on".into()
        }
        Some(Errno::NOENT) => "the kernel keeps no pressure for this cgroup: it was built without \
                               CONFIG_PSI, cgroup.pressure is 0, or the cgroup is gone"
            .into(),
        _ => format!("the pressure file cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests;
