//! Local ports that run out: in a network namespace whose range has exactly 200.
//!
//! The namespace needs a process of its own, so this binary starts itself again, as for a
//! workload. Every request closes its connection, and the client closes first: each port then
//! waits in TIME_WAIT for longer than the stage lasts.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bench_user::clock;
use bench_user::load::{
    Account, DialError, DialSpec, FailureClass, Generator, LoadError, LoadSetup, RequestSpec,
    StageLoad, Window,
};
use bench_user::plan::{Client, Protocol, WebsocketMode};
use libtest_mimic::Trial;

use crate::place::{CannotRun, room, trial};

/// Set in the child, which then is in a network namespace of its own.
const VARIABLE: &str = "BENCH_TEST_LOCAL_PORTS";

/// Local ports of one source address there.
const PORTS: u32 = 200;

pub(crate) fn tests() -> Vec<Trial> {
    vec![trial("local_ports_run_out_by_their_number_and_sources_add_more", run_out)]
}

fn run_out() -> Result<()> {
    if room() > 1 {
        let why = "under emulation a stage ends before its connections have used all ports";
        return Err(CannotRun(why.into()).into());
    }
    let child = Command::new(std::env::current_exe()?).env(VARIABLE, "1").output()?;
    let words = String::from_utf8_lossy(&child.stderr);
    ensure!(child.status.success(), "{words}");
    Ok(())
}

/// Becomes the child when the environment says so; else returns.
pub(crate) fn dispatch() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let outcome = isolated().and_then(|()| exhaust());
    if let Err(e) = &outcome {
        eprintln!("{e:#}");
    }
    std::process::exit(i32::from(outcome.is_err()));
}

/// A network namespace with few ports. Called before there is a second thread.
fn isolated() -> Result<()> {
    crate::netns::enter()?;
    let set = |name: &str, value: &str| {
        let path = Path::new("/proc/sys/net/ipv4").join(name);
        std::fs::write(&path, value).with_context(|| format!("write {}", path.display()))
    };
    set("ip_local_port_range", "20000 20199")?;
    // On loopback the kernel would use such a port again after a second.
    set("tcp_tw_reuse", "0")
}

fn exhaust() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:8080")?;
    thread::spawn(move || {
        listener.incoming().flatten().for_each(|s| drop(thread::spawn(|| answer(s))))
    });

    refuses_more_connections_than_ports()?;
    let one = stage(&[])?;
    ensure!(one.completed == u64::from(PORTS), "with the kernel's choice: {one:?}");
    let two = stage(&["127.0.0.2", "127.0.0.3"])?;
    ensure!(two.completed == 2 * u64::from(PORTS), "with two sources: {two:?}");
    for account in [one, two] {
        let expected = BTreeMap::from([(FailureClass::LocalPortExhausted, account.failed)]);
        ensure!(account.failed > 0 && account.classes == expected, "{account:?}");
    }
    Ok(())
}

fn refuses_more_connections_than_ports() -> Result<()> {
    let begin = |sources: &[&str], connections| -> Result<Option<LoadError>> {
        let mut generator = Generator::start(setup(sources)?)?;
        let mut stage = stage_of(10_000_000);
        stage.connections = connections;
        let begun = generator.begin(stage);
        if let Ok(running) = &begun {
            running.stop();
        }
        Ok(begun.err())
    };
    let error = begin(&[], PORTS + 1)?.context("one connection too many is refused")?;
    ensure!(matches!(error, LoadError::Dial(DialError::Ports(_))), "{error:?}");
    let text = error.to_string();
    ensure!(text.contains("need 201 local ports of 200"), "{text}");
    let text = begin(&["127.0.0.4", "127.0.0.5"], 2 * PORTS + 1)?.context("likewise")?.to_string();
    ensure!(text.contains("need 401 local ports of 400"), "{text}");
    Ok(())
}

/// The account of one stage that opens a connection for every request.
fn stage(sources: &[&str]) -> Result<Account> {
    let mut generator = Generator::start(setup(sources)?)?;
    let stage = stage_of(30_000_000_000);
    let end_ns = stage.window.end_ns;
    let running = generator.begin(stage)?;
    // Until ports have failed for a while in a row: then there is none left of any source, and not
    // of the faster connection's alone.
    let mut last = running.progress();
    let mut now = last;
    while now.failed < last.failed + 20 && clock::now_ns() < end_ns {
        thread::sleep(Duration::from_millis(1));
        now = running.progress();
        if now.completed > last.completed {
            last = now;
        }
    }
    running.stop();
    Ok(running.finish().0.account)
}

fn setup(sources: &[&str]) -> Result<LoadSetup> {
    let headers = BTreeMap::from([("Connection".to_owned(), "close".to_owned())]);
    let sources = sources.iter().map(|s| s.parse()).collect::<Result<Vec<IpAddr>, _>>()?;
    Ok(LoadSetup {
        protocol: Protocol::Http1,
        client: Client::Hyper,
        pipeline: 1,
        streams: 1,
        websocket: WebsocketMode::Echo,
        requests: RequestSpec {
            urls: Arc::from(["http://127.0.0.1:8080/".parse()?]),
            method: None,
            headers,
            body: None,
            basic_auth: None,
            seed: 0,
        },
        dial: DialSpec { sources, ..DialSpec::default() },
        workers: 1,
        cpus: Vec::new(),
        timeout: Duration::from_secs(20),
        interval_ns: 0,
    })
}

fn stage_of(length_ns: u64) -> StageLoad {
    let start_ns = clock::now_ns();
    StageLoad {
        connections: 2,
        open_loop: None,
        window: Window { start_ns, end_ns: start_ns + length_ns },
        cooldown: Duration::from_secs(20),
    }
}

/// Answers one request and waits until the client has closed, which makes the client's end the
/// one that waits in TIME_WAIT.
fn answer(mut stream: TcpStream) {
    let Ok(input) = stream.try_clone() else { return };
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        if line.is_empty() {
            // A client that has gone has counted its own failure.
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").ok();
        }
    }
}
