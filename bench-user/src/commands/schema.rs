//! `schema`: the JSON Schema of `run.json`.

use bench_user::record;

use super::{Outcome, print_json};

pub(crate) fn run() -> anyhow::Result<Outcome> {
    print_json(&record::schema())?;
    Ok(Outcome::Done)
}
