//! Where a tracepoint of io_uring shows a value: kernels differ in its name, in its arguments,
//! and in whether a value is an argument itself or a member of what one points at.

use bench_ebpf::abi::uring::globals::BY_VALUE;
use btf_rs::{Btf, BtfType, FuncProto, Type};

use crate::observe::bpf::hook::Hook;
use crate::observe::bpf::kernel::Kernel;
use crate::observe::bpf::offsets::offset;
use crate::observe::bpf::part::format_of;
use crate::observe::bpf::refusal::{LoadError, refused};

/// A tracepoint, and where in it the value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) tracepoint: &'static str,
    /// Which argument; unused with a classic tracepoint.
    pub(super) argument: u32,
    /// In what the argument points at, or in the fields; `BY_VALUE` for the argument itself.
    pub(super) offset: u32,
}

/// A value to look for.
struct Value {
    /// Names of the tracepoint, the newest first.
    tracepoints: &'static [&'static str],
    /// Whether an argument of this width in bytes, signed or not, is the value.
    is_it: fn(usize, bool) -> bool,
    /// The struct that holds it otherwise, and the member.
    member: (&'static str, &'static str),
    /// The field of the classic tracepoint, and its width.
    field: (&'static str, u32),
}

/// The tracepoint has its present name since 6.4; up to 5.19 the opcode was an argument.
const OPCODE: Value = Value {
    tracepoints: &["io_uring_submit_req", "io_uring_submit_sqe"],
    is_it: |width, _| width == 1,
    member: ("io_kiocb", "opcode"),
    field: ("opcode", 1),
};

/// Newer kernels pass the whole completion entry instead of the result.
const RESULT: Value = Value {
    tracepoints: &["io_uring_complete"],
    is_it: |width, is_signed| width >= 4 && is_signed,
    member: ("io_uring_cqe", "res"),
    field: ("res", 4),
};

/// Where a submission shows its opcode.
///
/// # Errors
/// When this kernel shows it nowhere.
pub(super) fn opcode(kernel: &Kernel) -> Result<Place, LoadError> {
    find(kernel, &OPCODE)
}

/// Where a completion shows its result.
///
/// # Errors
/// As [`opcode`].
pub(super) fn result(kernel: &Kernel) -> Result<Place, LoadError> {
    find(kernel, &RESULT)
}

fn find(kernel: &Kernel, value: &Value) -> Result<Place, LoadError> {
    match kernel.hook {
        Hook::BtfTracePoint => by_types(kernel.types()?, value).ok_or_else(|| {
            refused(value.tracepoints[0], "this kernel has no such tracepoint (CONFIG_IO_URING)")
        }),
        Hook::ClassicTracePoint => by_format(value),
    }
}

fn by_types(btf: &Btf, value: &Value) -> Option<Place> {
    let find = |tracepoint: &&'static str| {
        let found = btf.resolve_types_by_name(&format!("btf_trace_{tracepoint}")).ok()?;
        let typedef = found.into_iter().find(|found| matches!(found, Type::Typedef(_)))?;
        let Type::FuncProto(prototype) = target(btf, typedef)? else { return None };
        let (argument, offset) = in_arguments(btf, &prototype, value)?;
        Some(Place { tracepoint, argument, offset })
    };
    value.tracepoints.iter().find_map(find)
}

fn in_arguments(btf: &Btf, prototype: &FuncProto, value: &Value) -> Option<(u32, u32)> {
    // The first parameter is the tracepoint's own and no argument.
    let arguments: Vec<_> = prototype
        .parameters
        .iter()
        .skip(1)
        .map(|parameter| btf.resolve_chained_type(parameter).ok().and_then(|t| plain(btf, t)))
        .collect();
    let position = |is_it: &dyn Fn(&Type) -> bool| {
        let at = arguments.iter().position(|argument| argument.as_ref().is_some_and(is_it))?;
        u32::try_from(at).ok()
    };
    let by_value = |argument: &Type| match argument {
        Type::Int(int) => !int.is_bool() && (value.is_it)(int.size(), int.is_signed()),
        _ => false,
    };
    if let Some(at) = position(&by_value) {
        return Some((at, BY_VALUE));
    }
    let (structure, member) = value.member;
    let points_at = |argument: &Type| {
        let Type::Ptr(pointer) = argument else { return false };
        let pointed = btf.resolve_chained_type(pointer).ok().and_then(|t| plain(btf, t));
        matches!(pointed, Some(Type::Struct(s)) if btf.resolve_name(&s).is_ok_and(|n| n == structure))
    };
    Some((position(&points_at)?, offset(btf, structure, member).ok()??))
}

/// A type without its typedefs and qualifiers.
fn plain(btf: &Btf, mut found: Type) -> Option<Type> {
    while let Type::Typedef(_) | Type::Const(_) | Type::Volatile(_) | Type::TypeTag(_) = found {
        found = next(btf, found.as_btf_type()?)?;
    }
    Some(found)
}

/// What a pointer, or a name of one, points at in the end.
fn target(btf: &Btf, found: Type) -> Option<Type> {
    match plain(btf, found)? {
        Type::Ptr(pointer) => plain(btf, next(btf, &pointer)?),
        other => Some(other),
    }
}

fn next(btf: &Btf, of: &dyn BtfType) -> Option<Type> {
    btf.resolve_chained_type(of).ok()
}

fn by_format(value: &Value) -> Result<Place, LoadError> {
    let mut last = refused(value.tracepoints[0], "this kernel has no such tracepoint");
    for tracepoint in value.tracepoints {
        match format_of("io_uring", tracepoint) {
            Ok(text) => {
                let (name, width) = value.field;
                let offset = in_format(&text, name, width)
                    .ok_or_else(|| refused(tracepoint, "the tracepoint has an unknown layout"))?;
                return Ok(Place { tracepoint, argument: 0, offset });
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// The offset of a field of a `format` file, which has a line for each: its type and name, and then
/// `offset:32;` and `size:1;`.
fn in_format(text: &str, name: &str, width: u32) -> Option<u32> {
    let line = text.lines().find(|line| line.contains(&format!(" {name};")))?;
    let number = |key: &str| line.split_once(key)?.1.split(';').next()?.parse::<u32>().ok();
    // The low bytes of a wider field lie first.
    let is_wide_enough = number("size:")? >= width && cfg!(target_endian = "little");
    number("offset:").filter(|_| is_wide_enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: io_uring_submit_req\n\tfield:void * req;\toffset:16;\tsize:8;\t\
        signed:0;\n\tfield:u8 opcode;\toffset:32;\tsize:1;\tsigned:0;\n\tfield:long res;\t\
        offset:40;\tsize:8;\tsigned:1;\nprint fmt: \"opcode %s\", REC->opcode\n";

    #[test]
    fn a_field_is_found_where_the_format_says() {
        assert_eq!(in_format(FORMAT, "opcode", 1), Some(32));
        assert_eq!(in_format(FORMAT, "res", 4), Some(40));
        assert_eq!(in_format(FORMAT, "opcode", 4), None, "it is narrower");
        assert_eq!(in_format(FORMAT, "flags", 1), None);
    }

    #[test]
    fn the_running_kernel_shows_both_or_neither() {
        let Ok(btf) = Btf::from_file("/sys/kernel/btf/vmlinux") else { return };
        let (opcode, result) = (by_types(&btf, &OPCODE), by_types(&btf, &RESULT));
        assert_eq!(opcode.is_some(), result.is_some(), "{opcode:?} {result:?}");
        if let Some(place) = opcode.filter(|place| place.tracepoint == "io_uring_submit_req") {
            assert_eq!(place.argument, 0, "since 6.0 the request is the first argument");
            assert_ne!(place.offset, BY_VALUE);
        }
    }
}
