//! A command from the stop before its `execve` to its end.

use std::fs;
use std::process::Command;

use bench_user::host::{CgroupTrees, processes_below};
use bench_user::measured::Measured;
use bench_user::target::{Limits, Spawned, TargetKind};
use bench_user::units::Bytes;
use libtest_mimic::Failed;

use super::Named;
use super::support::*;

pub(super) fn tests() -> Vec<Named> {
    vec![
        ("a_prepared_process_is_stopped_in_its_cgroup_and_not_yet_the_program", prepared),
        ("a_prepared_process_that_is_dropped_leaves_nothing", dropped_before_release),
        ("limits_are_in_the_files_of_every_tree", limits),
        ("a_limit_that_the_kernel_refuses_is_an_error_and_leaves_nothing", refused_limit),
        ("stop_kills_the_whole_tree_of_children", stopped_tree),
        ("drop_kills_the_whole_tree_of_children", dropped_tree),
        ("exit_code_and_signal_are_reported", exits),
        ("a_target_that_runs_out_of_memory_is_reported_as_such", out_of_memory),
        ("what_cannot_be_executed_is_one_sentence", not_executable),
        ("the_start_ignores_no_signal_and_leads_its_own_session", start_state),
    ]
}

fn prepared() -> Outcome {
    let run = "prepared";
    let spawned = prepare(run, &["/bin/cat", "/dev/null"], Limits::default())?;
    let pid = spawned.pid();
    ensure(state_of(pid) == Some('T'), state_of(pid))?;
    let trees = CgroupTrees::discover()?;
    for mount in trees.mounts() {
        let dir = spawned.cgroup().dirs().iter().find(|dir| dir.starts_with(mount));
        if let Some(dir) = dir {
            ensure(processes_below(dir)? == [pid], dir)?;
        }
    }
    let places = trees.of_process(pid)?;
    ensure(places.v2.as_ref() == spawned.cgroup().v2().value(), &places)?;
    for (controller, place) in spawned.cgroup().controllers() {
        let expected = if place.is_v1 { places.v1.get(controller) } else { places.v2.as_ref() };
        ensure(expected == Some(&place.path), (controller, place))?;
    }
    let exe = || fs::read_link(format!("/proc/{pid}/exe"));
    ensure(exe()? == fs::canonicalize(BENCH_USER)?, exe())?;
    let handle = spawned.handle("it", TargetKind::Command, Vec::new());
    ensure(handle.main_pid == Some(pid) && handle.cgroup == spawned.cgroup().v2(), &handle)?;

    let mut started = spawned.release()?;
    ensure(started.pid() == pid, pid)?;
    let exit = started.exits_within(MINUTE_NS).ok_or("still running")?;
    ensure(exit.code == Some(0) && !exit.by_us, &exit)?;
    drop(started);
    nothing_left_of(run)
}

fn dropped_before_release() -> Outcome {
    let spawned = prepare("unreleased", &["/bin/cat"], Limits::default())?;
    let pid = spawned.pid();
    drop(spawned);
    ensure(is_gone(pid), state_of(pid))?;
    nothing_left_of("unreleased")
}

fn limits() -> Outcome {
    let limits =
        Limits { cpus: Some(0.5), cpuset: Some("0".into()), memory: Some(Bytes(64 << 20)) };
    let spawned = prepare("limits", &["/bin/cat"], limits)?;
    let read = |controller: &str, v1: &str, v2: &str| -> Result<String, Failed> {
        let place = spawned.cgroup().controllers().get(controller).ok_or("no controller")?;
        let text = fs::read_to_string(place.path.join(if place.is_v1 { v1 } else { v2 }))?;
        Ok(text.trim().to_owned())
    };
    let quota = read("cpu", "cpu.cfs_quota_us", "cpu.max")?;
    ensure(quota.split(' ').next() == Some("50000"), quota)?;
    ensure(read("cpuset", "cpuset.cpus", "cpuset.cpus")? == "0", "cpuset")?;
    let memory = read("memory", "memory.limit_in_bytes", "memory.max")?;
    ensure(memory == "67108864", memory)?;
    let status = fs::read_to_string(format!("/proc/{}/status", spawned.pid()))?;
    ensure(status.contains("Cpus_allowed_list:\t0\n"), status)
}

fn refused_limit() -> Outcome {
    let limits = Limits { cpuset: Some("4000".into()), ..Limits::default() };
    let error = prepare("refused", &["/bin/cat"], limits).err().ok_or("accepted")?.to_string();
    ensure(error.contains("CPU set") && error.contains("4000"), error)?;
    nothing_left_of("refused")
}

fn stopped_tree() -> Outcome {
    let (started, pids) = family("stopped")?;
    let exit = started.stop();
    ensure(exit.by_us && exit.signal.as_deref() == Some("SIGTERM"), &exit)?;
    ensure(pids.iter().all(|pid| is_gone(*pid)), pids)?;
    nothing_left_of("stopped")
}

fn dropped_tree() -> Outcome {
    let (started, pids) = family("dropped")?;
    // A cgroup that the target itself made goes too.
    for dir in started.cgroup().dirs() {
        fs::create_dir(dir.join("inner"))?;
    }
    drop(started);
    ensure(pids.iter().all(|pid| is_gone(*pid)), pids)?;
    nothing_left_of("dropped")
}

fn exits() -> Outcome {
    let end = |script| run_to_end("exits", &["sh", "-c", script], Limits::default());
    ensure(end("exit 7")? == "exit code 7", end("exit 7")?)?;
    ensure(end("kill -SEGV $$")? == "killed by SIGSEGV", end("kill -SEGV $$")?)
}

fn out_of_memory() -> Outcome {
    let limits = Limits { memory: Some(Bytes(16 << 20)), ..Limits::default() };
    let spawned = prepare("oom", &["tail", "/dev/zero"], limits)?;
    // With swap the limit alone would only make it slow.
    if let Some(place) = spawned.cgroup().controllers().get("memory") {
        let (file, value) = if place.is_v1 {
            ("memory.memsw.limit_in_bytes", "16777216")
        } else {
            ("memory.swap.max", "0")
        };
        if place.path.join(file).exists() {
            fs::write(place.path.join(file), value)?;
        }
    }
    let mut started = spawned.release()?;
    let exit = started.exits_within(MINUTE_NS).ok_or("still running")?;
    ensure(exit.oom_killed == Measured::Value(true), &exit)?;
    ensure(exit.signal.as_deref() == Some("SIGKILL") && !exit.by_us, &exit)?;
    drop(started);
    let spared = run_to_end("oom", &["sh", "-c", "kill -KILL $$"], Limits::default())?;
    ensure(spared == "killed by SIGKILL", spared)
}

fn not_executable() -> Outcome {
    let dir = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<String, Failed> {
        let path = dir.path().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(path.display().to_string())
    };
    let error = |program: &str| -> Result<String, Failed> {
        let result = prepare("exec", &[program], Limits::default()).and_then(Spawned::release);
        nothing_left_of("exec")?;
        Ok(result.err().ok_or("it runs")?.to_string())
    };
    let text = error(&file("noexec", "no program\n")?)?;
    ensure(text.contains("noexec") && text.contains("#!"), text)?;
    let text = error(&file("badinterpreter", "#!/nowhere/sh\n")?)?;
    ensure(text.contains("badinterpreter") && text.contains("interpreter"), text)?;
    let text = error("surely-no-such-program")?;
    ensure(text.contains("surely-no-such-program") && text.contains("PATH"), text)
}

fn start_state() -> Outcome {
    let started = prepare("state", &["sleep", "1000"], Limits::default())?.release()?;
    let pid = started.pid();
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    ensure(status.starts_with("Name:\tsleep\n"), &status)?;
    // Rust's own start-up code ignores SIGPIPE, and an ignored signal survives the `execve`.
    let ignored = status.lines().find_map(|l| l.strip_prefix("SigIgn:\t")).ok_or("no SigIgn")?;
    let sigpipe = 1 << (rustix::process::Signal::PIPE.as_raw() - 1);
    ensure(u64::from_str_radix(ignored, 16)? & sigpipe == 0, ignored)?;
    let process = procfs::process::Process::new(i32::try_from(pid)?)?;
    let stat = process.stat()?;
    ensure(stat.session == stat.pid && stat.pgrp == stat.pid, (stat.session, stat.pgrp))?;
    drop(started);

    // Nothing of ours is open in it: as many descriptors as in any child, counted by the child
    // itself, since another process would also see those that its loader opens and closes.
    let count = ["sh", "-c", "set -- /proc/$$/fd/*; exit $#"];
    let other = Command::new(count[0]).args(&count[1..]).status()?;
    let other = format!("exit code {}", other.code().ok_or("killed")?);
    let ours = run_to_end("state", &count, Limits::default())?;
    ensure(ours == other, (ours, other))
}
