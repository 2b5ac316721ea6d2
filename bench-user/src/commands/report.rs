//! `report`: a stored run, rendered again.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::Context as _;
use bench_user::cli::{ReportArgs, ReportFormat};
use bench_user::record::{self, RunRecord};
use bench_user::report::{self, Format};

use super::{Outcome, print};

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let record = record::read(&args.run)?;
    match &args.out {
        None => print(|out| render(&record, args.format, out))?,
        Some(path) => {
            let written = File::create(path).and_then(|file| {
                let mut out = BufWriter::new(file);
                render(&record, args.format, &mut out)?;
                out.flush()
            });
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(Outcome::Done)
}

fn render(record: &RunRecord, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ReportFormat::Text => report::render(record, Format::Text, out),
        ReportFormat::Markdown => report::render(record, Format::Markdown, out),
        ReportFormat::Json => report::render(record, Format::Json, out),
        ReportFormat::Csv => report::csv(record, out),
        ReportFormat::Hlog => report::hlog(record, out),
    }
}
