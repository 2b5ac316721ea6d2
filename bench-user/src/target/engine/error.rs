//! Why a container engine is of no use: each one sentence with its remedy.

use std::path::PathBuf;

/// Why a container cannot be found, or not be made.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No socket answers.
    #[error(
        "no container engine answers ({0}); start it (`podman system service` for Podman) or name its socket with `engine`"
    )]
    NoEngine(String),
    /// An engine over the network: its processes may be on another machine.
    #[error(
        "{0} is not a unix socket; the engine must run on this machine, as in unix:///var/run/docker.sock"
    )]
    NotASocket(String),
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
    /// The engine answers something unexpected.
    #[error(
        "the container engine at {0} fails: {1}; mend it, or name another's socket with `engine`"
    )]
    Engine(PathBuf, String),
}

impl EngineError {
    /// Of what several engines answer, the heaviest is said: an engine that knows the container
    /// before one that may know it, and that before one that does not.
    pub(in crate::target) const fn weight(&self) -> u8 {
        match self {
            Self::Missing(..) | Self::NoImage(..) => 0,
            Self::NoEngine(_) | Self::NotASocket(_) | Self::Engine(..) | Self::NoVolume(..) => 1,
            Self::NotRunning(..) => 2,
        }
    }
}
