//! Distributions in full: every percentile that the samples support, between the smallest and the
//! largest sample. What they do not support is said with the count that it needs.

use super::figures::{self, NONE};
use super::levels::{self, Ladder, Row};
use super::page::Table;
use super::reasons::Reasons;
use crate::analyze::bootstrap;
use crate::distribution::{Distribution, Percentile};
use crate::units::show_ns;

/// The column that says which time a row is of.
const MEASURE: usize = 2;

/// Time to open a connection, of the whole stage.
const CONNECT: &str = "connect";

/// The times of every level that have samples; `None` where no level has any.
pub(super) fn table(ladders: &[Ladder<'_>]) -> Option<Table> {
    let levels = ladders.iter().flat_map(|ladder| &ladder.rows).map(|row| row.at);
    let title = levels::title(levels);
    let level = format!(">{title}");
    let mut titles = vec!["target", &level, "time", ">samples", ">min"];
    let percentiles = Percentile::ALL.map(|percentile| format!(">{}", percentile.label));
    titles.extend(percentiles.iter().map(String::as_str));
    titles.push(">max");
    let mut table = Table::new(titles);
    for ladder in ladders {
        for row in &ladder.rows {
            for (measure, times) in measures(row) {
                let mut cells = vec![
                    ladder.target.name.clone(),
                    levels::cell(title, row.at),
                    measure.to_owned(),
                    times.iter().map(|d| d.count).min().map_or(NONE.into(), figures::count),
                    edge(times.iter().map(|d| d.min).collect::<Option<Vec<_>>>(), Iterator::min),
                ];
                cells.extend(Percentile::ALL.map(|p| median(&times, p).unwrap_or(NONE.into())));
                cells.push(edge(times.iter().map(|d| d.max).collect(), Iterator::max));
                table.rows.push(cells);
            }
        }
    }
    if table.rows.iter().all(|cells| cells[MEASURE] == "response") {
        table.columns.remove(MEASURE);
        table.rows.iter_mut().for_each(|cells| drop(cells.remove(MEASURE)));
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Notes which percentiles the samples of a level do not support.
pub(super) fn note_missing(ladder: &Ladder<'_>, reasons: &mut Reasons) {
    for row in &ladder.rows {
        // A level opens few connections, as a rule; that is no lack of its measurement.
        for (measure, times) in measures(row).into_iter().filter(|(what, _)| *what != CONNECT) {
            for percentile in Percentile::ALL {
                if let Err(why) = median(&times, percentile) {
                    let what = format!("{measure} {} at {}", percentile.label, row.at);
                    reasons.note(&ladder.target.name, &what, &why);
                }
            }
        }
    }
}

/// One distribution as a part of a sentence: `min 1 ns, p50 2 ns, max 4 ns (p90 needs 10 samples)`.
pub(super) fn line(d: &Distribution) -> String {
    let shown = |label: &str, ns: u64| format!("{label} {}", figures::ns(ns));
    let found = Percentile::ALL.map(|percentile| (percentile.label, d.percentile(percentile)));
    let mut parts: Vec<String> = d.min.map(|ns| shown("min", ns)).into_iter().collect();
    let has = |(label, value): &(&str, Result<u64, _>)| Some(shown(label, *value.as_ref().ok()?));
    parts.extend(found.iter().filter_map(has));
    parts.extend(d.max.map(|ns| shown("max", ns)));
    let missing: Vec<String> = found.into_iter().filter_map(|(_, value)| value.err()).collect();
    let missing =
        if missing.is_empty() { String::new() } else { format!(" ({})", missing.join(", ")) };
    parts.join(", ") + &missing
}

/// The times of a level that have samples: what a repetition timed, by the name of it.
pub(super) fn measures<'a>(row: &Row<'a>) -> Vec<(&'static str, Vec<&'a Distribution>)> {
    let loads = || row.stages.iter().map(|stage| &stage.load);
    let offered = || loads().filter_map(|load| load.offered.as_ref());
    let events = || loads().filter_map(|load| load.events.as_ref());
    let mut measures: Vec<(&str, Vec<&Distribution>)> = vec![
        ("response", loads().map(|load| &load.response_ns).collect()),
        ("service", loads().filter_map(|load| load.service_ns.as_ref()).collect()),
        ("lateness", offered().map(|offered| &offered.lateness_ns).collect()),
        ("first event", events().map(|events| &events.first_event_ns).collect()),
        ("gap", events().map(|events| &events.gap_ns).collect()),
        // Connections are opened once and kept from stage to stage and from climb to climb.
        (CONNECT, loads().map(|load| &load.connect_ns).filter(|d| d.count > 0).collect()),
    ];
    measures.retain(|(_, times)| times.iter().any(|d| d.count > 0));
    measures
}

/// The median over the repetitions, as of every other figure; each of them must support it.
#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
fn median(times: &[&Distribution], percentile: Percentile) -> Result<String, String> {
    let each = times.iter().map(|d| d.percentile(percentile).map(|ns| ns as f64));
    let values = each.collect::<Result<Vec<f64>, String>>()?;
    bootstrap::median(&values).map(show_ns).ok_or_else(|| percentile.rule())
}

fn edge(
    values: Option<Vec<u64>>,
    pick: impl FnOnce(std::vec::IntoIter<u64>) -> Option<u64>,
) -> String {
    values.and_then(|values| pick(values.into_iter())).map_or(NONE.into(), figures::ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut h = Histogram::new(3).unwrap();
        values.into_iter().for_each(|value| h.record(value).unwrap());
        Distribution::from_histogram(&h, None)
    }

    #[test]
    fn a_line_says_what_the_samples_do_not_support() {
        assert_eq!(
            line(&of(1..=100)),
            "min 1 ns, p50 50 ns, p90 90 ns, p99 99 ns, max 100 ns (p99.9 needs 1,000 samples, \
             p99.99 needs 10,000 samples)"
        );
        assert!(
            line(&of((0..10_000).map(|i| 1 + i % 2000))).ends_with("p99.99 2.0 µs, max 2.0 µs")
        );
    }

    #[test]
    fn every_repetition_must_support_a_percentile() {
        let (many, few) = (of(1..=1000), of(1..=999));
        assert_eq!(median(&[&many, &many], Percentile::P999).as_deref(), Ok("999 ns"));
        let why = median(&[&many, &few], Percentile::P999).unwrap_err();
        assert_eq!(why, "p99.9 needs 1,000 samples");
    }
}
