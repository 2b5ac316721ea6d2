//! The run at an instant in words: what the line below the bar says, the bar's own words, and the
//! line that a log gets from time to time.

use std::time::Duration;

use super::fit::{Piece, Tone, printable};
use super::rules::{Distance, nearest, nearest_condition};
use super::state::{Phase, State, Under};
use crate::observe::ThreadShare;
use crate::plan::Level;
use crate::units::{show_count, show_ns, show_per_request};

/// What is under way, in pieces; the ones that matter most have the lowest rank.
#[must_use]
pub fn status(state: &State, now_ns: u64) -> Vec<Piece> {
    let phase = state.now(now_ns).phase;
    let Some(under) = &state.under else { return vec![Piece::plain(0, between(state, phase))] };
    let mut pieces = vec![Piece::plain(0, subject(state, under))];
    if under.position.is_none() {
        pieces.push(Piece::plain(1, job_time(state, under, now_ns)));
        return pieces;
    }
    let what = match phase {
        Phase::WarmUp => Some("warming up"),
        Phase::CoolDown => Some("ending"),
        _ => under.samples.is_empty().then_some("measuring"),
    };
    pieces.extend(what.map(|what| Piece::plain(1, what)));
    pieces.extend(figures(state, under));
    pieces
}

/// What happens while no stage is under way.
fn between(state: &State, phase: Phase) -> String {
    if let Some(name) = &state.warms {
        return format!("{name}: a warm-up for `max_overhead`");
    }
    match (phase, state.target()) {
        (Phase::Around, None) => "ending".to_owned(),
        (Phase::Around, _) if state.finished.is_empty() => "preparing".to_owned(),
        (Phase::Rest, Some(name)) => format!("{name}: resting"),
        (_, Some(name)) => format!("{name}: starting"),
        (_, None) => "ending".to_owned(),
    }
}

/// `lean, 200 connections`, or `node, run 2 of 7`.
#[must_use]
pub fn subject(state: &State, under: &Under) -> String {
    let name = &state.outline.targets[under.climb.target];
    match under.position {
        None => format!("{name}, run {} of {}", under.climb.repetition + 1, state.outline.repeat),
        Some(position) => {
            let level =
                Level { connections: position.connections, offered_rps: position.offered_rps };
            let control = if position.is_control { ", probes detached" } else { "" };
            format!("{name}, {level}{control}")
        }
    }
}

/// `41s of at most 10m`.
pub(super) fn job_time(state: &State, under: &Under, now_ns: u64) -> String {
    let took = seconds(now_ns.saturating_sub(under.began_ns));
    match state.outline.job_timeout_ns {
        Some(most) => format!("{took} of at most {}", seconds(most)),
        None => took,
    }
}

/// The figures of the last sample, and what the stop rules see.
fn figures(state: &State, under: &Under) -> Vec<Piece> {
    let Some(sample) = under.samples.last() else { return Vec::new() };
    let mut pieces = Vec::new();
    let live = under.so_far.map_or(0, |so_far| so_far.live);
    if state.outline.is_held {
        pieces.push(Piece::plain(1, format!("{live} open")));
    } else {
        pieces.push(Piece::plain(1, format!("{}/s", show_count(sample.achieved_rps))));
        pieces.extend(sample.response_ns_p50.map(|ns| Piece::plain(5, time("p50", ns))));
        pieces.extend(sample.response_ns_p99.map(|ns| Piece::plain(2, time("p99", ns))));
    }
    let syscalls = per_request(sample.syscalls_per_sec, sample.achieved_rps);
    pieces.extend(
        syscalls.map(|n| Piece::plain(4, format!("{} syscalls a request", show_per_request(n)))),
    );
    pieces.extend(under.busiest.first().map(|thread| Piece::plain(6, busiest(thread))));
    pieces.extend(distance(state, under).map(rule));
    pieces
}

/// Syscalls over responses of one sample; `None` where nothing was answered in it.
#[must_use]
pub fn per_request(syscalls_per_sec: Option<f64>, achieved_rps: f64) -> Option<f64> {
    syscalls_per_sec.filter(|_| achieved_rps > 0.0).map(|n| n / achieved_rps)
}

/// How far the stage under way is from the end of its ladder, or a search from its objective.
#[must_use]
pub fn distance(state: &State, under: &Under) -> Option<Distance> {
    let so_far = under.so_far.as_ref()?;
    match &state.outline.objective {
        Some(objective) => nearest_condition(&objective.conditions, so_far),
        None => nearest(&state.outline.stop, so_far, state.outline.is_held),
    }
}

fn rule(distance: Distance) -> Piece {
    let (tone, word) = match (distance.is_near(), distance.is_reached()) {
        (true, _) => (Tone::Near, ", near its limit"),
        (_, true) => (Tone::Bad, ", limit reached"),
        _ => (Tone::Plain, ""),
    };
    // A ladder that is about to end is more than its last figures.
    let rank = if tone == Tone::Plain { 3 } else { 0 };
    Piece { tone, ..Piece::plain(rank, format!("so far {}{word}", distance.text)) }
}

#[expect(clippy::cast_precision_loss, reason = "times of a stage are below 2^53 ns")]
fn time(name: &str, ns: u64) -> String {
    format!("{name} {}", show_ns(ns as f64))
}

/// `busiest node (812) 98 % on a CPU`.
#[must_use]
pub fn busiest(thread: &ThreadShare) -> String {
    let ThreadShare { tid, comm, oncpu_ratio } = thread;
    format!("busiest thread {} ({tid}) {:.0} % on a CPU", printable(comm), oncpu_ratio * 100.0)
}

/// What stands before the bar, and behind it.
#[must_use]
pub fn bar(state: &State, now_ns: u64) -> (String, String) {
    let now = state.now(now_ns);
    let noun = if state.outline.job_timeout_ns.is_some() { "run" } else { "stage" };
    let most = if now.is_at_most { "at most " } else { "" };
    (format!("{noun} {} of {most}{}", now.number, now.of), left(now.left_ns, now.is_at_most))
}

/// Time left in words.
#[must_use]
fn left(left_ns: Option<u64>, is_at_most: bool) -> String {
    let most = if is_at_most { "at most " } else { "" };
    match left_ns {
        Some(ns) => format!("{most}{} left", seconds(ns)),
        None => "time left is not known yet".to_owned(),
    }
}

/// One line of all of it, for a log.
#[must_use]
pub fn heartbeat(state: &State, now_ns: u64) -> Vec<Piece> {
    let mut pieces = status(state, now_ns);
    let (number, left) = bar(state, now_ns);
    pieces.extend([Piece::plain(0, number), Piece::plain(0, left)]);
    pieces
}

/// In whole seconds, rounded up: what is left is over when it says nothing is.
fn seconds(ns: u64) -> String {
    humantime::format_duration(Duration::from_secs(ns.div_ceil(1_000_000_000))).to_string()
}
