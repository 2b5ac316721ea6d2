//! `report`: a stored run, rendered again.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use anyhow::Context as _;
use bench_user::cli::ReportArgs;
use bench_user::record;
use bench_user::report;

use super::{Outcome, format, print};

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let record = record::read(&args.run)?;
    let format = format(args.format);
    match &args.out {
        None => print(|out| report::render(&record, format, out))?,
        Some(path) => {
            let written = File::create(path).and_then(|file| {
                let mut out = BufWriter::new(file);
                report::render(&record, format, &mut out)?;
                out.flush()
            });
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(Outcome::Done)
}
