//! What the library and the program do from the outside, without root.

/// Claims for CI systems.
mod ci;

/// The real program: help, bad arguments, completions, and the README's words about them.
mod cli;

/// Runs pushed to a collector.
mod otlp;

/// Series for Prometheus.
mod prometheus;

/// Records made by hand.
mod runs;

/// Stored text.
mod golden;

/// Reports against stored text.
mod report;

/// Comparisons of repetitions, and what a comparison fails on.
mod compare;
/// A run as it is shown while it goes on.
mod live;

/// Reports as pages for a browser, as text; `tests/page` opens them.
mod html;
/// The same by the real program, in a file and on a terminal.
mod terminal;

/// Runs in the formats of other tools.
mod export;

/// The entries of the fuzz targets, with seeded mutations.
mod fuzz;

/// The runs of a folder.
mod history;

/// Stacks for flame graphs.
mod stacks;

/// Records on disk.
mod store;

/// The plans in `examples/`.
mod studies;
