//! The real program while it runs, with its standard error in a file and on a terminal, and the
//! samples that it is told of.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use bench_user::clock;
use bench_user::ladder::{self, Event, Interrupt, Places, Sink, StageSample};
use bench_user::plan::{file, validate};
use bench_user::record::RunRecord;
use bench_user::units::show_count;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A built-in server as another process; ended with the test.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(cargo_bin("bench-user"))
            .args(["serve"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http")).unwrap();
        Self { url: url.to_owned(), child }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// `run` against a server, two short stages of client numbers, which take no root.
fn run(server: &Server, folder: &tempfile::TempDir, more: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("bench-user"));
    command
        .args(["run", "--url", &server.url, "--connections", "1,2", "--duration", "700ms"])
        .args(["--warmup", "100ms", "--pause", "10ms", "--interval", "100ms", "--workers", "1"])
        .args(["--out", folder.path().join("run").to_str().unwrap()])
        .args(more)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_log_gets_lines_and_nothing_that_moves_a_cursor() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let output = run(&server, &folder, &[]).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(!said.bytes().any(|byte| byte.is_ascii_control() && byte != b'\n'), "{said:?}");
    let stages = said.lines().filter(|line| line.contains("climb 1 of 1, stage")).count();
    assert_eq!((stages, said.lines().filter(|line| line.starts_with("  ")).count()), (2, 2));
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn quiet_says_nothing_but_the_result() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let output = run(&server, &folder, &["--quiet", "--json"]).output().unwrap();
    assert_eq!((stderr(&output).as_str(), output.status.code()), ("", Some(0)));
    let record: RunRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record.targets[0].stages.len(), 2);
}

#[test]
fn a_full_screen_without_a_terminal_is_refused_in_one_sentence() {
    let output = Command::new(cargo_bin("bench-user"))
        .args(["run", "--tui", "--url", "http://127.0.0.1:1/"])
        .output()
        .unwrap();
    let refused = "error: standard error is no terminal that can show a full screen: leave \
                   `--tui` out, or do not redirect standard error\n";
    assert_eq!((stderr(&output).as_str(), output.status.code()), (refused, Some(2)));
}

/// A program on a terminal, and the end of it that a person looks at.
fn start_on_terminal(mut command: Command, (columns, rows): (u16, u16)) -> (Child, File) {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
    let far = File::options().read(true).write(true).open(name).unwrap();
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&far, size).unwrap();
    command.stdin(far.try_clone().unwrap()).stderr(far).stdout(Stdio::piped());
    // With the command goes our far end, so that reading ends with the program.
    (command.spawn().unwrap(), File::from(near))
}

/// What it writes there until its end, and its standard output.
fn read_to_end(mut child: Child, mut near: File) -> (String, Vec<u8>) {
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        // The end of the last far end reads as an error.
        while let Ok(count @ 1..) = near.read(&mut part) {
            bytes.extend_from_slice(&part[..count]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut stdout = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    patiently(|| child.try_wait().unwrap().is_some());
    (reader.join().unwrap(), stdout)
}

fn patiently(mut is_done: impl FnMut() -> bool) {
    let patience_ns = clock::now_ns() + 60_000_000_000;
    while !is_done() {
        assert!(clock::now_ns() < patience_ns, "it does not come");
        std::thread::yield_now();
    }
}

fn on_terminal(command: Command) -> (String, Vec<u8>) {
    let (child, near) = start_on_terminal(command, (80, 24));
    read_to_end(child, near)
}

#[test]
fn a_terminal_that_takes_nothing_disturbs_no_stage() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    // A screen of so many cells is more than a terminal keeps for a reader that sleeps.
    let command = run(&server, &folder, &["--tui", "--json"]);
    let (mut child, near) = start_on_terminal(command, (500, 200));
    let file = folder.path().join("run/run.json");
    let finished = || {
        let text = std::fs::read_to_string(&file).ok()?;
        let record: RunRecord = serde_json::from_str(&text).ok()?;
        record.analysis.is_some().then_some(record)
    };
    patiently(|| finished().is_some());
    assert!(child.try_wait().unwrap().is_none(), "it waits to be read");
    let (said, _) = read_to_end(child, near);
    check_left_as_it_was(&said);
    let stages = &finished().unwrap().targets[0].stages;
    let windows: Vec<u64> = stages.iter().map(|stage| stage.load.window_ns).collect();
    assert_eq!(windows, [700_000_000; 2]);
}

/// The cursor is there at the end, and colours are off.
fn check_left_as_it_was(said: &str) {
    let (hidden, shown) = (said.rfind("\x1b[?25l"), said.rfind("\x1b[?25h"));
    assert!(hidden <= shown, "{said:?}");
    if has_color(said) {
        let (color, reset) = (said.rfind("\x1b[3"), said.rfind("\x1b[0m"));
        assert!(reset > color, "{said:?}");
    }
}

fn has_color(said: &str) -> bool {
    said.contains("\x1b[31m") || said.contains("\x1b[33m")
}

#[test]
fn a_terminal_gets_a_bar_that_is_gone_at_the_end() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let (said, stdout) = on_terminal(run(&server, &folder, &["--json"]));
    assert!(said.contains("stage 1 of 2 [") && said.contains("stage 2 of 2 ["), "{said:?}");
    assert!(said.contains(" left") && said.contains("connections"), "{said:?}");
    check_left_as_it_was(&said);
    let (_, after) = said.rsplit_once("stage 2 of 2 [").unwrap();
    assert_eq!(after.matches("\x1b[2K").count(), 2, "both its lines are erased: {after:?}");
    let record: RunRecord = serde_json::from_slice(&stdout).unwrap();
    // What the line said of a sample is a sample of the record.
    let samples: Vec<_> = record.targets[0].stages.iter().flat_map(|s| &s.samples).collect();
    assert!(!samples.is_empty());
    let rates: Vec<String> =
        samples.iter().map(|sample| format!("{}/s", show_count(sample.achieved_rps))).collect();
    let told: Vec<&str> =
        said.split(", ").filter(|word| word.ends_with("/s") && !word.contains('\x1b')).collect();
    assert!(!told.is_empty(), "{said:?}");
    for rate in told {
        assert!(rates.iter().any(|known| known == rate), "{rate} is none of {rates:?}");
    }
}

#[test]
fn the_full_screen_is_left_and_what_was_said_stays() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let (said, stdout) = on_terminal(run(&server, &folder, &["--tui", "--json"]));
    let (enter, leave) = ("\x1b[?1049h", "\x1b[?1049l");
    let (inside, after) = said.rsplit_once(leave).unwrap();
    assert!(inside.contains(enter) && inside.contains("rule"), "{said:?}");
    assert!(!after.contains(enter) && after.contains("climb 1 of 1, stage 2 of 2"), "{after:?}");
    check_left_as_it_was(&said);
    let record: RunRecord = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(record.targets[0].stages.len(), 2);
}

#[test]
fn no_color_takes_colours_and_nothing_else() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let stops = ["--stop-p99", "1ns"];
    let mut command = run(&server, &folder, &stops);
    command.env("NO_COLOR", "1");
    let (said, _) = on_terminal(command);
    assert!(said.contains("limit reached") && !has_color(&said), "{said:?}");
    let folder = tempfile::tempdir().unwrap();
    let (said, _) = on_terminal(run(&server, &folder, &stops));
    assert!(has_color(&said), "{said:?}");
}

/// What a run tells of its stages: the samples of the stage under way, and of all that are over
/// those that were told and those that are recorded.
#[derive(Default)]
struct Told {
    under_way: Vec<StageSample>,
    over: Vec<(Vec<StageSample>, Vec<StageSample>)>,
    most_non_2xx: u64,
}

impl Sink for Told {
    fn event(&mut self, event: Event<'_>) -> anyhow::Result<()> {
        match event {
            Event::Sampled { sample, so_far, .. } => {
                self.under_way.push(sample.clone());
                self.most_non_2xx = self.most_non_2xx.max(so_far.non_2xx);
            }
            Event::StageDone { done, .. } => {
                self.over.push((std::mem::take(&mut self.under_way), done.samples));
            }
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn what_is_told_of_a_stage_under_way_are_the_samples_of_its_record() {
    let server = Server::start();
    for client in ["lean", "hyper"] {
        let plan = format!(
            "[ladder]\nconnections = [3, 5]\nduration = \"900ms\"\nwarmup = \"50ms\"\npause = \
             \"0s\"\n[observe]\ninterval = \"100ms\"\n[load]\nworkers = 2\nclient = \
             \"{client}\"\n[[target]]\nname = \"a\"\nurl = \"{}\"\n",
            server.url
        );
        let plan = file::parse(&plan, "test.toml").unwrap();
        validate::plan(&plan).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let places = Places { run_id: "told", logs: folder.path() };
        let mut told = Told::default();
        ladder::run(&plan, places, &Interrupt::default(), &mut told).unwrap();
        assert_eq!((told.over.len(), told.most_non_2xx), (2, 0));
        for (told, recorded) in &told.over {
            // The last look may be too near to the end of the window to be told of before it.
            assert!(told.len() + 1 >= recorded.len() && told.len() > 1, "{}", told.len());
            for (told, recorded) in told.iter().zip(recorded) {
                let without = told.response_ns_p50.is_none();
                let late = StageSample {
                    response_ns_p50: None,
                    response_ns_p99: None,
                    ..recorded.clone()
                };
                assert_eq!(told, if without { &late } else { recorded }, "{client}");
            }
            assert!(told.iter().any(|sample| sample.response_ns_p99.is_some()));
        }
    }
}
