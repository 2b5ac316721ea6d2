//! A target from its start (or the moment it was found) to its end.

mod image;

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;

use url::Url;

use super::cgroup::CgroupError;
use super::container::{Container, FirstProcess};
use super::found::{self, Found};
use super::life::{Life, Stranger};
use super::limits::Limits;
use super::logs::Logs;
use super::oom::{KernelLog, OomKills};
use super::own_container::OwnContainer;
use super::ready::{Contact, Question, announced_url, refuse_stranger};
use super::spawn::{CommandLine, OURSELVES, Spawned, Streams, program_of};
use super::watch::Watch;
use super::{Exit, Idle, Image, TargetError, TargetHandle, TargetKind, idle, proxy};
use crate::fetch::Fetcher;
use crate::host::CgroupTrees;
use crate::measured::Measured;
use crate::plan::{Builtin, TargetSpec};

/// What a start needs to know of the run.
#[derive(Debug, Clone, Copy)]
pub struct StartOptions<'a> {
    /// Names the run in the cgroups that we make.
    pub run_id: &'a str,
    /// The run folder: a command's output goes there.
    pub logs_dir: &'a Path,
    /// The `bench-user` binary, where the running program is another one (tests).
    pub shim: Option<&'a Path>,
    /// Asks whether it is ready and well.
    pub fetcher: &'a Fetcher,
    /// Set when the user wants the program to end: waiting for a target to get ready ends then.
    pub interrupted: Option<&'a AtomicBool>,
    /// How the target is asked whether it is there.
    pub contact: Contact<'a>,
}

/// A target that is there to be measured. Dropping it is the same as stopping it.
#[derive(Debug)]
pub struct Target {
    /// All that `load` and `observe` may know.
    pub handle: TargetHandle,
    /// What the user should know of how it was found, as sentences; told, not recorded.
    pub notes: Vec<String>,
    /// A user-space proxy that requests pass on their way, as a sentence with the remedy.
    pub proxy: Option<String>,
    question: Option<Question>,
    fetcher: Fetcher,
    startup_ns: Option<u64>,
    life: Life,
}

impl Target {
    /// Starts or finds the target and waits until it is ready.
    ///
    /// Call it outside of a tokio runtime, on a thread that lives as long as the target: the
    /// kernel kills a started one when that thread ends.
    ///
    /// # Errors
    /// One of [`TargetError`]; whatever was made until then is removed.
    pub fn start(spec: &TargetSpec, options: &StartOptions<'_>) -> Result<Self, TargetError> {
        if let Some(reference) = &spec.image {
            image::start(reference, spec, options)
        } else if let Some(command) = &spec.command {
            let url = spec.url.clone().ok_or_else(|| TargetError::NoUrl(spec.name.clone()))?;
            refuse_stranger(&spec.name, &url, options.contact)?;
            let argv: Vec<OsString> = command.iter().map(OsString::from).collect();
            Self::start_program(spec, options, TargetKind::Command, &argv, Some(url))
        } else if let Some(kind) = spec.builtin {
            let program = options.shim.unwrap_or(Path::new(OURSELVES));
            let argv = serve_arguments(program, kind);
            Self::start_program(spec, options, TargetKind::Builtin, &argv, None)
        } else {
            Self::find(spec, options)
        }
    }

    /// Whether what the start of a target takes is there, without starting it: the engine and the
    /// image of a container, or the programs of a command and of what a job has run before it.
    ///
    /// # Errors
    /// What is missing.
    pub fn can_start(spec: &TargetSpec) -> Result<(), TargetError> {
        if let Some(reference) = &spec.image {
            return Ok(OwnContainer::can_be_made(reference, spec)?);
        }
        let dir = spec.dir.as_deref().unwrap_or(Path::new("."));
        let look_up = |command: &Vec<String>| {
            let first = command.first().map_or(OsStr::new(""), OsStr::new);
            program_of(first, dir, &spec.env).map(|_| ())
        };
        spec.before.iter().try_for_each(look_up)?;
        // What is run before may be what makes the program, or a folder of the target's own PATH.
        let is_elsewhere = |command: &Vec<String>| {
            let is_path = command.first().is_some_and(|first| first.contains('/'));
            spec.before.is_none() || !(is_path || spec.env.contains_key("PATH"))
        };
        spec.command.iter().filter(|command| is_elsewhere(command)).try_for_each(look_up)
    }

    /// `url` is `None` for a program that tells its own.
    fn start_program(
        spec: &TargetSpec,
        options: &StartOptions<'_>,
        kind: TargetKind,
        argv: &[OsString],
        url: Option<Url>,
    ) -> Result<Self, TargetError> {
        let logs = Logs::open(options.logs_dir, &spec.name)?;
        let command = CommandLine {
            name: &spec.name,
            run_id: options.run_id,
            argv,
            env: &spec.env,
            dir: spec.dir.as_deref().unwrap_or(Path::new(".")),
            limits: Limits::of(spec),
            shim: options.shim,
        };
        let failed = |e: std::io::Error| TargetError::Prepare(spec.name.clone(), e.to_string());
        let streams = Streams {
            stdin: Stdio::null(),
            stdout: logs.stdout.writer().map_err(failed)?.into(),
            stderr: logs.stderr.writer().map_err(failed)?.into(),
        };
        let spawned = Spawned::prepare(&command, streams)?;
        let mut handle = spawned.handle(&spec.name, kind, Vec::new());
        let mut process = spawned.release()?;
        let url = match url {
            Some(url) => url,
            None => announced_url(spec, &mut process, &logs, options.interrupted)?,
        };
        let question = Question::of(spec, &url, options.contact)?;
        let startup_ns = question.ask_until_ready(spec, &mut process, &logs, options)?;
        handle.urls = vec![url];
        Ok(Self {
            handle,
            notes: Vec::new(),
            // Nothing but the program that was started may serve its address.
            proxy: None,
            question: Some(question),
            fetcher: options.fetcher.clone(),
            startup_ns: Some(startup_ns),
            life: Life::Ours(Box::new(process)),
        })
    }

    fn find(spec: &TargetSpec, options: &StartOptions<'_>) -> Result<Self, TargetError> {
        let trees = CgroupTrees::discover().map_err(CgroupError::from)?;
        let mut container = None;
        let (kind, found) = if let Some(name) = &spec.container {
            let running = Container::find(name, spec.engine.as_deref())?;
            let found = found::by_pid(running.process.pid, spec, options.run_id, &trees)?;
            container = Some(running);
            (TargetKind::Container, found)
        } else if let Some(dir) = &spec.cgroup {
            (TargetKind::Cgroup, found::by_cgroup(dir, &trees)?)
        } else if let Some(pid) = spec.pid {
            (TargetKind::Pid, found::by_pid(pid, spec, options.run_id, &trees)?)
        } else if let Some(unit) = &spec.unit {
            (TargetKind::Unit, found::by_unit(unit, &trees)?)
        } else {
            let why = "no kernel side: the target is an address alone";
            (TargetKind::Url, Found::nowhere(Measured::unavailable(why)))
        };
        let (controllers, notes) = found::controllers_of(&found, &trees);
        let question = spec.url.as_ref();
        let question = question.map(|url| Question::of(spec, url, options.contact)).transpose()?;
        if let Some(question) = &question {
            question.ask_running(spec, options)?;
        }
        let life = if kind == TargetKind::Url {
            Life::Unknown
        } else {
            // A cgroup ends with its last process, not with its first.
            let watched = found.main_pid.filter(|_| kind != TargetKind::Cgroup);
            let watch =
                watched.map(|pid| Watch::open(pid).map_err(|_gone| TargetError::NoProcess(pid)));
            let mut oom = OomKills::watch(controllers.get("memory"));
            if let Some(FirstProcess { id, pid, .. }) = container.as_ref().map(|c| &c.process) {
                oom = oom.with_log(KernelLog::open(id, Some(*pid)));
            }
            Life::Strangers(Box::new(Stranger {
                watch: watch.transpose()?,
                container,
                oom,
                exit: None,
                adopted: found.adopted,
            }))
        };
        let handle = TargetHandle {
            name: spec.name.clone(),
            kind,
            urls: spec.url.iter().cloned().collect(),
            cgroup: found.cgroup,
            controllers,
            main_pid: found.main_pid,
        };
        let proxy = handle.urls.first().and_then(proxy::in_path);
        let fetcher = options.fetcher.clone();
        Ok(Self { handle, notes, proxy, question, fetcher, startup_ns: None, life })
    }

    /// From the begin of the program, or from the order to the engine to start the container, to
    /// its first good answer, ms; `None` for a target that ran already. It is asked again 3 ms after
    /// each answer that will not do.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a start takes far less than 2^53 ns")]
    pub fn startup_ms(&self) -> Option<f64> {
        self.startup_ns.map(|ns| ns as f64 / 1e6)
    }

    /// What it holds now; meant to be asked before the first request.
    #[must_use]
    pub fn idle(&self) -> Idle {
        idle::look(&self.handle.cgroup)
    }

    /// The image of a container.
    #[must_use]
    pub fn image(&self) -> Option<&Image> {
        self.life.image()
    }

    /// How its main process ended, if it has; never blocks. A cgroup ends with its last process,
    /// an address never.
    pub fn poll_exit(&mut self) -> Option<Exit> {
        self.life.poll_exit(&self.handle.cgroup)
    }

    /// Whether one GET of its `ready` address (or `url`) answers 2xx.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.question.as_ref().is_some_and(|question| question.is_healthy(&self.fetcher))
    }

    /// Ends a target that we started, with everything in its cgroup; leaves one that we found as
    /// it was. `None` for a target that runs on.
    pub fn stop(self) -> Option<Exit> {
        self.life.stop(&self.handle.cgroup)
    }
}

/// The command line of a built-in server, as `bench-user serve` takes it.
fn serve_arguments(program: &Path, kind: Builtin) -> Vec<OsString> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).to_string();
    [program.as_os_str().to_owned()]
        .into_iter()
        .chain(["serve", "--builtin", kind.name(), "--address", &address].map(OsString::from))
        .collect()
}
