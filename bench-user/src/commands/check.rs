//! `check`: claims against a stored run.

use bench_user::cli::CheckArgs;
use bench_user::plan::{file, validate};
use bench_user::record;
use bench_user::{claims, report};

use super::{Outcome, format, print};

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let record = record::read(&args.run)?;
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
    let results = claims::check(&record, &wanted);
    print(|out| report::claims(&results, format(args.format), out))?;
    Ok(Outcome::Answered(claims::exit_code(&results)))
}
