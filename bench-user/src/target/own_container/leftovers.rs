//! Containers of earlier runs whose process is gone.

use std::collections::HashMap;

use bollard::Docker;
use bollard::errors::Error as ApiError;
use bollard::models::ContainerSummary;
use bollard::query_parameters::ListContainersOptions;

use super::order::RUN_LABEL;
use super::remove;
use crate::target::engine::{Engine, EngineError};
use crate::target::owner::owner_is_dead;

/// Removes them from every engine that listens at one of the usual places, and names them. An
/// engine that cannot be asked is one without them: a run that needs it says so.
#[must_use]
pub fn remove_left_containers() -> Vec<String> {
    let engines = Engine::all(None).unwrap_or_default();
    let removed = engines.iter().map(|engine| {
        let found = engine.glance(async |client| of_ours(&client).await);
        found.map(|found| remove_dead(engine, found)).unwrap_or_else(|error| {
            log::debug!("leftovers: {error}");
            Vec::new()
        })
    });
    removed.flatten().collect()
}

/// The same at one engine.
///
/// # Errors
/// When it cannot be asked.
pub(in crate::target) fn remove_leftovers_at(engine: &Engine) -> Result<Vec<String>, EngineError> {
    let found = engine.ask(async |client| of_ours(&client).await)?;
    Ok(remove_dead(engine, found))
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
        if owner_is_dead(run) != Some(true) {
            continue;
        }
        match remove(engine, id) {
            Ok(()) => removed.push(format!("container {} of {run}", &id[..id.len().min(12)])),
            Err(error) => log::warn!("a container of an earlier run stays: {error}"),
        }
    }
    removed
}
