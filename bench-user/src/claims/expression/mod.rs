//! The free form of a claim: a CEL expression over the metrics of one stage.
//!
//! Variables are the targets by name, and `a` and `b`: `a` is what `against` names and `b` what
//! `of` names; where neither is said, the first and the second target. A target's name goes
//! before these. Each is a map shaped as a stage of the record, with every number a double:
//! `b.syscalls.per_request <= 0.6 * a.syscalls.per_request`, `b.perf["page-faults"].value`,
//! `b.bottleneck == "cpu"`. A bottleneck counts only where all repetitions agree on it.
//!
//! The expression is evaluated on the medians over repetitions and on bootstrap draws of the
//! repetitions (one draw for all metrics of a target). It holds where it is true of at least
//! 97.5 % of the draws and fails where it is false of as many, which for a simple bound is the
//! same as asking the 95 % interval; with 3 or 4 repetitions all draws must agree. Fewer give
//! no draws, and the answer is inconclusive, with what the figures say.

mod references;

use std::collections::BTreeMap;

use cel::{Context, Program, Value};
use serde_json::{Map, Value as Json};

use crate::analyze::bootstrap::{self, BOOTSTRAP_FROM, INTERVAL_FROM};
use crate::analyze::levels::Step;
use crate::analyze::metrics;
use crate::plan::Order;
use crate::record::{Bottleneck, ClaimVerdict};

use super::check::{Answer, fit};
use super::sentence;
use super::sides::{Sides, other};
use references::{Reference, divides_by_zero, references};

/// The path of the only variable that is a text.
const BOTTLENECK: &str = "bottleneck";

/// A compiled expression with the metrics that it names.
pub(super) struct Expression {
    source: String,
    program: Program,
    references: Vec<Reference>,
    /// Targets that it names, at most two; the one the claim is about first.
    involved: Vec<usize>,
    /// Variable name to place in `involved`.
    roots: BTreeMap<String, usize>,
}

impl Expression {
    /// Compiles an expression about these targets.
    ///
    /// # Errors
    /// What is wrong with it, in one sentence.
    pub(super) fn new(source: &str, sides: Sides, targets: &[&str]) -> Result<Self, String> {
        let program = Program::compile(source).map_err(|errors| {
            let first = errors.errors.first().map(|e| e.msg.clone()).unwrap_or_default();
            format!("`{source}` is no CEL expression: {first}")
        })?;
        let references = references(program.expression())?;
        let mut targets_of = BTreeMap::new();
        for reference in &references {
            let target = variable(&reference.root, sides, targets)?;
            targets_of.insert(reference.root.clone(), target);
            if reference.metric() != BOTTLENECK {
                metrics::check_name(&reference.metric())?;
            }
        }
        let mut involved: Vec<usize> = targets_of.values().copied().collect();
        let main = sides.of.or_else(|| variable("b", sides, targets).ok());
        involved.sort_unstable_by_key(|&target| (Some(target) != main, target));
        involved.dedup();
        if !(1..=2).contains(&involved.len()) {
            return Err(format!("`{source}` must name one or two targets in its metrics"));
        }
        let place = |target: usize| involved.iter().position(|&t| t == target).unwrap_or(0);
        let roots = targets_of.into_iter().map(|(root, target)| (root, place(target))).collect();
        Ok(Self { source: source.to_owned(), program, references, involved, roots })
    }

    /// Targets that it names, the one it is about first.
    pub(super) fn involved(&self) -> &[usize] {
        &self.involved
    }

    /// The answer in one stage.
    pub(super) fn answer(&self, steps: &[Step], names: &[&str], order: Order) -> Answer {
        let figures = match self.figures(steps, names) {
            Ok(figures) => figures,
            Err(answer) => return answer,
        };
        let whole: Vec<Vec<usize>> =
            steps.iter().map(|step| (0..step.stages.len()).collect()).collect();
        let context = Context::default();
        let said = match self.evaluate(&context, &figures, &whole) {
            Ok(said) => said,
            Err(why) => return Answer::inconclusive(why),
        };
        let source = &self.source;
        // On one line, however it was written.
        let source = source.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = format!("`{source}` is {said} of the figures ({})", self.shown(&figures));
        let fewest = steps.iter().map(|step| step.stages.len()).min().unwrap_or(0);
        if fewest < INTERVAL_FROM {
            return Answer::inconclusive(format!(
                "{what}, but an expression has no interval with fewer than {INTERVAL_FROM} \
                 counted repetitions; set `repeat`"
            ));
        }
        match self.share_true(&context, &figures, steps, order) {
            Ok(share) => judged(&what, share, fewest),
            Err(why) => Answer::inconclusive(why),
        }
    }

    /// Share of the draws in which it is true.
    fn share_true(
        &self,
        context: &Context,
        figures: &[Figure],
        steps: &[Step],
        order: Order,
    ) -> Result<f64, String> {
        let count = |i: usize| steps.get(i).map_or(0, |step: &Step| step.stages.len());
        let interleaved = order == Order::Interleaved;
        let paired = bootstrap::is_paired(count(0), count(1), interleaved);
        let (mut held, mut all) = (0.0, 0.0);
        for (ours, theirs) in bootstrap::draws(count(0), count(1), paired) {
            let is_true = self.evaluate(context, figures, &[ours, theirs])?;
            held += if is_true { 1.0 } else { 0.0 };
            all += 1.0;
        }
        Ok(held / all)
    }

    /// What every reference was in every repetition, or the answer that its lack gives.
    fn figures(&self, steps: &[Step], names: &[&str]) -> Result<Vec<Figure>, Answer> {
        let figure = |reference: &Reference| {
            let side = self.roots.get(&reference.root).copied().unwrap_or(0);
            let (step, name) = (&steps[side], names[side]);
            let metric = reference.metric();
            let what = if metric == BOTTLENECK {
                What::Text(agreed(step, name)?)
            } else {
                let values: Result<Vec<f64>, String> =
                    step.stages.iter().map(|stage| metrics::value(stage, &metric)).collect();
                What::Numbers(
                    values.map_err(|why| Answer::unavailable(format!("`{name}`: {why}")))?,
                )
            };
            fit(std::slice::from_ref(step), &[name], &metric).map_err(Answer::inconclusive)?;
            Ok(Figure { reference: reference.clone(), side, what })
        };
        self.references.iter().map(figure).collect()
    }

    fn evaluate(
        &self,
        context: &Context,
        figures: &[Figure],
        places: &[Vec<usize>],
    ) -> Result<bool, String> {
        let mut stages: BTreeMap<&str, Map<String, Json>> = BTreeMap::new();
        for figure in figures {
            let value = match &figure.what {
                What::Text(text) => Json::from(text.as_str()),
                What::Numbers(values) => {
                    let drawn = bootstrap::take(values, &places[figure.side]);
                    bootstrap::median(&drawn).map_or(Json::Null, Json::from)
                }
            };
            let root = figure.reference.root.as_str();
            insert(stages.entry(root).or_default(), &figure.reference.path, value);
        }
        let mut scope = context.new_inner_scope();
        for (root, stage) in stages {
            let stage = cel::to_value(Json::Object(stage)).map_err(|e| e.to_string())?;
            scope.add_variable_from_value(root, stage);
        }
        let source = &self.source;
        if divides_by_zero(self.program.expression(), &scope) {
            return Err(format!("`{source}` divides by zero here, which gives no number"));
        }
        match self.program.execute(&scope) {
            Ok(Value::Bool(said)) => Ok(said),
            Ok(_) => {
                Err(format!("`{source}` gives neither true nor false; end it in a comparison"))
            }
            Err(e) => Err(format!(
                "`{source}` cannot be evaluated: {e}; metrics are doubles, so in arithmetic \
                 write 2.0 and not 2"
            )),
        }
    }

    /// The medians that it was evaluated on.
    fn shown(&self, figures: &[Figure]) -> String {
        let show = |figure: &Figure| {
            let metric = figure.reference.metric();
            let value = match &figure.what {
                What::Text(text) => text.clone(),
                What::Numbers(values) => bootstrap::median(values)
                    .map_or_else(String::new, |value| sentence::metric(&metric, value)),
            };
            format!("{}.{metric} {value}", figure.reference.root)
        };
        figures.iter().map(show).collect::<Vec<_>>().join(", ")
    }
}

/// A reference with its values.
struct Figure {
    reference: Reference,
    /// Place of its target among the involved ones.
    side: usize,
    what: What,
}

enum What {
    /// By repetition.
    Numbers(Vec<f64>),
    Text(String),
}

fn judged(what: &str, share: f64, repetitions: usize) -> Answer {
    let needed = if repetitions < BOOTSTRAP_FROM { 1.0 } else { 0.975 };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let draws = format!("of the draws over {repetitions} repetitions");
    if share >= needed {
        Answer::new(ClaimVerdict::Holds, format!("{what}, and of {} {draws}", percent(share)))
    } else if 1.0 - share >= needed {
        let because = format!("{what}, and false of {} {draws}", percent(1.0 - share));
        Answer::new(ClaimVerdict::Fails, because)
    } else {
        Answer::inconclusive(format!("{what}, but true of only {} {draws}", percent(share)))
    }
}

/// The bottleneck of all repetitions.
fn agreed(step: &Step, name: &str) -> Result<String, Answer> {
    let first = step.stages[0].verdict.bottleneck;
    if step.stages.iter().any(|stage| stage.verdict.bottleneck != first) {
        let because = format!("the repetitions disagree on what limited `{name}`");
        return Err(Answer::inconclusive(because));
    }
    if first == Bottleneck::Unknown {
        return Err(Answer::unavailable(format!("what limited `{name}` is unknown")));
    }
    Ok(sentence::bottleneck(first))
}

/// The target that a variable stands for.
fn variable(root: &str, sides: Sides, targets: &[&str]) -> Result<usize, String> {
    let of = sides.of.or_else(|| sides.against.and_then(|against| other(against, targets)));
    let against = sides.against.or_else(|| sides.of.and_then(|of| other(of, targets)));
    let unsaid = sides.of.is_none() && sides.against.is_none();
    let alias = match root {
        "a" => against.or((unsaid && !targets.is_empty()).then_some(0)),
        "b" => of.or((unsaid && targets.len() > 1).then_some(1)),
        _ => None,
    };
    targets.iter().position(|name| *name == root).or(alias).ok_or_else(|| {
        format!(
            "there is no variable `{root}`; there are: {}, and `a` and `b` for `against` and `of`",
            targets.join(", ")
        )
    })
}

fn insert(map: &mut Map<String, Json>, path: &[String], value: Json) {
    match path {
        [] => {}
        [last] => {
            map.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            let inner = map.entry(first.clone()).or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}
