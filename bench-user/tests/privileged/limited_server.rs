//! A server that is slow in one known way, for tests that ask what limited it.
//!
//! The test binary starts itself again with the way in an environment variable, so [`dispatch`]
//! must come first in `main`. It prints its address and serves until it is killed.
//!
//! `burn THREADS US`: event loops that take so much CPU time for each request; connections are
//! shared out among them. `hog BYTES`: one loop that starts a process for each request which
//! touches so much memory. `backlog N MS`: answers one connection at a time, after so long, and
//! closes it, while so many may wait.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bench_user::clock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};
use url::Url;

use crate::place::Place;
use crate::workload;

const VARIABLE: &str = "BENCH_TEST_SERVER";

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// A running server in a test's cgroup, killed when it is dropped.
pub(crate) struct LimitedServer {
    child: Child,
    pub(crate) url: Url,
}

impl LimitedServer {
    /// Starts one and moves it into `place` before its first request.
    pub(crate) fn start(way: &str, place: &Place) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(VARIABLE, way)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("piped")?).read_line(&mut line)?;
        place.take_in(child.id())?;
        Ok(Self { child, url: line.trim().parse()? })
    }
}

impl Drop for LimitedServer {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("a child of ours can be killed");
    }
}

/// Becomes a server when the environment says so; else returns.
pub(crate) fn dispatch() {
    let Ok(way) = std::env::var(VARIABLE) else { return };
    let Err(e) = serve(&way);
    eprintln!("server `{way}`: {e:#}");
    std::process::exit(1);
}

enum Never {}

fn serve(way: &str) -> Result<Never> {
    let mut words = way.split(' ');
    let name = words.next().unwrap_or_default();
    let numbers = words.map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    match (name, &*numbers) {
        ("burn", &[threads, us]) => loops(threads, move || burn(us)),
        ("hog", &[bytes]) => loops(1, move || hog(bytes)),
        ("backlog", &[backlog, ms]) => one_at_a_time(i32::try_from(backlog)?, ms),
        _ => bail!("there is no such way"),
    }
}

fn announce(listener: &TcpListener) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "http://{}/", listener.local_addr()?)?)
}

fn burn(us: u64) {
    let end = clock::thread_cpu_ns() + us * 1000;
    while clock::thread_cpu_ns() < end {
        std::hint::spin_loop();
    }
}

fn hog(bytes: u64) {
    let hungry = std::env::current_exe().map(Command::new).and_then(|mut program| {
        program
            .env_remove(VARIABLE)
            .env(workload::VARIABLE, format!("touch-at-once {bytes}"))
            .stdout(Stdio::null())
            .status()
    });
    hungry.expect("it starts again");
}

/// The first thread only accepts; each connection goes to the next loop.
fn loops(threads: u64, work: impl Fn() + Clone + Send + 'static) -> Result<Never> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut desks = Vec::new();
    for n in 0..threads {
        let (desk, connections) = mpsc::channel();
        let work = work.clone();
        thread::Builder::new()
            .name(format!("loop-{n}"))
            .spawn(move || event_loop(&connections, &work))?;
        desks.push(desk);
    }
    announce(&listener)?;
    for desk in desks.iter().cycle() {
        desk.send(listener.accept()?.0)?;
    }
    bail!("a loop for each connection")
}

/// Answers what has come, one request after another, and never waits for a single connection.
fn event_loop(new: &mpsc::Receiver<TcpStream>, work: &impl Fn()) {
    let mut open: Vec<TcpStream> = Vec::new();
    loop {
        open.extend(new.try_iter());
        if open.is_empty() {
            match new.recv() {
                Ok(stream) => open.push(stream),
                Err(_ended) => return,
            }
        }
        let mut ready: Vec<PollFd<'_>> =
            open.iter().map(|stream| PollFd::new(stream, PollFlags::IN)).collect();
        // Now and then a new connection has come meanwhile.
        let pause = rustix::time::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        if poll(&mut ready, Some(&pause)).is_err() {
            continue;
        }
        let came: Vec<bool> = ready.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut came = came.into_iter();
        open.retain_mut(|stream| !came.next().unwrap_or(false) || answer(stream, work).is_ok());
    }
}

fn answer(stream: &mut TcpStream, work: &impl Fn()) -> Result<()> {
    take_request(stream)?;
    work();
    stream.write_all(ANSWER)?;
    Ok(())
}

/// Requests here are small and come whole.
fn take_request(stream: &mut TcpStream) -> Result<()> {
    let mut buffer = [0; 4096];
    let n = stream.read(&mut buffer)?;
    anyhow::ensure!(buffer[..n].ends_with(b"\r\n\r\n"), "it went away");
    Ok(())
}

fn one_at_a_time(backlog: i32, ms: u64) -> Result<Never> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0)))?;
    listen(&socket, backlog)?;
    let listener = TcpListener::from(socket);
    announce(&listener)?;
    loop {
        let (mut stream, _peer) = listener.accept()?;
        if take_request(&mut stream).is_ok() {
            thread::sleep(Duration::from_millis(ms));
            // A client that has gone is no concern of the next one.
            stream.write_all(LAST_ANSWER).ok();
        }
    }
}
