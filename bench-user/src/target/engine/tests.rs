//! What an engine is asked, and what is made of its answers, without an engine.

use std::io::Cursor;

use super::fake::Fake;
use super::*;

#[test]
fn an_engine_is_a_unix_socket_in_either_spelling() {
    assert_eq!(named("unix:///x/docker.sock").unwrap(), [Path::new("/x/docker.sock")]);
    assert_eq!(named("/x/podman.sock").unwrap(), [Path::new("/x/podman.sock")]);
    let error = named("tcp://10.0.0.1:2375").unwrap_err().to_string();
    assert!(error.contains("tcp://10.0.0.1:2375") && error.contains("this machine"), "{error}");
    assert!(!named("docker").unwrap().is_empty() && !named("podman").unwrap().is_empty());
}

#[test]
fn no_engine_is_one_sentence_with_the_place_that_was_tried() {
    let error = Engine::named("/nowhere/engine.sock").unwrap_err().to_string();
    assert!(error.contains("/nowhere/engine.sock: not there"), "{error}");
    assert!(error.contains("`engine`"), "{error}");
}

#[test]
fn a_socket_is_listed_once() {
    let fake = Fake::start(|_| None);
    let socket = fake.engine.socket().to_owned();
    assert_eq!(reachable(&[socket.clone(), socket]).unwrap(), std::slice::from_ref(&fake.engine));
}

const IMAGE: &str = r#"{"Id":"sha256:1","Size":42}"#;

#[test]
fn an_image_is_looked_for_under_its_name_and_among_those_built_here() {
    let fake = Fake::start(|asked| match asked {
        "GET /images/web:1/json" | "GET /images/localhost/own:1/json" => Some((200, IMAGE)),
        "GET /images/mute/json" => Some((200, r#"{"Id":"sha256:2"}"#)),
        _ => Some((404, r#"{"message":"no such image"}"#)),
    });
    let engine = &fake.engine;
    assert!(engine.has_image("web:1").unwrap() && engine.has_image("own:1").unwrap());
    assert!(!engine.has_image("none").unwrap());
    assert_eq!(engine.image_bytes("web:1").unwrap(), 42);
    let error = engine.image_bytes("mute").unwrap_err().to_string();
    assert!(error.contains("no size of `mute`"), "{error}");
    let error = engine.image_bytes("none").unwrap_err().to_string();
    assert!(error.contains("no image `none`") && error.contains("`podman pull`"), "{error}");
}

#[test]
fn an_archive_becomes_an_image_with_each_change_in_a_parameter_of_its_own() {
    let fake = Fake::start(|asked| match asked {
        line if line.starts_with("POST /images/create") => Some((200, r#"{"status":"sha256:1"}"#)),
        _ => Some((200, IMAGE)),
    });
    let archive = vec![b'x'; 600_000];
    let changes = ["CMD [\"/a b\"]", "ENV A=1"];
    fake.engine.import(Cursor::new(archive), "study/web:1", &changes).unwrap();
    let asked = fake.asked();
    let expected = "POST /images/create?fromSrc=-&repo=study%2Fweb%3A1\
                    &changes=CMD+%5B%22%2Fa+b%22%5D&changes=ENV+A%3D1";
    assert_eq!(asked[0].0, expected);
    assert_eq!(asked[0].1.len(), 600_000);
    assert!(asked[0].1.bytes().all(|byte| byte == b'x'));
}

#[test]
fn an_archive_that_is_refused_is_no_image() {
    for (status, body) in [(400, r#"{"message":"no = in c"}"#), (200, r#"{"error":"no = in c"}"#)] {
        let fake = Fake::start(move |_| Some((status, body)));
        let imported = fake.engine.import(Cursor::new("x"), "web", &["ENV c"]);
        let error = imported.unwrap_err().to_string();
        assert!(error.contains("no = in c"), "{error}");
    }
    let forgets = Fake::start(|asked| match asked {
        line if line.starts_with("POST") => Some((200, "{}")),
        _ => Some((404, "{}")),
    });
    let error = forgets.engine.import(Cursor::new("x"), "web", &[""; 0]).unwrap_err();
    assert!(matches!(error, EngineError::NoImage(..)), "{error}");
}

#[test]
fn an_image_that_is_not_there_need_not_be_removed() {
    let fake = Fake::start(|asked| match asked {
        "DELETE /images/localhost/own:1" => Some((200, "[]")),
        "DELETE /images/used" => Some((409, r#"{"message":"a container uses it"}"#)),
        _ => Some((404, "{}")),
    });
    fake.engine.remove_image("own:1").unwrap();
    fake.engine.remove_image("none").unwrap();
    let error = fake.engine.remove_image("used").unwrap_err().to_string();
    assert!(error.contains("a container uses it"), "{error}");
}
