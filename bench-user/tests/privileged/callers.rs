//! Workloads that make particular syscalls, each set up before it says that it is ready.
//!
//! `eagain N` reads N times from an empty pipe; `writes N BYTES` writes to the null device;
//! `waits N EVENTS` waits N times for what is there already, `timeouts N` for nothing; `nap MS`
//! sleeps once; `fails N` fails N times in one way and 2N in another; `forks N` starts and reaps N
//! programs; `yields THREADS N` has threads on one CPU give way to each other.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::jobs::Job;
use crate::workload::VARIABLE;

/// The jobs of a workload; `None` where it is none of these.
pub(crate) fn jobs(name: &str, numbers: &[u64]) -> Result<Option<Vec<Job>>> {
    Ok(Some(match (name, numbers) {
        ("eagain", &[n]) => vec![eagain(n)?],
        ("writes", &[n, bytes]) => vec![writes(n, usize::try_from(bytes)?)?],
        ("waits", &[n, events]) => vec![waits(n, events)?],
        ("timeouts", &[n]) => vec![waits(n, 0)?],
        ("nap", &[ms]) => vec![Box::new(move || thread::sleep(Duration::from_millis(ms)))],
        ("fails", &[n]) => vec![fails(n)],
        ("forks", &[n]) => vec![forks(n)?],
        ("yields", &[threads, n]) => (0..threads).map(|_| yields(n)).collect(),
        _ => return Ok(None),
    }))
}

fn eagain(n: u64) -> Result<Job> {
    let (mut reader, writer) = std::io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    Ok(Box::new(move || {
        for _ in 0..n {
            let outcome = reader.read(&mut [0; 64]);
            assert!(outcome.is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock));
        }
        drop(writer);
    }))
}

fn writes(n: u64, bytes: usize) -> Result<Job> {
    let mut null = File::options().write(true).open("/dev/null")?;
    let buffer = vec![0_u8; bytes];
    Ok(Box::new(move || {
        for _ in 0..n {
            assert_eq!(null.write(&buffer).expect("it takes everything"), bytes);
        }
    }))
}

fn waits(n: u64, events: u64) -> Result<Job> {
    let instance = Epoll::new(EpollCreateFlags::empty())?;
    let mut sources = Vec::new();
    for number in 0..events {
        let source = eventfd(1, EventfdFlags::empty())?;
        let data = epoll::EventData::new_u64(number);
        epoll::add(&instance.0, &source, data, epoll::EventFlags::IN)?;
        sources.push(source);
    }
    let mut buffer = vec![EpollEvent::empty(); usize::try_from(events)? + 8];
    Ok(Box::new(move || {
        for _ in 0..n {
            let found = instance.wait(&mut buffer, EpollTimeout::ZERO).expect("it is open");
            assert_eq!(found as u64, events);
        }
        drop(sources);
    }))
}

fn fails(n: u64) -> Job {
    Box::new(move || {
        for _ in 0..n {
            assert_eq!(rustix::process::chdir("/dev/null/none"), Err(Errno::NOTDIR));
            assert_eq!(rustix::fs::unlink("/none/such"), Err(Errno::NOENT));
            assert_eq!(rustix::fs::unlink("/none/such"), Err(Errno::NOENT));
        }
    })
}

fn forks(n: u64) -> Result<Job> {
    let program = std::env::current_exe()?;
    Ok(Box::new(move || {
        for _ in 0..n {
            let child = Command::new(&program)
                .env(VARIABLE, "nothing of that name")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("it starts again");
            assert!(!child.success(), "there is no such workload");
        }
    }))
}

fn yields(n: u64) -> Job {
    Box::new(move || {
        let mut cpus = CpuSet::new();
        cpus.set(0);
        sched_setaffinity(None, &cpus).expect("the first CPU is there");
        for _ in 0..n {
            thread::yield_now();
        }
    })
}
