//! Both engines, started in a folder of their own and stopped again.

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Resource, getrlimit};

use super::left::Left;
use crate::privilege;
use crate::process::{capture, run};

/// How often it is looked whether an engine listens: for a minute.
const LOOKS: u32 = 1200;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What Podman gives a container where nothing says otherwise, as far as we may.
const DESCRIPTORS: u64 = 1_048_576;
const PROCESSES: u64 = 32_768;

/// Docker and Podman; dropping it stops them and removes all that they made.
pub(super) struct Engines {
    folder: PathBuf,
    started: Vec<(&'static str, Child)>,
    left: Left,
}

impl Engines {
    /// Starts both, and waits until they listen.
    pub(super) fn start() -> Result<Self> {
        // Not below the workspace: the path of a socket has 107 bytes at most.
        let folder = std::env::temp_dir().join(format!("bench-engines-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("make {}", folder.display()))?;
        let left = Left::before(&folder)?;
        let mut engines = Self { folder, started: Vec::new(), left };
        let docker = engines.docker();
        engines.begin("docker", docker)?;
        let podman = engines.podman(&["system", "service", "--time", "0"])?;
        engines.begin("podman", podman)?;
        Ok(engines)
    }

    /// By which `bench-user` finds them.
    pub(super) fn variables(&self) -> [(&'static str, String); 2] {
        [("DOCKER_HOST", self.address("docker")), ("CONTAINER_HOST", self.address("podman"))]
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension("sock")
    }

    fn address(&self, name: &str) -> String {
        format!("unix://{}", self.socket(name).display())
    }

    /// Nothing of the machine's network is touched.
    fn docker(&self) -> Command {
        let mut command = privilege::as_root("dockerd");
        command
            .args(["--bridge=none", "--iptables=false", "--ip-forward=false"])
            .arg("--data-root")
            .arg(self.folder.join("docker"))
            .arg("--exec-root")
            .arg(self.folder.join("docker-exec"))
            .arg("--pidfile")
            .arg(self.folder.join("docker.pid"))
            .arg("--host");
        command
    }

    fn podman(&self, words: &[&str]) -> Result<Command> {
        let (engine, storage) =
            (self.folder.join("containers.conf"), self.folder.join("storage.conf"));
        fs::write(&engine, engine_conf()).context("write Podman's settings")?;
        let root = self.folder.join("podman");
        let text = format!(
            "[storage]\ndriver = \"overlay\"\ngraphroot = \"{0}/root\"\nrunroot = \"{0}/run\"\n",
            root.display()
        );
        fs::write(&storage, text).context("write Podman's storage settings")?;
        let mut command = privilege::as_root("env");
        command
            .arg(format!("CONTAINERS_CONF={}", engine.display()))
            .arg(format!("CONTAINERS_STORAGE_CONF={}", storage.display()))
            .arg("podman")
            // Said here too: `rm --all --force` means everything, and without these two, should the
            // settings be lost on the way (by sudo, or another version), that of the machine.
            .arg("--root")
            .arg(root.join("root"))
            .arg("--runroot")
            .arg(root.join("run"))
            .args(words);
        Ok(command)
    }

    fn begin(&mut self, name: &'static str, mut command: Command) -> Result<()> {
        let (log, socket) = (self.folder.join(name).with_extension("log"), self.socket(name));
        let output = File::create(&log).with_context(|| format!("make {}", log.display()))?;
        let child = command
            .arg(self.address(name))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("start {name}"))?;
        self.started.push((name, child));
        let (_, child) = self.started.last_mut().context("it was started")?;
        for _ in 0..LOOKS {
            if UnixStream::connect(&socket).is_ok() {
                return Ok(());
            }
            if child.try_wait()?.is_some() {
                break;
            }
            thread::sleep(LOOK_AGAIN);
        }
        bail!("{name} does not listen; its last words: {}", last_words(&log))
    }

    fn stop(&mut self) -> Result<()> {
        if self.started.iter().any(|(name, _)| *name == "podman") {
            capture(&mut self.podman(&["rm", "--all", "--force", "--time", "0"])?)?;
        }
        for (name, mut child) in self.started.drain(..).rev() {
            // Docker's own number: between it and us may be a sudo.
            let told = fs::read_to_string(self.folder.join(name).with_extension("pid"));
            let pid = told.map_or_else(|_| child.id().to_string(), |pid| pid.trim().to_owned());
            if child.try_wait()?.is_none() {
                capture(privilege::as_root("kill").arg(pid))?;
            }
            child.wait()?;
        }
        self.left.remove()?;
        let removed =
            run(privilege::as_root("rm").args(["-rf", "--one-file-system"]).arg(&self.folder));
        removed?;
        ensure!(!self.folder.exists(), "{} stays", self.folder.display());
        Ok(())
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("warning: not all of {} is removed: {error:#}", self.folder.display());
        }
    }
}

/// Podman's settings: what works with any init and any mix of cgroup trees, within our limits.
fn engine_conf() -> String {
    let most = |resource, wanted: u64| getrlimit(resource).maximum.unwrap_or(wanted).min(wanted);
    let (files, processes) =
        (most(Resource::Nofile, DESCRIPTORS), most(Resource::Nproc, PROCESSES));
    format!(
        "[containers]\ndefault_ulimits = [\"nofile={files}:{files}\", \
         \"nproc={processes}:{processes}\"]\n\
         [engine]\ncgroup_manager = \"cgroupfs\"\nruntime = \"runc\"\nevents_logger = \"file\"\n"
    )
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join(" | ")
}
