//! `bench-user`: drives a ladder of HTTP load at a server and counts, in the kernel, what the
//! server's cgroup does in every stage.
//!
//! ```text
//!  target --handle--> observe --+
//!   |                          +--> ladder --> record --> analyze --> claims --> report
//!   +-----handle--> load ------+                 |            pure: no clock, no root, no network
//!                                            run.json
//! ```
//!
//! Data flows to the right; a module may `use` only what stands above it in this file.
//!
//! Invariants, the first four tested by `cargo xtask tidy`:
//! 1. `record`, `analyze`, `claims`, `report` and `live` never touch the measured system (only
//!    `record/store` does file I/O), so a report needs no root and can be made a year later.
//! 2. `load` and `observe` never name each other: client numbers and kernel numbers stay
//!    independent witnesses. Only `ladder` knows both.
//! 3. Only `main.rs` and `commands/` print; `report` renders into a writer, `live` into text and
//!    buffers that `commands/view` puts on a terminal.
//! 4. `unsafe` only in `bench-ebpf`: in its BPF programs, and where bytes of the kernel become its
//!    types (`abi.rs`, the `Pod` implementations).
//! 5. A missing observer is data (`Measured::Unavailable`), not an error.

/// Durations, sizes and rates as people write and read them.
pub mod units;

/// Lists of CPUs as the kernel and people write them.
pub mod cpu_list;

/// The one monotonic clock, the same as the kernel side's.
pub mod clock;

/// A value that was measured, or the reason why it was not.
pub mod measured;

/// Histograms and their summary in the record.
pub mod distribution;

/// TLS from the client's side.
pub mod tls;

/// One GET, or a connection alone, for readiness and crawling, or one POST to a collector of
/// metrics; never used inside a stage.
pub mod fetch;

/// The command line: types and help text only.
pub mod cli;

/// What the user asked for: plan file and command line, validated.
pub mod plan;

/// The machine: what it is, what it can do, where its cgroup trees are.
pub mod host;

/// The system under test: found or started, described by one handle, stopped.
pub mod target;

/// Drives requests at it and times them from the client's side.
pub mod load;

/// Watches it from the kernel's side.
pub mod observe;

/// Runs stages and takes both readings at the same boundary.
pub mod ladder;

/// What a run leaves behind.
pub mod record;

/// Findings: a pure function of a record.
pub mod analyze;

/// Statements checked against a record.
pub mod claims;

/// A record rendered for people and programs.
pub mod report;

/// A run as it looks while it goes on: from the ladder's events to text and screens.
pub mod live;

/// The studies of published articles: set up, run part by part, set beside what was claimed.
pub mod study;
