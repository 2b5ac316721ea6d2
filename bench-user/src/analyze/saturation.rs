//! Where a ladder stops growing: peak, knee and plateau, and Little's law as a self-check.
//!
//! All rates are medians of achieved rates over the counted repetitions: of requests, or of
//! events where connections hold streams open.
//!
//! * peak: the stage with the highest rate, of those whose rate is valid in most repetitions.
//!   Where none is, there is no peak: the rate of an invalid stage may be that of anything.
//! * knee, closed loop: the first stage that reaches 95 % of the peak. More connections than that
//!   wait longer for almost the same.
//! * knee, open loop: the stage with the highest achieved rate over its p99 response time
//!   (Kleinrock's "power", 1979, with the percentile in place of the mean). A rate that is offered
//!   is achieved until the server is full, so the first sign of it is in the response time; up to
//!   this stage the rate grows faster than the time, from there on the time does.
//! * plateau: the mean rate of the stages from the knee on that stay within 10 % of the peak.
//!   Invalid ones are left out, as at the peak. A knee at the last stage has no plateau: nothing
//!   says that the next stage would not have been faster still.

use super::bootstrap::median;
use super::levels::Step;
use crate::plan::Level;

/// Share of the peak that the knee reaches.
pub(super) const KNEE: f64 = 0.95;

/// Fewest rates with a p99 in which a knee is looked for: one on each side of it.
const KNEE_FROM: usize = 3;

/// Share of the peak that the plateau stays above.
const PLATEAU: f64 = 0.90;

/// How far a closed stage may be from Little's law.
const LITTLE: f64 = 0.05;

/// The achieved rate at one place in the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// What the stages held.
    pub level: Level,
    /// Median of the achieved rate, per second.
    pub rps: f64,
    /// Median of the 99th percentile of the response time, ns; `None` where a stage has none.
    pub p99_ns: Option<f64>,
    /// The rate says something of the target.
    pub counts: bool,
}

/// The rates of a ladder, one for each step.
#[must_use]
pub fn rates(steps: &[Step]) -> Vec<Rate> {
    let rate = |step: &Step| {
        let all: Vec<f64> = step.stages.iter().map(|s| s.load.rate()).collect();
        #[expect(clippy::cast_precision_loss, reason = "times of a stage are below 2^53 ns")]
        let p99: Option<Vec<f64>> =
            step.stages.iter().map(|s| Some(s.load.response_ns.p99? as f64)).collect();
        let p99_ns = p99.and_then(|all| median(&all));
        let rps = median(&all).unwrap_or(0.0);
        Rate { level: step.level, rps, p99_ns, counts: step.has_a_rate() }
    };
    steps.iter().map(rate).collect()
}

/// Place of the highest rate in `rates`; the first of equal ones. `None` where nothing was
/// achieved in a stage whose rate counts.
#[must_use]
pub fn peak(rates: &[Rate]) -> Option<usize> {
    let counting = counting(rates);
    let best = counting.iter().map(|(_, r)| r.rps).max_by(f64::total_cmp);
    let best = best.filter(|&best| best > 0.0)?;
    counting.iter().find(|(_, r)| r.rps >= best).map(|(place, _)| *place)
}

/// The rates among which a peak and a closed knee are looked for, with their places.
fn counting(rates: &[Rate]) -> Vec<(usize, &Rate)> {
    rates.iter().enumerate().filter(|(_, r)| r.counts).collect()
}

/// Place of the knee.
///
/// # Errors
/// Why there is none, in one sentence.
pub fn knee(rates: &[Rate]) -> Result<usize, String> {
    let peak = peak(rates).ok_or("no stage is valid")?;
    if rates.iter().any(|r| r.level.offered_rps.is_some()) {
        return knee_of_rates(rates);
    }
    let enough = rates[peak].rps * KNEE;
    let counting = counting(rates);
    Ok(counting.iter().find(|(_, r)| r.rps >= enough).map_or(peak, |(place, _)| *place))
}

fn knee_of_rates(rates: &[Rate]) -> Result<usize, String> {
    let power = |r: &Rate| Some(r.rps / r.p99_ns.filter(|ns| *ns > 0.0)?);
    let powers: Vec<(usize, f64)> = (0..)
        .zip(rates)
        .filter(|(_, r)| r.level.offered_rps.is_some())
        .filter_map(|(i, r)| Some((i, power(r)?)))
        .collect();
    if powers.len() < KNEE_FROM {
        return Err(format!(
            "a knee of rates takes {KNEE_FROM} stages with a p99, and there are {}",
            powers.len()
        ));
    }
    let best = powers.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    match (best, powers.last()) {
        (Some((knee, _)), Some((last, _))) if knee < *last => Ok(knee),
        _ => Err("the ladder ends before its knee: at its last rate the rate still grew faster \
                  than p99"
            .to_owned()),
    }
}

/// Rate of the plateau, per second; `None` where the ladder ends before it flattens.
#[must_use]
pub fn plateau(rates: &[Rate]) -> Option<f64> {
    let (peak, knee) = (peak(rates)?, knee(rates).ok()?);
    let from_knee: Vec<f64> =
        counting(rates).into_iter().filter(|(i, _)| *i >= knee).map(|(_, r)| r.rps).collect();
    if from_knee.len() < 2 {
        return None;
    }
    let floor = rates[peak].rps * PLATEAU;
    let level: Vec<f64> = from_knee.into_iter().filter(|rps| *rps >= floor).collect();
    #[expect(clippy::cast_precision_loss, reason = "a ladder has few levels")]
    let count = level.len() as f64;
    Some(level.iter().sum::<f64>() / count)
}

/// Stages whose connections are not what rate times response time says, as sentences.
///
/// In a closed loop every open connection has a request under way, or as many as are pipelined or
/// have a stream each, so that the response times
/// that ended in the window, added up, fill those requests times window. The sum takes every
/// request that has a response time, whatever its status. Fewer busy connections mean that the
/// client was slow to send the next request; more, that responses were not counted.
#[must_use]
pub fn little_violations(steps: &[Step]) -> Vec<String> {
    steps.iter().filter_map(violation).collect()
}

fn violation(step: &Step) -> Option<String> {
    let each = step.judge.in_flight();
    let off: Vec<(f64, u32)> = step
        .stages
        .iter()
        .filter_map(|stage| {
            let load = &stage.load;
            let live = load.connections.live_median;
            let times = &load.response_ns;
            #[expect(clippy::cast_precision_loss, reason = "counts and windows are below 2^53")]
            let busy = times.count as f64 * times.mean? / load.window_ns as f64;
            let full = f64::from(live) * f64::from(each);
            let far = (busy - full).abs() > LITTLE * full;
            (busy.is_finite()
                && far
                && !load.is_held()
                && stage.kind == crate::record::Loop::Closed)
                .then_some((busy, live))
        })
        .collect();
    let &(busy, live) = off.first()?;
    let often = match step.stages.len() {
        1 => String::new(),
        all => format!(" (in {} of {all} repetitions)", off.len()),
    };
    let (busy_what, open) = match each {
        1 => ("connections", format!("{live} were open")),
        _ => ("requests", format!("{live} connections of {each} requests each were open")),
    };
    Some(format!(
        "at {}, rate times mean response time gives {busy:.1} busy {busy_what} where {open}{often}",
        step.level
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage};
    use crate::analyze::levels::steps;
    use crate::record::{Loop, RunRecord, StageRecord};

    fn ladder(rates: &[f64]) -> Vec<Rate> {
        let rate = |(i, &rps): (u32, &f64)| {
            let level = Level { connections: (i + 1) * 10, offered_rps: None };
            Rate { level, rps, p99_ns: None, counts: true }
        };
        (0..).zip(rates).map(rate).collect()
    }

    #[test]
    fn peak_knee_and_plateau_of_a_ladder_that_flattens() {
        let rates = ladder(&[500.0, 960.0, 1000.0, 990.0, 850.0]);
        assert_eq!((peak(&rates), knee(&rates)), (Some(2), Ok(1)));
        assert_eq!(plateau(&rates), Some((960.0 + 1000.0 + 990.0) / 3.0));
    }

    #[test]
    fn a_ladder_that_still_grows_has_no_plateau() {
        let rates = ladder(&[100.0, 200.0, 400.0]);
        assert_eq!((peak(&rates), knee(&rates), plateau(&rates)), (Some(2), Ok(2), None));
        assert_eq!((peak(&ladder(&[0.0, 0.0])), knee(&[]).is_err()), (None, true));
    }

    /// Offered rates with their p99, ms; all achieved.
    fn offered(rates: &[(f64, f64)]) -> Vec<Rate> {
        let rate = |&(rps, ms): &(f64, f64)| {
            let level = Level { connections: 10, offered_rps: Some(rps) };
            Rate { level, rps, p99_ns: Some(ms * 1e6), counts: true }
        };
        rates.iter().map(rate).collect()
    }

    #[test]
    fn the_knee_of_rates_is_where_rate_over_p99_is_highest() {
        let bent = offered(&[(100.0, 1.0), (200.0, 1.2), (400.0, 2.0), (800.0, 9.0)]);
        assert_eq!((peak(&bent), knee(&bent)), (Some(3), Ok(2)));
        let rising = offered(&[(100.0, 1.0), (200.0, 1.1), (400.0, 1.2)]);
        assert!(knee(&rising).unwrap_err().contains("ends before its knee"));
        assert!(knee(&offered(&[(1.0, 1.0), (2.0, 9.0)])).unwrap_err().contains("there are 2"));
    }

    #[test]
    fn an_invalid_rate_is_no_peak_even_where_there_is_no_valid_one() {
        let mut rates = ladder(&[500.0, 960.0, 1000.0]);
        rates[2].counts = false;
        assert_eq!((peak(&rates), knee(&rates), plateau(&rates)), (Some(1), Ok(1), None));
        rates.iter_mut().for_each(|rate| rate.counts = false);
        assert_eq!((peak(&rates), plateau(&rates)), (None, None));
        assert_eq!(knee(&rates), Err("no stage is valid".to_owned()));
        let mut overloaded = offered(&[(100.0, 1.0), (200.0, 2.0)]);
        overloaded.iter_mut().for_each(|rate| rate.counts = false);
        assert_eq!(peak(&overloaded), None);
    }

    fn violations(change: impl Fn(&mut StageRecord)) -> Vec<String> {
        let mut stage = a_stage(50);
        change(&mut stage);
        let run: RunRecord = a_run().target("a").stage(0, a_stage(10)).stage(0, stage).done();
        little_violations(&steps(&run, &run.targets[0]))
    }

    #[test]
    fn little_holds_for_a_closed_stage_and_is_reported_when_it_does_not() {
        assert!(violations(|_| {}).is_empty());
        assert!(violations(|s| s.load.response_ns.mean = Some(48e6)).is_empty());
        let slow = violations(|s| s.load.response_ns.mean = Some(40e6));
        assert_eq!(slow.len(), 1);
        assert!(slow[0].contains("at 50 connections") && slow[0].contains("40.0"), "{slow:?}");
    }

    #[test]
    fn a_connection_is_as_busy_as_its_pipeline_or_its_streams() {
        use crate::plan::Protocol;
        let violations = |protocol, mean| {
            let mut stage = a_stage(50);
            stage.load.response_ns.mean = Some(mean);
            let mut run = a_run().target("a").stage(0, stage).done();
            run.plan.load.protocol = protocol;
            (run.plan.load.pipeline, run.plan.load.streams) = (4, 8);
            little_violations(&steps(&run, &run.targets[0]))
        };
        // 1,000 requests a second of 200 ms each are 200 at a time: 50 connections of 4.
        assert_eq!(violations(Protocol::Http1, 200e6), Vec::<String>::new());
        assert_eq!(violations(Protocol::Http2, 400e6), Vec::<String>::new());
        assert_eq!(violations(Protocol::Grpc, 400e6), Vec::<String>::new());
        let idle = violations(Protocol::Http2, 50e6).join("");
        assert!(idle.contains("50.0 busy requests where 50 connections of 8"), "{idle}");
        assert_eq!(violations(Protocol::Websocket, 50e6), Vec::<String>::new());
    }

    #[test]
    fn the_law_is_not_asked_of_an_open_loop_or_without_responses() {
        let slow_and_open = |s: &mut StageRecord| {
            s.load.response_ns.mean = Some(40e6);
            s.kind = Loop::Open;
        };
        assert!(violations(slow_and_open).is_empty());
        assert!(violations(|s| s.load.response_ns.mean = None).is_empty());
    }
}
