//! What is made of an engine's answers, without an engine.

use super::*;
use crate::target::engine::fake::Fake;

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

/// The end of process 42, whose container had been started again once before it.
fn exit(state: &str, restarts: u64, oom: Measured<bool>) -> Option<Exit> {
    let fake = Fake::start(|_| None);
    let process =
        FirstProcess { engine: fake.engine.clone(), id: "a".into(), pid: 42, restarts: 1 };
    let found = format!(r#"{{"State":{state},"RestartCount":{restarts}}}"#);
    exit_of(&serde_json::from_str(&found).unwrap(), &process, oom)
}

#[test]
fn the_end_of_a_container_is_the_engines_word() {
    let unknown = || Measured::unavailable("the cgroup is gone");
    assert_eq!(exit(r#"{"Running":true,"Pid":42}"#, 1, unknown()), None, "not noticed yet");
    let again = exit(r#"{"Running":true,"Pid":43,"ExitCode":0}"#, 3, unknown()).unwrap();
    assert_eq!((again.code, again.restarts), (None, Some(2)), "started again");
    let dead = r#"{"Running":false,"Pid":0,"ExitCode":137,"OOMKilled":false}"#;
    let end = exit(dead, 1, unknown()).unwrap();
    assert_eq!((end.code, end.oom_killed), (Some(137), unknown()), "engines miss OOM kills");
    assert_eq!((end.signal.as_deref(), end.restarts), (Some("SIGKILL"), Some(0)));
    let oom = r#"{"Running":false,"Pid":0,"ExitCode":137,"OOMKilled":true}"#;
    let end = exit(oom, 1, unknown()).unwrap();
    assert_eq!(end.oom_killed, Measured::Value(true), "but do not invent them");
    let end = exit(dead, 1, Measured::Value(true)).unwrap();
    assert_eq!(end.oom_killed, Measured::Value(true), "our own counter saw it");
    let end = exit(r#"{"Running":false,"Pid":0,"ExitCode":1}"#, 1, unknown()).unwrap();
    assert_eq!((end.code, end.signal), (Some(1), None));
}

#[test]
fn an_engine_that_fails_hides_no_container_of_another() {
    let broken = Fake::start(|_| None);
    let stopped = Fake::start(|_| Some((200, r#"{"Id":"a","State":{"Pid":0,"Status":"exited"}}"#)));
    let running =
        Fake::start(|_| Some((200, r#"{"Id":"b","State":{"Pid":42,"Status":"running"}}"#)));
    let find = |fakes: &[&Fake]| {
        let engines: Vec<_> = fakes.iter().map(|fake| fake.engine.clone()).collect();
        Container::find_at("web", &engines)
    };
    assert_eq!(find(&[&broken, &stopped, &running]).unwrap().process.pid, 42);
    let error = find(&[&broken]).unwrap_err().to_string();
    assert!(error.contains("engine.sock fails") && error.contains("`engine`"), "{error}");
    let error = find(&[&stopped, &broken]).unwrap_err().to_string();
    assert!(error.contains("exited"), "{error}");
}
