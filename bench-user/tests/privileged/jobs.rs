//! What the threads of a workload do, by its name.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use bench_user::clock;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, listen, socket_with,
};

use crate::callers;
use crate::workload::VARIABLE;

/// What one thread does.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// One job for each thread.
pub(crate) fn jobs(spec: &str) -> Result<Vec<Job>> {
    if let Some(program) = spec.strip_prefix("command ") {
        return Ok(vec![command(program.to_owned())]);
    }
    if let Some(copy) = spec.strip_prefix("copy ") {
        let copy = PathBuf::from(copy);
        return Ok(vec![Box::new(move || family(&copy, 1))]);
    }
    let mut words = spec.split(' ');
    let name = words.next().unwrap_or_default();
    let numbers = words.map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    match (name, &*numbers) {
        ("getppid", &[threads, count]) => Ok(share(count, threads).map(getppid).collect()),
        ("spin", &[ms]) => Ok(vec![spin(ms)]),
        ("spin", &[ms, threads]) => Ok((0..threads).map(|_| spin(ms)).collect()),
        ("burn", &[ms]) => Ok(vec![burn(ms)]),
        ("pingpong", &[rounds]) => pingpong(rounds),
        ("sleepers", &[threads, naps]) => Ok((0..threads).map(|_| naps_of(naps)).collect()),
        ("families", &[processes, threads]) => Ok(vec![families(processes, threads)]),
        ("exec", &[ms]) => Ok(vec![exec(ms)]),
        ("storm", &[threads]) => Ok(vec![storm(threads)]),
        ("touch", &[bytes]) => Ok(vec![touch(usize::try_from(bytes)?)]),
        ("dial", &[backlog, count]) => Ok(vec![dial(i32::try_from(backlog)?, count)?]),
        _ => match callers::jobs(name, &numbers)? {
            Some(jobs) => Ok(jobs),
            None => bail!("there is no such workload"),
        },
    }
}

/// `total` in `parts` whole parts that differ by at most one.
fn share(total: u64, parts: u64) -> impl Iterator<Item = u64> {
    (0..parts).map(move |n| total / parts + u64::from(n < total % parts))
}

fn getppid(count: u64) -> Job {
    Box::new(move || {
        for _ in 0..count {
            std::hint::black_box(rustix::process::getppid());
        }
    })
}

fn spin(ms: u64) -> Job {
    Box::new(move || {
        let end = clock::thread_cpu_ns() + ms * 1_000_000;
        while clock::thread_cpu_ns() < end {
            std::hint::spin_loop();
        }
    })
}

fn burn(ms: u64) -> Job {
    Box::new(move || {
        let end = clock::thread_cpu_ns() + ms * 1_000_000;
        while clock::thread_cpu_ns() < end {
            std::hint::black_box(burn_in_one_function(5_000_000));
        }
    })
}

/// Some milliseconds without a call: operators alone are code of the function itself in every
/// build.
#[inline(never)]
fn burn_in_one_function(rounds: u64) -> u64 {
    let (mut n, mut mixed) = (0_u64, 1_u64);
    while n < rounds {
        mixed ^= (mixed << 7) ^ n;
        n += 1;
    }
    mixed
}

fn pingpong(rounds: u64) -> Result<Vec<Job>> {
    let (mut ping_in, mut ping_out) = std::io::pipe()?;
    let (mut pong_in, mut pong_out) = std::io::pipe()?;
    let one = "the other thread holds the other end to the last round";
    Ok(vec![
        Box::new(move || {
            for _ in 0..rounds {
                ping_out.write_all(b"p").expect(one);
                pong_in.read_exact(&mut [0]).expect(one);
            }
        }),
        Box::new(move || {
            for _ in 0..rounds {
                ping_in.read_exact(&mut [0]).expect(one);
                pong_out.write_all(b"p").expect(one);
            }
        }),
    ])
}

fn naps_of(naps: u64) -> Job {
    Box::new(move || {
        for _ in 0..naps {
            thread::sleep(Duration::from_millis(1));
        }
    })
}

/// Processes of so many threads besides the first, each gone before the next is started.
fn families(processes: u64, threads: u64) -> Job {
    Box::new(move || {
        let program = std::env::current_exe().expect("it runs");
        for _ in 0..processes {
            family(&program, threads);
        }
    })
}

/// This program once more, or a copy of it, with so many threads.
fn family(program: &Path, threads: u64) {
    let family = Command::new(program)
        .env(VARIABLE, format!("spin 1 {threads}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("it starts again");
    assert!(!family.success(), "without a byte to begin with it cannot have worked");
}

/// Another program, started and waited for.
fn command(program: String) -> Job {
    Box::new(move || {
        let status = Command::new(&program).stdin(Stdio::null()).status().expect("it can start");
        assert!(status.success(), "{status}");
    })
}

fn storm(threads: u64) -> Job {
    Box::new(move || {
        for _ in 0..threads {
            thread::spawn(|| {}).join().expect("it does nothing");
        }
    })
}

/// The whole process becomes another program, and this thread its first.
fn exec(ms: u64) -> Job {
    let spin = spin(ms);
    Box::new(move || {
        spin();
        let error = Command::new("/proc/self/exe").env(VARIABLE, "sleepers 1 1").exec();
        panic!("no exec: {error}");
    })
}

/// The handshakes of connections that do not fit into the queue go on without an answer.
fn dial(backlog: i32, count: u64) -> Result<Job> {
    let tcp = || socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, None);
    let listener = tcp()?;
    bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0)))?;
    listen(&listener, backlog)?;
    let address = getsockname(&listener)?;
    Ok(Box::new(move || {
        let mut kept = vec![listener];
        for _ in 0..count {
            let socket = tcp().expect("descriptors are left");
            match connect(&socket, &address) {
                Ok(()) | Err(Errno::INPROGRESS) => kept.push(socket),
                Err(e) => panic!("no connection is begun: {e}"),
            }
        }
        // Kept, so that a test can see them at rest.
        std::mem::forget(kept);
    }))
}

fn touch(bytes: usize) -> Job {
    Box::new(move || {
        // A huge page would take one fault for many pages.
        rustix::thread::disable_transparent_huge_pages(true).expect("a process may always do so");
        // Zeroed memory of this size comes untouched from the kernel.
        let mut memory = vec![0_u8; bytes];
        for page in memory.chunks_mut(rustix::param::page_size()) {
            page[0] = 1;
        }
        // Kept, so that a test can see it in use at rest.
        std::mem::forget(std::hint::black_box(memory));
    })
}
