//! Targets started and found, and what becomes of them.

use std::fs;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use bench_user::fetch::Fetcher;
use bench_user::host::{CgroupTrees, processes_below};
use bench_user::measured::Measured;
use bench_user::target::{Limits, StartOptions, Target, TargetError, builtin, remove_leftovers};
use libtest_mimic::Failed;
use url::Url;

use super::Named;
use super::support::*;

pub(super) fn tests() -> Vec<Named> {
    vec![
        ("a_command_that_dies_before_it_is_ready_is_quoted", died_before_ready),
        ("a_stranger_on_the_port_is_refused", stranger),
        ("a_command_that_never_answers_is_given_up", never_ready),
        ("a_signal_ends_the_wait_for_a_command_that_never_answers", interrupted),
        ("a_builtin_server_is_ready_healthy_and_counted", builtin_server),
        ("a_leftover_of_a_dead_run_is_emptied_and_removed", leftover),
        ("the_target_dies_with_a_killed_tool", dies_with_the_tool),
        ("running_processes_are_found_adopted_and_given_back", found),
    ]
}

fn died_before_ready() -> Outcome {
    let script = "echo listening soon; echo cannot find module >&2; exit 3";
    let text = format!("command = [\"sh\", \"-c\", \"{script}\"]\nurl = \"{}\"", free_url());
    let error = start_error("died", &text)?;
    ensure(error.contains("exit code 3") && error.contains("cannot find module"), error)
}

fn stranger() -> Outcome {
    let (_logs, first) = start("stranger1", "builtin = \"lean\"");
    let first = first?;
    let url = &first.handle.urls[0];
    let error = start_error("stranger2", &format!("command = [\"cat\"]\nurl = \"{url}\""))?;
    ensure(error.contains(url.as_str()) && error.contains("before `it` was started"), error)
}

fn never_ready() -> Outcome {
    let text = format!(
        "command = [\"sleep\", \"1000\"]\nurl = \"{}\"\nready_within = \"50ms\"",
        free_url()
    );
    let error = start_error("never", &text)?;
    ensure(error.contains("not ready within 50ms") && error.contains("cannot connect"), error)
}

fn interrupted() -> Outcome {
    let text = format!("command = [\"sleep\", \"1000\"]\nurl = \"{}\"", free_url());
    let logs = tempfile::tempdir()?;
    let told = AtomicBool::new(true);
    let options = StartOptions { interrupted: Some(&told), ..options("told", logs.path()) };
    let ended = Target::start(&spec(&text), &options);
    ensure(matches!(ended, Err(TargetError::Interrupted)), ended.err())?;
    nothing_left_of("told")
}

fn builtin_server() -> Outcome {
    let (logs, target) = start("builtin", "builtin = \"chatty\"\nready = \"/stats\"");
    let mut target = target?;
    let url: Url = target.handle.urls[0].clone();
    ensure(target.startup_ms().is_some_and(|ms| ms > 0.0), target.startup_ms())?;
    ensure(target.is_healthy() && target.poll_exit().is_none(), "ready but not healthy")?;
    let idle = target.idle();
    ensure(idle.processes == Measured::Value(1), &idle)?;
    ensure(idle.rss_bytes.value().is_some_and(|rss| *rss > 0), &idle)?;
    let get = |path| {
        Fetcher::default()
            .get(&url.join(path)?, std::time::Duration::from_secs(10))
            .map_err(Failed::from)
    };
    for _ in 0..3 {
        ensure(get("/")?.body.len() == 1024, "the page")?;
    }
    ensure(&get("/stats")?.body[..] == b"{\"answered\":3}", "the count")?;
    let log = fs::read_to_string(logs.path().join("it.stdout.log"))?;
    ensure(log.starts_with(builtin::ANNOUNCEMENT), log)?;
    let exit = target.stop().ok_or("no exit")?;
    ensure(exit.by_us && exit.signal.as_deref() == Some("SIGTERM"), exit)?;
    nothing_left_of("builtin")
}

fn leftover() -> Outcome {
    let trees = CgroupTrees::discover()?;
    // An owner that is surely dead: no process has this pid.
    let name = "leftover-4194305-1";
    let in_v1 = Killed(Command::new("sleep").arg("1000").spawn()?);
    let in_v2 = Killed(Command::new("sleep").arg("1000").spawn()?);
    let adoptee = Killed(Command::new("sleep").arg("1000").spawn()?);
    for mount in trees.mounts().into_iter().filter(|mount| !mount.ends_with("cpuset")) {
        let dir = mount.join("bench-user").join(name).join("it");
        fs::create_dir_all(&dir)?;
        let sleeper = if trees.v2.as_deref() == Some(mount) { &in_v2 } else { &in_v1 };
        fs::write(dir.join("cgroup.procs"), sleeper.0.id().to_string())?;
    }
    if let Some(mount) = &trees.v2 {
        let dir = mount.join("bench-user").join(name).join("it+adopted");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("cgroup.procs"), adoptee.0.id().to_string())?;
    }
    let alive = prepare("alive", &["/bin/cat"], Limits::default())?;
    let removed = remove_leftovers();
    ensure(removed.iter().any(|run| run == name), &removed)?;
    ensure(trees.v2.is_none() || is_gone(in_v2.0.id()), "the sleeper in v2 lives")?;
    ensure(trees.v1.is_empty() || is_gone(in_v1.0.id()), "the sleeper in v1 lives")?;
    ensure(!is_gone(adoptee.0.id()), "the adopted stranger was killed")?;
    ensure(!is_gone(alive.pid()), "the run that lives was taken for a leftover")?;
    nothing_left_of("leftover")
}

/// The tool's part is played by a shim of its own: `bench-user serve` started by a `sh` that is
/// killed. What counts is that the parent's death by SIGKILL reaches the prepared process.
fn dies_with_the_tool() -> Outcome {
    let fifo = tempfile::tempdir()?;
    let report = fifo.path().join("report");
    fs::write(&report, "")?;
    // The shim stops itself; its parent, the shell, waits for ever.
    let script = format!("{BENCH_USER} __shim $$ {} /bin/cat cat & wait", report.display());
    let mut tool = Command::new("sh").args(["-c", &script]).spawn()?;
    let children = || {
        let list = format!("/proc/{0}/task/{0}/children", tool.id());
        fs::read_to_string(list).ok()?.trim().parse::<u32>().ok()
    };
    let pid =
        wait_for("the shim to stop", || children().filter(|pid| state_of(*pid) == Some('T')))?;
    tool.kill()?;
    tool.wait()?;
    let died = wait_for("the shim to die", || is_gone(pid).then_some(()));
    if died.is_err() {
        Command::new("kill").args(["-KILL", &pid.to_string()]).status()?;
    }
    died
}

fn found() -> Outcome {
    let run = "found";
    let trees = CgroupTrees::discover()?;
    let root = trees.v2.clone().ok_or("this machine has no v2 tree")?;
    let mut sleeper = Killed(Command::new("sh").args(["-c", "sleep 1000 & wait"]).spawn()?);
    let pid = sleeper.0.id();
    let home = trees.of_process(pid)?.v2.ok_or("no v2 place")?;
    let child = wait_for("the child", || {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        list.trim().parse::<u32>().ok()
    })?;

    // It shares our cgroup: unavailable in the root, refused elsewhere.
    let (_logs, shared) = start(run, &format!("pid = {pid}"));
    match shared {
        Ok(target) => {
            let why = target.handle.cgroup.why().map(str::to_owned);
            ensure(home == root && why.is_some_and(|why| why.contains("adopt")), &target)?;
        }
        Err(error) => ensure(home != root && error.to_string().contains("bench-user"), &error)?,
    }

    let (_logs, adopted) = start(run, &format!("pid = {pid}\nadopt = true"));
    let mut adopted = adopted?;
    let dir = adopted.handle.cgroup.value().cloned().ok_or("no cgroup")?;
    ensure(processes_below(&dir)? == [pid.min(child), pid.max(child)], &dir)?;
    ensure(adopted.idle().processes == Measured::Value(2), adopted.idle())?;
    ensure(adopted.poll_exit().is_none(), "it runs")?;

    // The same by its cgroup, while it has one of its own.
    let (_logs, by_cgroup) = start(run, &format!("cgroup = \"{}\"", dir.display()));
    let mut by_cgroup = by_cgroup?;
    ensure(by_cgroup.poll_exit().is_none() && by_cgroup.stop().is_none(), "it runs")?;

    ensure(adopted.stop().is_none(), "it runs on")?;
    ensure(trees.of_process(child)?.v2.as_ref() == Some(&home), "not given back")?;
    ensure(!is_gone(pid) && !is_gone(child), "a stranger was killed")?;
    nothing_left_of(run)?;

    let (_logs, again) = start(run, &format!("pid = {pid}\nadopt = true"));
    let mut again = again?;
    sleeper.0.kill()?;
    sleeper.0.wait()?;
    let exit = wait_for("its end", || again.poll_exit())?;
    ensure(exit.code.is_none() && !exit.by_us, exit)?;
    drop(again);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(child)?).ok_or("pid")?,
        rustix::process::Signal::KILL,
    )?;
    nothing_left_of(run)
}
