//! `build-ebpf`: compiles the probes and leaves the object with its stamp in `target/bpf`.

use std::{env, fs};

use anyhow::{Context, Result};

use crate::process::run;
use crate::setup::{self, ProbeToolchain};
use crate::stamp::{self, Object};
use crate::workspace::Workspace;

/// Arguments of `build-ebpf`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compile the probes that write log lines, for `bench-user --probe-log`
    #[arg(long)]
    probe_log: bool,
}

/// The verb.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    let object = if args.probe_log { stamp::LOGGING } else { stamp::SILENT };
    compile(workspace, &setup::ensure(workspace)?, object)
}

/// Compiles one build of the probes.
///
/// # Errors
/// When it does not compile or cannot be stored.
pub(crate) fn compile(
    workspace: &Workspace,
    toolchain: &ProbeToolchain,
    object: Object,
) -> Result<()> {
    // Taken before the build: sources that change meanwhile must leave a stale stamp.
    let sources = stamp::of_sources(&workspace.root, env::consts::ARCH)
        .context("read the sources of the probes")?;
    let mut build = toolchain.build(workspace);
    if object == stamp::LOGGING {
        build.args(["--features", "probe-log"]);
    }
    run(&mut build).context("compile the probes")?;

    let built = workspace.target.join("bpf-build/bpfel-unknown-none/release/bench-ebpf");
    let (path, stamp) = (object.path(&workspace.root), object.stamp(&workspace.root));
    // An unchanged object keeps its time, so that `bench-user` is not built again for nothing.
    let bytes = fs::read(&built).with_context(|| format!("read {}", built.display()))?;
    if fs::read(&path).ok().as_ref() == Some(&bytes)
        && fs::read_to_string(&stamp).ok().as_ref() == Some(&sources)
    {
        return Ok(());
    }
    fs::create_dir_all(stamp::dir(&workspace.root)).context("make the folder of the objects")?;
    fs::write(&path, bytes).with_context(|| format!("write {}", path.display()))?;
    fs::write(&stamp, sources).with_context(|| format!("write {}", stamp.display()))
}
