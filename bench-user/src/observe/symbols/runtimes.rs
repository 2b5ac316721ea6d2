//! What is said of processes whose frames have no names: how the known run-time compilers are made
//! to list their functions for profilers, and where there was no function at all.
//!
//! Tried with Node 20, Deno 2.9 and Bun 1.4; the others as their manuals have it.

use std::collections::BTreeMap;

/// How a known run-time compiler is made to list its functions; `None` for any other program, be it
/// an interpreter: what `bash` and `python` run is in their own files.
pub(super) fn remedy(program: &str) -> Option<&'static str> {
    let is = |name: &str| program == name || program.starts_with(&format!("{name}-"));
    if is("node") || is("nodejs") {
        Some("start it with `node --perf-basic-prof --interpreted-frames-native-stack`")
    } else if is("deno") {
        Some(
            "start it with `deno run --v8-flags=--perf-basic-prof,--interpreted-frames-native-stack`",
        )
    } else if is("bun") {
        Some("start it with BUN_JSC_useJITDump=1 in its environment")
    } else if is("java") {
        Some(
            "start it with `java -XX:+PreserveFramePointer`, and run `jcmd PID Compiler.perfmap` \
             (Java 17 and later) or perf-map-agent before the window ends",
        )
    } else if is("dotnet") {
        Some("start it with DOTNET_PerfMapEnabled=1 in its environment")
    } else {
        None
    }
}

/// What is said of a program that ran code in memory of its own and listed none of it.
pub(super) fn unlisted(program: &str) -> String {
    let other = "where it compiles at run time, have it write /tmp/perf-PID.map or a jitdump";
    format!("ran code that no file names: {}", remedy(program).unwrap_or(other))
}

/// What is said of a program with frames where it has no code.
pub(super) fn astray(_program: &str) -> String {
    "has frames where it has no code: it or a library was built without frame pointers, and its \
     stacks may lack the functions around the innermost one"
        .to_owned()
}

/// One sentence a program, with its processes.
pub(super) fn notes<'p>(
    processes: impl Iterator<Item = (&'p str, u32)>,
    says: fn(&str) -> String,
) -> Vec<String> {
    let mut programs = BTreeMap::<&str, Vec<u32>>::new();
    processes.for_each(|(program, pid)| programs.entry(program).or_default().push(pid));
    let note = |(program, pids): (&str, Vec<u32>)| {
        let who = match pids[..] {
            [pid] => format!("process {pid} ({program})"),
            [first, ..] => format!("{program} ({} processes, such as {first})", pids.len()),
            [] => program.to_owned(),
        };
        format!("{who} {}", says(program))
    };
    programs.into_iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_runtime_has_its_own_remedy() {
        let note = |program| notes([(program, 42)].into_iter(), unlisted).join("");
        assert!(note("node").starts_with("process 42 (node) ran code"));
        assert!(note("node").contains("--perf-basic-prof"));
        assert!(note("bun").contains("BUN_JSC_useJITDump=1"));
        assert!(note("nodelike").contains("/tmp/perf-PID.map"));
    }

    #[test]
    fn an_interpreter_is_not_told_to_list_what_it_compiles() {
        for program in ["bash", "python3.12"] {
            assert_eq!(remedy(program), None);
            let said = notes([(program, 42)].into_iter(), astray).join("");
            assert!(said.contains("without frame pointers") && !said.contains("perf"), "{said}");
        }
        let many = notes([("bash", 7), ("node", 8), ("bash", 9)].into_iter(), astray);
        assert!(many[0].starts_with("bash (2 processes, such as 7) has"), "{many:?}");
        assert_eq!(many.len(), 2);
    }
}
