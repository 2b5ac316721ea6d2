//! Hands requests to the lanes of a worker: at once in the closed loop, by the schedule in the
//! open one, there to the lane that has been free for longest.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Poll, Waker};

use tokio::sync::Notify;

use super::alarm::Alarm;
use crate::clock;
use crate::load::pacer::Pacer;
use crate::load::recorder::Recorder;

/// Where the lanes of a worker get their requests from, in one stage.
#[derive(Debug)]
pub(super) struct Desk {
    recorder: Rc<Recorder>,
    pacer: RefCell<Option<Pacer>>,
    free: RefCell<VecDeque<Rc<Slot>>>,
    /// A lane has become free while requests wait.
    news: Notify,
    is_over: Cell<bool>,
}

/// What a free lane waits at.
#[derive(Debug, Default)]
struct Slot {
    intended_ns: Cell<Option<u64>>,
    /// Nobody waits here any more.
    is_left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Slot {
    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Leaves the slot when the wait is given up, and gives back a request that nobody looked at.
struct Place<'a> {
    slot: Rc<Slot>,
    desk: &'a Desk,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.slot.is_left.set(true);
        if let (Some(intended_ns), Some(pacer)) =
            (self.slot.intended_ns.take(), self.desk.pacer.borrow_mut().as_mut())
        {
            pacer.was_not_sent(intended_ns);
        }
    }
}

impl Desk {
    pub(super) fn new(pacer: Option<Pacer>, recorder: &Rc<Recorder>) -> Self {
        Self {
            recorder: Rc::clone(recorder),
            pacer: RefCell::new(pacer),
            free: RefCell::default(),
            news: Notify::new(),
            is_over: Cell::new(false),
        }
    }

    /// Requests are sent by a schedule.
    pub(super) fn is_open_loop(&self) -> bool {
        self.pacer.borrow().is_some()
    }

    /// Waits for a request to send and gives its intended time; `None` when there will be none in
    /// this stage. Cancel-safe: a request is handed over only to who still waits.
    pub(super) async fn next(&self) -> Option<u64> {
        if self.pacer.borrow().is_none() {
            let now_ns = clock::now_ns();
            return self.recorder.accepts_requests(now_ns).then_some(now_ns);
        }
        let slot = Rc::new(Slot::default());
        self.free.borrow_mut().push_back(Rc::clone(&slot));
        self.news.notify_one();
        let place = Place { slot, desk: self };
        poll_fn(|cx| {
            let slot = &place.slot;
            if let Some(intended_ns) = slot.intended_ns.take() {
                return Poll::Ready(Some(intended_ns));
            }
            if self.is_over.get() {
                return Poll::Ready(None);
            }
            *slot.waker.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The intended time of a request for a lane that has no connection to send it on: such a
    /// request fails. `None` in an open loop where none is due.
    pub(super) fn next_to_fail(&self) -> Option<u64> {
        let now_ns = clock::now_ns();
        let mut pacer = self.pacer.borrow_mut();
        let Some(pacer) = pacer.as_mut() else { return Some(now_ns) };
        pacer.notice(now_ns);
        pacer.take(now_ns)
    }

    /// Keeps to the schedule until the window ends; returns at once in the closed loop.
    pub(super) async fn pace(self: Rc<Self>, alarm: impl FnOnce() -> io::Result<Alarm>) {
        if self.pacer.borrow().is_none() {
            return;
        }
        // Without a timer of the kernel nothing is sent, and the stage says so: all unsent.
        let Ok(alarm) = alarm() else { return };
        loop {
            let now_ns = clock::now_ns();
            let window = self.recorder.window();
            if now_ns >= window.end_ns {
                break;
            }
            let wake_ns = self.hand_out(now_ns).min(window.end_ns);
            tokio::select! {
                rang = alarm.sleep_until(wake_ns) => if rang.is_err() { break },
                () = self.news.notified() => {}
            }
        }
        self.is_over.set(true);
        self.free.borrow_mut().drain(..).for_each(|slot| slot.wake());
    }

    /// Hands out what is due and gives the time to do so next.
    fn hand_out(&self, now_ns: u64) -> u64 {
        let mut pacer = self.pacer.borrow_mut();
        let Some(pacer) = pacer.as_mut() else { return u64::MAX };
        let mut free = self.free.borrow_mut();
        pacer.notice(now_ns);
        free.retain(|slot| !slot.is_left.get());
        while let Some(slot) = free.front() {
            let Some(intended_ns) = pacer.take(now_ns) else { break };
            slot.intended_ns.set(Some(intended_ns));
            slot.wake();
            free.pop_front();
        }
        if free.is_empty() {
            pacer.none_is_free();
        }
        pacer.wake_ns(!free.is_empty())
    }

    /// Hands the counts of the schedule to the recorder.
    pub(super) fn finish(self, recorder: &Recorder) {
        if let Some(pacer) = self.pacer.into_inner() {
            recorder.paced(pacer.into_paced(recorder.window().end_ns));
        }
    }
}
