//! Questions to targets that are there, that are not, and that are somebody else.

use std::net::TcpListener;

use super::*;
use crate::units::Span;

fn spec(ready: Option<&str>) -> TargetSpec {
    let spec: TargetSpec = toml::from_str("name = \"web\"").unwrap();
    TargetSpec { ready: ready.map(str::to_owned), ..spec }
}

fn options(fetcher: &Fetcher) -> StartOptions<'_> {
    StartOptions {
        run_id: "test",
        logs_dir: Path::new("/"),
        shim: None,
        fetcher,
        interrupted: None,
        contact: Contact::Http,
    }
}

fn get(url: &str, needs_success: bool, is_elsewhere: bool) -> Question {
    Question::Get { url: url.parse().unwrap(), needs_success, is_elsewhere }
}

#[test]
fn ready_is_a_path_or_an_address_and_then_needs_a_2xx() {
    let url: Url = "http://127.0.0.1:1/a/b?c".parse().unwrap();
    let question = |ready| Question::of(&spec(ready), &url, Contact::Http).unwrap();
    assert_eq!(question(None), get(url.as_str(), false, false));
    assert_eq!(question(Some("/healthz")), get("http://127.0.0.1:1/healthz", true, false));
    assert_eq!(question(Some("http://127.0.0.1:2/")), get("http://127.0.0.1:2/", true, true));
    assert!(Question::of(&spec(Some("http://:x")), &url, Contact::Http).is_err());
}

#[test]
fn what_answers_no_get_is_asked_by_a_connection() {
    let of = |url: &str, ready, contact| {
        Question::of(&spec(ready), &url.parse().unwrap(), contact).unwrap()
    };
    for (url, contact) in [
        ("https://127.0.0.1:1/", Contact::Connection),
        ("ws://127.0.0.1:1/", Contact::Connection),
        ("http://127.0.0.1:1/", Contact::Connection),
    ] {
        assert_eq!(of(url, None, contact), Question::Knock(url.parse().unwrap()));
    }
    let path = Path::new("/s");
    let unix = of("http://127.0.0.1:1/", None, Contact::Unix(path));
    assert_eq!(unix, Question::KnockUnix(path.into()));
    assert_eq!(
        of("ws://h/feed", Some("/up"), Contact::Connection),
        get("http://h/up", true, false)
    );
    assert_eq!(of("wss://h/a", Some("/up"), Contact::Connection), get("https://h/up", true, false));
    assert_eq!(of("https://h/", None, Contact::Http), get("https://h/", false, false));
    assert_eq!(
        of("https://h/", Some("http://h/up"), Contact::Http),
        get("http://h/up", true, true)
    );
}

#[test]
fn a_unix_socket_that_takes_connections_is_a_stranger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let url: Url = "http://h/".parse().unwrap();
    let contact = Contact::Unix(&path);
    assert!(refuse_stranger("web", &url, contact).is_ok());
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let error = refuse_stranger("web", &url, contact).unwrap_err().to_string();
    assert!(error.contains(&path.display().to_string()), "{error}");
    let fetcher = Fetcher::default();
    Question::KnockUnix(path.clone()).ask_running(&spec(None), &options(&fetcher)).unwrap();
    // A socket file that nobody listens at any more is left over.
    drop(listener);
    assert!(refuse_stranger("web", &url, contact).is_ok());
}

#[test]
fn a_free_port_is_no_stranger_and_a_listener_that_says_nothing_is_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let error = refuse_stranger("web", &url, Contact::Http).unwrap_err().to_string();
    assert!(error.contains(url.as_str()) && error.contains("another port"), "{error}");
    drop(listener);
    assert!(refuse_stranger("web", &url, Contact::Http).is_ok());
    let fetcher = Fetcher::default();
    let question = Question::of(&spec(None), &url, Contact::Http).unwrap();
    assert!(matches!(
        question.ask_running(&spec(None), &options(&fetcher)),
        Err(TargetError::Silent(error)) if matches!(*error, FetchError::Connect(..))
    ));
}

#[test]
fn a_running_target_that_says_nothing_is_waited_for_as_long_as_it_may_take() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let within = Span(Duration::from_millis(20));
    let spec = TargetSpec { ready_within: within, ..spec(None) };
    let fetcher = Fetcher::default();
    let question = Question::of(&spec, &url, Contact::Http).unwrap();
    assert!(matches!(
        question.ask_running(&spec, &options(&fetcher)),
        Err(TargetError::Silent(error))
            if matches!(*error, FetchError::Timeout(_, limit) if limit == within.0)
    ));
}
