//! One target of a plan: how it is found, where its requests go, what it may use.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::units::{Bytes, Span};

/// One thing to measure. Exactly one of the ways to find it is set (`command`, `builtin`, `image`,
/// `container`, `cgroup`, `pid`, `unit`, or `url` alone); a `command` beside an `image` is no way
/// of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Name in the report and in claims.
    pub name: String,
    /// Program and arguments, started in a cgroup of its own; of an `image`, what its container
    /// runs instead of the image's own command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// A built-in server: `lean` or `chatty`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<Builtin>,
    /// A local image of Docker or Podman: a container is made of it, started and removed. It is in
    /// the host's network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What the container of an `image` sees of this machine's files: `/host/path:/path`, with
    /// `:ro` behind it where it may not write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<String>,
    /// A running Docker or Podman container, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The container engine: `docker`, `podman`, or its API socket; default: the first of
    /// `DOCKER_HOST`, `CONTAINER_HOST` and the usual places that has the `container` or `image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// A cgroup v2 directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
    /// A running process; its whole cgroup is watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// A systemd unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Moves a running target that has no v2 cgroup of its own into one that we make and remove.
    #[serde(default)]
    pub adopt: bool,
    /// Where requests go. A built-in server picks its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Url>,
    /// The addresses to request in turn; default: `url` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<UrlSource>,
    /// Path or URL that answers 2xx when the target is ready; default: `url` answers at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// How long a started target may take until it is ready.
    #[serde(default = "default_ready_within")]
    pub ready_within: Span,
    /// Of a job: program and arguments that are run before each run of it, in its `dir` and `env`,
    /// outside of what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Vec<String>>,
    /// Environment of a command, added to ours, or of a container, added to its image's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Working folder of a command; of a container, a folder inside of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// CPU quota of what is started, in CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// CPUs that what is started may run on, as `"0-3,6"`; default: those that the load leaves free
    /// where there are at least four, else all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<String>,
    /// Memory limit of what is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
}

/// A server that comes with the tool. Both answer the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// One read and one write a request.
    Lean,
    /// One read a request and one write for every piece of the response.
    Chatty,
}

impl Builtin {
    /// As it is written in a plan and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lean => "lean",
            Self::Chatty => "chatty",
        }
    }
}

/// Where the list of addresses comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UrlSource {
    /// `"crawl"`, or the path of a file with one address a line.
    Named(String),
    /// The addresses themselves, absolute or relative to `url`.
    List(Vec<String>),
}

pub(super) const fn default_ready_within() -> Span {
    Span::from_secs(60)
}

impl TargetSpec {
    /// Nothing but an address, which has no kernel side.
    #[must_use]
    pub const fn is_address_alone(&self) -> bool {
        let Self { container, cgroup, pid, unit, .. } = self;
        let is_found = container.is_some() || cgroup.is_some() || pid.is_some() || unit.is_some();
        !self.is_started() && !is_found
    }

    /// It is started by us, and ends with the climb.
    #[must_use]
    pub const fn is_started(&self) -> bool {
        self.command.is_some() || self.builtin.is_some() || self.image.is_some()
    }

    /// A target of this name with every other key at its default; no way to find it is set yet.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            command: None,
            builtin: None,
            image: None,
            volumes: Vec::new(),
            container: None,
            engine: None,
            cgroup: None,
            pid: None,
            unit: None,
            adopt: false,
            url: None,
            urls: None,
            ready: None,
            ready_within: default_ready_within(),
            before: None,
            env: BTreeMap::new(),
            dir: None,
            cpus: None,
            cpuset: None,
            memory: None,
        }
    }
}
