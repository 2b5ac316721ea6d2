//! The stacks of a run for flame graphs: folded text as the tools for them read it, and the picture
//! itself.
//!
//! Stacks of several stages are added up, and those of several targets stand under the names of
//! their targets. What the record sums as others is a frame of its own, so the whole is whole.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use inferno::flamegraph::color::{MultiPalette, Palette};
use inferno::flamegraph::{self, Options};

use super::Exported;
use crate::observe::{Sample, Stacks};
use crate::record::RunRecord;

/// Stands for the stacks that the record does not tell apart.
const OTHERS: &str = "[other stacks]";

/// On the CPU or off it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StackKind {
    /// Sampled on the CPU; weighed by samples.
    #[default]
    OnCpu,
    /// Waiting off the CPU; weighed by time, us.
    OffCpu,
}

/// Which stacks of a run.
#[derive(Debug, Clone, Default)]
pub struct StackChoice {
    /// On the CPU or off it.
    pub kind: StackKind,
    /// Of this target alone.
    pub target: Option<String>,
    /// Of stages with so many connections alone.
    pub connections: Option<u32>,
    /// Of stages in this place of the ladder alone, from 0.
    pub stage: Option<u32>,
}

/// Stacks by weight, and what they are of.
pub(in crate::report) struct Folded {
    kind: StackKind,
    title: String,
    subtitle: String,
    stacks: BTreeMap<String, u64>,
}

impl StackKind {
    /// What a weight is, in a tool for flame graphs.
    fn unit(self) -> &'static str {
        match self {
            Self::OnCpu => "samples",
            Self::OffCpu => "us",
        }
    }

    pub(in crate::report) fn words(self) -> &'static str {
        match self {
            Self::OnCpu => "on the CPU",
            Self::OffCpu => "off the CPU",
        }
    }

    /// Stacks with their weight, the others last; an error is why they are not there.
    fn of(self, stacks: &Stacks) -> Result<Vec<(&str, u64)>, &str> {
        let us = |ns: u64| (ns + 500) / 1_000;
        Ok(match self {
            Self::OnCpu => {
                let oncpu = stacks.oncpu.as_result()?;
                let kept = oncpu.folded.iter().map(|of| (of.stack.as_str(), of.count));
                kept.chain([(OTHERS, oncpu.other)]).collect()
            }
            Self::OffCpu => {
                let offcpu = stacks.offcpu.as_result()?;
                let kept = offcpu.folded.iter().map(|of| (of.stack.as_str(), us(of.blocked_ns)));
                kept.chain([(OTHERS, us(offcpu.other_ns))]).collect()
            }
        })
    }
}

impl Folded {
    /// The stacks of a run's counted stages.
    ///
    /// # Errors
    /// One sentence of the kind `InvalidInput` when the run holds none of that choice.
    pub(in crate::report) fn of_run(run: &RunRecord, choice: &StackChoice) -> io::Result<Self> {
        let chosen: Vec<Exported<'_>> =
            super::stages(run).into_iter().filter(|e| is_chosen(e, choice)).collect();
        if chosen.is_empty() {
            return Err(invalid(nothing_chosen(run, choice)));
        }
        let mut names: Vec<&str> = chosen.iter().map(|e| e.target.name.as_str()).collect();
        names.dedup();
        let mut folded = Self {
            kind: choice.kind,
            title: format!("{}: {}", names.join(", "), choice.kind.words()),
            subtitle: run.id.clone(),
            stacks: BTreeMap::new(),
        };
        let mut why = "the run holds no stacks: measure with --explain=stacks";
        let mut found = false;
        for exported in &chosen {
            let stacks = exported.stage.explain.stacks.as_ref();
            match stacks.map(|stacks| stacks.as_result().and_then(|s| choice.kind.of(s))) {
                Some(Ok(stacks)) => {
                    let under = (names.len() > 1).then_some(exported.target.name.as_str());
                    folded.add(under, stacks);
                    found = true;
                }
                Some(Err(reason)) => why = reason,
                None => {}
            }
        }
        if found { Ok(folded) } else { Err(invalid(why.to_owned())) }
    }

    /// The stacks of one observed window.
    ///
    /// # Errors
    /// One sentence of the kind `InvalidInput` when it holds none.
    pub(in crate::report) fn of_sample(sample: &Sample, kind: StackKind) -> io::Result<Self> {
        let stacks = sample.explain.stacks.as_ref();
        let stacks = stacks.ok_or_else(|| invalid("stacks were not asked for".into()))?;
        let stacks = stacks.as_result().and_then(|s| kind.of(s)).map_err(|e| invalid(e.into()))?;
        let window = crate::report::figures::ns(sample.window_ns);
        let mut folded = Self {
            kind,
            title: kind.words().to_owned(),
            subtitle: format!("observed for {window}"),
            stacks: BTreeMap::new(),
        };
        folded.add(None, stacks);
        Ok(folded)
    }

    fn add(&mut self, under: Option<&str>, stacks: Vec<(&str, u64)>) {
        for (stack, weight) in stacks.into_iter().filter(|(_, weight)| *weight > 0) {
            let stack = match under {
                Some(name) => Cow::Owned(format!("{};{stack}", name.replace(';', ":"))),
                None => Cow::Borrowed(stack),
            };
            *self.stacks.entry(stack.into_owned()).or_default() += weight;
        }
    }

    /// Stacks with their weights, sorted by their text.
    pub(in crate::report) fn stacks(&self) -> &BTreeMap<String, u64> {
        &self.stacks
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        self.stacks.iter().map(|(stack, weight)| format!("{stack} {weight}"))
    }

    /// Writes a stack and its weight in each line.
    ///
    /// # Errors
    /// What the writer says.
    pub(in crate::report) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.lines().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// Draws the picture, an SVG that can be searched and zoomed in a browser.
    ///
    /// # Errors
    /// What the writer says, or one sentence of the kind `InvalidInput` when there is nothing to
    /// draw.
    pub(in crate::report) fn draw(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.stacks.is_empty() {
            let words = self.kind.words();
            return Err(invalid(format!("no thread of the target was seen {words}")));
        }
        let mut options = Options::default();
        options.title.clone_from(&self.title);
        options.subtitle = Some(self.subtitle.clone());
        self.kind.unit().clone_into(&mut options.count_name);
        // Tells the kernel (`_[k]`) and code made at run time (`_[j]`) from the rest.
        options.colors = Palette::Multi(MultiPalette::Java);
        // The same stacks give the same picture.
        options.hash = true;
        let lines: Vec<String> = self.lines().collect();
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out)
    }
}

fn is_chosen(exported: &Exported<'_>, choice: &StackChoice) -> bool {
    let Exported { target, stage, role } = exported;
    *role == "counted"
        && choice.target.as_ref().is_none_or(|name| *name == target.name)
        && choice.connections.is_none_or(|connections| connections == stage.connections)
        && choice.stage.is_none_or(|index| index == stage.index)
}

fn nothing_chosen(run: &RunRecord, choice: &StackChoice) -> String {
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    if let Some(name) = choice.target.as_deref().filter(|name| !names.contains(name)) {
        return format!("the run has no target `{name}`; it has {}", names.join(", "));
    }
    let of = super::stages(run);
    let counted = of.iter().filter(|e| e.role == "counted");
    let mut levels: Vec<String> = counted
        .map(|e| format!("--stage {} (--connections {})", e.stage.index, e.stage.connections))
        .collect();
    levels.sort_unstable();
    levels.dedup();
    match levels.is_empty() {
        true => "the run has no counted stage".to_owned(),
        false => format!("the run has no such stage; it has {}", levels.join(", ")),
    }
}

fn invalid(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, sentence)
}
