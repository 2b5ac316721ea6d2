//! What one worker counts on streams that stay open.

use super::Events;
use super::timing::Timing;

/// Counts of one worker; all but `first_event` are of the window.
#[derive(Debug)]
pub(super) struct EventTally {
    count: u64,
    bytes: u64,
    shared_reads: u64,
    comments: u64,
    reopened: u64,
    first_event: Timing,
    gap: Timing,
}

/// One event, as it came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    /// When the read that completed it returned.
    pub(super) at_ns: u64,
    /// The same of the event before it on this stream; `None` for its first.
    pub(super) before_ns: Option<u64>,
    /// It came in the same read as the one before it.
    pub(super) is_shared: bool,
    /// Bytes of its data.
    pub(super) bytes: u64,
}

impl EventTally {
    pub(super) fn new() -> Self {
        Self {
            count: 0,
            bytes: 0,
            shared_reads: 0,
            comments: 0,
            reopened: 0,
            first_event: Timing::new(),
            gap: Timing::new(),
        }
    }

    /// The first event of a stream, so long after it was asked for; whole stage.
    pub(super) fn first(&mut self, took_ns: u64) {
        self.first_event.record(took_ns);
    }

    /// An event inside the window.
    pub(super) fn event(&mut self, event: Event) {
        self.count += 1;
        self.bytes += event.bytes;
        self.shared_reads += u64::from(event.is_shared);
        if let Some(before_ns) = event.before_ns {
            self.gap.record(event.at_ns.saturating_sub(before_ns));
        }
    }

    /// A comment inside the window.
    pub(super) fn comment(&mut self) {
        self.comments += 1;
    }

    /// A stream that the server ended was asked for again, inside the window.
    pub(super) fn reopened(&mut self) {
        self.reopened += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.shared_reads += other.shared_reads;
        self.comments += other.comments;
        self.reopened += other.reopened;
        self.first_event.merge(&other.first_event);
        self.gap.merge(&other.gap);
    }

    pub(super) fn into_events(self, window_ns: u64) -> Events {
        #[expect(clippy::cast_precision_loss, reason = "counts and ns of a stage are below 2^53")]
        let per_sec = match window_ns {
            0 => 0.0,
            ns => self.count as f64 * 1e9 / ns as f64,
        };
        Events {
            count: self.count,
            per_sec,
            bytes: self.bytes,
            first_event_ns: self.first_event.distribution(),
            gap_ns: self.gap.distribution(),
            shared_reads: self.shared_reads,
            comments: self.comments,
            reopened: self.reopened,
        }
    }
}
