//! Command lines and the plans that they stand for.

use clap::Parser as _;

use super::*;
use crate::cli::{Cli, Command};
use crate::plan::{Arrivals, CatchUp, Client, Family, LoadSpec, Protocol, TlsSpec, WebsocketMode};
use crate::units::{Bytes, Share, Span};

fn plan_of(line: &str) -> Result<Plan, PlanError> {
    let words = ["bench-user", "run"].into_iter().chain(line.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Run(args) => plan(&args),
        other => panic!("{other:?}"),
    }
}

fn check_error(line: &str, sentence: &str) {
    assert_eq!(plan_of(line).unwrap_err().to_string(), sentence, "{line}");
}

#[test]
fn no_arguments_are_the_embedded_plan_and_flags_override_it() {
    assert_eq!(plan_of("").unwrap(), default::embedded());
    let plan = plan_of("--connections 3,4 --repeat 1 --no-control --name quick").unwrap();
    assert_eq!((plan.ladder.connections, plan.repeat), (vec![3, 4], 1));
    assert_eq!((plan.name.as_str(), plan.observe.control), ("quick", false));
    let names: Vec<_> = plan.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["lean", "chatty"]);
}

#[test]
fn a_command_after_two_dashes_is_the_target() {
    let plan = plan_of(
        "--url http://127.0.0.1:1/ --cpus 1.5 --memory 1GiB --env A=b --dir /x --ready /up \
         --ready-within 5s -- /usr/bin/node --port 1",
    )
    .unwrap();
    let [target] = &plan.targets[..] else { panic!("one target") };
    assert_eq!(target.name, "node");
    assert_eq!(target.command.as_ref().unwrap(), &["/usr/bin/node", "--port", "1"]);
    assert_eq!((target.cpus, target.memory), (Some(1.5), Some(Bytes(1 << 30))));
    assert_eq!(target.env["A"], "b");
    assert_eq!(target.dir.as_deref(), Some(Path::new("/x")));
    assert_eq!(target.ready.as_deref(), Some("/up"));
    assert_eq!(target.ready_within, Span::from_secs(5));
    // Everything else as in an empty plan.
    assert_eq!(Plan { targets: Vec::new(), ..plan }, Plan::default());
}

#[test]
fn an_image_is_the_target_and_a_command_is_what_its_container_runs() {
    let plan = plan_of(
        "--url http://127.0.0.1:1/ --image localhost/study/web:1 --engine docker \
         --volume /a:/b:ro --volume /c:/d --env A=b --dir /x -- /server --port 1",
    )
    .unwrap();
    let [target] = &plan.targets[..] else { panic!("one target") };
    assert_eq!(target.name, "web:1");
    assert_eq!(target.image.as_deref(), Some("localhost/study/web:1"));
    assert_eq!(target.engine.as_deref(), Some("docker"));
    assert_eq!(target.volumes, ["/a:/b:ro", "/c:/d"]);
    assert_eq!(target.command.as_ref().unwrap(), &["/server", "--port", "1"]);
    assert_eq!(target.dir.as_deref(), Some(Path::new("/x")));
}

#[test]
fn a_target_is_named_by_what_finds_it() {
    let url = "--url http://127.0.0.1:8080/";
    for (flags, name) in [
        ("--pid 7", "pid-7"),
        ("--cgroup /sys/fs/cgroup/a/b", "b"),
        ("--container web --engine /x.sock", "web"),
        ("--unit nginx.service --adopt", "nginx.service"),
        ("--urls crawl", "127.0.0.1:8080"),
        ("--pid 7 --name mine", "mine"),
    ] {
        let plan = plan_of(&format!("{url} {flags}")).unwrap();
        assert_eq!(plan.targets[0].name, name, "{flags}");
    }
    assert_eq!(plan_of("--builtin chatty").unwrap().targets[0].name, "chatty");
}

#[test]
fn every_rule_and_observation_flag_reaches_its_key() {
    let plan = plan_of(
        "--stop-errors off --stop-non-2xx 5 --stop-p99 2s --timeout 3s --workers 2 --load-cpus \
         0-1 --header A:b --order serial --discard 1 --warmup 1s --pause 2s --duration 4s \
         --interval 100ms --no-observe --probe-log --max-overhead 2%",
    )
    .unwrap();
    assert_eq!(plan.stop.errors, Limit::Switch(false));
    assert_eq!(plan.stop.non_2xx, Limit::MoreThan(5));
    assert_eq!(plan.stop.p99, SpanLimit::AtLeast(Span::from_secs(2)));
    assert_eq!((plan.load.timeout, plan.load.workers), (Span::from_secs(3), Some(2)));
    assert_eq!(plan.load.cpus.as_deref(), Some("0-1"));
    assert_eq!(plan.load.headers["A"], "b");
    assert_eq!((plan.order, plan.discard), (Order::Serial, 1));
    let ladder = [plan.ladder.warmup, plan.ladder.pause, plan.ladder.duration];
    assert_eq!(ladder, [1, 2, 4].map(Span::from_secs));
    assert_eq!(plan.observe.interval.as_ns(), 100_000_000);
    assert!(!plan.observe.enabled && plan.observe.control && plan.observe.probe_log);
    assert_eq!(plan.observe.max_overhead, Some(Share(0.02)));
    let off = plan_of("--stop-p99 off").unwrap();
    assert_eq!(off.stop.p99, SpanLimit::Switch(false));
}

#[test]
fn every_load_flag_reaches_its_key() {
    let plan = plan_of(
        "--url https://h/a/b --connections 5 --rate 0.5,2000 --protocol grpc --client hyper \
         --streams 3 -X POST -d hi --basic-auth me:pw --seed 9 -4 --source 127.0.0.1,127.0.0.2 \
         --connect-timeout 2s --ca ca.pem --server-name x.test --arrivals poisson --catch-up cap",
    )
    .unwrap();
    assert_eq!((plan.ladder.connections, plan.ladder.rates), (vec![5], vec![0.5, 2000.0]));
    let tls = TlsSpec {
        ca: Some("ca.pem".into()),
        server_name: Some("x.test".into()),
        ..TlsSpec::default()
    };
    let expected = LoadSpec {
        protocol: Protocol::Grpc,
        client: Some(Client::Hyper),
        streams: 3,
        method: Some("POST".into()),
        body: Some("hi".into()),
        basic_auth: Some("me:pw".into()),
        seed: 9,
        family: Some(Family::Ipv4),
        sources: ["127.0.0.1", "127.0.0.2"].map(|source| source.parse().unwrap()).into(),
        connect_timeout: Some(Span::from_secs(2)),
        tls,
        arrivals: Arrivals::Poisson,
        catch_up: CatchUp::Cap,
        ..LoadSpec::default()
    };
    assert_eq!(plan.load, expected);
    let load = |line: &str| plan_of(&format!("--url http://h/ {line}")).unwrap().load;
    assert_eq!(load("-H A:b").headers["A"], "b");
    assert_eq!(load("--body 3s").body.as_deref(), Some("3s"));
    assert_eq!(plan_of("--url http://h/ -c 7").unwrap().ladder.connections, [7]);
    assert_eq!(load("--pipeline 4 --client lean").pipeline, 4);
    assert_eq!(load("--unix-socket /s").unix_socket.as_deref(), Some(Path::new("/s")));
    assert_eq!(load("-6").family, Some(Family::Ipv6));
    let listening = load("--protocol websocket --websocket listen");
    assert_eq!(listening.websocket, WebsocketMode::Listen);
    for flag in ["--no-verify", "--insecure"] {
        assert!(!plan_of(&format!("--url https://h/ {flag}")).unwrap().load.tls.verify);
    }
}

#[test]
fn the_body_of_the_command_line_replaces_either_body_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    let target = "[[target]]\nname = \"t\"\nurl = \"http://h/\"\n";
    let body = |key: &str, line: &str| {
        std::fs::write(&file, format!("{target}[load]\n{key} = \"of-plan\"\n")).unwrap();
        let load = plan_of(&format!("{} {line}", file.display())).unwrap().load;
        (load.body, load.body_file)
    };
    assert_eq!(body("body_file", "--body new"), (Some("new".into()), None));
    assert_eq!(body("body", "--body-file new"), (None, Some("new".into())));
    assert_eq!(body("body", ""), (Some("of-plan".into()), None));
}

#[test]
fn an_objective_takes_the_place_of_rates_and_is_checked() {
    let words = ["--builtin", "lean", "--find-rate", "p99 < 8ms and error_ratio < 0.1%"];
    let words = ["bench-user", "run"].into_iter().chain(words);
    let Command::Run(args) = Cli::try_parse_from(words).unwrap().command else { panic!() };
    let ladder = plan(&args).unwrap().ladder;
    assert_eq!(ladder.find_rate.map(|o| o.conditions.len()), Some(2));
    let lean = "--builtin lean --find-rate p99<8ms";
    assert_eq!(plan_of(lean).unwrap().ladder.connections.len(), 1);
    assert_eq!(plan_of(&format!("{lean} -c 5")).unwrap().ladder.connections, [5]);
    check_error(
        &format!("{lean} -c 5 --rate 100"),
        "the ladder has both `rates` and `find_rate`, which searches for one: take one of them out",
    );
    check_error(
        &format!("{lean} -c 5,10"),
        "`find_rate` searches over one number of connections, and `connections` has 2: give it one \
         number, such as [100]",
    );
    check_error(
        "--builtin lean --find-rate p95",
        "`p95` is no objective: `p95` has no `<`; write for example \"p99 < 8ms\"",
    );
}

#[test]
fn what_contradicts_itself_is_refused_in_one_sentence() {
    check_error(
        "plan.toml --pid 7",
        "--pid describes a target and so does the plan plan.toml: leave one of the two out",
    );
    check_error(
        "plan.toml --adopt",
        "--adopt is about a target, and the plan plan.toml describes it: set `adopt = true` under \
         its [[target]]",
    );
    check_error("http://h/", "http://h/ is no plan file: give an address with --url http://h/");
    for list in ["all", "off-cpu,stacks"] {
        let says = format!(
            "{list} is no plan file: the list of --explain stands behind `=`, as in --explain={list}"
        );
        check_error(&format!("--explain {list}"), &says);
        check_error(&format!("--builtin lean --explain {list}"), &says);
    }
    check_error(
        "http://h/ --url http://g/",
        "http://h/ is one address more than --url: leave it out",
    );
    check_error(
        "--urls crawl",
        "--urls needs --url: say where requests go, such as --url http://127.0.0.1:3000/",
    );
    check_error(
        "plan.toml -- node",
        "the command after `--` describes a target and so does the plan plan.toml: leave one of \
         the two out",
    );
    check_error(
        "--builtin lean --env A=b",
        "target \"lean\" is given by `builtin`, where `env` has no meaning: take it out, or \
         start the target by `command`",
    );
    check_error(
        "--discard 5",
        "`discard` is 5 of 5 repetitions, which leaves none: raise `repeat` or lower `discard`",
    );
}

#[test]
fn observe_and_exec_need_no_address() {
    let Command::Observe(args) = Cli::parse_from(["bench-user", "observe", "--unit", "x"]).command
    else {
        panic!("observe");
    };
    assert_eq!(observed_target(&args).unwrap().unit.as_deref(), Some("x"));
    let Command::Exec(args) =
        Cli::parse_from(["bench-user", "exec", "--cpus", "2", "--", "npm", "ci"]).command
    else {
        panic!("exec");
    };
    let spec = executed_target(&args).unwrap();
    assert_eq!((spec.name.as_str(), spec.cpus), ("npm", Some(2.0)));
}
