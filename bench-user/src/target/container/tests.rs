//! What is made of an engine's answers, without an engine.

use super::*;

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
