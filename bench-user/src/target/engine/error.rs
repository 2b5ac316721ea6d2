//! Why a container engine is of no use: each one sentence with its remedy.

use std::path::PathBuf;

/// Why a container cannot be found, or not be made.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No socket answers.
    #[error(
        "no container engine answers ({0}); start it (`podman system service` for Podman), correct DOCKER_HOST or CONTAINER_HOST, or give `docker`, `podman` or the path of a socket as `engine`"
    )]
    NoEngine(String),
    /// An engine over the network: its processes may be on another machine.
    #[error(
        "{0} is not a unix socket; the engine must run on this machine, as in unix:///var/run/docker.sock"
    )]
    NotASocket(String),
    /// The same, named by a variable of the environment.
    #[error(
        "{0} names {1}, which is not a unix socket of this machine; unset it, or give the socket of an engine here as `engine`"
    )]
    VariableElsewhere(&'static str, String),
    /// The engine does not know it.
    #[error("there is no container `{0}`; {1}")]
    Missing(String, String),
    /// It has no process.
    #[error("container `{0}` is {1}, not running; start it first")]
    NotRunning(String, String),
    /// No engine has the image, and none fetches it: what is measured would depend on a registry.
    #[error(
        "there is no image `{0}` at {1}, and none is pulled for a run; get it first with `docker pull` or `podman pull`, or build it"
    )]
    NoImage(String, String),
    /// An engine would make the folder.
    #[error("there is no {0} on this machine for the volume `{1}`; make it or correct the path")]
    NoVolume(PathBuf, String),
    /// It says that its container runs, and no such process is seen.
    #[error(
        "container `{0}` runs, but its process cannot be seen here: {1}; run in the engine's pid namespace"
    )]
    Unseen(String, String),
    /// It answers, and does not do what it was asked for.
    #[error("the container engine at {0} does not {what}: {2}; {remedy}", what = .1.what, remedy = .1.remedy)]
    Refused(PathBuf, Wish, String),
    /// It gives no answer, or an odd one.
    #[error(
        "the container engine at {0} fails: {1}; mend it, or name another's socket with `engine`"
    )]
    Engine(PathBuf, String),
}

/// What an engine is asked for, and what helps where it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    what: &'static str,
    remedy: &'static str,
}

impl Wish {
    pub(in crate::target) const LOOK: Self =
        Self { what: "answer", remedy: "correct the name of the `container` or `image`" };
    pub(in crate::target) const CREATE: Self = Self {
        what: "make the container",
        remedy: "change the target's `command`, `dir`, `volumes`, `cpus`, `cpuset` or `memory`",
    };
    pub(in crate::target) const START: Self = Self {
        what: "start the container",
        remedy: "change the target's `command` (the program must be in the image), `dir`, `volumes`, `cpus`, `cpuset` or `memory`",
    };
    pub(in crate::target) const STOP: Self = Self {
        what: "stop the container",
        remedy: "stop it with `docker rm --force` or `podman rm --force`",
    };
    pub(in crate::target) const REMOVE: Self = Self {
        what: "remove the container",
        remedy: "remove it with `docker rm --force` or `podman rm --force`",
    };
    pub(in crate::target) const LOGS: Self = Self {
        what: "hand out the container's output",
        remedy: "let the engine keep logs (its `json-file` or `k8s-file` driver)",
    };
    pub(in crate::target) const IMPORT: Self =
        Self { what: "take the image", remedy: "correct its name or changes, or make room for it" };
    pub(in crate::target) const REMOVE_IMAGE: Self = Self {
        what: "remove the image",
        remedy: "remove the containers that use it first, then the image",
    };
}

impl EngineError {
    /// Of what several engines answer, the heaviest is said: an engine that knows the container
    /// before one that may know it, and that before one that does not.
    pub(in crate::target) const fn weight(&self) -> u8 {
        match self {
            Self::Missing(..) | Self::NoImage(..) => 0,
            Self::NotRunning(..) => 2,
            _ => 1,
        }
    }
}
