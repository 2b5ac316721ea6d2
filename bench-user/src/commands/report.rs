//! `report`: a stored run, rendered again.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::Context as _;
use bench_user::cli::{ReportArgs, ReportFormat, StackArgs};
use bench_user::record::{self, RunRecord};
use bench_user::report::{self, Format};

use super::{Outcome, flame, print, say};

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let draws = matches!(args.format, ReportFormat::Folded | ReportFormat::Flamegraph);
    anyhow::ensure!(
        draws || args.stacks == StackArgs::default(),
        "--kind, --target, --connections and --stage choose stacks: add --format flamegraph"
    );
    let record = record::read(&args.run)?;
    if draws {
        // The choice may be one of nothing, and then a file must stay as it is.
        let mut stacks = Vec::new();
        render(&record, args, &mut stacks)?;
        write(args, |out| out.write_all(&stacks))?;
    } else {
        write(args, |out| render(&record, args, out))?;
    }
    Ok(Outcome::Done)
}

/// Writes where the flags say.
fn write(
    args: &ReportArgs,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let Some(path) = &args.out else { return print(render) };
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        render(&mut out)?;
        out.flush()
    });
    written.with_context(|| format!("cannot write {}", path.display()))?;
    say(&format!("written to {}", path.display()));
    Ok(())
}

fn render(record: &RunRecord, args: &ReportArgs, out: &mut dyn Write) -> io::Result<()> {
    match args.format {
        ReportFormat::Text => report::render(record, Format::Text, out),
        ReportFormat::Markdown => report::render(record, Format::Markdown, out),
        ReportFormat::Json => report::render(record, Format::Json, out),
        ReportFormat::Csv => report::csv(record, out),
        ReportFormat::Hlog => report::hlog(record, out),
        ReportFormat::Folded => report::folded(record, &flame::choice(&args.stacks), out),
        ReportFormat::Flamegraph => report::flamegraph(record, &flame::choice(&args.stacks), out),
    }
}
