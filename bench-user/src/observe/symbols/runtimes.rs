//! How the known run-time compilers are made to list their functions for profilers.

/// One sentence about a process that ran code without names.
pub(super) fn note(program: &str, pid: u32) -> String {
    let how = match program {
        name if name.starts_with("node") => {
            "start node with --perf-basic-prof and --interpreted-frames-native-stack"
        }
        _ => "its run-time compiler must write /tmp/perf-PID.map",
    };
    format!("process {pid} ({program}) ran code that no file names: {how}")
}
