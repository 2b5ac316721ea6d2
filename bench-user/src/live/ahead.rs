//! How much is ahead: stages, and time.
//!
//! A ladder that a rule ended early will probably be ended there again, so a later climb of the
//! same target is reckoned with as many stages, until it passes them; what is reckoned is corrected
//! as it turns out. A target that ended by itself is not climbed again.

use super::Outline;
use super::pace::Pace;
use super::state::Course;

/// What is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A target is stopped, or started and made ready.
    Way,
    /// A stage, from the end of the one before; its place in the ladder, the control stage behind
    /// all levels.
    Stage {
        /// Its place.
        place: usize,
        /// It is the control stage.
        is_control: bool,
    },
}

/// Stages, or runs of jobs, that are still to begin behind the unit under way.
pub(super) fn stages(outline: &Outline, course: &Course) -> usize {
    in_climb(outline, course)
        + later(outline, course).map(|n| of_climb(outline, course, n)).sum::<usize>()
}

/// Time until all is done, ns, from `since_ns` on, when the unit under way began; `None` where
/// nothing is known of the runs of a job.
pub(super) fn ns(outline: &Outline, course: &Course, pace: &Pace, elapsed_ns: u64) -> Option<u64> {
    if outline.job_timeout_ns.is_some() {
        let now = course.unfinished(outline).next();
        let run_ns = |n: usize| pace.run_ns(outline.climbs[n].target);
        let all_ns = course.unfinished(outline).map(run_ns).sum::<Option<u64>>()?;
        let now_ns = now.and_then(run_ns).unwrap_or(0);
        return Some(all_ns - now_ns.min(elapsed_ns));
    }
    let stage_ns = |is_first| pace.stage_ns(outline.stage_ns(is_first));
    let (unit_ns, ahead_ns) = match course.unit {
        // A way leads to a stage that is the first of its climb, and to the others of it.
        Unit::Way if course.is_over(outline) => (0, 0),
        Unit::Way => (pace.way_ns(), 0),
        Unit::Stage { place, .. } => {
            (stage_ns(place == 0), stage_ns(false) * in_climb(outline, course) as u64)
        }
    };
    let climb_ns = |n: usize, with_way: bool| {
        let stages = of_climb(outline, course, n) as u64;
        let way_ns = if with_way { pace.way_ns() } else { 0 };
        way_ns + stage_ns(true) + stage_ns(false) * stages.saturating_sub(1)
    };
    let is_way = course.unit == Unit::Way;
    let later_ns: u64 =
        later(outline, course).enumerate().map(|(nth, n)| climb_ns(n, !(is_way && nth == 0))).sum();
    Some(unit_ns.saturating_sub(elapsed_ns) + ahead_ns + later_ns)
}

/// Stages of the climb under way behind the one under way.
fn in_climb(outline: &Outline, course: &Course) -> usize {
    let (Unit::Stage { place, is_control }, Some(climb)) = (course.unit, course.climb(outline))
    else {
        return 0;
    };
    if is_control {
        return 0;
    }
    let control = usize::from(outline.has_control(climb));
    // The stage under way is one that began, so its number is place + 1.
    let all = match course.levels[climb.target] {
        Some(levels) if place < levels => levels,
        _ => outline.levels,
    };
    let levels = if course.is_tripped { 0 } else { all.saturating_sub(place + 1) };
    levels + control
}

/// Climbs of which no stage has begun.
fn later<'c>(outline: &'c Outline, course: &'c Course) -> impl Iterator<Item = usize> + 'c {
    let is_climbing = usize::from(course.unit != Unit::Way);
    course.unfinished(outline).skip(is_climbing)
}

fn of_climb(outline: &Outline, course: &Course, n: usize) -> usize {
    let climb = outline.climbs[n];
    let levels = course.levels[climb.target].unwrap_or(outline.levels);
    levels + usize::from(outline.has_control(climb))
}
