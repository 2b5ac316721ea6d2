//! Containers that the tool starts itself, at real engines: what is counted in them, how their ends
//! are told, and that none is left.
//!
//! Each test is made for Docker and for Podman, and ignored where the environment names no such
//! engine: `DOCKER_HOST` and `CONTAINER_HOST`, which `cargo xtask engine-test` sets.

mod bench;
mod ends;
mod runs;

use anyhow::{Context as _, Result, ensure};
use bench_user::clock;
use bench_user::observe::{ObserverSet, Options};
use bench_user::target::{Target, TargetKind};
use libtest_mimic::Trial;

use self::bench::{Bench, archive};
use crate::place::trial;
use crate::run::load;

/// A test at one engine.
type Test = fn(&Bench) -> Result<()>;

pub(crate) fn tests() -> Vec<Trial> {
    let here: [(&str, Test); 5] = [
        ("every_call_of_a_container_is_counted", known_calls),
        ("a_start_takes_at_least_what_its_container_waits", startup),
        ("the_size_of_an_image_is_the_engines", image_size),
        ("limits_are_those_of_its_cgroup", limits),
        ("command_environment_folder_and_volume_are_the_plans", surroundings),
    ];
    let all = || here.into_iter().chain(ends::tests()).chain(runs::tests());
    let of = |engine: &'static str| {
        all().map(move |(name, test)| {
            trial(&format!("images::{engine}::{name}"), move || test(&Bench::new(engine)?))
        })
    };
    ["docker", "podman"].into_iter().flat_map(of).collect()
}

/// Read at rest before the first connection and after the last close: one receive and one send a
/// request, and the receive of each connection's end.
fn known_calls(bench: &Bench) -> Result<()> {
    let target = bench.start(&bench.spec(""))?;
    ensure!(target.handle.kind == TargetKind::Image, "{:?}", target.handle);
    let at_rest = target.idle().threads.value().copied().context("threads")?;
    let mut set = ObserverSet::attach(&target.handle, &Options::default());
    set.begin();
    let sample = load(&target.handle.urls[0], 7)?;
    crate::run::pause_until(crate::run::in_seconds(5), || {
        Ok(target.idle().threads.value().is_some_and(|threads| *threads <= at_rest.min(1)))
    })?;
    let kernel = set.end().context("a window was begun")?;
    let requests = sample.account.completed;
    ensure!(requests > 0 && sample.account.failed == 0, "{sample:?}");
    let by_name = &kernel.syscalls.as_result().map_err(|why| anyhow::anyhow!("{why}"))?.by_name;
    let count = |syscall| by_name.get(syscall).map_or(0, |count| count.count);
    let (receives, sends) = (count("recvfrom"), count("sendto"));
    ensure!(receives == requests + 7, "{receives} receives, {requests} requests");
    ensure!(sends == requests, "{sends} sends, {requests} requests");
    drop(target);
    bench.nothing_left_of("images")
}

/// Half a second of known waiting, and no more than the whole call took.
fn startup(bench: &Bench) -> Result<()> {
    let mut spec = bench.scripted("sleep 0.5", "wait");
    spec.ready = Some("/stats".into());
    let called_ns = clock::now_ns();
    let target = bench.start(&spec)?;
    let call_ms = (clock::now_ns() - called_ns) as f64 / 1e6;
    let startup_ms = target.startup_ms().context("it was started")?;
    ensure!((500.0..=call_ms).contains(&startup_ms), "{startup_ms} ms of a call of {call_ms} ms");
    let idle = target.idle();
    ensure!(idle.processes.value() == Some(&2), "a shell and the server: {idle:?}");
    ensure!(idle.rss_bytes.value().is_some_and(|rss| *rss > 1 << 20), "{idle:?}");
    Ok(())
}

/// Layers are kept without the padding of an archive, and with an engine's own few kB.
fn image_size(bench: &Bench) -> Result<()> {
    let target = bench.start(&bench.spec(""))?;
    let image = target.image().context("it has an image")?;
    let size = image.size_bytes.context("the engine says it")?;
    ensure!(size == bench.engine.image_bytes(&bench.image)?, "{image:?}");
    let archived = archive()?.metadata()?.len();
    ensure!(size.abs_diff(archived) < archived / 50, "{size} bytes of an archive of {archived}");
    ensure!(bench.engine.has_image(&bench.image)? && !bench.engine.has_image("bench-test/no:1")?);
    Ok(())
}

fn limits(bench: &Bench) -> Result<()> {
    let target = bench.start(&bench.spec("cpus = 0.5\ncpuset = \"0\"\nmemory = \"256MiB\""))?;
    let read = |controller: &str, v1: &str, v2: &str| -> Result<String> {
        let place = target.handle.controllers.get(controller).context(controller.to_owned())?;
        let file = place.path.join(if place.is_v1 { v1 } else { v2 });
        Ok(std::fs::read_to_string(file)?.trim().to_owned())
    };
    let quota = read("cpu", "cpu.cfs_quota_us", "cpu.max")?;
    ensure!(quota.split(' ').next() == Some("50000"), "{quota}");
    ensure!(read("cpuset", "cpuset.cpus", "cpuset.cpus")? == "0");
    let memory = read("memory", "memory.limit_in_bytes", "memory.max")?;
    ensure!(memory == "268435456", "{memory}");
    Ok(())
}

fn surroundings(bench: &Bench) -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("file"), "of the host\n")?;
    let says = "echo \"$GREETING from $PWD\"; cat /shared/file; echo complaint >&2\n\
                echo >/shared/new || echo \"may not write\"";
    let mut spec = bench.scripted(says, "wait");
    spec.env.insert("GREETING".into(), "hello = you".into());
    spec.dir = Some("/work".into());
    spec.volumes = vec![format!("{}:/shared:ro", folder.path().display())];
    Target::stop(bench.start(&spec)?).context("it was started")?;
    let said = bench.log("stdout")?;
    ensure!(said.starts_with("hello = you from /work\nof the host\nmay not write\n"), "{said}");
    ensure!(said.contains("listening on http://127.0.0.1:"), "{said}");
    ensure!(bench.log("stderr")?.starts_with("complaint\n"), "{}", bench.log("stderr")?);
    ensure!(!folder.path().join("new").exists(), "it wrote");
    spec.volumes = vec!["/nowhere/here:/shared".into()];
    let error = bench.start(&spec).err().context("it started")?.to_string();
    ensure!(error.contains("/nowhere/here"), "{error}");
    bench.nothing_left_of("images")
}
