//! Waiting for news of sockets, until an instant that is exact to the nanosecond.
//!
//! `epoll_pwait2` takes such an instant and is one syscall, but is there only since Linux 5.11. An
//! older kernel waits in `ppoll` for the epoll descriptor itself, which takes the same instant, and
//! then takes the news without waiting: the same news at the same time for one syscall more.

use std::io;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// An epoll, and the way to wait for it.
pub(super) struct Waits {
    epoll: Epoll,
    /// Where the older way leaves its news; empty where the newer one is used.
    older: Vec<EpollEvent>,
}

impl Waits {
    /// An epoll of which at most so many news are taken at a time.
    pub(super) fn new(events: usize) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut waits = Self { epoll, older: Vec::new() };
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        match epoll::wait(waits.epoll(), &mut [nothing][..], Some(&NOW)) {
            Err(Errno::NOSYS) => waits.older = vec![EpollEvent::empty(); events],
            other => drop(other?),
        }
        Ok(waits)
    }

    /// Where sockets are registered.
    pub(super) fn epoll(&self) -> &std::os::fd::OwnedFd {
        &self.epoll.0
    }

    /// Waits for so long at most; how many news there are, none after a signal.
    pub(super) fn wait(&mut self, events: &mut [Event], wait: &Timespec) -> usize {
        if self.older.is_empty() {
            return epoll::wait(self.epoll(), events, Some(wait)).unwrap_or(0);
        }
        if *wait != NOW
            && poll(&mut [PollFd::new(self.epoll(), PollFlags::IN)], Some(wait)) != Ok(1)
        {
            return 0;
        }
        let most = self.older.len().min(events.len());
        let count = self.epoll.wait(&mut self.older[..most], EpollTimeout::ZERO).unwrap_or(0);
        for (event, news) in events.iter_mut().zip(&self.older[..count]) {
            let flags = EventFlags::from_bits_retain(news.events().bits().cast_unsigned());
            *event = Event { flags, data: EventData::new_u64(news.data()) };
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::clock;

    /// What is registered, and the news of a turn that may wait for 5 ms: token and flags.
    fn turn(waits: &mut Waits, room: usize) -> Vec<(u64, u32)> {
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = vec![nothing; room];
        let count = waits.wait(&mut events, &Timespec { tv_sec: 0, tv_nsec: 5_000_000 });
        // Copied out, because the kernel's layout packs them.
        events[..count].iter().map(|event| ({ event.data }.u64(), { event.flags }.bits())).collect()
    }

    #[test]
    fn both_ways_tell_the_same_news_once_and_wait_as_long_for_none() {
        let mut seen = Vec::new();
        for is_older in [false, true] {
            let mut waits = Waits::new(8).unwrap();
            if is_older {
                waits.older = vec![EpollEvent::empty(); 8];
            }
            let pairs = [1, 2, 3].map(|token| (token, UnixStream::pair().unwrap()));
            for (token, (near, _)) in &pairs {
                let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
                epoll::add(waits.epoll(), near, EventData::new_u64(*token << 40), flags).unwrap();
            }
            let mut news = Vec::new();
            let before = clock::now_ns();
            news.push(turn(&mut waits, 8));
            assert!(clock::now_ns() - before >= 5_000_000, "it did not wait");
            for (_, (_, far)) in &pairs {
                (&*far).write_all(b"x").unwrap();
            }
            // Room for two of three, then the third, and no news twice.
            news.extend([turn(&mut waits, 2), turn(&mut waits, 2), turn(&mut waits, 2)]);
            (&pairs[0].1.0).read_exact(&mut [0]).unwrap();
            let [(_, (near, far)), ..] = pairs;
            drop(far);
            news.push(turn(&mut waits, 8));
            drop(near);
            assert_eq!(news.iter().map(Vec::len).collect::<Vec<_>>(), [0, 2, 1, 0, 1]);
            seen.push(news);
        }
        assert_eq!(seen[0], seen[1]);
    }
}
