//! `engine-test`: containers that `bench-user` starts itself, with Docker and Podman of this machine.
//!
//! Both engines run for this alone, in a folder of their own with their images and sockets, without
//! a bridge and without firewall rules, and the privileged tests `images::` ask them. Whatever they
//! made is stopped, unmounted and removed again, the packages stay.

mod engines;
mod left;

use anyhow::{Result, ensure};

use crate::setup::{self, apt};
use crate::workspace::Workspace;
use crate::{build_ebpf, privilege, process, stamp, test};
use engines::Engines;

/// The engines and what they need, by Debian's names. Podman takes the runtime of Docker, because
/// its own (crun) refuses machines with v1 controllers beside the v2 tree.
const PACKAGES: [&str; 4] = ["docker.io", "iptables", "podman", "runc"];

/// Arguments of `engine-test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A part of the tests' names
    #[arg(default_value = "images::")]
    tests: String,
}

/// The verb.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    ensure!(privilege::can_be_root(), "to start container engines takes root: use sudo");
    if ["dockerd", "podman", "runc"].iter().any(|program| privilege::on_path(program).is_none()) {
        apt::install(&PACKAGES)?;
    }
    let toolchain = setup::ensure(workspace)?;
    build_ebpf::compile(workspace, &toolchain, stamp::SILENT)?;
    let engines = Engines::start()?;
    let mut tests = test::privileged(workspace);
    tests.envs(engines.variables()).arg("--").arg(&args.tests);
    process::run(&mut tests)
}
