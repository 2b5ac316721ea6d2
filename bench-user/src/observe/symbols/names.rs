//! Addresses of stacks to names of functions.
//!
//! Source: `/proc/kallsyms`; the symbol tables of ELF files; what run-time compilers list.
//! Blind to: static functions of programs without a symbol table; debug information, so inlined
//! functions show as the function that holds them.
//! Costs: each file is read once a window, after it.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolizer};

use super::compiled::Compiled;
use super::processes::{Holds, Mapping, Process, Processes};
use super::runtimes;

/// Names frames as long as it lives, and remembers what it has read.
pub(in crate::observe) struct Names<'a> {
    processes: &'a Processes,
    symbolizer: Symbolizer,
    kernel: Source<'static>,
    /// Open files of each process, so that a path of ours names them.
    files: HashMap<(u32, PathBuf), Option<File>>,
    compiled: HashMap<u32, Option<Compiled>>,
    known: HashMap<(u32, u64), String>,
    /// Processes that ran code in memory of their own and list none of it.
    unlisted: BTreeSet<u32>,
    /// Processes with frames outside of all their code.
    astray: BTreeSet<u32>,
    gone: u64,
}

/// Process id that stands for the kernel among what is known.
const KERNEL: u32 = 0;

impl<'a> Names<'a> {
    /// Nothing is read before the first question.
    pub(in crate::observe) fn new(processes: &'a Processes) -> Self {
        let kernel = Kernel {
            kallsyms: MaybeDefault::Default,
            // kallsyms has the names; a vmlinux that lies about may be another kernel's.
            vmlinux: MaybeDefault::None,
            ..Kernel::default()
        };
        Self {
            processes,
            symbolizer: Symbolizer::builder().enable_code_info(false).build(),
            kernel: Source::Kernel(kernel),
            files: HashMap::new(),
            compiled: HashMap::new(),
            known: HashMap::new(),
            unlisted: BTreeSet::new(),
            astray: BTreeSet::new(),
            gone: 0,
        }
    }

    /// The function of the kernel at an address, marked as such.
    pub(in crate::observe) fn of_kernel(&mut self, address: u64) -> String {
        if let Some(known) = self.known.get(&(KERNEL, address)) {
            return known.clone();
        }
        let found = symbol(&self.symbolizer, &self.kernel, Input::AbsAddr(address));
        let name = found.unwrap_or_else(|| "[unknown]".into()) + "_[k]";
        self.known.insert((KERNEL, address), name.clone());
        name
    }

    /// The function of a process at an address.
    pub(in crate::observe) fn of_process(&mut self, pid: u32, address: u64) -> String {
        if let Some(known) = self.known.get(&(pid, address)) {
            return known.clone();
        }
        let name = match self.processes.get(pid) {
            Some(process) => self.look_up(pid, process, address),
            None => {
                self.gone += 1;
                "[unknown] process gone".into()
            }
        };
        self.known.insert((pid, address), name.clone());
        name
    }

    /// What was in the way of names and what to do about it.
    pub(in crate::observe) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.gone > 0 {
            notes.push(
                "some processes ended before they were looked at: their frames have no names"
                    .to_owned(),
            );
        }
        let program = |pid: &u32| Some((self.processes.get(*pid)?.program.as_str(), *pid));
        notes.extend(runtimes::notes(self.unlisted.iter().filter_map(program), runtimes::unlisted));
        notes.extend(runtimes::notes(self.astray.iter().filter_map(program), runtimes::astray));
        notes
    }

    fn look_up(&mut self, pid: u32, process: &Process, address: u64) -> String {
        let Some(mapping) = process.mapping(address) else {
            // Code of a compiler may lie in memory that was mapped after the last look; of any other
            // program this is no code at all.
            let is_compiler = runtimes::remedy(&process.program).is_some();
            return self.compiled(pid, process, address).unwrap_or_else(|| {
                let astray = if is_compiler { &mut self.unlisted } else { &mut self.astray };
                astray.insert(pid);
                "[unknown] unmapped".to_owned()
            });
        };
        match &mapping.holds {
            Holds::Anonymous => self.compiled(pid, process, address).unwrap_or_else(|| {
                self.unlisted.insert(pid);
                "[unknown] anonymous".to_owned()
            }),
            Holds::Special(name) => format!("[unknown] {name}"),
            Holds::File(path) => self.in_file(pid, process, path, mapping, address),
        }
    }

    /// The function that the process says it compiled there.
    fn compiled(&mut self, pid: u32, process: &Process, address: u64) -> Option<String> {
        let map = self.compiled.entry(pid).or_insert_with(|| process.compiled());
        Some(format!("{}_[j]", map.as_ref()?.name(address)?))
    }

    fn in_file(
        &mut self,
        pid: u32,
        process: &Process,
        path: &Path,
        mapping: &Mapping,
        address: u64,
    ) -> String {
        let offset = mapping.file_offset(address);
        let file = self.files.entry((pid, path.to_owned())).or_insert_with(|| process.open(path));
        let found = file.as_ref().and_then(|file| {
            let elf = Elf {
                debug_syms: false,
                ..Elf::new(format!("/proc/self/fd/{}", file.as_raw_fd()))
            };
            symbol(&self.symbolizer, &Source::Elf(elf), Input::FileOffset(offset))
        });
        found.unwrap_or_else(|| {
            let module = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            format!("[unknown] {module}+{offset:#x}")
        })
    }
}

fn symbol(symbolizer: &Symbolizer, source: &Source<'_>, at: Input<u64>) -> Option<String> {
    let found = symbolizer.symbolize_single(source, at);
    if let Err(e) = &found {
        log::debug!("no symbol: {e:#}");
    }
    found.ok()?.into_sym().map(|symbol| symbol.name.into_owned())
}
