//! The steps of a container's life, at an engine that has none.

use std::path::Path;

use super::begin::first_process;
use super::creation::RUN_LABEL;
use super::leftovers::remove_at;
use super::*;
use crate::target::engine::fake::Fake;

/// An engine with the image `web`, whose containers end with this state as soon as they start.
fn engine(state: &'static str) -> Fake {
    Fake::start(move |asked| {
        let path = asked.split('?').next()?;
        Some(match path {
            "GET /images/web/json" => (200, r#"{"Id":"sha256:1","Size":7}"#),
            "POST /containers/create" => (201, r#"{"Id":"c0ffee","Warnings":[]}"#),
            "POST /containers/c0ffee/start" | "DELETE /containers/c0ffee" => (204, ""),
            "GET /containers/c0ffee/json" => (200, state),
            "GET /containers/c0ffee/logs" => {
                (200, "\u{1}\0\0\0\0\0\0\u{3}out\u{2}\0\0\0\0\0\0\u{3}err")
            }
            _ => (404, "{}"),
        })
    })
}

fn spec(fake: &Fake) -> TargetSpec {
    let mut spec = TargetSpec::named("it");
    spec.engine = Some(fake.engine.socket().display().to_string());
    spec
}

fn create(fake: &Fake, image: &str, logs: &Path) -> Result<OwnContainer, TargetError> {
    let logs = Arc::new(Logs::open(logs, "it").unwrap());
    OwnContainer::create(image, &spec(fake), "r", logs)
}

fn lines(fake: &Fake) -> Vec<String> {
    let without_query = |(line, _): (String, String)| line.split('?').next().unwrap().to_owned();
    fake.asked().into_iter().map(without_query).collect()
}

#[test]
fn one_that_crashes_at_once_is_told_with_its_output_and_removed() {
    let fake = engine(r#"{"State":{"Running":false,"Pid":0,"ExitCode":139}}"#);
    let logs = tempfile::tempdir().unwrap();
    let mut container = create(&fake, "web", logs.path()).unwrap();
    assert_eq!(container.image, Image { id: "sha256:1".into(), size_bytes: Some(7) });
    container.start().unwrap();
    container.settle().unwrap();
    let exit = container.poll_exit().unwrap();
    assert_eq!((exit.code, exit.signal.as_deref()), (Some(139), Some("SIGSEGV")));
    assert!(!exit.by_us);
    drop(container);
    let kept = |name| std::fs::read_to_string(logs.path().join(name)).unwrap();
    assert_eq!(kept("it.stdout.log") + &kept("it.stderr.log"), "outerr");
    let asked = lines(&fake);
    let steps: Vec<_> = asked.iter().map(String::as_str).collect();
    let expected = [
        "GET /images/web/json",
        "POST /containers/create",
        "POST /containers/c0ffee/start",
        "GET /containers/c0ffee/json",
        "GET /containers/c0ffee/logs",
        "DELETE /containers/c0ffee",
    ];
    assert_eq!(steps, expected);
}

#[test]
fn one_that_is_made_and_never_started_is_removed_with_its_volumes() {
    let fake = engine("{}");
    let logs = tempfile::tempdir().unwrap();
    drop(create(&fake, "web", logs.path()).unwrap());
    let asked = fake.asked();
    let (last, _) = asked.last().unwrap();
    assert!(last.starts_with("DELETE /containers/c0ffee?"), "{last}");
    assert!(last.contains("v=true") && last.contains("force=true"), "{last}");
    let (_, order) = asked.iter().find(|(line, _)| line.contains("/create")).unwrap();
    assert!(order.contains(RUN_LABEL) && order.contains("sha256:1"), "{order}");
}

#[test]
fn an_image_that_is_not_there_is_refused_before_anything_is_made() {
    let fake = engine("{}");
    let logs = tempfile::tempdir().unwrap();
    let error = create(&fake, "none:1", logs.path()).unwrap_err().to_string();
    assert!(error.contains("no image `none:1`") && error.contains("`docker pull`"), "{error}");
    assert!(OwnContainer::can_be_made("none:1", &spec(&fake)).is_err());
    OwnContainer::can_be_made("web", &spec(&fake)).unwrap();
    assert!(!lines(&fake).iter().any(|line| line.starts_with("POST")));
}

#[test]
fn only_containers_of_dead_runs_whose_pids_are_ours_are_left_overs() {
    let ours = mark("now").unwrap();
    let space = ours.splitn(4, '-').last().unwrap();
    let list = format!(
        r#"[{{"Id":"dead","Labels":{{"bench-user.run":"r-4194305-1-{space}"}}}},
            {{"Id":"ours","Labels":{{"bench-user.run":"{ours}"}}}},
            {{"Id":"elsewhere","Labels":{{"bench-user.run":"r-4194305-1-1{space}"}}}},
            {{"Id":"unknown","Labels":{{"bench-user.run":"r-4194305-1"}}}},
            {{"Id":"odd","Labels":{{"bench-user.run":"x"}}}}]"#
    );
    let list: &'static str = list.leak();
    let fake = Fake::start(move |asked| match asked {
        line if line.starts_with("GET /containers/json") => Some((200, list)),
        _ => Some((204, "")),
    });
    assert_eq!(remove_at(&fake.engine), ["container dead of r-4194305-1"]);
    let asked = lines(&fake);
    assert_eq!(asked, ["GET /containers/json", "DELETE /containers/dead"]);
}

#[test]
fn a_process_that_runs_and_is_not_seen_is_no_end() {
    // Beyond the largest pid: as an engine of another pid namespace may tell it.
    let fake = engine(r#"{"State":{"Running":true,"Pid":4194305}}"#);
    let error = first_process(&fake.engine, "c0ffee", 0).unwrap_err().to_string();
    assert!(error.contains("container `c0ffee` runs") && error.contains("4194305"), "{error}");
    assert!(error.contains("run in the engine's pid namespace"), "{error}");
    let fake = engine(r#"{"State":{"Running":true,"Pid":0}}"#);
    let error = first_process(&fake.engine, "c0ffee", 0).unwrap_err().to_string();
    assert!(error.contains("the engine tells no process"), "{error}");
}

#[test]
fn an_engine_that_refuses_names_the_keys_to_change() {
    let refuses = |path: &'static str, status| {
        Fake::start(move |asked| match asked.split('?').next()? {
            line if line == path => Some((status, r#"{"message":"executable file not found"}"#)),
            "GET /images/web/json" => Some((200, r#"{"Id":"sha256:1"}"#)),
            "POST /containers/create" => Some((201, r#"{"Id":"c0ffee","Warnings":[]}"#)),
            _ => Some((404, "{}")),
        })
    };
    let logs = tempfile::tempdir().unwrap();
    let fake = refuses("POST /containers/create", 400);
    let error = create(&fake, "web", logs.path()).unwrap_err().to_string();
    assert!(error.contains("does not make the container: executable"), "{error}");
    assert!(error.contains("change the target's `command`"), "{error}");
    // As Podman says it, and Docker sometimes.
    let fake = refuses("POST /containers/c0ffee/start", 500);
    let mut container = create(&fake, "web", logs.path()).unwrap();
    container.start().unwrap();
    let error = container.settle().unwrap_err().to_string();
    assert!(error.contains("does not start the container: executable"), "{error}");
    assert!(error.contains("the program must be in the image"), "{error}");
}
