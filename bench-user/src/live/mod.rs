//! What a run looks like while it goes on: a state that news change, and text and screens made of
//! it.
//!
//! Pure: no clock (who asks says what time it is), no terminal, no thread; `commands/view` has
//! those. The figures are the samples of the record as the ladder hands them on, nothing is read a
//! second time. What is ahead is reckoned from the plan and corrected by what the stages so far
//! really took.

mod ahead;
mod fit;
mod news;
mod outline;
mod pace;
mod rules;
mod screen;
mod state;
mod status;

pub use fit::{Piece, Tone, cut, fit, join, printable};
pub use news::{Finished, News};
pub use outline::Outline;
pub use rules::Distance;
pub use screen::Screen;
pub use state::{Now, Phase, State, Under};
pub use status::{bar, busiest, distance, heartbeat, per_request, status, subject};

#[cfg(test)]
mod tests;
