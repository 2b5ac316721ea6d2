//! One service of a plan: what targets need, such as the upstream of a proxy, and what is not
//! measured.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::TargetSpec;
use super::target::default_ready_within;
use crate::units::{Bytes, Span};

/// A program that runs beside the targets, in a cgroup of its own, from before the first climb to
/// the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceSpec {
    /// Name in the record and of its output.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where it serves; asked in HTTP/1.1 whether it is ready.
    pub url: Url,
    /// Path or URL that answers 2xx when it is ready; default: `url` answers at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// How long it may take until it is ready.
    #[serde(default = "default_ready_within")]
    pub ready_within: Span,
    /// Environment, added to ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// CPU quota, in CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// CPUs that it may run on, as `"0-3,6"`; default: as for a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<String>,
    /// Memory limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
}

impl ServiceSpec {
    /// It is started, asked and stopped as a target of this description is.
    #[must_use]
    pub fn as_target(&self) -> TargetSpec {
        let Self { name, command, url, ready, ready_within, env, dir, cpus, cpuset, memory } =
            self.clone();
        TargetSpec {
            command: Some(command),
            url: Some(url),
            ready,
            ready_within,
            env,
            dir,
            cpus,
            cpuset,
            memory,
            ..TargetSpec::named(name)
        }
    }
}
