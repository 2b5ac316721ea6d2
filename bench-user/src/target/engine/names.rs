//! What the engines of this machine have, by name: for a shell that completes what is typed. An
//! engine that does not answer soon has nothing.

use bollard::query_parameters::{ListContainersOptions, ListImagesOptions};

use super::Engine;

/// Names of the containers that run, of every engine that is reached.
#[must_use]
pub fn running_containers() -> Vec<String> {
    named(|engine| {
        let list = engine
            .glance(async |client| client.list_containers(None::<ListContainersOptions>).await);
        let names = list.into_iter().flatten().filter_map(|container| container.names).flatten();
        names.map(|name| name.trim_start_matches('/').to_owned()).collect()
    })
}

/// `NAME:TAG` of the images that are here, of every engine that is reached.
#[must_use]
pub fn local_images() -> Vec<String> {
    named(|engine| {
        let list =
            engine.glance(async |client| client.list_images(None::<ListImagesOptions>).await);
        let tags = list.into_iter().flatten().flat_map(|image| image.repo_tags);
        tags.filter(|tag| !tag.contains("<none>")).collect()
    })
}

/// Of all engines, each name once.
fn named(of: impl Fn(&Engine) -> Vec<String>) -> Vec<String> {
    let engines = Engine::all(None).unwrap_or_default();
    let mut names: Vec<String> = engines.iter().flat_map(of).collect();
    names.sort_unstable();
    names.dedup();
    names
}
