//! The ladders of a run as rows of figures, all from the analysis: the one in the record, or, for
//! a run that ended before it was made, the same analysis of what is there.

use std::borrow::Cow;

use super::columns::{METRICS, Metric, OF_HELD, OF_JOB};
use super::figures;
use crate::analyze::validity::{Judge, asked_and_live};
use crate::analyze::{self, bootstrap, estimate, levels, metrics};
use crate::plan;
use crate::record::{
    Analysis, Bottleneck, Estimate, LadderFindings, Level, RunRecord, StageRecord, TargetRecord,
};
use crate::target::TargetKind;

/// What is shown of these levels.
pub(super) fn shown(rows: &[Row<'_>]) -> &'static [Metric; 8] {
    if rows.iter().any(|row| row.at.is_job()) {
        &OF_JOB
    } else if rows.iter().any(Row::is_held) {
        &OF_HELD
    } else {
        &METRICS
    }
}

/// One target with its load levels.
pub(super) struct Ladder<'a> {
    pub(super) target: &'a TargetRecord,
    /// `None` where the analysis of the record leaves this target out.
    pub(super) findings: Option<&'a LadderFindings>,
    pub(super) rows: Vec<Row<'a>>,
}

/// One load level.
pub(super) struct Row<'a> {
    pub(super) at: plan::Level,
    /// The counted repetitions; never empty.
    pub(super) stages: Vec<&'a StageRecord>,
    judge: Judge<'a>,
    level: Option<&'a Level>,
}

/// The findings of the record, or the same made now.
pub(super) fn analysis(run: &RunRecord) -> Cow<'_, Analysis> {
    run.analysis.as_ref().map_or_else(|| Cow::Owned(analyze::analyze(run)), Cow::Borrowed)
}

/// The ladders of all targets, in the record's order.
pub(super) fn ladders<'a>(run: &'a RunRecord, analysis: &'a Analysis) -> Vec<Ladder<'a>> {
    run.targets.iter().map(|target| ladder(run, analysis, target)).collect()
}

/// The ladder of one target.
pub(super) fn ladder<'a>(
    run: &'a RunRecord,
    analysis: &'a Analysis,
    target: &'a TargetRecord,
) -> Ladder<'a> {
    let findings = analysis.ladders.iter().find(|ladder| ladder.target == target.name);
    let row = |step: levels::Step<'a>| Row {
        at: step.level,
        stages: step.stages,
        judge: step.judge,
        level: findings
            .and_then(|ladder| ladder.levels.iter().find(|level| level.level() == step.level)),
    };
    Ladder { target, findings, rows: levels::steps(run, target).into_iter().map(row).collect() }
}

/// Any metric of one level, with why no conclusion may rest on it, or why there is no figure.
pub(super) fn figure(
    run: &RunRecord,
    target: &str,
    at: plan::Level,
    metric: &str,
) -> Result<(Estimate, Option<String>), String> {
    let target = run.targets.iter().find(|t| t.name == target);
    let target = target.ok_or("it has no such target")?;
    let step = levels::steps(run, target).into_iter().find(|step| step.level == at);
    let step = step.ok_or("it has no such stage")?;
    let measured = estimate::measured(&step.stages, metric);
    let stages = if measured.is_empty() { &step.stages } else { &measured };
    let figure = estimate::of_level(stages, metric)?;
    Ok((figure, step.stages.iter().find_map(|stage| step.judge.is_fit(stage, metric).err())))
}

/// The title of the column that tells levels apart.
pub(super) fn title(levels: impl IntoIterator<Item = plan::Level>) -> &'static str {
    let levels: Vec<plan::Level> = levels.into_iter().collect();
    if levels.iter().any(|level| level.offered_rps.is_some()) {
        RATE
    } else if levels.iter().any(plan::Level::is_job) {
        "stage"
    } else {
        "conns"
    }
}

/// A level below this title: the closed stage of a search stands among rates.
pub(super) fn cell(title: &str, level: plan::Level) -> String {
    match level.offered_rps {
        None if title == RATE => format!("{} conns", level.short()),
        _ => level.short(),
    }
}

/// The title of levels that are told apart by the rate that was offered.
pub(super) const RATE: &str = "rate";

impl<'a> Ladder<'a> {
    /// Something was measured, and no level has a rate that says something of the target.
    pub(super) fn is_all_invalid(&self) -> bool {
        !self.rows.is_empty() && !self.rows.iter().any(Row::has_a_rate)
    }

    /// The level with the highest rate of all, valid or not; `None` where nothing was achieved.
    pub(super) fn highest(&self) -> Option<&Row<'a>> {
        let rate = |row: &Row<'_>| row.figure(row.rate_metric()).map_or(0.0, |rate| rate.value);
        let best = self.rows.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        (rate(best) > 0.0).then_some(best)
    }

    /// It is a program that runs to its end.
    pub(super) fn is_job(&self) -> bool {
        self.rows.iter().any(|row| row.at.is_job())
    }

    /// Nothing but the client's side can be seen of it.
    pub(super) fn is_address(&self) -> bool {
        self.target.kind == TargetKind::Url
    }

    /// The level that the details are of: the peak, or the highest rate where there is none; the
    /// job.
    pub(super) fn shown(&self) -> Option<&Row<'a>> {
        let job = self.rows.first().filter(|_| self.is_job());
        job.or(self.peak()).or(self.highest())
    }

    /// The ladder has levels after this one.
    pub(super) fn goes_on_after(&self, row: &Row<'a>) -> bool {
        self.rows.last().is_some_and(|last| last.at != row.at)
    }

    /// The level with the highest achieved rate.
    pub(super) fn peak(&self) -> Option<&Row<'a>> {
        let at = self.findings?.peak()?;
        self.rows.iter().find(|row| row.at == at)
    }
}

impl<'a> Row<'a> {
    /// The climb that everything is shown of that cannot be added up over climbs: the middle one
    /// by its rate (of a job: its time), the lower of two, of those whose rate is valid where there
    /// are any.
    pub(super) fn middle(&self) -> &'a StageRecord {
        let fit = |s: &&&StageRecord| self.judge.is_fit(s, "load.achieved_rps").is_ok();
        let mut stages: Vec<&StageRecord> = self.stages.iter().filter(fit).copied().collect();
        if stages.is_empty() {
            stages.clone_from(&self.stages);
        }
        #[expect(clippy::cast_precision_loss, reason = "only their order counts")]
        let key = |s: &StageRecord| s.job.as_ref().map_or(s.load.rate(), |job| job.wall_ns as f64);
        stages.sort_by(|a, b| key(a).total_cmp(&key(b)));
        stages[(stages.len() - 1) / 2]
    }

    /// Where it was, to follow a heading; nothing for a job, which is at no level.
    pub(super) fn at_level(&self) -> String {
        if self.at.is_job() { String::new() } else { format!(" at {}", self.at.short()) }
    }

    /// It is a job of which every run failed.
    pub(super) fn is_failed_job(&self) -> bool {
        self.not_failed().next().is_none()
    }

    /// Its stages without the runs of a job that failed, which say nothing of it.
    pub(super) fn not_failed(&self) -> impl Iterator<Item = &'a StageRecord> {
        let failed = |stage: &StageRecord| stage.job.as_ref().is_some_and(|j| j.failed.is_some());
        self.stages.iter().copied().filter(move |stage| !failed(stage))
    }

    /// The climb of a stage, to follow a heading; nothing where there is one climb alone.
    pub(super) fn climb(&self, stage: &StageRecord) -> String {
        if self.stages.len() == 1 {
            return String::new();
        }
        format!(", {} {}", self.at.repetition_noun(), stage.repetition + 1)
    }

    /// What of it is invalid although its rate counts, to follow the rate; nothing where all is
    /// valid.
    pub(super) fn doubt(&self) -> String {
        let unfit = |s: &&&StageRecord| self.judge.is_fit(s, "load.achieved_rps").is_err();
        let climbs = self.stages.len();
        match (self.stages.iter().filter(unfit).count(), self.invalid()) {
            (0, None) => String::new(),
            (0, Some(_)) => "; other figures of it are invalid".to_owned(),
            (n, _) => format!("; its rate is invalid in {n} of {climbs} climbs"),
        }
    }

    /// The median over the counted repetitions, or why there is none.
    pub(super) fn figure(&self, metric: &Metric) -> Result<Estimate, String> {
        let found = self.level.and_then(|level| level.metrics.get(metric.name));
        found.copied().ok_or_else(|| {
            let reason =
                self.stages.iter().find_map(|stage| metrics::value(stage, metric.name).err());
            reason.unwrap_or_else(|| format!("`{}` is not in the analysis", metric.name))
        })
    }

    /// The bottleneck that most repetitions showed.
    pub(super) fn bottleneck(&self) -> Bottleneck {
        self.level.map_or(Bottleneck::Unknown, |level| level.bottleneck)
    }

    /// What tells it from other levels, with the open connections where they were fewer or more
    /// than asked for: `1600 (live 1541)`.
    pub(super) fn shown_level(&self, title: &str) -> String {
        let number = cell(title, self.at);
        let live: Vec<f64> =
            self.stages.iter().map(|s| f64::from(s.load.connections.live_median)).collect();
        let asked = f64::from(self.at.connections);
        match bootstrap::median(&live).filter(|live| *live != asked) {
            Some(live) => format!("{number} (live {})", live.round()),
            None => number,
        }
    }

    /// Why it is invalid, from the first climb in which it is, and in how many; `None` when it is
    /// valid in all.
    pub(super) fn invalid(&self) -> Option<String> {
        let invalid: Vec<&&StageRecord> =
            self.stages.iter().filter(|stage| !stage.verdict.invalid.is_empty()).collect();
        let first = invalid.first()?;
        let climbs = match self.stages.len() {
            1 => String::new(),
            all => format!(
                " in {} of {all} climbs (first in climb {})",
                invalid.len(),
                first.repetition + 1
            ),
        };
        let open = &first.load.connections;
        let mut reasons = first.verdict.invalid.join("; ");
        let live = asked_and_live(open.asked, open.live_median);
        if open.asked != open.live_median && !reasons.contains(&live) {
            reasons = format!("{live}; {reasons}");
        }
        Some(format!("at {}{climbs}: {reasons}", self.at))
    }

    /// The achieved rate for people, with its unit.
    pub(super) fn rate(&self) -> String {
        let rate = self.rate_metric();
        let value = self.figure(rate).map(|e| figures::show(rate.name, e.value));
        format!("{} {}", value.unwrap_or(figures::NONE.into()), rate.label)
    }

    /// What is counted here per second.
    pub(super) fn rate_metric(&self) -> &'static Metric {
        let [rate, ..] = if self.is_held() { &OF_HELD } else { &METRICS };
        rate
    }

    pub(super) fn is_held(&self) -> bool {
        self.stages.iter().any(|stage| stage.load.is_held())
    }

    /// Whether most of its repetitions have a rate that says something of the target.
    pub(super) fn has_a_rate(&self) -> bool {
        let fit = |s: &&&StageRecord| self.judge.is_fit(s, "load.achieved_rps").is_ok();
        self.stages.iter().filter(fit).count() * 2 > self.stages.len()
    }

    /// Why no conclusion may rest on this metric here, if so.
    pub(super) fn unfit(&self, metric: &Metric) -> Option<String> {
        self.stages.iter().find_map(|stage| self.judge.is_fit(stage, metric.name).err())
    }
}
