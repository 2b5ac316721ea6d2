//! What an engine is told of a container that is to be made, in the words of its API.

use std::collections::HashMap;
use std::path::PathBuf;

use bollard::models::{ContainerCreateBody, HostConfig, RestartPolicy, RestartPolicyNameEnum};

use crate::plan::TargetSpec;
use crate::target::engine::EngineError;

/// Names the run that a container belongs to, as the cgroups of a run are named.
pub(in crate::target) const RUN_LABEL: &str = "bench-user.run";

/// The body of the request for a container of the image with this id, and nothing that the host's own settings of
/// the engine say.
///
/// # Errors
/// When a volume's folder is not there: an engine would make it.
pub(super) fn body(
    spec: &TargetSpec,
    image_id: &str,
    run: &str,
) -> Result<ContainerCreateBody, EngineError> {
    for volume in &spec.volumes {
        let path = PathBuf::from(volume.split(':').next().unwrap_or_default());
        if !path.exists() {
            return Err(EngineError::NoVolume(path, volume.clone()));
        }
    }
    let env = spec.env.iter().map(|(name, value)| format!("{name}={value}"));
    Ok(ContainerCreateBody {
        image: Some(image_id.to_owned()),
        cmd: spec.command.clone(),
        env: Some(env.collect()),
        working_dir: spec.dir.as_ref().map(|dir| dir.display().to_string()),
        labels: Some(HashMap::from([(RUN_LABEL.to_owned(), run.to_owned())])),
        host_config: Some(HostConfig {
            // Its address is the plan's, and no proxy or bridge is in the way.
            network_mode: Some("host".into()),
            binds: (!spec.volumes.is_empty()).then(|| spec.volumes.clone()),
            nano_cpus: spec.cpus.map(nano_cpus),
            cpuset_cpus: spec.cpuset.clone(),
            memory: spec.memory.and_then(|memory| i64::try_from(memory.0).ok()),
            restart_policy: Some(RestartPolicy {
                name: Some(RestartPolicyNameEnum::NO),
                maximum_retry_count: None,
            }),
            // Else the first process would be the engine's, not the image's.
            init: Some(false),
            privileged: Some(false),
            auto_remove: Some(false),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    })
}

/// A quota in billionths of a CPU.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a huge number saturates, and the engine refuses it"
)]
fn nano_cpus(cpus: f64) -> i64 {
    (cpus * 1e9).round() as i64
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(text: &str) -> TargetSpec {
        toml::from_str(&format!("name = \"t\"\nimage = \"web\"\n{text}")).unwrap()
    }

    fn body(text: &str) -> Value {
        serde_json::to_value(super::body(&spec(text), "sha256:1", "r-1-2").unwrap()).unwrap()
    }

    #[test]
    fn a_container_without_limits_sets_none() {
        let expected = json!({
            "Image": "sha256:1",
            "Env": [],
            "Labels": { "bench-user.run": "r-1-2" },
            "HostConfig": {
                "NetworkMode": "host",
                "RestartPolicy": { "Name": "no" },
                "Init": false,
                "Privileged": false,
                "AutoRemove": false,
            },
        });
        assert_eq!(body(""), expected);
    }

    #[test]
    fn every_key_of_the_plan_is_asked_for() {
        let asked = body(
            "command = [\"/server\", \"a b\"]\ndir = \"/srv\"\nenv = { A = \"1\", B = \"x=y\" }\n\
             cpus = 0.25\ncpuset = \"0,2\"\nmemory = \"64MiB\"\nvolumes = [\"/proc:/p:ro\"]",
        );
        assert_eq!(asked["Cmd"], json!(["/server", "a b"]));
        assert_eq!(asked["WorkingDir"], "/srv");
        assert_eq!(asked["Env"], json!(["A=1", "B=x=y"]));
        let host = &asked["HostConfig"];
        assert_eq!(host["NanoCpus"], 250_000_000);
        assert_eq!(host["CpusetCpus"], "0,2");
        assert_eq!(host["Memory"], 64 << 20);
        assert_eq!(host["Binds"], json!(["/proc:/p:ro"]));
    }

    #[test]
    fn a_volume_that_is_not_there_is_refused_and_not_made() {
        let spec = spec("volumes = [\"/nowhere/at-all:/x\"]");
        let error = super::body(&spec, "sha256:1", "r").unwrap_err().to_string();
        assert!(error.contains("/nowhere/at-all") && error.contains("make it"), "{error}");
    }
}
