//! The flame graph of one window (`--flamegraph` of `observe` and `exec`), and the stacks of a run.

use std::io::{BufWriter, Write as _};

use anyhow::Context as _;
use bench_user::cli::{FlameArgs, StackArgs, StackKindName};
use bench_user::host::owner;
use bench_user::observe::Sample;
use bench_user::report::{self, StackChoice, StackKind};

use super::say;

/// Draws it if it was asked for. What cannot be drawn must not cost the figures: it is said.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn draw(args: &FlameArgs, sample: &Sample) -> anyhow::Result<()> {
    let Some(path) = &args.flamegraph else { return Ok(()) };
    let mut svg = Vec::new();
    if let Err(why) = report::sample_flamegraph(sample, kind(args.flamegraph_kind), &mut svg) {
        say(&format!("warning: no flame graph: {why}"));
        return Ok(());
    }
    owner::make_file(path, owner::owner_from_sudo())
        .and_then(|file| {
            let mut out = BufWriter::new(file);
            out.write_all(&svg)?;
            out.flush()
        })
        .with_context(|| format!("cannot write {}", path.display()))?;
    say(&format!("flame graph written to {}", path.display()));
    Ok(())
}

/// What flags choose of a run.
pub(super) fn choice(args: &StackArgs) -> StackChoice {
    StackChoice {
        kind: kind(args.kind.unwrap_or_default()),
        target: args.target.clone(),
        connections: args.connections,
        stage: args.stage,
    }
}

fn kind(name: StackKindName) -> StackKind {
    match name {
        StackKindName::OnCpu => StackKind::OnCpu,
        StackKindName::OffCpu => StackKind::OffCpu,
    }
}
