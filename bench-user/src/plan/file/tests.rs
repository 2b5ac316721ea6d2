use super::*;
use crate::plan::{Builtin, Order, StageSelector};

fn check(text: &str, sentence: &str) {
    assert_eq!(parse(text, "the plan").unwrap_err().to_string(), sentence, "{text}");
}

#[test]
fn an_empty_plan_is_every_default() {
    assert_eq!(parse("", "the plan").unwrap(), Plan::default());
}

#[test]
fn a_mistyped_key_is_named_with_its_line_and_the_nearest_one() {
    check(
        "name = \"x\"\n\n[laddr]\nconnections = [1]\n",
        "unknown key \"laddr\" in the plan, line 3: did you mean \"ladder\"?",
    );
    check(
        "[ladder]\nconections = [1]\n",
        "unknown key \"conections\" in the plan, line 2: did you mean \"connections\"?",
    );
    check(
        "[[target]]\nname = \"a\"\n\n[[target]]\nname = \"b\"\ncpu = 1.0\n",
        "unknown key \"cpu\" in the plan, line 6: did you mean \"cpus\"?",
    );
    check(
        "[ladder]\nstep = 3\n",
        "unknown key \"step\" in the plan, line 2: known here: connections, rates, find_rate, \
         duration, warmup, pause",
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_its_key() {
    check(
        "repeat = \"x\"\n",
        "the plan, line 1: `repeat` has an invalid type: string \"x\", expected a whole number \
         from 0 on",
    );
    check(
        "repeat = -1\n",
        "the plan, line 1: `repeat` has an invalid value: integer `-1`, expected a whole number \
         from 0 on",
    );
    check(
        "[ladder]\nduration = \"soon\"\n",
        "the plan, line 2: `soon` is not a duration such as \"30s\" or \"250ms\": expected number \
         at 0",
    );
    check(
        "[stop]\nerrors = \"many\"\n",
        "the plan, line 2: `errors` must be a count such as 0, or false",
    );
    check(
        "[stop]\np99 = 1\n",
        "the plan, line 2: `p99` must be a duration such as \"1s\", or false",
    );
    check(
        "[valid]\nreconnects = \"few\"\n",
        "the plan, line 2: `reconnects` must be a share such as 0.01, or false",
    );
    check(
        "[[claim]]\nid = \"x\"\nstages = \"every\"\n",
        "the plan, line 3: `stages` must be \"all\", \"saturated\", \"peak\" or a list of \
         connections",
    );
    check(
        "[[service]]\nname = \"s\"\ncommand = [\"x\"]\n",
        "the plan, line 1: the key `url` is missing: add it to this table",
    );
    check(
        "[[target]]\nbuiltin = \"lean\"\n",
        "the plan, line 1: the key `name` is missing: add it to this table",
    );
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line() {
    let error = parse("name = \"x\"\nrepeat = \n", "the plan").unwrap_err().to_string();
    assert!(error.starts_with("the plan, line 2: "), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn paths_are_relative_to_the_folder_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(
        at("plan.toml"),
        r#"
        claims_file = "claims.toml"
        [load]
        body_file = "body.bin"
        unix_socket = "/run/absolute.sock"
        tls = { ca = "keys/ca.pem" }
        [[target]]
        name = "here"
        command = ["./server"]
        url = "http://127.0.0.1:1/"
        urls = "urls.txt"
        [[target]]
        name = "below"
        command = ["./server"]
        dir = "app"
        urls = "crawl"
        [[service]]
        name = "beside"
        command = ["./server"]
        url = "http://127.0.0.1:1/"
        [[claim]]
        id = "inline"
        cel = "true"
        "#,
    )
    .unwrap();
    std::fs::write(at("claims.toml"), "[[claim]]\nid = \"filed\"\ncel = \"true\"\n").unwrap();
    let plan = read(&at("plan.toml")).unwrap();
    assert_eq!(plan.load.body_file, Some(at("body.bin")));
    assert_eq!(plan.load.tls.ca, Some(at("keys/ca.pem")));
    assert_eq!(plan.load.unix_socket.as_deref(), Some(Path::new("/run/absolute.sock")));
    let [here, below] = &plan.targets[..] else { panic!("two targets") };
    assert_eq!(here.dir.as_deref(), Some(folder.path()));
    assert_eq!(here.urls, Some(UrlSource::Named(at("urls.txt").display().to_string())));
    assert_eq!(below.dir, Some(at("app")));
    assert_eq!(below.urls, Some(UrlSource::Named("crawl".into())));
    assert_eq!(plan.services[0].dir.as_deref(), Some(folder.path()));
    let ids: Vec<_> = plan.claims.iter().map(|claim| &claim.id).collect();
    assert_eq!(ids, ["inline", "filed"]);
}

#[test]
fn a_missing_file_is_named() {
    let error = read(Path::new("no/such/plan.toml")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read no/such/plan.toml: "), "{error}");
}

#[test]
fn every_kind_of_value_is_read() {
    let plan = parse(
        r#"
        order = "serial"
        [stop]
        errors = false
        non_2xx = 3
        [[target]]
        name = "t"
        builtin = "chatty"
        [[claim]]
        id = "c"
        stages = [1, 2]
        "#,
        "the plan",
    )
    .unwrap();
    assert_eq!(plan.order, Order::Serial);
    assert_eq!(plan.stop.errors, crate::plan::Limit::Switch(false));
    assert_eq!(plan.stop.non_2xx, crate::plan::Limit::MoreThan(3));
    assert_eq!(plan.targets[0].builtin, Some(Builtin::Chatty));
    assert_eq!(plan.claims[0].stages, StageSelector::Connections(vec![1, 2]));
}
