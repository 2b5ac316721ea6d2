//! What is made of an engine's answers, without an engine.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::thread;

use super::*;

/// An engine that knows one container by any name, or that ends every connection at once.
fn engine(folder: &Path, name: &str, container: Option<&'static str>) -> PathBuf {
    let path = folder.join(name);
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, Some(container)) = (stream.unwrap(), container) else { continue };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let asked = lines.next().and_then(Result::ok).unwrap_or_default();
            lines
                .take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty()))
                .for_each(drop);
            let body =
                if asked.contains("/version") { r#"{"ApiVersion":"1.40"}"# } else { container };
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            // A probe of the socket asks nothing and has gone.
            write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).ok();
        }
    });
    path
}

#[test]
fn an_engine_is_a_unix_socket_in_either_spelling() {
    let socket = |engine| sockets(Some(engine));
    assert_eq!(socket("unix:///x/docker.sock").unwrap(), [Path::new("/x/docker.sock")]);
    assert_eq!(socket("/x/podman.sock").unwrap(), [Path::new("/x/podman.sock")]);
    let error = socket("tcp://10.0.0.1:2375").unwrap_err().to_string();
    assert!(error.contains("tcp://10.0.0.1:2375") && error.contains("this machine"), "{error}");
}

#[test]
fn no_engine_is_one_sentence_with_every_place_that_was_tried() {
    let error = Container::find("web", Some("/nowhere/engine.sock")).unwrap_err().to_string();
    assert!(error.contains("/nowhere/engine.sock: not there"), "{error}");
    assert!(error.contains("`engine`"), "{error}");
}

#[test]
fn the_nearest_running_names_are_offered() {
    let running = ["db", "web-1", "webserver", "cache"].map(str::to_owned);
    let text = nearest("web", running.into());
    assert!(text.starts_with("running ones nearest to it: web-1, webserver"), "{text}");
    assert_eq!(nearest("web", Vec::new()), "no container is running");
}

#[test]
fn a_container_without_a_process_is_told_by_its_state() {
    let found = |json| serde_json::from_str::<ContainerInspectResponse>(json).unwrap();
    assert_eq!(running_pid(&found(r#"{"State":{"Pid":42,"Status":"running"}}"#)), Ok(42));
    let exited = found(r#"{"State":{"Pid":0,"Status":"exited"}}"#);
    assert_eq!(running_pid(&exited), Err("exited".into()));
    assert_eq!(running_pid(&found("{}")), Err("stopped".into()));
}

#[test]
fn the_end_of_a_container_is_the_engines_word() {
    let exit = |json, oom| exit_of(&serde_json::from_str(json).unwrap(), 42, oom);
    let unknown = || Measured::unavailable("the cgroup is gone");
    assert_eq!(exit(r#"{"Running":true,"Pid":42}"#, unknown()), None, "not noticed yet");
    let again = exit(r#"{"Running":true,"Pid":43,"ExitCode":0}"#, unknown()).unwrap();
    assert_eq!(again.code, None, "started again");
    let dead = r#"{"Running":false,"Pid":0,"ExitCode":137,"OOMKilled":false}"#;
    let end = exit(dead, unknown()).unwrap();
    assert_eq!((end.code, end.oom_killed), (Some(137), unknown()), "engines miss OOM kills");
    let oom = r#"{"Running":false,"Pid":0,"ExitCode":137,"OOMKilled":true}"#;
    let end = exit(oom, unknown()).unwrap();
    assert_eq!(end.oom_killed, Measured::Value(true), "but do not invent them");
    let end = exit(dead, Measured::Value(true)).unwrap();
    assert_eq!(end.oom_killed, Measured::Value(true), "our own counter saw it");
}

#[test]
fn an_engine_that_fails_hides_no_container_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let broken = engine(folder.path(), "broken", None);
    let stopped = r#"{"Id":"a","State":{"Pid":0,"Status":"exited"}}"#;
    let stopped = engine(folder.path(), "stopped", Some(stopped));
    let running = r#"{"Id":"b","State":{"Pid":42,"Status":"running"}}"#;
    let running = engine(folder.path(), "running", Some(running));
    let find = |engines: &[&PathBuf]| {
        Container::find_at("web", &engines.iter().map(|&path| path.clone()).collect::<Vec<_>>())
    };
    assert_eq!(find(&[&broken, &stopped, &running]).unwrap().pid, 42);
    let error = find(&[&broken]).unwrap_err().to_string();
    assert!(error.contains("/broken fails") && error.contains("`engine`"), "{error}");
    let error = find(&[&stopped, &broken]).unwrap_err().to_string();
    assert!(error.contains("exited"), "{error}");
}
