//! One stage: waits for news of sockets and for what is due, until nothing is left to do.
//!
//! Nothing is armed for a request. One instant, `due_ns`, says when the loop has to look at its
//! clocks next; between two waits it is compared with the time after every event, so that a long
//! batch of events delays neither the schedule nor a deadline.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rustix::event::epoll::EventFlags;

use super::connection::{Connection, Phase};
use super::{EVENTS, Lean};
use crate::clock;
use crate::load::pacer::Pacer;
use crate::load::recorder::Recorder;
use crate::load::usage::Watch;
use crate::load::worker::{RAMP_STEP_NS, Share};
use crate::units::ns;

/// Longest time between two looks at whether the stage was stopped, ns.
const TICK_NS: u64 = 10_000_000;

/// Shortest time between two sweeps for deadlines, ns.
const SWEEP_NS_MIN: u64 = 1_000_000;

/// A stage under way.
pub(super) struct Stage<'a> {
    pub(super) own: &'a mut Lean,
    pub(super) recorder: &'a Recorder,
    pub(super) pacer: Option<Pacer>,
    /// Room for one request each, on a connection of this generation; the oldest first. Kept in
    /// the open loop only.
    pub(super) free: VecDeque<(usize, u32)>,
    /// When which connection is to be opened.
    pub(super) timers: BinaryHeap<Reverse<(u64, usize)>>,
    /// Connections with more to read than a turn allows.
    pub(super) unread: Vec<(usize, u32)>,
    /// The last look at the clock.
    pub(super) now_ns: u64,
    /// When something is due that no socket will tell.
    pub(super) due_ns: u64,
    /// Requests that are out.
    pub(super) in_flight: usize,
    /// Connections that are being opened.
    pub(super) opening: usize,
    pub(super) timeout_ns: u64,
    pub(super) connect_timeout_ns: u64,
    places: Vec<usize>,
    start_ns: u64,
    cutoff_ns: u64,
    watch: Watch,
    tick_ns: u64,
    sweep_ns: u64,
    is_stopped: bool,
}

impl<'a> Stage<'a> {
    pub(super) fn new(own: &'a mut Lean, share: Share, recorder: &'a Recorder) -> Self {
        let now_ns = clock::now_ns();
        let (timeout_ns, connect_timeout_ns) = (ns(own.timeout), ns(own.dialer.timeout));
        Self {
            own,
            recorder,
            pacer: share.pacer,
            free: VecDeque::new(),
            timers: BinaryHeap::new(),
            unread: Vec::new(),
            now_ns,
            due_ns: 0,
            in_flight: 0,
            opening: 0,
            timeout_ns,
            connect_timeout_ns,
            places: share.places,
            start_ns: share.start_ns,
            cutoff_ns: share.cutoff_ns,
            watch: Watch::new(recorder.window(), recorder.interval_ns(), now_ns),
            tick_ns: now_ns,
            sweep_ns: now_ns.saturating_add(timeout_ns.min(connect_timeout_ns)),
            is_stopped: false,
        }
    }

    /// Makes the load of the stage, and returns when it is over.
    pub(super) fn run(mut self) {
        self.begin();
        while !self.is_over() {
            self.turn(self.due_ns);
        }
        self.end();
    }

    fn begin(&mut self) {
        let known = self.own.connections.len();
        for &place in &self.places[known.min(self.places.len())..] {
            self.own.connections.push(Connection::new(place, Phase::Closed));
        }
        for nth in 0..self.own.connections.len() {
            let connection = &mut self.own.connections[nth];
            if connection.phase == Phase::Closed {
                let due_ns = self.start_ns.saturating_add(connection.place as u64 * RAMP_STEP_NS);
                connection.phase = Phase::Waiting(due_ns);
                self.timers.push(Reverse((due_ns, nth)));
            }
        }
        let open: Vec<_> = self.own.connections.iter().map(Connection::open_generation).collect();
        // What has closed since the last stage is opened again without a request being lost. Its
        // news are the first in the kernel's list, one a connection, and one turn takes only so
        // many of them.
        for _ in 0..=known / EVENTS {
            self.turn(0);
        }
        for (nth, before) in open.into_iter().enumerate() {
            if before.is_some() && before == self.own.connections[nth].open_generation() {
                self.welcome(nth);
            }
        }
    }

    fn is_over(&self) -> bool {
        let is_done = self.in_flight == 0 && self.opening == 0;
        self.is_stopped
            || self.now_ns >= self.cutoff_ns
            || is_done && !self.recorder.accepts_requests(self.now_ns)
    }

    /// Waits for news until that instant, and does what there is to do.
    fn turn(&mut self, until_ns: u64) {
        let until_ns = if self.unread.is_empty() { until_ns } else { 0 };
        let wait = clock::timespec(until_ns.saturating_sub(clock::now_ns()));
        let mut events = std::mem::take(&mut self.own.events);
        let count = self.own.waits.wait(&mut events, &wait);
        self.now_ns = clock::now_ns();
        for event in &events[..count] {
            self.hear(event.data.u64(), event.flags);
            self.look_at_the_clock();
        }
        self.own.events = events;
        for (nth, generation) in std::mem::take(&mut self.unread) {
            if self.own.connections[nth].generation == generation {
                self.read(nth, true);
            }
        }
        self.look_at_the_clock();
    }

    /// News of one socket.
    fn hear(&mut self, token: u64, flags: EventFlags) {
        let Some((nth, generation)) = connection_of(token) else { return };
        let is_current = |c: &&mut Connection| c.generation == generation;
        let Some(connection) = self.own.connections.get_mut(nth).filter(is_current) else { return };
        let ends = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if let Phase::Opening(began_ns) = connection.phase {
            if !flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR) {
                return;
            }
            self.opening_ended(nth, began_ns);
        } else if flags.contains(EventFlags::OUT) && connection.unwritten > 0 {
            self.write(nth);
        }
        // What was done may have closed it.
        let is_open = self.own.connections[nth].generation == generation
            && self.own.connections[nth].phase == Phase::Open;
        if is_open && flags.intersects(EventFlags::IN | ends) {
            self.read(nth, flags.intersects(ends));
        }
    }

    /// Does what is due by the last look at the clock.
    fn look_at_the_clock(&mut self) {
        if self.now_ns < self.due_ns {
            return;
        }
        if self.now_ns >= self.tick_ns {
            self.is_stopped = self.recorder.control().is_stopped();
            self.tick_ns = self.now_ns + TICK_NS;
        }
        if self.now_ns >= self.watch.next_ns() {
            self.watch.pass(self.now_ns, self.recorder);
        }
        while let Some(&Reverse((due_ns, nth))) = self.timers.peek()
            && due_ns <= self.now_ns
        {
            self.timers.pop();
            if self.own.connections[nth].phase == Phase::Waiting(due_ns) {
                self.open(nth);
            }
        }
        if self.now_ns >= self.sweep_ns {
            self.sweep();
        }
        let paced_ns = self.hand_out();
        let timer_ns = self.timers.peek().map_or(u64::MAX, |Reverse((due_ns, _))| *due_ns);
        let end_ns = self.recorder.window().end_ns;
        let end_ns = if self.now_ns < end_ns { end_ns } else { u64::MAX };
        let dues = [self.tick_ns, self.watch.next_ns(), self.sweep_ns, self.cutoff_ns, paced_ns];
        self.due_ns = dues.into_iter().fold(timer_ns.min(end_ns), u64::min);
    }

    /// Finds what is past its deadline; never early, and late by no more than the shortest time
    /// between two sweeps.
    fn sweep(&mut self) {
        let limit_ns = self.timeout_ns.min(self.connect_timeout_ns);
        let pause_ns = (limit_ns / 16).clamp(SWEEP_NS_MIN, TICK_NS);
        self.now_ns = clock::now_ns();
        // What begins from here on cannot be late before that.
        let mut earliest_ns = self.now_ns.saturating_add(limit_ns);
        for nth in 0..self.own.connections.len() {
            match self.deadline(nth) {
                Some(deadline_ns) if deadline_ns <= self.now_ns => self.time_out(nth),
                Some(deadline_ns) => earliest_ns = earliest_ns.min(deadline_ns),
                None => {}
            }
        }
        self.sweep_ns = earliest_ns.max(self.now_ns + pause_ns);
    }

    /// When what the connection is at becomes a timeout.
    fn deadline(&self, nth: usize) -> Option<u64> {
        let connection = &self.own.connections[nth];
        match (connection.flights.front(), connection.phase) {
            (Some(flight), _) => Some(flight.sent_ns.saturating_add(self.timeout_ns)),
            (None, Phase::Opening(began_ns)) => {
                Some(began_ns.saturating_add(self.connect_timeout_ns))
            }
            (None, _) => None,
        }
    }

    /// Gives up what is in flight; what is open and free stays for the next stage.
    fn end(mut self) {
        self.now_ns = clock::now_ns();
        self.recorder.leave_window();
        for connection in &mut self.own.connections {
            for flight in &connection.flights {
                self.recorder.give_up(flight.sent_ns, self.now_ns);
            }
            let is_opening = matches!(connection.phase, Phase::Opening(_));
            if is_opening || !connection.flights.is_empty() {
                *connection = Connection::new(connection.place, Phase::Closed);
            } else if connection.phase != Phase::Open {
                connection.phase = Phase::Closed;
            }
        }
        if let Some(pacer) = self.pacer {
            self.recorder.paced(pacer.into_paced(self.recorder.window().end_ns));
        }
    }
}

/// By which epoll names a connection.
pub(super) fn token(nth: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | nth as u64
}

fn connection_of(token: u64) -> Option<(usize, u32)> {
    let nth = usize::try_from(token & u64::from(u32::MAX)).ok()?;
    Some((nth, u32::try_from(token >> 32).ok()?))
}
