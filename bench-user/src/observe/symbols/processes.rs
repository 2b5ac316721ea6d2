//! What naming a process's addresses takes, kept while the process lives.
//!
//! Source: `/proc/PID/maps`, `/proc/PID/root` and the process id in its own namespace. A process
//! is looked at when it is first seen, each time that it has been known twice as long, when it has
//! become another program, and at every edge of a window. The root is kept open, so files of a container can still be read when its last process
//! is gone.
//! Blind to: processes that begin and end between two looks; libraries loaded in the second half of
//! the life of a process that is gone at the end.
//! Costs: one read of `maps`, which takes the process's memory lock for reading.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use procfs::process::{MMPermissions, MMapPath, Process as Proc};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::compiled::Compiled;
use crate::clock;

/// So many processes are kept; further ones have no names.
const KEPT: usize = 1_000;

/// Longest list of run-time compiled functions that is read, bytes.
const LISTED_MOST: u64 = 256 << 20;

/// Processes seen so far, by id.
#[derive(Debug, Clone, Default)]
pub(in crate::observe) struct Processes {
    seen: HashMap<u32, Arc<Process>>,
    roots: HashMap<Root, Arc<File>>,
}

/// Which files a process sees: the namespace of mounts, and device and inode of its root.
type Root = (PathBuf, u64, u64);

/// One process as it was when it was last looked at.
#[derive(Debug)]
pub(super) struct Process {
    /// Name of its program's file.
    pub(super) program: String,
    executable: PathBuf,
    /// Its executable memory, by address.
    code: Vec<Mapping>,
    root: Arc<File>,
    own_pid: u32,
    first_seen_ns: u64,
    looked_at_ns: u64,
}

/// A piece of executable memory.
#[derive(Debug, Clone)]
pub(super) struct Mapping {
    start: u64,
    end: u64,
    file_offset: u64,
    /// What is there.
    pub(super) holds: Holds,
}

/// What is in a piece of memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Holds {
    /// A file, by its path as the process sees it.
    File(PathBuf),
    /// Something with a name of the kernel's, such as `[vdso]`.
    Special(String),
    /// Memory of the process's own, where run-time compilers put code.
    Anonymous,
}

impl Processes {
    /// Looks at the processes of a cgroup and below. Those known already are looked at again when
    /// they have become another program or have been known twice as long, or when `afresh` says so.
    pub(in crate::observe) fn look(&mut self, cgroup: &Path, afresh: bool) {
        for pid in pids(cgroup) {
            let known = self.seen.get(&pid);
            if known.is_none() && self.seen.len() >= KEPT {
                continue;
            }
            let same = known.filter(|k| executable(pid).is_some_and(|now| now == k.executable));
            let now_ns = clock::now_ns();
            if same.is_some_and(|known| !afresh && !known.is_due(now_ns)) {
                continue;
            }
            let first_seen_ns = same.map_or(now_ns, |known| known.first_seen_ns);
            // One that ends meanwhile stays as it was.
            if let Some(process) = self.read(pid, (first_seen_ns, now_ns)) {
                self.seen.insert(pid, Arc::new(process));
            }
        }
    }

    /// A process that was seen.
    pub(super) fn get(&self, pid: u32) -> Option<&Process> {
        self.seen.get(&pid).map(Arc::as_ref)
    }

    fn read(&mut self, pid: u32, (first_seen_ns, looked_at_ns): (u64, u64)) -> Option<Process> {
        let proc = Proc::new(i32::try_from(pid).ok()?).ok()?;
        let maps = proc.maps().ok()?;
        let code = maps.into_iter().filter(|map| map.perms.contains(MMPermissions::EXECUTE));
        let own_pid = proc.status().ok()?.nspid.and_then(|ids| ids.last().copied())?;
        let executable = executable(pid)?;
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        Some(Process {
            program: name(&executable)?,
            executable,
            code: code.map(mapping).collect(),
            root: self.root(pid)?,
            own_pid: u32::try_from(own_pid).ok()?,
            first_seen_ns,
            looked_at_ns,
        })
    }

    fn root(&mut self, pid: u32) -> Option<Arc<File>> {
        let path = format!("/proc/{pid}/root");
        let namespace = std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok()?;
        let found = std::fs::metadata(&path).ok()?;
        let key = (namespace, found.dev(), found.ino());
        if let Some(root) = self.roots.get(&key) {
            return Some(Arc::clone(root));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, &path, flags, Mode::empty()).ok()?;
        let root = Arc::new(File::from(root));
        self.roots.insert(key, Arc::clone(&root));
        Some(root)
    }
}

impl Process {
    /// It has been known twice as long as when it was last looked at: what it loads, it mostly
    /// loads at its start.
    fn is_due(&self, now_ns: u64) -> bool {
        now_ns - self.first_seen_ns >= 2 * (self.looked_at_ns - self.first_seen_ns)
    }

    /// The memory around an address.
    pub(super) fn mapping(&self, address: u64) -> Option<&Mapping> {
        let after = self.code.partition_point(|mapping| mapping.start <= address);
        self.code[..after].last().filter(|mapping| address < mapping.end)
    }

    /// Opens a file by its path inside the process's root, which no link can lead out of.
    pub(super) fn open(&self, path: &Path) -> Option<File> {
        // NONBLOCK: what a target puts there must not be able to hold us up.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = openat2(&self.root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()?;
        let file = File::from(file);
        file.metadata().ok()?.is_file().then_some(file)
    }

    /// The functions that it says it compiled at run time, in a perf map of its own `/tmp` or in
    /// a jitdump; `None` where it says nothing.
    pub(super) fn compiled(&self) -> Option<Compiled> {
        let perf_map = self.read(Path::new(&format!("/tmp/perf-{}.map", self.own_pid)));
        let dumps = self.code.iter().filter_map(Mapping::jit_dump);
        let dumps: Vec<Vec<u8>> = dumps.filter_map(|path| self.read(path)).collect();
        if perf_map.is_none() && dumps.is_empty() {
            return None;
        }
        let mut compiled = Compiled::default();
        dumps.iter().for_each(|dump| compiled.add_jit_dump(dump));
        if let Some(text) = perf_map {
            compiled.add_perf_map(&String::from_utf8_lossy(&text));
        }
        Some(compiled)
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(path)?.take(LISTED_MOST).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

impl Mapping {
    /// Where in the file an address lies.
    pub(super) fn file_offset(&self, address: u64) -> u64 {
        address - self.start + self.file_offset
    }

    /// The file, where it is a jitdump: run-time compilers map it as code so that it is found.
    fn jit_dump(&self) -> Option<&Path> {
        let Holds::File(path) = &self.holds else { return None };
        path.file_name()?.to_string_lossy().starts_with("jit-").then_some(path)
    }
}

fn mapping(map: procfs::process::MemoryMap) -> Mapping {
    let holds = match map.pathname {
        // An inode without a place in the tree, as of memfd_create, is no file to read.
        MMapPath::Path(path) if path.starts_with("/memfd:") || path.starts_with("/dev/zero") => {
            Holds::Anonymous
        }
        MMapPath::Path(path) if path.is_absolute() => Holds::File(path),
        MMapPath::Vdso => Holds::Special("[vdso]".into()),
        MMapPath::Vsyscall => Holds::Special("[vsyscall]".into()),
        MMapPath::Other(name) if !name.starts_with("anon") => Holds::Special(format!("[{name}]")),
        _ => Holds::Anonymous,
    };
    Mapping { start: map.address.0, end: map.address.1, file_offset: map.offset, holds }
}

fn executable(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Processes of a cgroup and below; what is gone meanwhile is left out.
fn pids(cgroup: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    let mut pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    for entry in std::fs::read_dir(cgroup).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            pids.extend(self::pids(&entry.path()));
        }
    }
    pids
}
