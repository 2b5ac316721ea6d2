//! Runs a plan, keeps what it measures and draws the conclusions: what `run` and the parts of a
//! study have in common.

use std::path::Path;

use anyhow::Context as _;
use bench_user::cli::ViewArgs;
use bench_user::ladder::{self, Interrupt, Places, RunEnd};
use bench_user::live::Outline;
use bench_user::measured::Measured;
use bench_user::plan::{Plan, TargetSpec};
use bench_user::record::{self, RunDir, RunRecord, ServiceRecord, TargetRecord, Tool, Urls};
use bench_user::target::{self, TargetKind};
use bench_user::{analyze, claims, clock, host, report};

use super::recorder::Recorder;
use super::view::{self, View};

/// Whether its claims can be understood and we have the rights that it takes, before anything is
/// made.
pub(super) fn can_run(plan: &Plan, args: &ViewArgs) -> anyhow::Result<()> {
    view::can_open(args)?;
    let names: Vec<_> = plan.targets.iter().map(|target| target.name.as_str()).collect();
    claims::validate(&plan.claims, &names)?;
    needs_root(plan)
}

/// Runs a plan into a folder of its own; what was measured is kept however the run ended.
pub(super) fn measure(
    plan: &Plan,
    out: Option<&Path>,
    args: &ViewArgs,
    interrupt: &Interrupt,
) -> anyhow::Result<(Recorder, anyhow::Result<RunEnd>)> {
    let view = (!args.quiet).then(|| View::open(args, Outline::of(plan))).transpose()?;
    let mut recorder = begin(plan, out, args.quiet)?;
    recorder.view = view.as_ref().map(View::sender);
    for leftover in target::remove_leftovers() {
        recorder.say(&format!("removed a leftover of an earlier run: {leftover}"));
    }
    for leftover in target::remove_left_containers(&plan.targets) {
        recorder.say(&format!("removed a leftover of an earlier run: {leftover}"));
    }
    recorder.say(&format!("run folder: {}", recorder.dir.path().display()));
    recorder.say(&estimate(&recorder.record.plan));

    let logs = recorder.dir.logs_dir();
    let id = recorder.record.id.clone();
    let places = Places { run_id: &id, logs: &logs };
    let ended = ladder::run(plan, places, interrupt, &mut recorder);
    recorder.record.interrupted = match &ended {
        Ok(RunEnd::Done) => None,
        Ok(RunEnd::Interrupted(signal)) => Some(format!("{signal} ended the run")),
        Err(error) => Some(format!("{error:#}")),
    };
    let concluded = conclude(&mut recorder);
    // Last, because it waits for the terminal.
    recorder.view = None;
    drop(view);
    concluded?;
    keep_page(&recorder);
    Ok((recorder, ended))
}

/// Everything but an address alone has a cgroup to make or to watch, and a service one to make.
fn needs_root(plan: &Plan) -> anyhow::Result<()> {
    let is_alone = plan.targets.iter().all(|target| kind(target) == TargetKind::Url);
    let makes_none = is_alone && plan.services.is_empty();
    anyhow::ensure!(
        makes_none || rustix::process::geteuid().is_root(),
        "making and watching a cgroup takes root: run it as `sudo bench-user run`, or give only \
         --url for client numbers alone"
    );
    Ok(())
}

fn begin(plan: &Plan, out: Option<&Path>, quiet: bool) -> anyhow::Result<Recorder> {
    let started_at = clock::wall_rfc3339();
    let id = record::new_id(&started_at, fastrand::u32(..));
    let dir = RunDir::create(out, &plan.name, &id)?;
    let targets = plan.targets.iter().map(untouched).collect();
    let services = plan
        .services
        .iter()
        .map(|service| ServiceRecord { name: service.name.clone(), exit: None });
    let services = services.collect();
    let record = RunRecord {
        schema: record::SCHEMA.to_owned(),
        id,
        started_at,
        tool: Tool { version: env!("CARGO_PKG_VERSION").to_owned() },
        plan: Plan { load: plan.load.without_password(), ..plan.clone() },
        host: host::environment::look(),
        probe_estimate: Measured::unavailable("the probes were not tried"),
        targets,
        services,
        analysis: None,
        claims: Vec::new(),
        interrupted: None,
    };
    dir.save(&record)?;
    Ok(Recorder::new(record, dir, quiet))
}

/// A target of which nothing is known yet.
fn untouched(spec: &TargetSpec) -> TargetRecord {
    TargetRecord {
        name: spec.name.clone(),
        kind: kind(spec),
        cgroup: Measured::unavailable("the target was not started"),
        urls: Urls {
            count: 0,
            first: spec.url.as_ref().map(ToString::to_string).unwrap_or_default(),
        },
        image: None,
        startup_ms: None,
        idle: None,
        final_health: None,
        exit: None,
        notes: Vec::new(),
        proxy: None,
        stages: Vec::new(),
    }
}

fn kind(spec: &TargetSpec) -> TargetKind {
    let TargetSpec { command, builtin, image, container, cgroup, pid, unit, .. } = spec;
    [
        // Before the command, which then is the container's.
        (image.is_some(), TargetKind::Image),
        (command.is_some(), TargetKind::Command),
        (builtin.is_some(), TargetKind::Builtin),
        (container.is_some(), TargetKind::Container),
        (cgroup.is_some(), TargetKind::Cgroup),
        (pid.is_some(), TargetKind::Pid),
        (unit.is_some(), TargetKind::Unit),
    ]
    .into_iter()
    .find_map(|(is_set, kind)| is_set.then_some(kind))
    .unwrap_or(TargetKind::Url)
}

/// How long the whole plan takes when no rule stops a ladder.
fn estimate(plan: &Plan) -> String {
    if let Some(job) = &plan.job {
        let runs = plan.targets.len() * plan.repeat as usize;
        let noun = if runs == 1 { "run of a job" } else { "runs of jobs" };
        let has_before = plan.targets.iter().any(|target| target.before.is_some());
        let before = if has_before { " and its `before` as long again" } else { "" };
        return format!("{runs} {noun}, each at most {}{before}", job.timeout);
    }
    let ladder = &plan.ladder;
    let stage = ladder.warmup.0 + ladder.duration.0 + ladder.pause.0;
    let climbs = plan.targets.len() * plan.repeat as usize;
    let has_control = plan.observe.control && plan.observe.enabled;
    let watched = plan.targets.iter().filter(|target| kind(target) != TargetKind::Url).count();
    let counted = plan.repeat.saturating_sub(plan.discard) as usize;
    let controls = if has_control { watched * counted } else { 0 };
    let (levels, at_most) = match ladder.levels().len() {
        // The closed stage and the rates of a search.
        0 => (1 + ladder::search::STAGES_MAX, "at most "),
        levels => (levels, ""),
    };
    let stages = climbs * levels + controls;
    let warmed = if plan.observe.max_overhead.is_some() { watched } else { 0 };
    let warming = ladder.warmup.0.as_secs_f64() * warmed as f64;
    let seconds = (stage.as_secs_f64() * stages as f64 + warming).round();
    let time = std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let noun = if stages == 1 { "stage" } else { "stages" };
    format!("{at_most}{stages} {noun}, about {}", humantime::format_duration(time))
}

/// Findings and claims over whatever was measured.
fn conclude(recorder: &mut Recorder) -> anyhow::Result<()> {
    let record = &mut recorder.record;
    analyze::settle_verdicts(record);
    record.analysis = Some(analyze::analyze(record));
    record.claims = claims::check(record, &record.plan.claims);
    recorder.dir.save(&recorder.record).context("save the findings")
}

/// The report beside the record. What cannot be written must not cost the figures: it is said.
fn keep_page(recorder: &Recorder) {
    if recorder.has_nothing() {
        return;
    }
    let mut page = Vec::new();
    let written = report::html(&recorder.record, &mut page)
        .context("draw the report")
        .and_then(|()| Ok(recorder.dir.save_page(&page)?));
    match written {
        Ok(path) => recorder.say(&format!("report: {}", path.display())),
        Err(why) => recorder.say(&format!("warning: no report.html: {why:#}")),
    }
}
