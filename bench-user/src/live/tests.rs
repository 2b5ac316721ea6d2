use super::*;
use crate::ladder::{Climb, Position, StageSample};
use crate::load::SoFar;
use crate::observe::ThreadShare;
use crate::plan::file;
use crate::record::Bottleneck;

const S: u64 = 1_000_000_000;

fn outline(more: &str) -> Outline {
    let text = format!(
        "{more}\n[ladder]\nconnections = [10, 20, 30]\nwarmup = \"1s\"\nduration = \"4s\"\npause = \
         \"1s\"\n"
    );
    Outline::of(&file::parse(&text, "test.toml").unwrap())
}

/// Two addresses, which have no control stages.
fn two() -> Outline {
    let target = |name| format!("[[target]]\nname = \"{name}\"\nurl = \"http://127.0.0.1:1/\"\n");
    outline(&format!("{}{}", target("a"), target("b")))
}

fn climb(target: usize, repetition: u32) -> Climb {
    Climb { target, repetition }
}

fn position(index: u32, is_control: bool) -> Position {
    let connections = 10 * (index + 1);
    let observed = !is_control;
    Position { index, repetition: 0, observed, is_control, connections, offered_rps: None }
}

fn begins(target: usize, index: u32) -> News {
    News::StageBegins(climb(target, 0), position(index, false))
}

fn finished(climb: Climb, position: Position) -> Finished {
    Finished {
        climb,
        position,
        rate: Some(812.0),
        wall_ns: None,
        response_ns_p99: Some(5_000_000),
        syscalls_per_request: Some(3.0),
        bottleneck: Bottleneck::None,
        stopped_by: None,
        is_invalid: false,
        samples: Vec::new(),
    }
}

fn done(target: usize, index: u32) -> News {
    News::Done(Box::new(finished(climb(target, 0), position(index, false))))
}

fn stopped(target: usize, index: u32) -> News {
    let stopped_by = Some("p99 1.20 s reached 1s".to_owned());
    let finished = finished(climb(target, 0), position(index, false));
    News::Done(Box::new(Finished { stopped_by, ..finished }))
}

/// Number of the stage, of how many, and ms left.
fn told(state: &State, at_ms: u64) -> (usize, usize, Option<u64>) {
    let now = state.now(at_ms * 1_000_000);
    (now.number, now.of, now.left_ns.map(|ns| ns / 1_000_000))
}

#[test]
fn time_left_is_the_plans_and_then_what_stages_and_ways_really_took() {
    // By the plan a first stage takes 5 s and each later one 6 s: 17 s a climb.
    let mut state = State::new(two(), 0);
    assert_eq!(told(&state, 0), (1, 6, Some(34_000)));
    assert_eq!(told(&state, 2_000), (1, 6, Some(34_000)), "no way is known yet");
    // The first way took 3 s, and there is one more.
    state.take(begins(0, 0), 3 * S);
    assert_eq!(told(&state, 3_000), (1, 6, Some(5_000 + 12_000 + 3_000 + 17_000)));
    assert_eq!(told(&state, 5_000), (1, 6, Some(35_000)));
    // Half a second more than planned, which the other five will take too.
    state.take(done(0, 0), 8 * S + S / 2);
    assert_eq!(told(&state, 8_500), (2, 6, Some(13_000 + 3_000 + 5_500 + 13_000)));
    state.take(begins(0, 1), 9 * S + S / 2);
    assert_eq!(told(&state, 9_500), (2, 6, Some(33_500)), "the rest is a part of the stage");
    // A rule ends the ladder after its second stage: the third falls away.
    state.take(stopped(0, 1), 15 * S);
    assert_eq!(told(&state, 15_000), (3, 5, Some(3_000 + 18_500)));
    state.take(News::Ended(climb(0, 0)), 16 * S);
    assert_eq!(told(&state, 16_000), (3, 5, Some(2_000 + 18_500)));
    state.take(begins(1, 0), 17 * S);
    assert_eq!(told(&state, 17_000), (3, 5, Some(18_500)));
    assert_eq!(told(&state, 99_000), (3, 5, Some(13_000)), "a late stage is about to end");
    for (index, at_s) in [(0, 22), (1, 29), (2, 36)] {
        state.take(begins(1, index), at_s * S);
        state.take(done(1, index), at_s * S);
    }
    assert_eq!(told(&state, 36_000), (5, 5, Some(0)));
}

#[test]
fn a_later_climb_is_reckoned_with_the_stages_that_the_last_one_had() {
    let target = "repeat = 2\n[[target]]\nname = \"a\"\nbuiltin = \"lean\"\n";
    let (head, target) = target.split_at("repeat = 2\n".len());
    let mut state = State::new(outline(&format!("{head}{target}")), 0);
    assert_eq!(told(&state, 0).1, 8, "three levels and a control stage, twice");
    state.take(begins(0, 0), 0);
    state.take(done(0, 0), S);
    state.take(begins(0, 1), S);
    state.take(stopped(0, 1), S);
    assert_eq!(told(&state, 1_000).1, 3 + 4, "the control stage of the stopped climb comes");
    state.take(News::StageBegins(climb(0, 0), position(1, true)), S);
    let control = finished(climb(0, 0), position(1, true));
    state.take(News::Done(Box::new(control)), S);
    state.take(News::Ended(climb(0, 0)), S);
    assert_eq!(told(&state, 1_000).1, 3 + 3, "two levels and the control stage again");
    let again = |index| News::StageBegins(climb(0, 1), position(index, false));
    for index in 0..2 {
        state.take(again(index), S);
        let finished = finished(climb(0, 1), position(index, false));
        state.take(News::Done(Box::new(finished)), S);
    }
    assert_eq!(told(&state, 1_000), (6, 7, told(&state, 1_000).2), "it went on this time");
}

#[test]
fn a_target_that_ended_by_itself_is_not_climbed_again() {
    let head = "repeat = 3\n";
    let target = "[[target]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/\"\n";
    let mut state = State::new(outline(&format!("{head}{target}")), 0);
    assert_eq!(told(&state, 0).1, 9);
    state.take(begins(0, 0), 0);
    state.take(News::Died(climb(0, 0)), S);
    state.take(stopped(0, 0), S);
    state.take(News::Ended(climb(0, 0)), S);
    assert_eq!(told(&state, 1_000), (1, 1, Some(0)));
}

fn jobs() -> Outline {
    let job = |name| format!("[[target]]\nname = \"{name}\"\ncommand = [\"true\"]\n");
    let text = format!("repeat = 2\n[job]\ntimeout = \"50s\"\n{}{}", job("a"), job("b"));
    Outline::of(&file::parse(&text, "test.toml").unwrap())
}

#[test]
fn what_runs_of_jobs_take_is_known_when_one_is_over() {
    let mut state = State::new(jobs(), 0);
    assert_eq!(told(&state, 0), (1, 4, None));
    let run = |target, repetition| {
        let climb = climb(target, repetition);
        let wall_ns = Some(2 * S);
        let finished = Finished { rate: None, wall_ns, ..finished(climb, position(0, false)) };
        (News::JobBegins(climb), News::Done(Box::new(finished)))
    };
    let (begins, ends) = run(0, 0);
    state.take(begins, S);
    assert_eq!(
        join(&status(&state, 11 * S), |p| p.text.clone()),
        "a, run 1 of 2, 10s of at most 50s"
    );
    state.take(ends, 4 * S);
    assert_eq!(told(&state, 4_000), (2, 4, Some(12_000)), "the others are reckoned like it");
    let (begins, ends) = run(1, 0);
    state.take(begins, 5 * S);
    assert_eq!(told(&state, 5_000), (2, 4, Some(11_000)));
    state.take(ends, 14 * S);
    // B took 10 s from the end of A's run on, and A 4 s: in the mirrored order B comes next.
    assert_eq!(told(&state, 14_000), (3, 4, Some(14_000)));
}

#[test]
fn a_search_ends_before_its_most_rates_or_at_them() {
    let text = "[ladder]\nconnections = [5]\nfind_rate = \"p99 < 8ms\"\n[[target]]\nname = \"a\"\n\
                url = \"http://127.0.0.1:1/\"\n";
    let mut state = State::new(Outline::of(&file::parse(text, "test.toml").unwrap()), 0);
    assert_eq!(bar(&state, 0).0, "stage 1 of at most 17");
    state.take(begins(0, 0), 0);
    state.take(done(0, 0), S);
    state.take(News::Ended(climb(0, 0)), S);
    assert_eq!(bar(&state, S), ("stage 1 of 1".to_owned(), "0s left".to_owned()));
}

fn sample(p99_ms: u64) -> News {
    let sample = StageSample {
        t_ms: 500.0,
        achieved_rps: 45_300.0,
        response_ns_p50: Some(1_200_000),
        response_ns_p99: Some(4_100_000),
        syscalls_per_sec: Some(136_806.0),
        ..StageSample::default()
    };
    let busiest = vec![ThreadShare { tid: 812, comm: "no\x1bde".to_owned(), oncpu_ratio: 0.98 }];
    let so_far = SoFar { response_ns_p99: Some(p99_ms * 1_000_000), ..SoFar::default() };
    News::Sampled { sample: Box::new(sample), busiest, so_far }
}

#[test]
fn the_line_says_where_a_stage_is_and_what_its_last_sample_says() {
    let mut state = State::new(two(), 0);
    let text = |state: &State, at_ns| join(&status(state, at_ns), |piece| piece.text.clone());
    assert_eq!(text(&state, 0), "preparing");
    state.take(begins(0, 0), S);
    assert_eq!(text(&state, S), "a, 10 connections, warming up");
    assert_eq!(text(&state, 2 * S), "a, 10 connections, measuring");
    state.take(sample(212), 3 * S);
    let figures = "a, 10 connections, 45.3 k/s, p50 1.20 ms, p99 4.10 ms, 3.02 syscalls a request, \
                   busiest thread no?de (812) 98 % on a CPU, so far p99 212.00 ms of 1s";
    assert_eq!(text(&state, 3 * S), figures);
    assert_eq!(
        join(&heartbeat(&state, 3 * S), |piece| piece.text.clone()),
        format!("{figures}, stage 1 of 6, 33s left")
    );
    let fitted = fit(status(&state, 3 * S), 79);
    let words = "a, 10 connections, 45.3 k/s, p99 4.10 ms, so far p99 212.00 ms of 1s";
    assert_eq!(join(&fitted, |piece| piece.text.clone()), words);
    state.take(done(0, 0), 6 * S);
    assert_eq!(text(&state, 6 * S), "a: resting");
    state.take(News::Ended(climb(0, 0)), 6 * S);
    assert_eq!(text(&state, 6 * S), "b: starting");
}

#[test]
fn a_rule_that_is_near_or_reached_is_told_in_words_and_in_its_tone() {
    let mut state = State::new(two(), 0);
    state.take(begins(0, 0), 0);
    let rule = |state: &State| status(state, 2 * S).last().cloned().unwrap();
    for (p99_ms, tone, words) in [
        (790, Tone::Plain, "so far p99 790.00 ms of 1s"),
        (850, Tone::Near, "so far p99 850.00 ms of 1s, near its limit"),
        (1_200, Tone::Bad, "so far p99 1.20 s of 1s, limit reached"),
    ] {
        state.take(sample(p99_ms), 2 * S);
        let piece = rule(&state);
        assert_eq!((piece.tone, &*piece.text), (tone, words));
    }
}
