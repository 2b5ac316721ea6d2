//! Every program of the probes, also those that are off unless asked for, is taken by this kernel:
//! loaded, verified and attached.

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{ObserverSet, Options};
use bench_user::plan::Explain;
use libtest_mimic::Trial;

use crate::place::{CannotRun, Place, trial};
use crate::probes::handle;
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    let each = Explain::ALL.map(|kind| {
        let name = format!("explain::{}_is_attached_and_counts", kind.name());
        trial(&name, move || attached(&[kind]))
    });
    let all = trial("explain::all_of_it_at_once", || attached(&Explain::ALL));
    each.into_iter().chain([all]).collect()
}

fn attached(kinds: &[Explain]) -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("pingpong 200")?;
    place.take_in(workload.pid())?;
    let options = Options { explain: kinds.to_vec(), ..Options::default() };
    let mut set = ObserverSet::attach(&handle(&place.v2), &options);
    ensure!(set.probes_missing().is_none(), "{:?}", set.probes_missing());
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let blocks = serde_json::to_value(&sample.explain)?;
    let blocks = blocks.as_object().context("an object by kind")?;
    let shown = blocks.values().filter(|block| !block.is_null()).count();
    if blocks.is_empty() {
        return Err(CannotRun("this kind is not there yet".into()).into());
    }
    ensure!(shown == kinds.len(), "{shown} blocks for {kinds:?}");
    for (kind, block) in blocks {
        let why = block.get("unavailable");
        ensure!(why.is_none(), "{kind}: {why:?}");
    }
    Ok(())
}
