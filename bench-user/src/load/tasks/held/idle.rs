//! One connection that is opened and held: nothing is sent, so it is no request, and what comes
//! is dropped.

use tokio::io::AsyncReadExt as _;

use super::super::setting::Setting;
use super::super::stream::{self, Stream};
use super::open::Closed;
use crate::load::failure::Failure;
use crate::load::recorder::IsLive;

/// An open connection.
#[derive(Debug)]
pub(super) struct Idle {
    stream: Stream,
    _live: IsLive,
}

impl Idle {
    pub(super) async fn open(
        setting: &Setting,
        place: usize,
        again: bool,
    ) -> Result<Self, Failure> {
        let stream = stream::open(setting, place, again).await?;
        Ok(Self { stream, _live: setting.live.hold() })
    }

    /// Waits until the connection ends, in whatever way.
    pub(super) async fn read(&mut self) -> Closed {
        loop {
            // Small, since every connection has it.
            match self.stream.read(&mut [0; 64]).await {
                Ok(n) if n > 0 => {}
                _ => return Closed { ended_stream: false, is_good: false },
            }
        }
    }
}
