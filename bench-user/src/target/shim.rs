//! The step between fork and the target's `execve`: this program again, as `bench-user __shim`.
//!
//! Rust allows no code of ours between fork and exec without `unsafe`, so the tool starts itself
//! with this hidden word. The shim ties its life to the tool's, leaves the tool's session, stops,
//! and, when it is continued, becomes the target: its next syscall is the `execve`.

use std::ffi::{CString, OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::{Command, ExitCode};

use nix::unistd::execve;
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal, setsid,
};

/// First argument of a process that is a shim.
pub const WORD: &str = "__shim";

/// What the shim is asked to become; travels through its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    /// Who must be alive.
    pub(super) parent: u32,
    /// Opened for writing and closed by the `execve`; a failed one leaves its errno there.
    pub(super) report: OsString,
    /// The file to execute.
    pub(super) program: OsString,
    /// Its arguments, the name it is called by first.
    pub(super) argv: Vec<OsString>,
}

impl Order {
    /// Appends this order to the command that starts the shim.
    pub(super) fn put(&self, command: &mut Command) {
        command.arg(WORD).arg(self.parent.to_string()).arg(&self.report).arg(&self.program);
        command.args(&self.argv);
    }

    /// The order in the arguments after [`WORD`].
    fn take(args: &[OsString]) -> Option<Self> {
        let [parent, report, program, argv @ ..] = args else { return None };
        Some(Self {
            parent: parent.to_str()?.parse().ok()?,
            report: report.clone(),
            program: program.clone(),
            argv: argv.to_vec(),
        })
    }
}

/// Becomes what the arguments after [`WORD`] order; comes back only when that failed.
///
/// Standard error is the target's log here: what could not be done is told there.
#[must_use]
pub fn shim_main(args: &[OsString]) -> ExitCode {
    let failure = match Order::take(args) {
        Some(order) => become_target(&order).map_or_else(|e| e.to_string(), |never| match never {}),
        None => "not started by bench-user; this word is for its own use".into(),
    };
    // There is nobody left to tell when even this fails.
    drop(writeln!(std::io::stderr(), "bench-user {WORD}: {failure}"));
    ExitCode::from(127)
}

fn become_target(order: &Order) -> anyhow::Result<std::convert::Infallible> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before the line above, and then no signal will come.
    let parent = getppid().map(Pid::as_raw_nonzero).map(i32::from);
    anyhow::ensure!(parent == i32::try_from(order.parent).ok(), "bench-user is gone");
    setsid()?;
    sigpipe::reset();

    let mut report = OpenOptions::new().write(true).open(&order.report)?;
    let program = c_string(&order.program)?;
    let argv = order.argv.iter().map(|a| c_string(a)).collect::<Result<Vec<_>, _>>()?;
    let environment = environment()?;
    // `execve` below allocates two arrays of pointers: memory for them is fetched now, so that
    // no syscall for it comes between the stop and the `execve`.
    drop((Vec::<usize>::with_capacity(argv.len() + 1), vec![0_usize; environment.len() + 1]));

    kill_process(getpid(), Signal::STOP)?;
    let Err(errno) = execve(&program, &argv, &environment);
    report.write_all(&(errno as i32).to_ne_bytes())?;
    Err(errno.into())
}

fn environment() -> anyhow::Result<Vec<CString>> {
    std::env::vars_os()
        .map(|(name, value)| {
            let mut pair = name.into_vec();
            pair.push(b'=');
            pair.extend(value.into_vec());
            Ok(CString::new(pair)?)
        })
        .collect()
}

fn c_string(text: &OsStr) -> anyhow::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_the_way_through_the_arguments() {
        let order = Order {
            parent: 7,
            report: "/proc/7/fd/3".into(),
            program: "/bin/echo".into(),
            argv: vec!["echo".into(), "--".into(), "".into(), OsString::from_vec(vec![0xff])],
        };
        let mut command = Command::new("shim");
        order.put(&mut command);
        let args: Vec<OsString> = command.get_args().map(OsStr::to_os_string).collect();
        assert_eq!(args[0], WORD);
        assert_eq!(Order::take(&args[1..]), Some(order));
    }

    #[test]
    fn arguments_of_somebody_else_are_no_order() {
        assert_eq!(Order::take(&["x".into(), "y".into(), "z".into()]), None);
        assert_eq!(Order::take(&["1".into()]), None);
    }
}
