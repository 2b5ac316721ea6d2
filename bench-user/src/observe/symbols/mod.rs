//! Names of addresses: of the kernel, of programs and their libraries, and of code that was made at
//! run time.
//!
//! Stacks are sampled as addresses and named after the window, when the process may be gone. So
//! `processes` keeps what is needed of every process while it lives; `names` does the naming,
//! `compiled` reads what run-time compilers write of their code, and `runtimes` knows how they are
//! made to. What has no name keeps the module
//! and the offset in its file.

mod compiled;
mod names;
mod processes;
mod runtimes;

pub(super) use names::Names;
pub(super) use processes::Processes;
