//! Flame graphs of the stacks of a run, one a kind and a target: the width of a frame is its share.
//! Drawn here, because one that `inferno` draws brings a style and a script for a file of its own.

use maud::{Markup, html};

use super::kit::figure::{Figure, Key, missing};
use super::kit::plot;
use crate::record::RunRecord;
use crate::report::export::stacks::{Folded, StackChoice, StackKind};
use crate::report::figures::{count, ns, percent};
use crate::report::page::Table;

/// Width of the whole, height of a frame, and what a character takes.
const WIDTH: f64 = 960.0;
const FRAME: f64 = 17.0;
const CHARACTER: f64 = 6.3;

/// Frames that are narrower are not drawn.
const NARROWEST: f64 = 0.8;

/// So many functions stand in the table, heaviest first.
const FUNCTIONS: usize = 200;

/// A frame of the picture.
struct Frame<'a> {
    name: &'a str,
    depth: usize,
    start: u64,
    weight: u64,
}

/// Both kinds of each target; a sentence where no stacks were taken.
pub(super) fn figures(run: &RunRecord) -> Markup {
    let mut drawn: Vec<Markup> = Vec::new();
    let mut why = None;
    for (i, target) in run.targets.iter().enumerate() {
        for kind in [StackKind::OnCpu, StackKind::OffCpu] {
            let choice =
                StackChoice { kind, target: Some(target.name.clone()), ..StackChoice::default() };
            match Folded::of_run(run, &choice) {
                Ok(folded) if !folded.stacks().is_empty() => {
                    drawn.push(figure(i, &target.name, kind, &folded));
                }
                Ok(_) => {}
                Err(reason) => why = why.or(Some(reason.to_string())),
            }
        }
    }
    if drawn.is_empty() {
        let why = why.unwrap_or_else(|| "no thread was seen".into());
        return missing("Flame graphs", &format!("There are none: {why}."));
    }
    html! { @for figure in drawn { (figure) } }
}

fn figure(place: usize, target: &str, kind: StackKind, folded: &Folded) -> Markup {
    let stacks: Vec<(&str, u64)> = folded.stacks().iter().map(|(s, n)| (s.as_str(), *n)).collect();
    let total: u64 = stacks.iter().map(|(_, n)| n).sum();
    let frames = frames(&stacks);
    let id = format!("flame-{place}-{}", if kind == StackKind::OnCpu { "on" } else { "off" });
    let data = functions(&stacks, kind, total);
    let most: Vec<String> =
        data.rows.iter().take(3).map(|row| format!("{} ({})", row[0], row[3])).collect();
    let figure = Figure {
        id: &id,
        title: format!("{target}: {}", kind.words()),
        says: format!(
            "All counted stages together, {}. The width of a frame is its share; what it called is \
             above it. Heaviest themselves: {}.",
            weighed(kind, total),
            most.join(", ")
        ),
        keys: vec![
            Key::area("f-user", "the program"),
            Key::area("f-jit", "code made at run time"),
            Key::area("f-kernel", "the kernel"),
        ],
        pictures: vec![picture(target, kind, &frames, total, &Figure::says_id(&id))],
        data,
    };
    html! { div data-t=(place) { (figure.draw()) } }
}

fn weighed(kind: StackKind, weight: u64) -> String {
    match kind {
        StackKind::OnCpu => format!("{} samples", count(weight)),
        StackKind::OffCpu => format!("{} of waiting", ns(weight * 1_000)),
    }
}

/// Frames of sorted stacks: neighbours with the same frames below share them.
fn frames<'a>(stacks: &[(&'a str, u64)]) -> Vec<Frame<'a>> {
    let mut done = Vec::new();
    let mut open: Vec<Frame<'a>> = Vec::new();
    let mut at = 0;
    for (stack, weight) in stacks {
        let names: Vec<&str> = stack.split(';').collect();
        let same = open.iter().zip(&names).take_while(|(frame, name)| frame.name == **name).count();
        done.extend(open.drain(same..));
        for frame in &mut open {
            frame.weight += weight;
        }
        let new = names.into_iter().enumerate().skip(same);
        open.extend(new.map(|(depth, name)| Frame { name, depth, start: at, weight: *weight }));
        at += weight;
    }
    done.extend(open);
    done.sort_by_key(|frame| (frame.depth, frame.start));
    done
}

fn picture(target: &str, kind: StackKind, frames: &[Frame<'_>], total: u64, says: &str) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "places in a picture")]
    let share = |n: u64| n as f64 / total.max(1) as f64;
    let wide = |frame: &&Frame<'_>| share(frame.weight) * WIDTH >= NARROWEST;
    let drawn: Vec<&Frame<'_>> = frames.iter().filter(wide).collect();
    let depth = |d: usize| f64::from(u32::try_from(d).unwrap_or(u32::MAX));
    let height = (drawn.iter().map(|f| depth(f.depth)).fold(0.0, f64::max) + 1.0) * FRAME;
    let name = format!("flame graph of {target}, {}", kind.words());
    let body = html! {
        @for frame in drawn {
            @let (x, width) = (share(frame.start) * WIDTH, share(frame.weight) * WIDTH);
            @let y = height - (depth(frame.depth) + 1.0) * FRAME;
            g.m.frame data-v=(frame.weight) {
                (plot::tip(&format!(
                    "{}\n{}, {}", frame.name, weighed(kind, frame.weight), percent(share(frame.weight))
                )))
                rect class=(class(frame.name)) x=(plot::round(x)) y=(plot::round(y))
                    width=(plot::round(width - 0.5)) height=(FRAME - 1.0) {}
                @if let Some(label) = fitting(frame.name, width) {
                    text x=(plot::round(x + 3.0)) y=(plot::round(y + 12.0)) { (label) }
                }
            }
        }
    };
    html! { div.wide { (plot::picture(WIDTH, height, &name, says, &body)) } }
}

/// Frames of the kernel and of code made at run time are marked by their endings.
fn class(name: &str) -> &'static str {
    if name.ends_with("_[k]") {
        "f-kernel"
    } else if name.ends_with("_[j]") {
        "f-jit"
    } else {
        "f-user"
    }
}

/// As much of a name as a frame has room for.
fn fitting(name: &str, width: f64) -> Option<String> {
    let name = super::kit::words::plain(name);
    let length = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    if length(name.chars().count()) * CHARACTER + 6.0 <= width {
        return Some(name);
    }
    let room = (1..name.chars().count()).take_while(|n| length(*n + 1) * CHARACTER + 6.0 <= width);
    let room = room.last().filter(|room| *room >= 3)?;
    Some(name.chars().take(room).chain(['…']).collect())
}

/// Functions by what they weigh themselves, and with all that they called.
fn functions(stacks: &[(&str, u64)], kind: StackKind, total: u64) -> Table {
    let mut by_name = std::collections::BTreeMap::<&str, (u64, u64)>::new();
    for (stack, weight) in stacks {
        let mut names: Vec<&str> = stack.split(';').collect();
        let itself = names.last().copied().unwrap_or_default();
        by_name.entry(itself).or_default().0 += weight;
        names.sort_unstable();
        names.dedup();
        for name in names {
            by_name.entry(name).or_default().1 += weight;
        }
    }
    let mut all: Vec<(&str, (u64, u64))> = by_name.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let unit = if kind == StackKind::OnCpu { "samples" } else { "us" };
    let mut table = Table::new([
        "function",
        &format!(">itself, {unit}"),
        &format!(">with calls, {unit}"),
        ">share itself",
    ]);
    for (name, (itself, with_calls)) in all.into_iter().take(FUNCTIONS) {
        #[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
        let share = itself as f64 / total.max(1) as f64;
        table.rows.push(vec![
            name.to_owned(),
            itself.to_string(),
            with_calls.to_string(),
            percent(share),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_cover_what_they_called() {
        let stacks = [("a;b", 2), ("a;b;c", 3), ("a;d", 1), ("e", 4)];
        let frames = frames(&stacks);
        let shown: Vec<_> = frames.iter().map(|f| (f.name, f.depth, f.start, f.weight)).collect();
        let expect =
            [("a", 0, 0, 6), ("e", 0, 6, 4), ("b", 1, 0, 5), ("d", 1, 5, 1), ("c", 2, 2, 3)];
        assert_eq!(shown, expect);
    }

    #[test]
    fn a_function_weighs_itself_and_with_its_calls() {
        let table = functions(&[("a;b", 2), ("a;b;a", 3), ("b", 5)], StackKind::OnCpu, 10);
        let rows: Vec<_> = table.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["b 7 10 70%", "a 3 5 30%"]);
    }

    #[test]
    fn a_name_is_shortened_to_its_frame() {
        assert_eq!(fitting("main", 40.0).as_deref(), Some("main"));
        assert_eq!(fitting("a_long_function", 40.0).as_deref(), Some("a_lo…"));
        assert_eq!(fitting("main", 10.0), None);
    }
}
