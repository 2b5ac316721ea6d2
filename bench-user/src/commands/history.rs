//! `history`: the runs of a folder, and the trend of a metric over them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bench_user::analyze::metrics;
use bench_user::cli::{HistoryArgs, HistoryFormat};
use bench_user::record;
use bench_user::report::{self, Asked, Brief, Format, History, Skipped, Trend};

use super::{Outcome, print};

pub(crate) fn run(args: &HistoryArgs) -> anyhow::Result<Outcome> {
    let history = history(&args.dir)?;
    let format = if args.json { HistoryFormat::Json } else { args.format };
    match &args.metric {
        None => print(|out| match drawn(format) {
            Some(format) => report::history(&history, format, out),
            None => report::history_csv(&history, out),
        })?,
        Some(metric) => {
            metrics::check_name(metric).map_err(|why| anyhow::anyhow!(why))?;
            let trend = trend(args, metric, history)?;
            print(|out| match drawn(format) {
                Some(format) => report::trend(&trend, format, out),
                None => report::trend_csv(&trend, out),
            })?;
        }
    }
    Ok(Outcome::Done)
}

/// The format of a page or of its data; `None` for CSV.
fn drawn(format: HistoryFormat) -> Option<Format> {
    match format {
        HistoryFormat::Text => Some(Format::Text),
        HistoryFormat::Markdown => Some(Format::Markdown),
        HistoryFormat::Json => Some(Format::Json),
        HistoryFormat::Csv => None,
    }
}

/// What is known of every entry of the folder; of each record little is kept.
fn history(dir: &Path) -> anyhow::Result<History> {
    anyhow::ensure!(
        !holds_run(dir),
        "{} is a run itself: name the folder that holds it",
        dir.display()
    );
    let listing = || format!("cannot list {}: name a folder of runs", dir.display());
    let (mut runs, mut skipped) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(dir).with_context(listing)? {
        let name = entry.with_context(listing)?.file_name();
        match brief(dir, &name) {
            Ok(run) => runs.push(run),
            Err(why) => skipped.push(Skipped { name: name.display().to_string(), why }),
        }
    }
    skipped.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(History::of(runs, skipped))
}

fn holds_run(dir: &Path) -> bool {
    ["run.json", "run.json.gz"].iter().any(|file| dir.join(file).is_file())
}

fn brief(dir: &Path, name: &OsStr) -> Result<Brief, String> {
    let path = dir.join(name);
    let shown = name.display().to_string();
    if path.is_dir() && !holds_run(&path) {
        return Err("it holds no run.json".into());
    }
    if path.is_file() && ![".json", ".json.gz"].iter().any(|end| shown.ends_with(end)) {
        return Err("it is neither the folder of a run nor a run.json".into());
    }
    let text = record::text(&path).map_err(|e| e.to_string())?;
    Brief::read(&shown, &text)
}

/// Reads the runs that have the target again, whole and one by one, the newest first.
fn trend(args: &HistoryArgs, metric: &str, history: History) -> anyhow::Result<Trend> {
    let History { mut runs, mut skipped } = history;
    if let Some(target) = &args.target {
        let (with, without) = runs.into_iter().partition(|run| run.targets.contains(target));
        runs = with;
        skipped.extend(without.into_iter().map(|run| left_out(run, target)));
    }
    let dir = &args.dir;
    let newest = runs.pop().with_context(|| match &args.target {
        Some(target) => format!("no run in {} has a target `{target}`", dir.display()),
        None => format!("there is no run in {}", dir.display()),
    })?;
    let asked = Asked {
        metric: metric.to_owned(),
        target: args.target.clone(),
        connections: args.connections,
    };
    let path = |run: &Brief| -> PathBuf { dir.join(&run.name) };
    let mut trend = Trend::from_newest(&asked, &newest.name, record::read(&path(&newest))?)
        .map_err(|why| anyhow::anyhow!(why))?;
    while let Some(run) = runs.pop() {
        if run.targets.iter().any(|target| target == trend.target()) {
            match record::read(&path(&run)) {
                Ok(record) => trend.take_in(&run.name, &record),
                Err(why) => skipped.push(Skipped { name: run.name, why: why.to_string() }),
            }
        } else {
            skipped.push(left_out(run, trend.target()));
        }
    }
    trend.skip(skipped);
    Ok(trend)
}

fn left_out(run: Brief, target: &str) -> Skipped {
    Skipped { name: run.name, why: format!("it has no target `{target}`") }
}
