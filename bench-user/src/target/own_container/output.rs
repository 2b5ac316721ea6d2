//! What a container has written, from its engine into the logs of the run.

use std::io::Write as _;

use bollard::container::LogOutput;
use bollard::query_parameters::LogsOptions;
use futures_util::StreamExt as _;

use crate::target::engine::{Engine, EngineError, Wish};
use crate::target::logs::Logs;

/// Copies all that it has written so far.
///
/// # Errors
/// When the engine does not hand it out, or it cannot be kept.
pub(super) fn copy(engine: &Engine, id: &str, logs: &Logs) -> Result<(), EngineError> {
    let fails = |error: std::io::Error| engine.fails(error);
    let mut stdout = logs.stdout.writer().map_err(fails)?;
    let mut stderr = logs.stderr.writer().map_err(fails)?;
    engine.ask_long(Wish::LOGS, async |client| {
        let all = LogsOptions { stdout: true, stderr: true, ..LogsOptions::default() };
        let mut pieces = client.logs(id, Some(all));
        while let Some(piece) = pieces.next().await {
            match piece? {
                LogOutput::StdErr { message } => stderr.write_all(&message)?,
                other => stdout.write_all(&other.into_bytes())?,
            }
        }
        Ok(())
    })
}
