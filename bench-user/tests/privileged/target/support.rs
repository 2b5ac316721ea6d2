//! What the tests of the targets are made of.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::LazyLock;

use bench_user::clock;
use bench_user::fetch::Fetcher;
use bench_user::host::CgroupTrees;
use bench_user::plan::TargetSpec;
use bench_user::target::{
    CommandLine, Contact, Limits, Spawned, StartOptions, Started, Streams, Target, TargetError,
};
use libtest_mimic::Failed;

pub(super) type Outcome = Result<(), Failed>;

/// The binary that serves as shim and as built-in server.
pub(super) const BENCH_USER: &str = env!("CARGO_BIN_EXE_bench-user");
pub(super) const MINUTE_NS: u64 = 60_000_000_000;

pub(super) fn argv(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

pub(super) fn prepare(run: &str, words: &[&str], limits: Limits) -> Result<Spawned, TargetError> {
    let words = argv(words);
    let command = CommandLine {
        name: "it",
        run_id: run,
        argv: &words,
        env: &BTreeMap::new(),
        dir: Path::new("/"),
        limits,
        shim: Some(Path::new(BENCH_USER)),
    };
    let streams = Streams { stdin: Stdio::null(), stdout: Stdio::null(), stderr: Stdio::inherit() };
    Spawned::prepare(&command, streams)
}

pub(super) fn run_to_end(run: &str, words: &[&str], limits: Limits) -> Result<String, Failed> {
    let mut started = prepare(run, words, limits)?.release()?;
    Ok(started.exits_within(MINUTE_NS).ok_or("still running")?.to_string())
}

/// Directories of a run that are there, in any tree.
pub(super) fn left_of(run: &str) -> Vec<PathBuf> {
    let trees = CgroupTrees::discover().expect("/proc is mounted");
    let parents = trees.mounts().into_iter().map(|mount| mount.join("bench-user"));
    let dirs = parents.flat_map(|parent| bench_user::host::children(&parent));
    dirs.filter(|dir| dir.to_string_lossy().contains(run)).collect()
}

pub(super) fn nothing_left_of(run: &str) -> Outcome {
    match left_of(run).as_slice() {
        [] => Ok(()),
        left => Err(format!("left behind: {left:?}").into()),
    }
}

/// Looks until `look` gives something: for what another process does in its own time.
pub(super) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, Failed> {
    let deadline = clock::now_ns() + MINUTE_NS;
    while clock::now_ns() < deadline {
        if let Some(found) = look() {
            return Ok(found);
        }
        std::thread::yield_now();
    }
    Err(format!("waited in vain for {what}").into())
}

pub(super) fn state_of(pid: u32) -> Option<char> {
    let pid = i32::try_from(pid).ok()?;
    procfs::process::Process::new(pid).ok()?.stat().ok().map(|stat| stat.state)
}

pub(super) fn is_gone(pid: u32) -> bool {
    matches!(state_of(pid), None | Some('Z' | 'X'))
}

pub(super) fn ensure(holds: bool, what: impl std::fmt::Debug) -> Outcome {
    if holds { Ok(()) } else { Err(format!("{what:?}").into()) }
}

pub(super) fn spec(text: &str) -> TargetSpec {
    toml::from_str(&format!("name = \"it\"\n{text}")).expect("a target of a plan")
}

pub(super) fn free_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}/", listener.local_addr().expect("it is bound"))
}

/// Starts a target whose logs go to a folder of its own.
pub(super) fn start(run: &str, text: &str) -> (tempfile::TempDir, Result<Target, TargetError>) {
    let logs = tempfile::tempdir().expect("a temporary folder");
    let target = Target::start(&spec(text), &options(run, logs.path()));
    (logs, target)
}

pub(super) fn options<'a>(run: &'a str, logs: &'a Path) -> StartOptions<'a> {
    static PLAIN: LazyLock<Fetcher> = LazyLock::new(Fetcher::default);
    StartOptions {
        run_id: run,
        logs_dir: logs,
        shim: Some(Path::new(BENCH_USER)),
        fetcher: &PLAIN,
        interrupted: None,
        contact: Contact::default(),
    }
}

pub(super) fn start_error(run: &str, text: &str) -> Result<String, Failed> {
    let (_logs, target) = start(run, text);
    let error = target.err().ok_or("it started")?.to_string();
    nothing_left_of(run)?;
    Ok(error)
}

/// A shell that starts a child, which starts another one, and then all wait for ever.
pub(super) const FAMILY: [&str; 3] =
    ["/bin/sh", "-c", "sh -c 'sleep 1000 & wait' & setsid sleep 1000 & wait"];

pub(super) fn family(run: &str) -> Result<(Started, Vec<u32>), Failed> {
    let started = prepare(run, &FAMILY, Limits::default())?.release()?;
    let pids = wait_for("four processes", || {
        let pids = started.cgroup().processes();
        (pids.len() == 4).then_some(pids)
    })?;
    Ok((started, pids))
}

pub(super) struct Killed(pub(super) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("a child of ours can be killed");
    }
}
