//! `check`: claims against a stored run.

use std::io::{self, Write};

use bench_user::claims;
use bench_user::cli::{CheckArgs, CheckFormat};
use bench_user::plan::{file, validate};
use bench_user::record::{self, RunRecord};
use bench_user::report::{self, Format};

use super::{Outcome, github, print, write};

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let mut record = record::read(&args.run)?;
    let wanted = match &args.claims {
        Some(path) => file::read_claims(path)?,
        None => record.plan.claims.clone(),
    };
    anyhow::ensure!(
        !wanted.is_empty(),
        "there is no claim to check: name a file of [[claim]] tables"
    );
    let targets: Vec<_> = record.targets.iter().map(|target| target.name.as_str()).collect();
    validate::claims(&wanted, &targets, &record.plan.levels())?;
    claims::validate(&wanted, &targets)?;
    let summary = args.github.then(github::summary_file).transpose()?;
    record.claims = claims::check(&record, &wanted);
    write(args.out.as_deref(), |out| render(&record, args.format, out))?;
    if let Some(file) = summary {
        github::append(&file, &record)?;
        annotate(&record, args)?;
    }
    Ok(Outcome::Answered(claims::exit_code(&record.claims)))
}

fn render(record: &RunRecord, format: CheckFormat, out: &mut dyn Write) -> io::Result<()> {
    let claims = &record.claims;
    match format {
        CheckFormat::Text => report::claims(claims, Format::Text, out),
        CheckFormat::Markdown => report::claims(claims, Format::Markdown, out),
        CheckFormat::Json => report::claims(claims, Format::Json, out),
        CheckFormat::Junit => report::junit(record, out),
    }
}

/// GitHub reads commands on both outputs of a step; data for programs must stay alone on its own.
fn annotate(record: &RunRecord, args: &CheckArgs) -> anyhow::Result<()> {
    let is_data = matches!(args.format, CheckFormat::Json | CheckFormat::Junit);
    let commands = |out: &mut dyn Write| report::github_annotations(&record.claims, out);
    if is_data && args.out.is_none() {
        return Ok(commands(&mut io::stderr())?);
    }
    print(commands)
}
