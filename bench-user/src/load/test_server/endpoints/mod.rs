//! Every endpoint, by theme. The name is the path.

/// Who ends the connection, and when.
mod closing;

/// Answers that are not whole or not HTTP.
mod broken;

/// Where a body ends, and how it comes.
mod framing;

/// Heads: odd ones, big ones, those before the final one.
mod heads;

/// Statuses other than 200, and bodies that are refused.
mod status;

use super::Row;

const THEMES: [&[Row]; 5] = [framing::ROWS, heads::ROWS, status::ROWS, closing::ROWS, broken::ROWS];

/// The whole table.
pub(in crate::load) fn rows() -> impl Iterator<Item = &'static Row> {
    THEMES.into_iter().flatten()
}

/// The endpoint of this name.
pub(in crate::load) fn row(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name)
}
