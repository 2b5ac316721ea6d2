//! A target that is a container of an image: from the order to start it to its first good answer.

use std::sync::Arc;

use super::super::found;
use super::super::own_container::OwnContainer;
use super::{Life, Target};
use crate::host::CgroupTrees;
use crate::plan::TargetSpec;
use crate::target::cgroup::CgroupError;
use crate::target::logs::Logs;
use crate::target::ready::{Question, refuse_stranger, still_alive};
use crate::target::{StartOptions, TargetError, TargetHandle, TargetKind};

/// Makes the container, starts it and waits until it is ready. It is asked from the moment of the
/// order on: an engine comes back from that when the container may have answered already.
pub(super) fn start(
    reference: &str,
    spec: &TargetSpec,
    options: &StartOptions<'_>,
) -> Result<Target, TargetError> {
    let url = spec.url.clone().ok_or_else(|| TargetError::NoUrl(spec.name.clone()))?;
    refuse_stranger(&spec.name, &url, options.contact)?;
    let question = Question::of(spec, &url, options.contact)?;
    let trees = CgroupTrees::discover().map_err(CgroupError::from)?;
    let logs = Arc::new(Logs::open(options.logs_dir, &spec.name)?);
    let mut container = OwnContainer::create(reference, spec, options.run_id, Arc::clone(&logs))?;
    container.start()?;
    let startup_ns = question.ask_until_ready(spec, &mut container, &logs, options)?;
    container.settle()?;
    still_alive(&mut container, &logs)?;
    let pid = container.pid().ok_or_else(|| container.unseen("it has none"))?;
    let found = found::by_pid(pid, spec, options.run_id, &trees)?;
    let (controllers, notes) = found::controllers_of(&found, &trees);
    container.attend_to_memory(controllers.get("memory"));
    Ok(Target {
        handle: TargetHandle {
            name: spec.name.clone(),
            kind: TargetKind::Image,
            urls: vec![url],
            cgroup: found.cgroup,
            controllers,
            main_pid: found.main_pid,
        },
        notes,
        // In the host's network nothing is between the load and it.
        proxy: None,
        question: Some(question),
        fetcher: options.fetcher.clone(),
        startup_ns: Some(startup_ns),
        life: Life::Contained(Box::new(container)),
    })
}
