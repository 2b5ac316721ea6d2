//! Every bottleneck provoked by a real program, and answered exactly.
//!
//! The machine is shared and small: the target and the tool stand in cgroups whose share of the
//! CPU is so large that strangers hardly take any from them, and the tool works on a CPU of its
//! own wherever the target can do with one.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bench_user::host::topology;
use bench_user::record::{self, Bottleneck, StageRecord};
use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::limited_server::LimitedServer;
use crate::place::{CannotRun, Place, trial};
use crate::server::{Server, bench_user};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("bottleneck::one_busy_thread_is_single_thread", one_busy_thread),
        trial("bottleneck::four_threads_on_one_cpu_are_cpu", four_threads_on_one_cpu),
        trial("bottleneck::two_threads_and_a_quota_of_one_are_cpu_quota", quota_of_one),
        trial("bottleneck::half_a_cpu_of_quota_is_cpu_quota", quota_of_half),
        trial("bottleneck::one_thread_and_a_quota_of_one_are_single_thread", thread_within_quota),
        trial("bottleneck::a_neighbour_on_its_cpu_is_run_queue", neighbour),
        trial("bottleneck::kills_at_the_memory_limit_are_memory", memory_limit),
        trial("bottleneck::a_backlog_of_one_is_accept_queue", backlog_of_one),
        trial("bottleneck::another_servers_full_queue_is_not_its_own", queue_of_another),
        trial("bottleneck::a_throttled_client_is_client", slow_client),
        trial("bottleneck::a_server_with_time_to_spare_is_none", idle),
    ]
}

/// Two CPUs of the machine, as `(target's, tool's)`.
fn two_cpus() -> Result<(String, String)> {
    match topology::online_cpus()?[..] {
        [first, second, ..] => Ok((first.to_string(), second.to_string())),
        _ => Err(CannotRun("it takes two CPUs".into()).into()),
    }
}

/// A cgroup that gets all the CPU that it asks for.
fn favoured(more: &[&str]) -> Result<Place> {
    let place = Place::new(&[&["cpu"], more].concat())?;
    place.set("cpu", ("cpu.shares", "262144"), ("cpu.weight", "10000"))?;
    Ok(place)
}

fn on_cpu(place: &Place, cpu: &str) -> Result<()> {
    place.set("cpuset", ("cpuset.mems", "0"), ("cpuset.mems", "0"))?;
    place.set("cpuset", ("cpuset.cpus", cpu), ("cpuset.cpus", cpu))
}

fn quota(place: &Place, cpus: f64) -> Result<()> {
    let us = format!("{:.0}", cpus * 100_000.0);
    let max = format!("{us} 100000");
    place.set("cpu", ("cpu.cfs_period_us", "100000"), ("cpu.max", &max))?;
    place.set("cpu", ("cpu.cfs_quota_us", &us), ("cpu.max", &max))
}

/// One stage of a second against what is in `place`, by a tool in a favoured cgroup.
fn stage(place: &Place, url: &str, more: &[&str]) -> Result<StageRecord> {
    stage_by(&favoured(&[])?, place, url, more)
}

fn stage_by(tool: &Place, place: &Place, url: &str, more: &[&str]) -> Result<StageRecord> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    let child = bench_user()
        .args(["run", "--quiet", "--no-control", "--warmup", "300ms", "--duration", "1200ms"])
        .args(["--workers", "1", "--url", url, "--cgroup"])
        .arg(&place.v2)
        .arg("--out")
        .arg(&out)
        .args(more)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()?;
    tool.take_in(child.id())?;
    let output = child.wait_with_output()?;
    only_stage(&out).with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn only_stage(out: &Path) -> Result<StageRecord> {
    let mut run = record::read(out)?;
    run.targets.pop().and_then(|mut target| target.stages.pop()).context("one stage")
}

fn is(stage: &StageRecord, expected: Bottleneck) -> Result<()> {
    let verdict = &stage.verdict;
    ensure!(
        verdict.bottleneck == expected,
        "{verdict:?}; {:?}; {:?}; {:?}; {:?}",
        stage.threads,
        stage.cgroup,
        stage.load.generator,
        stage.net
    );
    Ok(())
}

fn one_busy_thread() -> Result<()> {
    let place = favoured(&[])?;
    let server = LimitedServer::start("burn 1 3000", &place)?;
    is(&stage(&place, server.url.as_str(), &["--connections", "6"])?, Bottleneck::SingleThread)
}

fn four_threads_on_one_cpu() -> Result<()> {
    let (target, tool) = two_cpus()?;
    let place = favoured(&["cpuset"])?;
    on_cpu(&place, &target)?;
    let server = LimitedServer::start("burn 4 3000", &place)?;
    let flags = ["--connections", "8", "--load-cpus", &tool];
    is(&stage(&place, server.url.as_str(), &flags)?, Bottleneck::Cpu)
}

fn quota_of_one() -> Result<()> {
    two_cpus()?;
    let place = favoured(&[])?;
    quota(&place, 1.0)?;
    let server = LimitedServer::start("burn 2 3000", &place)?;
    let stage = stage(&place, server.url.as_str(), &["--connections", "8"])?;
    is(&stage, Bottleneck::CpuQuota)
}

fn quota_of_half() -> Result<()> {
    for threads in [1, 2] {
        let place = favoured(&[])?;
        quota(&place, 0.5)?;
        let server = LimitedServer::start(&format!("burn {threads} 3000"), &place)?;
        let stage = stage(&place, server.url.as_str(), &["--connections", "8"])?;
        is(&stage, Bottleneck::CpuQuota).with_context(|| format!("{threads} threads"))?;
    }
    Ok(())
}

fn thread_within_quota() -> Result<()> {
    two_cpus()?;
    let place = favoured(&[])?;
    quota(&place, 1.0)?;
    let server = LimitedServer::start("burn 1 3000", &place)?;
    let stage = stage(&place, server.url.as_str(), &["--connections", "6"])?;
    is(&stage, Bottleneck::SingleThread)
}

fn neighbour() -> Result<()> {
    let (target, tool) = two_cpus()?;
    let (place, beside) = (favoured(&["cpuset"])?, favoured(&["cpuset"])?);
    on_cpu(&place, &target)?;
    on_cpu(&beside, &target)?;
    // Far more than it can get before it is killed.
    let mut spinner = Workload::start("spin 60000")?;
    beside.take_in(spinner.pid())?;
    let server = LimitedServer::start("burn 1 3000", &place)?;
    spinner.go()?;
    let flags = ["--connections", "6", "--load-cpus", &tool];
    is(&stage(&place, server.url.as_str(), &flags)?, Bottleneck::RunQueue)
}

fn memory_limit() -> Result<()> {
    let place = favoured(&["memory"])?;
    let limit = (48_u64 << 20).to_string();
    place.set("memory", ("memory.limit_in_bytes", &limit), ("memory.max", &limit))?;
    let server = LimitedServer::start(&format!("hog {}", 256 << 20), &place)?;
    let stage = stage(&place, server.url.as_str(), &["--connections", "2"])?;
    let kills = stage.cgroup.oom_kills.value().copied().unwrap_or(0);
    ensure!(kills > 0, "{:?}", stage.cgroup);
    is(&stage, Bottleneck::Memory)
}

/// A client whose SYN was dropped sends it again after a second, so that most of the eight wait
/// while the server does nothing.
fn backlog_of_one() -> Result<()> {
    let place = favoured(&[])?;
    let server = LimitedServer::start("backlog 1 5", &place)?;
    let stage = stage(&place, server.url.as_str(), &["--connections", "8"])?;
    let net = stage.net.value().context("its namespace is ours")?;
    let [listener] = &net.listeners[..] else { anyhow::bail!("{:?}", net.listeners) };
    ensure!(listener.accept_queue_limit.value() == Some(&1), "{listener:?}");
    ensure!(listener.accept_queue_max <= 2, "one may wait, and one more is taken: {listener:?}");
    is(&stage, Bottleneck::AcceptQueue)
}

/// The counter of overflows is that of the namespace, in which both listen. Answers take 300 ms,
/// as they would after a dropped connection, so that the load is no witness.
fn queue_of_another() -> Result<()> {
    let (place, other) = (favoured(&[])?, favoured(&[])?);
    let server = LimitedServer::start("burn 1 50000", &place)?;
    let full = LimitedServer::start("backlog 1 5", &other)?;
    let address = full.url.socket_addrs(|| None)?[0];
    let enough = std::sync::atomic::AtomicBool::new(false);
    let stage = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(std::sync::atomic::Ordering::Relaxed) {
                // Four at once are two more than may wait; the others are given up at once.
                let wait = std::time::Duration::from_millis(20);
                let dials: Vec<_> = (0..4)
                    .map(|_| {
                        scope.spawn(move || std::net::TcpStream::connect_timeout(&address, wait))
                    })
                    .collect();
                for dial in dials {
                    dial.join().ok();
                }
            }
        });
        let stage = stage(&place, server.url.as_str(), &["--connections", "6"]);
        enough.store(true, std::sync::atomic::Ordering::Relaxed);
        stage
    })?;
    let net = stage.net.value().context("its namespace is ours")?;
    ensure!(net.listen_overflows > 0, "nothing overflowed: {net:?}");
    ensure!(net.listener_drops.value() == Some(&0), "{net:?}");
    is(&stage, Bottleneck::SingleThread)
}

fn slow_client() -> Result<()> {
    let (place, tool) = (favoured(&[])?, favoured(&[])?);
    quota(&tool, 0.3)?;
    let server = Server::start("lean", &place)?;
    let stage = stage_by(&tool, &place, server.url.as_str(), &["--connections", "32"])?;
    is(&stage, Bottleneck::Client)
}

fn idle() -> Result<()> {
    let place = favoured(&[])?;
    let server = Server::start("lean", &place)?;
    let flags = ["--connections", "2", "--rate", "50"];
    is(&stage(&place, server.url.as_str(), &flags)?, Bottleneck::None)
}
