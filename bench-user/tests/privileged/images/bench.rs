//! The engine that a test is for, an image of the servers in it, and what it has of a run.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use bench_user::fetch::Fetcher;
use bench_user::plan::TargetSpec;
use bench_user::target::{Contact, Engine, StartOptions, Target, TargetError};
use serde_json::Value;
use tempfile::TempDir;

use crate::place::CannotRun;

/// What is in the image: the server, and a shell that can be told to end in many ways.
const PROGRAMS: [&str; 4] = ["/bin/sh", "/bin/sleep", "/bin/cat", "/usr/bin/tail"];
/// Where the server is in it.
pub(super) const SERVER: &str = "/bench-user";

/// An engine with an image of ours, which is removed when this is dropped.
pub(super) struct Bench {
    pub(super) name: &'static str,
    pub(super) engine: Engine,
    pub(super) image: String,
    pub(super) logs: TempDir,
    pub(super) port: u16,
    fetcher: Fetcher,
}

impl Bench {
    /// At the engine that the environment names for this one.
    pub(super) fn new(name: &'static str) -> Result<Self> {
        let variable = if name == "docker" { "DOCKER_HOST" } else { "CONTAINER_HOST" };
        if std::env::var_os(variable).is_none_or(|value| value.is_empty()) {
            let why = format!("{variable} names no engine; `cargo xtask engine-test` starts one");
            return Err(CannotRun(why).into());
        }
        let engine = Engine::named(name)?;
        let image = format!("bench-test/{}:{}", std::process::id(), fastrand::u32(..));
        let archive = fs::File::open(archive()?)?;
        engine.import(archive, &image, &[format!("CMD [\"{SERVER}\", \"serve\"]")])?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (logs, fetcher) = (TempDir::new()?, Fetcher::default());
        Ok(Self { name, engine, image, logs, port, fetcher })
    }

    /// A target of the image that runs the server, with more keys of a plan.
    pub(super) fn spec(&self, keys: &str) -> TargetSpec {
        let Self { name, image, port, .. } = self;
        let mut spec: TargetSpec = toml::from_str(&format!(
            "name = \"it\"\nimage = \"{image}\"\nengine = \"{name}\"\n\
             url = \"http://127.0.0.1:{port}/\"\n{keys}"
        ))
        .expect("a target of a plan");
        spec.command.get_or_insert_with(|| self.serve());
        spec
    }

    fn serve(&self) -> Vec<String> {
        [SERVER, "serve", "--address", &format!("127.0.0.1:{}", self.port)]
            .map(str::to_owned)
            .into()
    }

    /// The same with a shell around the server, which runs it in the background as `$!`.
    pub(super) fn scripted(&self, before: &str, after: &str) -> TargetSpec {
        let script = format!("{before}\n{} &\n{after}", self.serve().join(" "));
        let mut spec = self.spec("");
        spec.command = Some(vec!["/bin/sh".into(), "-c".into(), script]);
        spec
    }

    pub(super) fn start(&self, spec: &TargetSpec) -> Result<Target, TargetError> {
        let options = StartOptions {
            run_id: "images",
            logs_dir: self.logs.path(),
            shim: None,
            fetcher: &self.fetcher,
            interrupted: None,
            contact: Contact::default(),
        };
        Target::start(spec, &options)
    }

    /// The containers of a run, by what begins its label.
    pub(super) fn containers(&self, run: &str) -> Result<Vec<Value>> {
        let all: Vec<Value> = serde_json::from_str(&self.get("/containers/json?all=1")?)?;
        let label =
            |container: &Value| container["Labels"]["bench-user.run"].as_str().map(str::to_owned);
        let of_run = |container: &Value| label(container).is_some_and(|l| l.starts_with(run));
        Ok(all.into_iter().filter(of_run).collect())
    }

    pub(super) fn nothing_left_of(&self, run: &str) -> Result<()> {
        let left = self.containers(run)?;
        let commands: Vec<_> = left.iter().map(|container| &container["Command"]).collect();
        ensure!(commands.is_empty(), "left behind: {commands:?}");
        Ok(())
    }

    /// In the old protocol, which ends the answer with the connection.
    fn get(&self, path: &str) -> Result<String> {
        let mut stream = UnixStream::connect(self.engine.socket())?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("a head and a body")?;
        Ok(body.to_owned())
    }

    /// What the target has written, once it is over.
    pub(super) fn log(&self, stream: &str) -> Result<String> {
        Ok(fs::read_to_string(self.logs.path().join(format!("it.{stream}.log")))?)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Err(error) = self.engine.remove_image(&self.image) {
            eprintln!("{error}");
        }
    }
}

/// The root filesystem of the image, made once.
pub(super) fn archive() -> Result<&'static Path> {
    static MADE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    if let Some((_folder, archive)) = MADE.get() {
        return Ok(archive);
    }
    let folder = TempDir::new()?;
    let (root, archive) = (folder.path().join("root"), folder.path().join("root.tar"));
    fs::create_dir_all(root.join("work"))?;
    let tool = env!("CARGO_BIN_EXE_bench-user");
    let server = root.join(SERVER.trim_start_matches('/'));
    done(Command::new("strip").arg("-o").arg(&server).arg(tool))?;
    libraries(Path::new(tool), &root)?;
    for program in PROGRAMS {
        copy(Path::new(program), &root)?;
        libraries(Path::new(program), &root)?;
    }
    done(Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg("."))?;
    Ok(&MADE.get_or_init(|| (folder, archive)).1)
}

/// What the loader would map for a program.
fn libraries(program: &Path, root: &Path) -> Result<()> {
    let output = Command::new("ldd").arg(program).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(Path::new).try_for_each(|library| copy(library, root))
}

/// At the same place below `root`, whatever links lead to it.
fn copy(file: &Path, root: &Path) -> Result<()> {
    let place = root.join(file.strip_prefix("/")?);
    fs::create_dir_all(place.parent().context("a folder")?)?;
    fs::copy(file, &place).with_context(|| format!("copy {}", file.display()))?;
    Ok(())
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
