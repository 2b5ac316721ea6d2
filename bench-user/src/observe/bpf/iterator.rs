//! Iterators over all tasks (5.8 and later): programs that run once for each task of our pid
//! namespace when their descriptor is read.

use std::fs::File;
use std::io::Read as _;

use aya::Ebpf;
use aya::programs::Iter;

use super::kernel::Kernel;
use super::part;
use super::refusal::{LoadError, explain, refused};

/// Loads one, and tries whether it can be opened.
///
/// # Errors
/// Why the kernel refuses it.
pub(super) fn load(ebpf: &mut Ebpf, kernel: &Kernel, name: &'static str) -> Result<(), LoadError> {
    let program: &mut Iter = part::program(ebpf, name)?;
    program.load("task", kernel.btf()?).map_err(|e| refused("task iterator", &explain(&e)))?;
    open(ebpf, name).map(drop).map_err(|why| refused("task iterator", &why))
}

/// What it writes of all tasks.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn read(ebpf: &mut Ebpf, name: &'static str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    open(ebpf, name)?
        .read_to_end(&mut bytes)
        .map_err(|e| format!("the task iterator cannot be read: {e}"))?;
    Ok(bytes)
}

fn open(ebpf: &mut Ebpf, name: &'static str) -> Result<File, String> {
    let program: &mut Iter = part::program(ebpf, name).map_err(|e| e.to_string())?;
    let link = program.attach().map_err(|e| explain(&e))?;
    let link = program.take_link(link).map_err(|e| explain(&e))?;
    link.into_file().map_err(|e| e.to_string())
}
