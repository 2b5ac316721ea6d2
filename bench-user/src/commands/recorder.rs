//! Keeps a run as it goes: every event of the ladder becomes a part of the record, the record is
//! written, and a line tells the user.

use bench_user::analyze;
use bench_user::ladder::{Climb, Event, Position, Sink};
use bench_user::live::{Finished, News};
use bench_user::plan::Level;
use bench_user::record::{JobRun, RunDir, RunRecord, StageRecord, Start, TargetRecord, Urls};
use bench_user::report;
use bench_user::target::{Exit, Idle, Target, TargetHandle, TargetKind};
use bench_user::units::{show_count, show_ns, show_per_request};
use url::Url;

use super::view::Sender;

/// The record so far and where it is kept.
pub(crate) struct Recorder {
    pub(crate) record: RunRecord,
    pub(crate) dir: RunDir,
    quiet: bool,
    /// Where what happens is shown.
    pub(super) view: Option<Sender>,
    /// How the target of the climb under way began it.
    start: Option<Start>,
}

impl Recorder {
    pub(crate) fn new(record: RunRecord, dir: RunDir, quiet: bool) -> Self {
        Self { record, dir, quiet, view: None, start: None }
    }

    /// A line for the user, unless the run is to be quiet.
    pub(crate) fn say(&self, line: &str) {
        if !self.quiet {
            super::say(line);
        }
    }

    fn shows(&self, news: News) {
        if let Some(view) = &self.view {
            view.news(news);
        }
    }

    /// Nothing was measured that somebody could want to read.
    pub(crate) fn has_nothing(&self) -> bool {
        let has_stages = self.record.targets.iter().any(|target| !target.stages.is_empty());
        !has_stages && self.record.probe_estimate.value().is_none()
    }

    /// The last target that ended by itself, how, and where to read on, as a sentence.
    pub(crate) fn death(&self) -> Option<String> {
        let died = |target: &&TargetRecord| target.exit.as_ref().is_some_and(|exit| !exit.by_us);
        let target = self.record.targets.iter().rev().find(died)?;
        let exit = target.exit.as_ref()?;
        let output = match target.kind {
            TargetKind::Command | TargetKind::Builtin | TargetKind::Image => {
                format!("its output is in {}", self.dir.logs_dir().display())
            }
            TargetKind::Container => "its engine has its output".to_owned(),
            _ => "see its own log".to_owned(),
        };
        Some(format!("target `{}` ended by itself: {exit}; {output}", target.name))
    }

    /// The last run of a job that failed, as a sentence.
    pub(crate) fn failed_job(&self) -> Option<String> {
        let failed = |target: &TargetRecord| {
            let how = target.stages.iter().rev().find_map(|s| s.job.as_ref()?.failed.clone())?;
            let logs = self.dir.logs_dir();
            Some(format!("the job `{}` {how}; its output is in {}", target.name, logs.display()))
        };
        self.record.targets.iter().rev().find_map(failed)
    }

    fn target(&mut self, n: usize) -> &mut TargetRecord {
        &mut self.record.targets[n]
    }

    fn job_begins(&mut self, climb: Climb, handle: &TargetHandle) {
        let repeat = self.record.plan.repeat;
        let target = self.target(climb.target);
        target.cgroup = handle.cgroup.clone().map(|dir| dir.display().to_string());
        let name = &self.record.targets[climb.target].name;
        self.say(&format!("{name}: run {} of {repeat} ...", climb.repetition + 1));
    }

    fn begins(&self, n: usize, position: Position) {
        // How many rates a search takes is known at its end.
        let of = match self.record.plan.ladder.levels().len() {
            0 => String::new(),
            stages => format!(" of {stages}"),
        };
        let control = if position.is_control { ", probes detached" } else { "" };
        self.say(&format!(
            "{}: climb {} of {}, stage {}{of}: {}{control} ...",
            self.record.targets[n].name,
            position.repetition + 1,
            self.record.plan.repeat,
            position.index + 1,
            Level { connections: position.connections, offered_rps: position.offered_rps },
        ));
    }

    fn started(&mut self, climb: Climb, target: &Target, idle: &Idle, urls: &[Url]) {
        self.start = Some(start(target, idle));
        let record = self.target(climb.target);
        record.kind = target.handle.kind;
        record.cgroup = target.handle.cgroup.clone().map(|dir| dir.display().to_string());
        record.urls = Urls {
            count: urls.len(),
            first: urls.first().map(ToString::to_string).unwrap_or_default(),
        };
        record.image = target.image().cloned();
        record.startup_ms = record.startup_ms.or(target.startup_ms());
        record.idle.get_or_insert_with(|| idle.clone());
        record.notes.clone_from(&target.notes);
        record.proxy.clone_from(&target.proxy);
        for note in target.notes.iter().chain(&target.proxy) {
            self.say(&format!("note: {note}"));
        }
    }

    fn service_ended(&mut self, service: usize, exit: Exit) {
        let service = &mut self.record.services[service];
        let name = &service.name;
        let said = (!exit.by_us).then(|| {
            format!(
                "warning: the service `{name}` ended by itself: {exit}; the stages since \
                 are invalid, and its output is in {}",
                self.dir.logs_dir().display()
            )
        });
        let is_told = service.exit.replace(exit).is_some();
        if let Some(said) = said.filter(|_| !is_told) {
            super::say(&said);
        }
    }
}

impl Sink for Recorder {
    fn event(&mut self, event: Event<'_>) -> anyhow::Result<()> {
        match event {
            Event::ProbesTried(found) => {
                self.record.probe_estimate = found.clone();
                self.say(&report::probe_estimate(found));
            }
            Event::Warmed { place, target } => {
                // One that runs already will not be idle again.
                self.record.targets[place].idle = Some(target.idle());
                let name = &self.record.targets[place].name;
                self.say(&format!("{name}: a warm-up for `max_overhead` ..."));
                self.shows(News::Warms(name.clone()));
                return Ok(());
            }
            Event::Started { climb, target, idle, urls } => self.started(climb, target, idle, urls),
            Event::StageBegins { climb, position } => {
                self.begins(climb.target, position);
                self.shows(News::StageBegins(climb, position));
                return Ok(());
            }
            Event::Sampled { sample, busiest, so_far } => {
                let (sample, busiest) = (Box::new(sample.clone()), busiest.to_vec());
                self.shows(News::Sampled { sample, busiest, so_far });
                return Ok(());
            }
            Event::JobBegins { climb, handle } => {
                self.job_begins(climb, handle);
                self.shows(News::JobBegins(climb));
                return Ok(());
            }
            Event::Died { climb, exit } => {
                self.target(climb.target).exit = exit.cloned();
                self.shows(News::Died(climb));
            }
            Event::StageDone { climb, done } => {
                let position = done.position;
                let mut stage = StageRecord::from(*done);
                stage.start.clone_from(&self.start);
                let target = &mut self.record.targets[climb.target];
                stage.verdict = analyze::verdict(&self.record.plan, target, &stage);
                let line = summary(&stage);
                let finished = Box::new(Finished::of(climb, position, &stage));
                target.stages.push(stage);
                self.say(&line);
                self.shows(News::Done(finished));
            }
            Event::Ended { climb, after, exit } => {
                let target = self.target(climb.target);
                target.final_health = after.map(|after| after.health_ratio > 0.0);
                let stages = target.stages.iter_mut();
                for stage in stages.filter(|stage| stage.repetition == climb.repetition) {
                    stage.after = after.cloned();
                }
                // An end by itself, seen before, says more than the end that we made.
                if target.exit.as_ref().is_none_or(|seen| seen.by_us) {
                    target.exit = exit.cloned();
                }
                self.shows(News::Ended(climb));
            }
            Event::ServiceEnded { service, exit } => self.service_ended(service, exit),
            Event::Warning(text) => {
                super::say(&format!("warning: {text}"));
                return Ok(());
            }
        }
        Ok(self.dir.save(&self.record)?)
    }
}

fn start(target: &Target, idle: &Idle) -> Start {
    Start {
        startup_ms: target.startup_ms(),
        rss_bytes: idle.rss_bytes.clone(),
        image_bytes: target.image().and_then(|image| image.size_bytes),
    }
}

/// One stage in one line.
fn summary(stage: &StageRecord) -> String {
    if let Some(job) = &stage.job {
        return of_job(job);
    }
    let mut parts = vec![format!("  {}/s", show_count(stage.load.rate()))];
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    parts.extend(stage.load.response_ns.p99.map(|p99| format!("p99 {}", show_ns(p99 as f64))));
    let per_request =
        |what, n: Option<f64>| n.map(|n| format!("{} {what} a request", show_per_request(n)));
    let syscalls = stage.syscalls.value().and_then(|syscalls| syscalls.per_request);
    let switches = stage.sched.value().and_then(|sched| sched.per_request);
    parts.extend(per_request("syscalls", syscalls));
    parts.extend(per_request("switches", switches));
    let open = &stage.load.connections;
    if open.live_median != open.asked {
        parts.push(analyze::validity::asked_and_live(open.asked, open.live_median));
    }
    parts.extend(stage.verdict.invalid.iter().map(|why| format!("invalid: {why}")));
    parts.extend(stage.verdict.stopped_by.as_ref().map(|rule| format!("stopped: {rule}")));
    parts.join(", ")
}

/// One run of a job in one line.
fn of_job(job: &JobRun) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let wall = show_ns(job.wall_ns as f64);
    match &job.failed {
        Some(how) => format!("  {wall}, {how}"),
        None => format!("  {wall}"),
    }
}
