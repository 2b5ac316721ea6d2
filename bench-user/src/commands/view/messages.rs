//! The channel to the view: bounded, and nobody who sends waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bench_user::clock;
use bench_user::live::News;

/// Messages that may wait.
const ROOM: usize = 1024;

/// With so many waiting no sample is added, so that lines and stages have room left.
const ROOM_FOR_SAMPLES: usize = 128;

/// What the view is told.
pub(super) enum Message {
    /// A line that stays.
    Says(String),
    /// Something that happened, and when, ns.
    News(News, u64),
    /// The run is over.
    End,
}

/// The end that tells.
#[derive(Clone)]
pub(crate) struct Sender {
    to: SyncSender<Message>,
    waiting: Arc<AtomicUsize>,
    dropped_lines: Arc<AtomicU64>,
}

pub(super) fn channel() -> (Sender, Receiver<Message>) {
    let (to, from) = sync_channel(ROOM);
    (Sender { to, waiting: Arc::default(), dropped_lines: Arc::default() }, from)
}

impl Sender {
    /// Tells of something that happens now; drops it where there is no room.
    pub(crate) fn news(&self, news: News) {
        let is_sample = matches!(news, News::Sampled { .. });
        if is_sample && self.waiting.load(Relaxed) >= ROOM_FOR_SAMPLES {
            return;
        }
        self.put(Message::News(news, clock::now_ns()));
    }

    /// Hands on a line; drops it where there is no room, and counts it.
    pub(super) fn say(&self, line: &str) {
        if !self.put(Message::Says(line.to_owned())) {
            self.dropped_lines.fetch_add(1, Relaxed);
        }
    }

    /// Lines that were dropped since the last call.
    pub(super) fn dropped_lines(&self) -> u64 {
        self.dropped_lines.swap(0, Relaxed)
    }

    /// A message was taken out.
    pub(super) fn taken(&self) {
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// Nothing more comes; waits for room.
    pub(super) fn end(&self) {
        // Refused only by a view that panicked.
        drop(self.to.send(Message::End));
    }

    fn put(&self, message: Message) -> bool {
        self.waiting.fetch_add(1, Relaxed);
        let has_room = self.to.try_send(message).is_ok();
        if !has_room {
            self.waiting.fetch_sub(1, Relaxed);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_user::ladder::StageSample;
    use bench_user::load::SoFar;

    fn sample() -> News {
        let (sample, so_far) = (Box::<StageSample>::default(), SoFar::default());
        News::Sampled { sample, busiest: Vec::new(), so_far }
    }

    #[test]
    fn nobody_waits_for_a_view_that_takes_nothing_and_samples_are_dropped_first() {
        let (sender, from) = channel();
        (0..10 * ROOM).for_each(|_| sender.news(sample()));
        (0..ROOM + 7).for_each(|n| sender.say(&n.to_string()));
        let mut said = Vec::new();
        let mut samples = 0;
        while let Ok(message) = from.try_recv() {
            sender.taken();
            match message {
                Message::Says(line) => said.push(line),
                Message::News(..) => samples += 1,
                Message::End => unreachable!("nobody ended it"),
            }
        }
        assert_eq!((samples, said.len()), (ROOM_FOR_SAMPLES, ROOM - ROOM_FOR_SAMPLES));
        assert_eq!((said[0].as_str(), sender.dropped_lines()), ("0", 128 + 7));
        assert_eq!(sender.dropped_lines(), 0, "each is told once");
        sender.news(sample());
        assert!(from.try_recv().is_ok(), "there is room again");
    }
}
