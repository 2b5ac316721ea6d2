//! The histograms of a run as an HdrHistogram interval log (text format 1.3), as HdrHistogram's own
//! log tools read it.
//!
//! One interval for every distribution of every stage, in order of time. Its tag is
//! `TARGET/STAGE/MEASURE`: the name of the target, `c` and the connections (with `@` and the
//! offered rate in the open loop), and the field of the record; so the repetitions of a stage are
//! the intervals of one tag. Stages that do not count have `discarded/` or `control/` before the
//! measure. A blank, a comma, `%` or a control character of a name is written as `%` and its
//! code, because a tag cannot hold it.
//!
//! Histograms are of nanoseconds; the largest value of an interval is written in milliseconds, as
//! those tools have it. Times are seconds since the first measured window: the record knows when
//! the run began to a second, and the windows' distances to a nanosecond.

use std::io::{self, Write};
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::Exported;
use crate::distribution::Distribution;
use crate::record::RunRecord;

/// Nanoseconds of a millisecond, the unit of the column of largest values.
const MAX_VALUE_DIVISOR: f64 = 1e6;

const LEGEND: &str =
    r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#;

/// One line of the log.
struct Interval<'a> {
    start_ns: u64,
    length_ns: u64,
    tag: String,
    times: &'a Distribution,
}

/// Writes the whole log.
pub(in crate::report) fn write(run: &RunRecord, mut out: &mut dyn Write) -> io::Result<()> {
    let mut intervals: Vec<Interval<'_>> =
        super::stages(run).iter().flat_map(of_stage).filter(|i| i.times.count > 0).collect();
    intervals.sort_by_key(|interval| interval.start_ns);
    let first_ns = intervals.first().map_or(0, |interval| interval.start_ns);

    let started_at = humantime::parse_rfc3339(&run.started_at).map_err(|error| {
        invalid(format!("`started_at` of the record is no date and time: {error}"))
    })?;
    let mut serializer = V2DeflateSerializer::new();
    IntervalLogWriterBuilder::new()
        .add_comment(&format!("[Logged with bench-user {}]", encoded(&run.tool.version)))
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!("[Run {}; times are since its first window]", encoded(&run.id)))
        .with_start_time(started_at)
        .with_base_time(started_at)
        .begin_log_with(&mut out, &mut serializer)?;
    // The crate writes no legend and holds the writer, so the rest has a builder of its own.
    writeln!(out, "{LEGEND}")?;
    let mut log = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(MAX_VALUE_DIVISOR)
        .begin_log_with(&mut out, &mut serializer)?;
    for Interval { start_ns, length_ns, tag, times } in intervals {
        let histogram = times
            .histogram()
            .ok_or_else(|| invalid(format!("the record holds no readable histogram of `{tag}`")))?;
        let start = Duration::from_nanos(start_ns - first_ns);
        log.write_histogram(&histogram, start, Duration::from_nanos(length_ns), Tag::new(&tag))
            .map_err(|error| io::Error::other(error.to_string()))?;
    }
    Ok(())
}

fn of_stage<'a>(exported: &Exported<'a>) -> Vec<Interval<'a>> {
    let Exported { target, stage, role } = exported;
    let load = &stage.load;
    let level = match stage.offered_rps {
        Some(rps) => format!("c{}@{rps}", stage.connections),
        None => format!("c{}", stage.connections),
    };
    let role = if *role == "counted" { String::new() } else { format!("{role}/") };
    let measures = [
        ("response_ns", Some(&load.response_ns)),
        ("service_ns", load.service_ns.as_ref()),
        ("first_byte_ns", Some(&load.first_byte_ns)),
        ("lateness_ns", load.offered.as_ref().map(|offered| &offered.lateness_ns)),
        ("connect_ns", Some(&load.connect_ns)),
        ("tls_ns", Some(&load.tls_ns)),
        ("upgrade_ns", Some(&load.upgrade_ns)),
        ("first_event_ns", load.events.as_ref().map(|events| &events.first_event_ns)),
        ("gap_ns", load.events.as_ref().map(|events| &events.gap_ns)),
        ("runqlat_ns", stage.sched.value().map(|sched| &sched.runqlat_ns)),
    ];
    let interval = |(measure, times): (&str, Option<&'a Distribution>)| {
        Some(Interval {
            start_ns: load.window_start_ns,
            length_ns: load.window_ns,
            tag: format!("{}/{level}/{role}{measure}", encoded(&target.name)),
            times: times?,
        })
    };
    measures.into_iter().filter_map(interval).collect()
}

/// The text without what would end a tag or a line of the log.
fn encoded(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() || c == ',' || c == '%' {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| safe += &format!("%{byte:02X}"));
        } else {
            safe.push(c);
        }
    }
    safe
}

fn invalid(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_what_a_tag_can_hold_and_no_two_become_one() {
        assert_eq!(encoded("127.0.0.1:80"), "127.0.0.1:80");
        assert_eq!(encoded("a b,c%\r\n"), "a%20b%2Cc%25%0D%0A");
        assert_eq!(encoded("caf\u{e9}\u{2003}x"), "caf\u{e9}%E2%80%83x");
        assert!(Tag::new(&encoded(" ,\r\n")).is_some());
    }
}
