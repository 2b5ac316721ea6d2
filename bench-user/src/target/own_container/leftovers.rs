//! Containers of earlier runs whose process is gone.

use std::collections::HashMap;

use bollard::Docker;
use bollard::errors::Error as ApiError;
use bollard::models::ContainerSummary;
use bollard::query_parameters::ListContainersOptions;

use super::creation::RUN_LABEL;
use super::{remove, short};
use crate::plan::TargetSpec;
use crate::target::engine::Engine;
use crate::target::owner::dead_owner;

/// Removes them from every engine that listens at one of the usual places or is named by one of
/// these targets, and names them. An engine that cannot be asked is one without them: a run that
/// needs it says so.
#[must_use]
pub fn remove_left_containers<'s>(specs: impl IntoIterator<Item = &'s TargetSpec>) -> Vec<String> {
    let mut engines = Engine::all(None).unwrap_or_default();
    for name in specs.into_iter().filter_map(|spec| spec.engine.as_deref()) {
        engines.extend(Engine::named(name).ok().filter(|engine| !engines.contains(engine)));
    }
    engines.iter().flat_map(remove_at).collect()
}

/// The same at one engine.
pub(super) fn remove_at(engine: &Engine) -> Vec<String> {
    let found = engine.glance(async |client| of_ours(&client).await);
    found.map(|found| remove_dead(engine, found)).unwrap_or_else(|error| {
        log::debug!("leftovers: {error}");
        Vec::new()
    })
}

/// Every container of a run.
async fn of_ours(client: &Docker) -> Result<Vec<ContainerSummary>, ApiError> {
    let label = HashMap::from([("label".to_owned(), vec![RUN_LABEL.to_owned()])]);
    let of_ours = ListContainersOptions {
        all: true,
        filters: Some(label),
        ..ListContainersOptions::default()
    };
    client.list_containers(Some(of_ours)).await
}

fn remove_dead(engine: &Engine, found: Vec<ContainerSummary>) -> Vec<String> {
    let mut removed = Vec::new();
    for container in found {
        let run = container.labels.as_ref().and_then(|labels| labels.get(RUN_LABEL));
        let (Some(run), Some(id)) = (run, &container.id) else { continue };
        let Some(run) = dead_owner(run) else { continue };
        match remove(engine, id) {
            Ok(()) => removed.push(format!("container {} of {run}", short(id))),
            Err(error) => log::warn!("a container of an earlier run stays: {error}"),
        }
    }
    removed
}
