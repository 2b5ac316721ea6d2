//! The answer: what must be known first, the claims with their verdicts and figures, and each
//! target at its peak.

use maud::{Markup, html};

use super::kit::blocks;
use super::kit::plot;
use super::kit::table::{self, Caption};
use super::kit::words::words;
use crate::record::{ClaimResult, ClaimVerdict, RunRecord};
use crate::report::levels::{self, Ladder, Row};
use crate::report::run::{self, Said};
use crate::report::{claims, figures, job};

/// Everything that the page leads with.
pub(super) fn section(run: &RunRecord, ladders: &[Ladder<'_>]) -> Markup {
    let said = run::answer(run, ladders);
    let shown: Vec<(usize, &Ladder<'_>, &Row<'_>)> = ladders
        .iter()
        .enumerate()
        .filter_map(|(place, ladder)| Some((place, ladder, ladder.shown()?)))
        .collect();
    html! {
        @if said.is_empty() && shown.is_empty() {
            p { "Nothing was achieved per second in a counted stage, so that there is no peak." }
        }
        @for sentence in &said {
            @match sentence {
                Said::Alarm(text) => p.alarm role="note" { (words(text)) },
                Said::Found(text) => p.found { (words(text)) },
            }
        }
        @if !shown.is_empty() {
            div.cards { @for (place, ladder, row) in shown { (card(place, ladder, row)) } }
        }
    }
}

/// The claims one by one; a sentence where the plan makes none.
pub(super) fn claim_list(results: &[ClaimResult]) -> Markup {
    html! {
        @if results.is_empty() { p {
            "The plan makes no claims; " code { "bench-user check" } " checks some against this record."
        } }
        @for result in results { (claim(result)) }
    }
}

fn claim(result: &ClaimResult) -> Markup {
    let spec = &result.claim;
    let says = if spec.says.is_empty() { &spec.id } else { &spec.says };
    html! {
        article class=(format!("claim {}", figures::word(result.verdict))) {
            h3 { (badge(result.verdict)) " " (words(says)) }
            p { (words(&claims::because(result))) }
            p.id { "claim " code { (words(&spec.id)) } }
            @if !result.stages.is_empty() {
                details {
                    summary { "Stage by stage" span.unseen { " of the claim " (words(&spec.id)) } }
                    (table::table(
                        &claims::stages(result), Caption::Hidden(&format!("Claim {} stage by stage", spec.id))
                    ))
                    (blocks::items(&claims::doubts(result)))
                }
            }
        }
    }
}

/// A word with a sign before it, so that colour is not all that tells them apart.
fn badge(verdict: ClaimVerdict) -> Markup {
    let sign = match verdict {
        ClaimVerdict::Holds => "✓",
        ClaimVerdict::Fails => "✗",
        ClaimVerdict::Inconclusive => "?",
        ClaimVerdict::Unavailable => "–",
    };
    html! {
        span class=(format!("badge {}", figures::word(verdict))) {
            span aria-hidden="true" { (sign) " " } (figures::word(verdict))
        }
    }
}

/// A target where it was fastest (of a job: its time), with the figures that tables show.
fn card(place: usize, ladder: &Ladder<'_>, row: &Row<'_>) -> Markup {
    let rows = std::slice::from_ref(row);
    let (first, rest) = levels::shown(rows).split_first().expect("eight metrics are shown");
    let value = |metric| match row.figure(metric) {
        Ok(estimate) => figures::show_estimate(metric.name, &estimate),
        Err(_reason_stands_below) => figures::NONE.to_owned(),
    };
    let label = |text: &str| text.replace('\n', " ");
    html! {
        div class=(format!("card {}", plot::ink(place))) data-t=(place) {
            h3 {
                svg width="28" height="14" viewBox="0 0 28 14" aria-hidden="true" {
                    path.line d="M1 7H27" {} (plot::point(place, 14.0, 7.0))
                }
                (words(&ladder.target.name))
            }
            p.big { (value(first)) " " span { (label(first.label)) } }
            p {
                @if !row.at.is_job() { "at " (row.at) ", " }
                "limited by " strong { (figures::word(row.bottleneck())) }
                @if row.invalid().is_some() { " (invalid)" }
                @if let Some(failed) = job::failed(ladder) { ". " (words(&failed)) }
            }
            dl { @for metric in rest {
                div { dt { (label(metric.label)) } dd { (value(metric)) } }
            } }
        }
    }
}
