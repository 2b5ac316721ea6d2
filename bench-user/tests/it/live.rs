//! The full screen of a run against stored text.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use bench_user::ladder::{Climb, Position, StageSample};
use bench_user::live::{Finished, News, Outline, Screen, State};
use bench_user::load::SoFar;
use bench_user::observe::ThreadShare;
use bench_user::plan::file;
use bench_user::record::Bottleneck;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::golden;

const S: u64 = 1_000_000_000;

/// A run of two targets in its third stage, 2.5 s into the window.
fn state(now_ns: u64) -> State {
    let plan = "name = \"pair\"\nrepeat = 2\n[ladder]\nconnections = [10, 20, 30]\nwarmup = \"1s\"\n\
                duration = \"5s\"\npause = \"1s\"\n[[target]]\nname = \"lean\"\nbuiltin = \"lean\"\n\
                [[target]]\nname = \"chatty\"\nbuiltin = \"chatty\"\n";
    let mut state = State::new(Outline::of(&file::parse(plan, "test.toml").unwrap()), 0);
    let climb = Climb { target: 0, repetition: 0 };
    let position = |index: u32| Position {
        index,
        repetition: 0,
        observed: true,
        is_control: false,
        connections: 10 * (index + 1),
        offered_rps: None,
    };
    for index in 0..2 {
        let at_ns = (2 + 8 * u64::from(index)) * S;
        state.take(News::StageBegins(climb, position(index)), at_ns);
        let finished = Finished {
            climb,
            position: position(index),
            rate: Some(21_000.0 + f64::from(index) * 9_000.0),
            wall_ns: None,
            response_ns_p99: Some(2_000_000),
            syscalls_per_request: Some(3.0),
            bottleneck: Bottleneck::None,
            stopped_by: None,
            is_invalid: index == 1,
            samples: Vec::new(),
        };
        state.take(News::Done(Box::new(finished)), at_ns + 7 * S);
    }
    let began_ns = now_ns - 3 * S - S / 2;
    state.take(News::StageBegins(climb, position(2)), began_ns);
    for n in 1..=5u32 {
        let sample = StageSample {
            t_ms: f64::from(n) * 500.0,
            achieved_rps: 30_000.0 + f64::from(n) * 1_000.0,
            response_ns_p50: Some(600_000),
            response_ns_p99: Some(800_000_000 + u64::from(n) * 10_000_000),
            syscalls_per_sec: Some(105_000.0),
            ..StageSample::default()
        };
        let thread = |tid, oncpu_ratio| ThreadShare { tid, comm: "lean".into(), oncpu_ratio };
        let busiest = vec![thread(4012, 0.97), thread(4013, 0.31)];
        let p99 = Some(820_000_000);
        let so_far = SoFar { response_ns_p99: p99, live: 30, ..SoFar::default() };
        state.take(News::Sampled { sample: Box::new(sample), busiest, so_far }, began_ns);
    }
    state
}

fn draw(screen: &Screen, state: &State, (width, height): (u16, u16), now_ns: u64) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame, state, now_ns)).unwrap();
    let text = terminal.backend().to_string();
    text.lines().map(|line| line.trim_matches('"').trim_end().to_owned() + "\n").collect()
}

#[test]
fn the_full_screen_is_as_it_was_on_terminals_of_three_sizes() {
    let now_ns = 21 * S;
    let mut screen = Screen::default();
    screen.say("lean: climb 1 of 2, stage 3 of 3: 30 connections ...");
    screen.say("warning: a name with \x1b[31m in it");
    for (name, size) in [("small", (80, 24)), ("large", (200, 50)), ("tiny", (40, 5))] {
        let text = draw(&screen, &state(now_ns), size, now_ns);
        assert!(!text.contains('\x1b'));
        golden::check("golden", &format!("screen-{name}.txt"), &text);
    }
    screen.has_help = true;
    screen.next_target(2);
    screen.next_target(2);
    let text = draw(&screen, &state(now_ns), (80, 24), now_ns);
    golden::check("golden", "screen-help.txt", &text);
}

#[test]
fn every_size_is_drawn_without_a_panic_and_tab_comes_around() {
    let mut screen = Screen::default();
    screen.has_help = true;
    for width in (1..160).step_by(13) {
        for height in (1..40).step_by(3) {
            draw(&screen, &state(21 * S), (width, height), 21 * S);
        }
    }
    let mut seen = Vec::new();
    for _ in 0..3 {
        screen.next_target(2);
        seen.push(screen.shown);
    }
    assert_eq!(seen, [Some(0), Some(1), None]);
}
