//! Kinds of hosts and places: cgroup namespaces, a machine without the v2 tree, cgroups inside and
//! beside the target's.
//!
//! The tool is started through this binary, which first goes where the test wants it:
//! [`dispatch`] must come first in `main`.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use bench_user::host::CgroupTrees;
use libtest_mimic::Trial;
use nix::sched::{CloneFlags, unshare};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use serde_json::Value;

use crate::place::{CannotRun, Place, measured, trial};
use crate::probes::{calls, observe, sched};
use crate::workload::Workload;

/// How the tool is to stand: a word, and the cgroup that it goes into before.
const VARIABLE: &str = "BENCH_TEST_HOST";

const CALLS: u64 = 30_000;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("hosts::a_pid_is_found_from_inside_a_cgroup_namespace", by_pid_from_inside),
        trial("hosts::a_path_of_the_host_counts_inside_a_cgroup_namespace", by_path_from_inside),
        trial("hosts::a_pid_below_our_own_namespace_is_found", below_our_namespace),
        trial("hosts::a_process_outside_of_what_is_mounted_is_said_to_be", outside_of_the_mount),
        trial("hosts::a_command_is_counted_inside_of_a_container", command_inside),
        trial("hosts::without_a_v2_tree_the_v1_books_are_left", without_v2),
        trial("hosts::cgroups_before_and_after_are_all_counted_and_kept_apart", before_and_after),
    ]
}

/// Becomes the tool, somewhere else, when the environment says so; else returns.
pub(crate) fn dispatch() {
    let Ok(how) = std::env::var(VARIABLE) else { return };
    let error = stand(&how).err().unwrap_or_else(|| {
        let tool = env!("CARGO_BIN_EXE_bench-user");
        Command::new(tool).args(std::env::args_os().skip(1)).env_remove(VARIABLE).exec().into()
    });
    eprintln!("{how}: {error:#}");
    std::process::exit(1);
}

fn stand(how: &str) -> Result<()> {
    let (word, cgroup) = how.split_once(' ').context("a word and a cgroup")?;
    std::fs::write(Path::new(cgroup).join("cgroup.procs"), std::process::id().to_string())?;
    let v2 = CgroupTrees::discover()?.v2.context("a v2 tree")?;
    let own_mounts = || -> Result<()> {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        Ok(mount_change("/", private)?)
    };
    match word {
        "namespace" => unshare(CloneFlags::CLONE_NEWCGROUP)?,
        // As an engine does it: the tree is mounted from inside, and shows our part alone.
        "container" => {
            own_mounts()?;
            unshare(CloneFlags::CLONE_NEWCGROUP)?;
            unmount(&v2, UnmountFlags::DETACH)?;
            mount("cgroup2", &v2, "cgroup2", MountFlags::empty(), None)?;
        }
        "without-v2" => {
            own_mounts()?;
            unmount(&v2, UnmountFlags::DETACH)?;
        }
        _ => bail!("there is no such way to stand"),
    }
    Ok(())
}

/// The tool as it stands `how` in `ours`, observing what the flags say, begun.
fn begun(
    how: &str,
    ours: &Place,
    flags: &[&str],
) -> Result<(Child, BufReader<impl std::io::Read>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["observe", "--json", "--duration", "1s"])
        .args(flags)
        .env(VARIABLE, format!("{how} {}", ours.v2.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = BufReader::new(child.stderr.take().context("piped")?);
    let mut words = String::new();
    while !words.ends_with("observing; Ctrl-C ends\n") {
        ensure!(said.read_line(&mut words)? > 0, "it ended: {words}");
    }
    Ok((child, said))
}

/// What it counted of a workload of so many calls in the meantime.
fn counted(how: &str, ours: &Place, flags: &[&str], workload: &mut Workload) -> Result<Value> {
    let (child, _said) = begun(how, ours, flags)?;
    workload.work()?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn all_calls(seen: &Value) -> Result<()> {
    let count = &seen["syscalls"]["by_name"]["getppid"]["count"];
    ensure!(count.as_u64() == Some(CALLS), "{count} calls; {}", seen["syscalls"]);
    Ok(())
}

fn caller() -> Result<Workload> {
    Workload::start(&format!("getppid 2 {CALLS}"))
}

fn by_pid_from_inside() -> Result<()> {
    let (place, ours) = (Place::new(&[])?, Place::new(&[])?);
    let mut workload = caller()?;
    place.take_in(workload.pid())?;
    let pid = workload.pid().to_string();
    all_calls(&counted("namespace", &ours, &["--pid", &pid], &mut workload)?)
}

fn by_path_from_inside() -> Result<()> {
    let (place, ours) = (Place::new(&[])?, Place::new(&[])?);
    let mut workload = caller()?;
    place.take_in(workload.pid())?;
    let path = place.v2.to_str().context("plain letters")?;
    all_calls(&counted("namespace", &ours, &["--cgroup", path], &mut workload)?)
}

/// The names of the cgroups above our namespace are not told; it is found all the same.
fn below_our_namespace() -> Result<()> {
    for how in ["namespace", "container"] {
        let ours = Place::new(&[])?;
        let mut workload = caller()?;
        ours.child_with(workload.pid())?;
        let pid = workload.pid().to_string();
        let seen = counted(how, &ours, &["--pid", &pid], &mut workload)?;
        all_calls(&seen).context(how)?;
        workload.finish()?;
    }
    Ok(())
}

fn outside_of_the_mount() -> Result<()> {
    let (place, ours) = (Place::new(&[])?, Place::new(&[])?);
    let workload = caller()?;
    place.take_in(workload.pid())?;
    let pid = workload.pid().to_string();
    let path = place.v2.to_str().context("plain letters")?;
    for flags in [["--pid", &pid], ["--cgroup", path]] {
        let Err(error) = begun("container", &ours, &flags) else { bail!("{flags:?}: it began") };
        let said = error.to_string();
        ensure!(said.contains("cgroup namespace") && said.contains("nsenter"), "{said}");
    }
    Ok(())
}

/// There the tree begins with a cgroup that holds us: with controllers handed down from it, the
/// kernel would let no process into a cgroup below.
fn command_inside() -> Result<()> {
    let ours = Place::new(&[])?;
    let output = Command::new(std::env::current_exe()?)
        .args(["exec", "--json", "--", "true"])
        .env(VARIABLE, format!("container {}", ours.v2.display()))
        .stdin(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout)?;
    let exits = &seen["syscalls"]["by_name"]["exit_group"]["count"];
    ensure!(exits.as_u64() == Some(1), "{exits} exits; {}", seen["syscalls"]);
    Ok(())
}

/// Nothing can be counted by a cgroup there; what v1 trees keep is still shown, and why not more.
fn without_v2() -> Result<()> {
    let trees = CgroupTrees::discover()?;
    if !trees.v1.contains_key("cpuacct") {
        return Err(CannotRun("this machine has no v1 tree".into()).into());
    }
    let (place, ours) = (Place::new(&["cpuacct"])?, Place::new(&[])?);
    let mut workload = Workload::start("spin 100")?;
    place.take_in(workload.pid())?;
    let pid = workload.pid().to_string();
    let seen = counted("without-v2", &ours, &["--pid", &pid], &mut workload)?;
    let cpus = seen["cgroup"]["cpu_ratio"].as_f64().context("CPU time")?;
    // 100 ms in a window of a second and a little more.
    ensure!((0.07..0.12).contains(&cpus), "{cpus} CPUs");
    for block in ["syscalls", "sched", "threads"] {
        let why = seen[block]["unavailable"].as_str().context("a reason")?;
        ensure!(why.contains("no cgroup v2 tree is mounted"), "{block}: {why}");
    }
    Ok(())
}

/// A target that is an interior cgroup, with one cgroup below it from the start and one made
/// later, and a sibling that does the same work and is not counted.
fn before_and_after() -> Result<()> {
    let (place, sibling) = (Place::new(&[])?, Place::new(&[])?);
    let below = |name: &str, workload: &Workload| -> Result<PathBuf> {
        let dir = place.v2.join(name);
        std::fs::create_dir(&dir)?;
        std::fs::write(dir.join("cgroup.procs"), workload.pid().to_string())?;
        Ok(dir)
    };
    let (mut early, mut beside) = (caller()?, caller()?);
    let early_dir = below("early", &early)?;
    sibling.take_in(beside.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    let mut late = caller()?;
    let late_dir = below("late", &late)?;
    for workload in [&mut early, &mut beside, &mut late] {
        workload.work()?;
    }
    let sample = set.end().context("a window was begun")?;
    ensure!(calls(&sample)? == 2 * CALLS, "{} calls", calls(&sample)?);
    let threads = measured(&sample.threads)?;
    let pids = |workload: &Workload| threads.iter().filter(|t| t.pid == workload.pid()).count();
    ensure!([pids(&early), pids(&late), pids(&beside)] == [3, 3, 0], "{threads:?}");
    sched(&sample)?;
    for (workload, dir) in [(early, early_dir), (late, late_dir)] {
        workload.finish()?;
        std::fs::remove_dir(dir)?;
    }
    Ok(())
}
