//! Starting other programs: shown before they run, and a failure says which one failed.

use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

/// Shows the command and runs it on our terminal.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Shows the command, runs it on our terminal and gives its status, whatever it is.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    eprintln!("+ {}", shown(command));
    command.status().with_context(|| format!("start `{}`", shown(command)))
}

/// Runs the command silently; its standard output, trimmed.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command
        // A backtrace of rustup or cargo explains nothing to the reader of our error.
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("start `{}`", shown(command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed: {}: {}", shown(command), output.status, complaint.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_repeats_its_complaint() {
        let error = capture(Command::new("sh").args(["-c", "echo no room >&2; exit 3"]));
        let text = format!("{:#}", error.expect_err("the command exits with 3"));
        assert!(text.contains("sh -c") && text.contains("no room"), "{text}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = run(&mut Command::new("no-such-program-here")).expect_err("nothing to start");
        assert!(format!("{error:#}").contains("no-such-program-here"));
    }
}
