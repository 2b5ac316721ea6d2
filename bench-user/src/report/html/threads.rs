//! Threads as bars: on a CPU, waiting for one, blocked, as shares of the window. Of one climb, the
//! middle one by its rate, as in the table.

use maud::{Markup, html};

use super::data::number;
use super::kit::figure::{Figure, Key, missing};
use super::kit::plot::{self, Axis, Plot};
use super::kit::scale::Scale;
use crate::observe::Thread;
use crate::report::figures::{NONE, percent};
use crate::report::levels::{Ladder, Row};
use crate::report::page::Table;
use crate::report::threads;

/// Height of a bar and of the space to the next.
const BAR: f64 = 24.0;

/// One picture a target; a sentence with the reason where no threads are known.
pub(super) fn figure(ladders: &[Ladder<'_>]) -> Markup {
    let title = "Threads: on a CPU, waiting for one, blocked";
    let shown: Vec<(usize, &Row<'_>, Vec<&Thread>)> =
        ladders.iter().enumerate().filter_map(|(i, l)| of(i, l)).collect();
    if shown.is_empty() {
        return missing(title, &why_none(ladders));
    }
    let id = "threads-bars";
    let picture = |(place, row, threads): &(usize, &Row<'_>, Vec<&Thread>)| {
        let name = name(&ladders[*place], row);
        html! { div data-t=(place) { (bars(&name, threads, &Figure::says_id(id))) } }
    };
    Figure {
        id,
        title: title.into(),
        says: says(ladders, &shown),
        keys: vec![
            Key::area("oncpu", "on a CPU"),
            Key::area("runq", "waiting for a CPU"),
            Key::area("blocked", "blocked"),
        ],
        pictures: shown.iter().map(picture).collect(),
        data: data(ladders, &shown),
    }
    .draw()
}

fn of<'r, 'a>(
    place: usize,
    ladder: &'r Ladder<'a>,
) -> Option<(usize, &'r Row<'a>, Vec<&'a Thread>)> {
    let row = ladder.shown()?;
    let threads = threads::busiest_first(row.middle().threads.value()?);
    (!threads.is_empty()).then_some((place, row, threads))
}

fn name(ladder: &Ladder<'_>, row: &Row<'_>) -> String {
    format!("{}{}{}", ladder.target.name, row.at_level(), row.climb(row.middle()))
}

fn why_none(ladders: &[Ladder<'_>]) -> String {
    let mut middles = ladders.iter().filter_map(Ladder::shown).map(|row| row.middle());
    match middles.find_map(|stage| stage.threads.why()) {
        Some(why) => format!("Threads were not seen: {why}."),
        None => "No stage holds threads.".into(),
    }
}

/// The parts of a thread's window: class, share and words.
fn parts(thread: &Thread) -> [(&'static str, f64, &'static str); 3] {
    [
        ("oncpu", thread.oncpu_ratio, "on a CPU"),
        ("runq", thread.runq_ratio, "waiting for a CPU"),
        ("blocked", thread.blocked_ratio.value().copied().unwrap_or(0.0), "blocked"),
    ]
}

fn bars(name: &str, threads: &[&Thread], says: &str) -> Markup {
    let rows = f64::from(u32::try_from(threads.len()).unwrap_or(1));
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|v| (v, percent(v))).to_vec();
    let x = Axis {
        scale: Scale::Linear { low: 0.0, high: 1.0 },
        title: "share of the window".into(),
        ticks,
    };
    let y = Axis {
        scale: Scale::Linear { low: 0.0, high: 1.0 },
        title: name.into(),
        ticks: Vec::new(),
    };
    let plot = Plot { left: 150.0, height: 68.0 + rows * BAR, ..Plot::new(x, y) };
    plot.svg(&format!("threads of {name}"), says, &html! {
        @for (i, thread) in threads.iter().enumerate() {
            @let top = 24.0 + f64::from(u32::try_from(i).unwrap_or(0)) * BAR;
            text.end x=(plot.left - 6.0) y=(plot::round(top + 15.0)) { (shortened(&threads::named(thread))) }
            (bar(&plot, top, thread))
        }
    })
}

fn bar(plot: &Plot, top: f64, thread: &Thread) -> Markup {
    let starts = parts(thread).into_iter().scan(0.0, |sum, (_, share, _)| {
        let start = *sum;
        *sum += share;
        Some(start)
    });
    html! {
        @for ((class, share, words), start) in parts(thread).into_iter().zip(starts) {
            @if share > 0.0 {
                @let (from, to) = (plot.px(start), plot.px((start + share).min(1.0)));
                g.m data-v=(share) {
                    (plot::tip(&format!(
                        "{} (tid {})\n{words} {}", threads::named(thread), thread.tid, percent(share)
                    )))
                    rect class=(class) x=(plot::round(from)) y=(plot::round(top))
                        width=(plot::round((to - from).max(0.4))) height=(BAR - 5.0) {}
                }
            }
        }
    }
}

/// What fits beside a bar.
fn shortened(name: &str) -> String {
    const FITS: usize = 21;
    let name = super::kit::words::plain(name);
    if name.chars().count() <= FITS {
        return name;
    }
    name.chars().take(FITS - 1).chain(['…']).collect()
}

fn says(ladders: &[Ladder<'_>], shown: &[(usize, &Row<'_>, Vec<&Thread>)]) -> String {
    let of = |(place, row, threads): &(usize, &Row<'_>, Vec<&Thread>)| {
        let busiest = threads[0];
        format!(
            "{}: its busiest thread is {} with {} on a CPU and {} waiting for one.",
            name(&ladders[*place], row),
            threads::named(busiest),
            percent(busiest.oncpu_ratio),
            percent(busiest.runq_ratio)
        )
    };
    shown.iter().map(of).collect::<Vec<_>>().join(" ")
}

fn data(ladders: &[Ladder<'_>], shown: &[(usize, &Row<'_>, Vec<&Thread>)]) -> Table {
    let mut table = Table::new([
        "target",
        "thread",
        ">tid",
        ">on a CPU, share",
        ">waiting, share",
        ">blocked, share",
    ]);
    for (place, row, threads) in shown {
        for thread in threads {
            table.rows.push(vec![
                name(&ladders[*place], row),
                threads::named(thread),
                thread.tid.to_string(),
                number(thread.oncpu_ratio),
                number(thread.runq_ratio),
                thread.blocked_ratio.value().map_or(NONE.into(), |share| number(*share)),
            ]);
        }
    }
    table
}
