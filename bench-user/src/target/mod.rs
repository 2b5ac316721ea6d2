//! The system under test: found or started, described by one handle, stopped.
//!
//! `TargetHandle` is all that `load` and `observe` may know. Nothing here makes load or counts.
//!
//! [`Target::start`] starts a command (`spawn`: its process stopped right before the `execve`
//! by `shim`, in a cgroup of its own), has an engine start a container (`own_container`, over
//! `engine`), or finds what runs already (`found`, `container`, `adopt`).

mod adopt;
/// The servers that come with the tool.
pub mod builtin;
mod cgroup;
mod container;
mod delegate;
mod empty;
/// The container engines of this machine.
pub mod engine;
mod error;
mod exit;
mod found;
mod idle;
mod job;
mod life;
mod lifecycle;
mod limits;
mod logs;
mod newcomer;
mod oom;
mod own_container;
mod owner;
mod process;
mod program;
mod proxy;
mod ready;
mod shim;
mod spawn;
mod watch;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

pub use cgroup::{CgroupError, OwnCgroup};
pub use empty::remove_leftovers;
pub use engine::{Engine, EngineError};
pub use error::TargetError;
pub use job::{JobPlaces, before_log, ensure_last_process_is_seen, prepare_before, prepare_job};
pub use lifecycle::{StartOptions, Target};
pub use limits::Limits;
pub use own_container::remove_left_containers;
pub use owner::mark;
pub use process::Started;
pub use program::ProgramError;
pub use ready::Contact;
pub use shim::{WORD as SHIM_WORD, shim_main};
pub use spawn::{CommandLine, Spawned, Streams};

use crate::measured::Measured;

/// Why a machine without the v2 tree gives no kernel side.
const NO_V2: &str =
    "no cgroup v2 tree is mounted; mount one with `mount -t cgroup2 none /sys/fs/cgroup/unified`";

/// How a target was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A program that we started in a cgroup of its own.
    Command,
    /// One of our own servers, started likewise.
    Builtin,
    /// A container that we made of an image, started and removed.
    Image,
    /// A running container.
    Container,
    /// A cgroup directory.
    Cgroup,
    /// A running process, by its pid.
    Pid,
    /// A systemd unit.
    Unit,
    /// An address alone: no kernel side.
    Url,
}

/// All that `load` and `observe` may know of a target.
#[derive(Debug, Clone)]
pub struct TargetHandle {
    /// Name in the plan.
    pub name: String,
    /// How it was found.
    pub kind: TargetKind,
    /// Where requests go, in order; never empty.
    pub urls: Vec<Url>,
    /// The cgroup v2 directory that is watched with all its descendants, or why there is none.
    pub cgroup: Measured<PathBuf>,
    /// Where each controller's files of this cgroup are, by controller (`cpu`, `cpuacct`,
    /// `cpuset`, `memory`, `pids`): a v1 directory, or the v2 directory where the controller
    /// is enabled on it.
    pub controllers: BTreeMap<String, ControllerDir>,
    /// The main process (first of the command, container or unit), while one is known.
    pub main_pid: Option<u32>,
}

/// The directory of one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerDir {
    /// The directory.
    pub path: PathBuf,
    /// Its files are those of cgroup v1.
    pub is_v1: bool,
}

/// How a target's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exit {
    /// Exit code, where it ended by itself. A container's is its engine's word, which is 128 and
    /// the number of the signal where one ended it.
    pub code: Option<i32>,
    /// Signal that ended it, by name where it has one (`SIGKILL`); of a container, that which its
    /// code stands for.
    pub signal: Option<String>,
    /// The kernel's OOM killer ended a process of this cgroup, by its event counter.
    pub oom_killed: Measured<bool>,
    /// How often its engine has started a container again since it was found or started; `null` for
    /// what no engine keeps.
    #[serde(default)]
    pub restarts: Option<u64>,
    /// The end came from us, after the measurement.
    pub by_us: bool,
}

/// What a target looks like before the first request of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Idle {
    /// Resident memory of all its processes, bytes.
    pub rss_bytes: Measured<u64>,
    /// Processes in the cgroup.
    pub processes: Measured<u64>,
    /// Threads in the cgroup.
    pub threads: Measured<u64>,
}

/// The image that a container was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// Content id.
    pub id: String,
    /// Size as the engine reports it, bytes.
    pub size_bytes: Option<u64>,
}

/// Writes one value to a kernel file, which must be there.
fn write_file(file: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(value.as_bytes())
}
