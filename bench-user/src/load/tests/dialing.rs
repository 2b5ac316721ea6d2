//! From which address connections come, where they go to, and what keeps them from being opened.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;
use crate::load::DialError;
use crate::load::test_server::FullBacklog;
use crate::plan::Family;

/// Answers every request on a stream, and gives the `Host` lines that came.
fn answer_all(stream: impl Read, mut to: impl Write) -> Vec<String> {
    let mut hosts = Vec::new();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if let Some(host) = line.strip_prefix("host: ") {
            hosts.push(host.to_owned());
        }
        if line.is_empty() && to.write_all(OK.as_bytes()).is_err() {
            break;
        }
    }
    hosts
}

/// Serves on a thread a connection for as long as the process lives, and notes who connects.
fn noting_server(address: &str) -> std::io::Result<(SocketAddr, Arc<Mutex<Vec<IpAddr>>>)> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let peers = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&peers);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            noted.lock().unwrap().push(stream.peer_addr().unwrap().ip());
            let to = stream.try_clone().unwrap();
            std::thread::spawn(move || answer_all(stream, to));
        }
    });
    Ok((address, peers))
}

#[test]
fn sources_take_turns_to_within_one_connection() {
    let sources: Vec<IpAddr> =
        ["127.0.0.1", "127.0.0.2", "127.0.0.3"].iter().map(|s| s.parse().unwrap()).collect();
    for _ in 0..20 {
        let (address, peers) = noting_server("127.0.0.1:0").unwrap();
        let mut trial = trial(&[format!("http://{address}/").parse().unwrap()]);
        trial.setup.dial.sources.clone_from(&sources);
        trial.stage.connections = 7;
        let (sample, _) = run(trial);
        assert_eq!(sample.outcomes.failed(), 0, "{:?}", sample.outcomes);
        let peers = peers.lock().unwrap();
        let of = |source| peers.iter().filter(|peer| *peer == source).count();
        // A window in which this machine did not open them all tests nothing.
        if peers.len() == 7 {
            assert_eq!(sources.iter().map(of).collect::<Vec<_>>(), [3, 2, 2]);
            return;
        }
        assert!(peers.len() < 7, "connections were opened again: {peers:?}");
    }
    panic!("in twenty windows this machine never opened every connection");
}

#[test]
fn a_source_that_is_not_ours_is_refused_before_a_stage() {
    let refusing = refusing_address();
    let mut trial = trial(&[format!("http://{}/", refusing.address).parse().unwrap()]);
    // Reserved for documentation: no machine has it.
    trial.setup.dial.sources = vec!["192.0.2.1".parse().unwrap()];
    let error = Generator::start(trial.setup).unwrap_err();
    assert!(matches!(error, LoadError::Dial(DialError::Source(..))), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("cannot connect from 192.0.2.1: "), "{text}");
    assert!(text.ends_with("; give addresses of this machine in `sources`"), "{text}");
}

#[test]
fn more_connections_than_local_ports_are_refused_before_the_stage() {
    let refusing = refusing_address();
    let trial = trial(&[format!("http://{}/", refusing.address).parse().unwrap()]);
    let mut generator = Generator::start(trial.setup).unwrap();
    let stage = StageLoad { connections: 70_000, ..trial.stage };
    let error = generator.begin(stage).unwrap_err();
    assert!(matches!(error, LoadError::Dial(DialError::Ports(_))), "{error:?}");
}

#[test]
fn a_family_is_kept_to() {
    let mut tried = 0;
    for (ip, family) in [("127.0.0.1", Family::Ipv4), ("[::1]", Family::Ipv6)] {
        // Not every machine has IPv6.
        let Ok((address, peers)) = noting_server(&format!("{ip}:0")) else { continue };
        let mut trial = trial(&[format!("http://{address}/").parse().unwrap()]);
        trial.setup.dial.family = Some(family);
        let (sample, _) = run(trial.clone());
        assert_eq!(sample.outcomes.failed(), 0, "{:?}", sample.outcomes);
        assert!(peers.lock().unwrap().iter().all(|peer| peer.is_ipv4() == address.is_ipv4()));
        let other = if family == Family::Ipv4 { Family::Ipv6 } else { Family::Ipv4 };
        trial.setup.dial.family = Some(other);
        let error = Generator::start(trial.setup).unwrap_err();
        assert!(matches!(error, LoadError::Address(_)), "{error:?}");
        tried += 1;
    }
    assert!(tried > 0);
}

#[test]
fn requests_go_over_a_unix_socket_with_the_host_of_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let (sender, hosts) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                sender.send(answer_all(stream.try_clone().unwrap(), stream))
            });
        }
    });
    // Nobody is at this name: it is never looked up.
    let mut trial = trial(&["http://nobody.invalid/".parse().unwrap()]);
    trial.setup.dial.unix_socket = Some(path);
    trial.stage.window.end_ns += 5000 * MS;
    trial.stage.connections = 1;
    let mut generator = Generator::start(trial.setup).unwrap();
    let running = generator.begin(trial.stage).unwrap();
    while running.progress().completed == 0 {
        std::thread::yield_now();
    }
    running.stop();
    let (sample, _) = running.finish();
    drop(generator);
    assert_eq!(sample.outcomes.failed(), 0, "{:?}", sample.outcomes);
    let hosts = hosts.recv().unwrap();
    assert!(hosts.iter().all(|host| host == "nobody.invalid"), "{hosts:?}");
    let account = sample.account;
    assert_eq!(account.started, hosts.len() as u64);
}

#[test]
fn connections_over_a_unix_socket_take_descriptors_and_no_local_ports() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    let mut trial = trial(&["http://h/".parse().unwrap()]);
    trial.setup.dial.unix_socket = Some(path);
    trial.stage.connections = u32::MAX;
    let error = Generator::start(trial.setup).unwrap().begin(trial.stage).map(drop).unwrap_err();
    assert!(matches!(error, LoadError::Descriptors(_)), "{error:?}");
}

#[test]
fn a_path_without_a_unix_socket_is_refused_before_a_stage() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (path, why) in
        [(folder.path().join("none"), "No such file or directory"), (file, "it is something else")]
    {
        let mut trial = trial(&["http://h/".parse().unwrap()]);
        trial.setup.dial.unix_socket = Some(path.clone());
        let text = Generator::start(trial.setup).unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("there is no unix socket at {}", path.display())),
            "{text}"
        );
        assert!(text.contains(why) && text.ends_with("correct `unix_socket`"), "{text}");
    }
}

#[test]
fn the_time_to_connect_has_a_limit_of_its_own() {
    let full = FullBacklog::new(1);
    let mut trial = trial(&[format!("http://{}/", full.address).parse().unwrap()]);
    trial.setup.dial.connect_timeout = Some(Duration::from_millis(30));
    let (sample, _) = run(trial);
    let failed = sample.account.failed;
    assert!(failed > 0);
    assert_eq!(sample.account.classes, [(FailureClass::ConnectTimeout, failed)].into());
    // Not the limit of a request, which is another.
    assert_eq!(sample.outcomes.examples["connect_timeout"], "no connection within 30ms");
}

/// Set in the child process that runs out of descriptors, to the server's address.
const CHILD: &str = "BENCH_TEST_FEW_DESCRIPTORS";

#[test]
fn a_process_out_of_descriptors_says_so() {
    if let Ok(url) = std::env::var(CHILD) {
        return run_out_of_descriptors(&url.parse().unwrap());
    }
    // The limit is the whole process's, so the stage is run by a process of its own.
    let server = TestServer::start(|_, peer| {
        peer.answer(OK);
        Next::Close
    });
    let name = concat!(module_path!(), "::a_process_out_of_descriptors_says_so");
    let (_crate, name) = name.split_once("::").unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, server.url("/").as_str())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
    assert!(server.finish().answered > 0);
}

fn run_out_of_descriptors(url: &Url) {
    let limit = getrlimit(Resource::Nofile);
    for _ in 0..20 {
        let trial = trial(std::slice::from_ref(url));
        let mut generator = Generator::start(trial.setup).unwrap();
        let running = generator.begin(trial.stage).unwrap();
        // Some connections are open; each is closed by the server after one answer, and from now
        // on there is no descriptor for another.
        while running.progress().completed == 0 && running.progress().failed == 0 {
            std::thread::yield_now();
        }
        setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..limit }).unwrap();
        let (sample, intervals) = running.finish();
        setrlimit(Resource::Nofile, limit).unwrap();
        check_books(&sample, &intervals);
        let failed = sample.account.failed;
        if failed > 0 {
            assert_eq!(sample.account.classes, [(FailureClass::DescriptorLimit, failed)].into());
            assert_eq!(sample.outcomes.not_sent, sample.outcomes.failed());
            return;
        }
    }
    panic!("in twenty windows this machine never opened a connection after the limit fell");
}
