//! The generator: one stage of requests, timed from the client's side.
//!
//! Knows addresses and nothing of the kernel side.

mod sample;

pub use sample::{Account, Connections, Generator, LoadSample, Outcomes, Progress};
