//! What an engine is asked, and what is made of its answers, without an engine.

use std::io::Cursor;

use super::fake::Fake;
use super::*;

/// Where an engine of this name may listen, in an empty environment.
fn named(name: &str) -> Result<Vec<Place>, EngineError> {
    places(name, &|_| None)
}

#[test]
fn an_engine_is_a_unix_socket_in_either_spelling() {
    let socket = |path: &str| [Place::Socket(path.into())];
    assert_eq!(named("unix:///x/docker.sock").unwrap(), socket("/x/docker.sock"));
    assert_eq!(named("/x/podman.sock").unwrap(), socket("/x/podman.sock"));
    assert_eq!(named("docker").unwrap(), socket("/var/run/docker.sock"));
    assert_eq!(named("podman").unwrap(), socket("/run/podman/podman.sock"));
    let error = named("tcp://10.0.0.1:2375").unwrap_err().to_string();
    assert!(error.contains("tcp://10.0.0.1:2375") && error.contains("this machine"), "{error}");
}

#[test]
fn an_engine_elsewhere_hides_none_here_and_alone_is_told_with_its_variable() {
    let variables =
        |name: &str| (name == "CONTAINER_HOST").then(|| "ssh://core@host/podman.sock".to_owned());
    let fake = Fake::start(|_| None);
    let here = Place::Socket(fake.engine.socket().to_owned());
    let podman = places("podman", &variables).unwrap();
    let both = [podman.clone(), vec![here]].concat();
    assert_eq!(reachable(&both).unwrap(), std::slice::from_ref(&fake.engine));
    let error = reachable(&podman).unwrap_err().to_string();
    let expected = "CONTAINER_HOST names ssh://core@host/podman.sock, which is not a unix socket";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("unset it, or give") && error.contains("`engine`"), "{error}");
    let nowhere = [podman, vec![Place::Socket("/nowhere/engine.sock".into())]].concat();
    let error = reachable(&nowhere).unwrap_err().to_string();
    let both = "CONTAINER_HOST=ssh://core@host/podman.sock: not a unix socket, \
                /nowhere/engine.sock: not there";
    assert!(error.contains(both), "{error}");
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
    let place = Place::Socket(fake.engine.socket().to_owned());
    assert_eq!(reachable(&[place.clone(), place]).unwrap(), std::slice::from_ref(&fake.engine));
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
    let late = "{\"status\":\"Importing\"}\r\n{\"error\":\"no = in c\"}";
    for (status, body) in [(400, r#"{"message":"no = in c"}"#), (200, late)] {
        let fake = Fake::start(move |_| Some((status, body)));
        let imported = fake.engine.import(Cursor::new("x"), "web", &["ENV c"]);
        let error = imported.unwrap_err().to_string();
        assert!(
            error.contains("does not take the image") && error.contains("no = in c"),
            "{error}"
        );
        assert!(error.ends_with("correct its name or changes, or make room for it"), "{error}");
    }
    let forgets = Fake::start(|asked| match asked {
        line if line.starts_with("POST") => Some((200, "{}")),
        _ => Some((404, "{}")),
    });
    let error = forgets.engine.import(Cursor::new("x"), "web", &[""; 0]).unwrap_err();
    assert!(matches!(error, EngineError::NoImage(..)), "{error}");
}

#[test]
fn the_word_error_in_a_good_answer_is_no_refusal() {
    let fake = Fake::start(|asked| match asked {
        line if line.starts_with("POST") => Some((200, r#"{"id":"error"}"#)),
        _ => Some((200, IMAGE)),
    });
    fake.engine.import(Cursor::new("x"), "web", &[""; 0]).unwrap();
}

#[test]
fn an_engine_that_never_takes_an_archive_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("engine.sock");
    // Nobody accepts what connects.
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let within = std::time::Duration::from_millis(1);
    let imported =
        Engine { socket }.import_within(within, Cursor::new("x"), "study/web:1", &[""; 0]);
    let error = imported.unwrap_err().to_string();
    assert!(error.contains("not taken the image `study/web:1` within"), "{error}");
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
    assert!(error.contains("does not remove the image: a container uses it; "), "{error}");
    assert!(error.contains("remove the containers that use it first"), "{error}");
}

#[test]
fn a_refused_look_and_a_failure_have_remedies_of_their_own() {
    let fake = Fake::start(|asked| match asked {
        "GET /images/WEB/json" => Some((400, r#"{"message":"invalid reference format"}"#)),
        _ => Some((500, r#"{"message":"no space left"}"#)),
    });
    let error = fake.engine.has_image("WEB").unwrap_err().to_string();
    assert!(error.contains("does not answer: invalid reference format; correct the"), "{error}");
    let error = fake.engine.has_image("web").unwrap_err().to_string();
    assert!(error.contains("no space left; mend it, or name another's socket"), "{error}");
}

#[test]
fn only_images_of_dead_processes_under_the_prefix_are_left_overs() {
    let ours = crate::target::mark("1").unwrap();
    let dead = ours.splitn(4, '-').last().map(|space| format!("1-4194305-1-{space}")).unwrap();
    let list = format!(
        r#"[{{"RepoTags":["localhost/study/a:{dead}","study/b:{ours}","other/c:{dead}"]}},
            {{"RepoTags":["docker.io/study/d:{dead}","study/e:1","host:5000/study/f"]}},
            {{"RepoTags":[]}}]"#
    );
    let full = r#""Id":"i","ParentId":"","Created":1,"Size":1,"SharedSize":-1,"Labels":{},"Containers":-1,"RepoDigests":[],"RepoTags""#;
    let list: &'static str = list.replace("\"RepoTags\"", full).leak();
    let fake = Fake::start(move |asked| match asked {
        line if line.starts_with("GET /images/json") => Some((200, list)),
        _ => Some((200, "[]")),
    });
    let removed = fake.engine.remove_left_images("study/").unwrap();
    assert_eq!(removed, [format!("image study/a:{dead}"), format!("image study/d:{dead}")]);
    let asked: Vec<_> = fake.asked().into_iter().map(|(line, _)| line).collect();
    let gone = |name| format!("DELETE /images/{name}:{dead}");
    assert_eq!(asked[1..], [gone("localhost/study/a"), gone("docker.io/study/d")]);
}
