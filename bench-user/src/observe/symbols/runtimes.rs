//! How the known run-time compilers are made to list their functions for profilers.
//!
//! Tried with Node 20, Deno 2.9 and Bun 1.4; the others as their manuals have it.

/// One sentence about a process that ran code without names.
pub(super) fn note(program: &str, pid: u32) -> String {
    let is = |name: &str| program == name || program.starts_with(&format!("{name}-"));
    let how = if is("node") || is("nodejs") {
        "start it with `node --perf-basic-prof --interpreted-frames-native-stack`"
    } else if is("deno") {
        "start it with `deno run --v8-flags=--perf-basic-prof,--interpreted-frames-native-stack`"
    } else if is("bun") {
        "start it with BUN_JSC_useJITDump=1 in its environment"
    } else if is("java") {
        "start it with `java -XX:+PreserveFramePointer`, and run `jcmd PID Compiler.perfmap` \
         (Java 17 and later) or perf-map-agent before the window ends"
    } else if program.starts_with("python") {
        "start it with `python -X perf` (3.12 and later)"
    } else if is("dotnet") {
        "start it with DOTNET_PerfMapEnabled=1 in its environment"
    } else {
        "where it compiles at run time, have it write /tmp/perf-PID.map or a jitdump"
    };
    format!("process {pid} ({program}) ran code that no file names: {how}")
}

#[cfg(test)]
mod tests {
    use super::note;

    #[test]
    fn a_known_runtime_has_its_own_remedy() {
        assert!(note("node", 42).starts_with("process 42 (node) ran code"));
        assert!(note("node", 42).contains("--perf-basic-prof"));
        assert!(note("bun", 42).contains("BUN_JSC_useJITDump=1"));
        assert!(note("python3.12", 42).contains("-X perf"));
        assert!(note("nodelike", 42).contains("/tmp/perf-PID.map"));
    }
}
