//! One file per command: it calls the modules and prints. The only place, besides `main.rs`,
//! that writes to the terminal.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;
use bench_user::cli;
use bench_user::report::Format;

pub(crate) use view::{Log, say};

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod crawl;
pub(crate) mod doctor;
pub(crate) mod exec;
mod flame;
mod github;
pub(crate) mod history;
pub(crate) mod man;
mod measure;
mod metrics;
pub(crate) mod observe;
mod otlp;
mod recorder;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod study;
mod view;

/// How a command ended that could do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done; there was no question.
    Done,
    /// Done, and the answer is this exit code: that of the claims, or of the command of `exec`.
    Answered(u8),
}

/// Writes to standard output. A reader that has seen enough (`| head`) is no failure, and must
/// not change the exit code of a check.
pub(crate) fn print(render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match render(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended.context("cannot write to standard output"),
    }
}

/// Writes into the file that was asked for, else to standard output.
pub(crate) fn write(
    file: Option<&Path>,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let Some(path) = file else { return print(render) };
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        render(&mut out)?;
        out.flush()
    });
    written.with_context(|| format!("cannot write {}", path.display()))?;
    say(&format!("written to {}", path.display()));
    Ok(())
}

/// Writes data for programs to standard output.
pub(crate) fn print_json(data: &impl serde::Serialize) -> anyhow::Result<()> {
    print(|out| {
        serde_json::to_writer_pretty(&mut *out, data)?;
        writeln!(out)
    })
}

/// The report's format of this name.
pub(crate) fn format(name: cli::Format) -> Format {
    match name {
        cli::Format::Text => Format::Text,
        cli::Format::Markdown => Format::Markdown,
        cli::Format::Json => Format::Json,
    }
}
