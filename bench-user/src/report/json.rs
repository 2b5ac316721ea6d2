//! Writes the data itself as JSON, one value, indented.

use std::io::{self, Write};

use serde::Serialize;

/// Writes `data` and a line end.
pub(super) fn write<T: Serialize + ?Sized>(data: &T, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, data)?;
    writeln!(out)
}
