//! `report`: a stored run, rendered again.

use std::io::{self, Write};

use bench_user::cli::{ReportArgs, ReportFormat, StackArgs};
use bench_user::record::{self, RunRecord};
use bench_user::report::{self, Format};

use super::otlp::{self, Collector};
use super::{Outcome, flame, say, write};

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let draws = matches!(args.format, ReportFormat::Folded | ReportFormat::Flamegraph);
    anyhow::ensure!(
        draws || args.stacks == StackArgs::default(),
        "--kind, --target, --connections and --stage choose stacks: add --format flamegraph"
    );
    let record = record::read(&args.run)?;
    if let Some(flag) = &args.otlp {
        let collector = Collector::find(flag, &otlp::variable)?;
        collector.push_run(&record)?;
        say(&format!("metrics pushed to {}", collector.url()));
        return Ok(Outcome::Done);
    }
    let file = args.out.as_deref();
    if draws || args.format == ReportFormat::Junit {
        // There may be nothing of the kind in the run, and then a file must stay as it is.
        let mut rendered = Vec::new();
        render(&record, args, &mut rendered)?;
        write(file, |out| out.write_all(&rendered))?;
    } else {
        write(file, |out| render(&record, args, out))?;
    }
    Ok(Outcome::Done)
}

fn format(args: &ReportArgs) -> ReportFormat {
    if args.html { ReportFormat::Html } else { args.format }
}

fn render(record: &RunRecord, args: &ReportArgs, out: &mut dyn Write) -> io::Result<()> {
    match format(args) {
        ReportFormat::Text => report::render(record, Format::Text, out),
        ReportFormat::Markdown => report::render(record, Format::Markdown, out),
        ReportFormat::Html => report::html(record, out),
        ReportFormat::Json => report::render(record, Format::Json, out),
        ReportFormat::Csv => report::csv(record, out),
        ReportFormat::Hlog => report::hlog(record, out),
        ReportFormat::Folded => report::folded(record, &flame::choice(&args.stacks), out),
        ReportFormat::Flamegraph => report::flamegraph(record, &flame::choice(&args.stacks), out),
        ReportFormat::Prometheus => report::prometheus(record, out),
        ReportFormat::Junit => report::junit(record, out),
        ReportFormat::Github => report::github_summary(record, report::SUMMARY_MAX, out),
    }
}
