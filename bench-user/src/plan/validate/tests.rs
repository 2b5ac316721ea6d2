//! Each rule of a whole plan, by the sentence that it gives.

use crate::plan::file::parse;

fn check(toml: &str, sentence: &str) {
    let text = format!("{toml}\n[[target]]\nname = \"a\"\nbuiltin = \"lean\"\n");
    let error = super::plan(&parse(&text, "the plan").unwrap()).unwrap_err().to_string();
    assert_eq!(error, sentence, "{toml}");
}

#[test]
fn the_smallest_plan_is_valid() {
    let text = "[[target]]\nname = \"a\"\nurl = \"http://127.0.0.1:1/\"\n";
    super::plan(&parse(text, "the plan").unwrap()).unwrap();
}

#[test]
fn names_can_be_folders() {
    check("name = \"\"", "the name of the plan is empty: give it one");
    check(
        "name = \"a/b\"",
        "the name of the plan is \"a/b\", which cannot be part of a file name: leave out `/`",
    );
    check(
        "[[target]]\nname = \"..\"\nbuiltin = \"lean\"",
        "the name of a target is \"..\", which cannot be part of a file name: leave out `/`",
    );
    check(
        "[[target]]\nname = \"a\"\nbuiltin = \"lean\"",
        "two targets are named \"a\": rename one",
    );
}

#[test]
fn a_service_is_started_as_a_target_is_and_has_a_name_of_its_own() {
    let service = |name: &str, more: &str| {
        format!("[[service]]\nname = \"{name}\"\nurl = \"http://127.0.0.1:1/\"\n{more}")
    };
    let command = "command = [\"x\"]\n";
    let whole = format!(
        "{}ready = \"/up\"\ncpus = 0.5\ncpuset = \"0\"\nmemory = \"64MiB\"\n\
         env = {{ A = \"1\" }}\n[[target]]\nname = \"a\"\nbuiltin = \"lean\"",
        service("s", command)
    );
    super::plan(&parse(&whole, "the plan").unwrap()).unwrap();
    check(
        &service("s", "command = []"),
        "service \"s\" has an empty `command`: give the program to start",
    );
    check(
        &service("s", &format!("{command}cpus = 0.0")),
        "service \"s\" may use no CPU: `cpus` must be above 0, such as 1.0",
    );
    check(
        &service("..", command),
        "the name of a service is \"..\", which cannot be part of a file name: leave out `/`",
    );
    let twice = "a service is named \"a\" as another service or a target is: rename one";
    check(&service("a", command), twice);
    let late = format!("{command}ready_within = \"2days\"");
    check(&service("s", &late), "`ready_within` is 2days: nothing here may take longer than a day");
}

#[test]
fn a_plan_without_a_target_is_refused() {
    let error = super::plan(&parse("", "the plan").unwrap()).unwrap_err().to_string();
    assert_eq!(error, "the plan has no target: add a [[target]] table with a `name` and a `url`");
}

#[test]
fn some_repetition_is_left_to_analyse() {
    check("repeat = 0", "`repeat` is 0: it must be from 1 to 1000");
    check(
        "repeat = 2\ndiscard = 2",
        "`discard` is 2 of 2 repetitions, which leaves none: raise `repeat` or lower `discard`",
    );
}

#[test]
fn a_ladder_has_distinct_stages_of_some_length() {
    check(
        "[ladder]\nconnections = []",
        "the ladder has no stage: give `connections` at least one number",
    );
    check(
        "[ladder]\nconnections = [1, 0]",
        "a stage has 0 connections: it must be from 1 to 100000",
    );
    check(
        "[ladder]\nconnections = [100001]",
        "a stage has 100001 connections: it must be from 1 to 100000",
    );
    check(
        "[ladder]\nconnections = [5, 7, 5]",
        "the ladder has 5 connections twice: take one out and use `repeat`",
    );
    check(
        "[ladder]\nduration = \"0s\"",
        "`duration` is 0s: a stage needs a measured window, such as \"30s\"",
    );
}

#[test]
fn no_time_is_beyond_a_day() {
    let day = "nothing here may take longer than a day";
    for (table, key) in [
        ("ladder", "duration"),
        ("ladder", "warmup"),
        ("ladder", "pause"),
        ("load", "timeout"),
        ("load", "connect_timeout"),
        ("observe", "interval"),
    ] {
        check(&format!("[{table}]\n{key} = \"25h\""), &format!("`{key}` is 1day 1h: {day}"));
    }
    let of_target = "[[target]]\nname = \"b\"\nbuiltin = \"lean\"\nready_within = \"2days\"";
    check(of_target, &format!("`ready_within` is 2days: {day}"));
}

#[test]
fn a_stop_rule_is_a_limit_or_off() {
    for rule in ["errors", "non_2xx", "p99"] {
        check(
            &format!("[stop]\n{rule} = true"),
            &format!(
                "the stop rule `{rule}` is true, which sets no limit: give the limit, or false to \
                 turn it off"
            ),
        );
    }
    check("[stop]\np99 = \"0s\"", "the stop rule `p99` is 0s, which every stage reaches: raise it");
}

#[test]
fn samples_are_some_time_apart() {
    check("[observe]\ninterval = \"1ms\"", "`interval` is 1ms: raise it to 10ms or more");
}

#[test]
fn rates_are_distinct_and_of_one_number_of_connections() {
    let rates = |list: &str| format!("[ladder]\nconnections = [5]\nrates = {list}");
    check(
        "[ladder]\nconnections = [5, 7]\nrates = [100.0]",
        "`rates` are sent over one number of connections, and `connections` has 2: give it one \
         number, such as [100]",
    );
    for (list, rate) in [("[1.0, 0.0]", "0"), ("[-1.0]", "-1"), ("[inf]", "inf"), ("[nan]", "NaN")]
    {
        check(
            &rates(list),
            &format!("a stage has a rate of {rate}: it must be above 0 and at most 10000000"),
        );
    }
    check(
        &rates("[10000000.5]"),
        "a stage has a rate of 10000000.5: it must be above 0 and at most 10000000",
    );
    check(
        &rates("[0.5, 2.0, 0.5]"),
        "the ladder has the rate 0.5 twice: take one out and use `repeat`",
    );
    let text = format!("{}\n[[target]]\nname = \"a\"\nbuiltin = \"lean\"", rates("[0.5, 1e7]"));
    super::plan(&parse(&text, "the plan").unwrap()).unwrap();
}

#[test]
fn claims_are_checked_against_the_targets_and_the_ladder() {
    check(
        "[[claim]]\nid = \"c\"\nmetric = \"m\"\nexpect = \"> 1\"\nof = \"b\"",
        "claim \"c\" names an unknown target \"b\" in `of`: known here: a",
    );
    check(
        "[ladder]\nconnections = [5]\n[[claim]]\nid = \"c\"\ncel = \"true\"\nstages = [7]",
        "claim \"c\" is about the stage of 7 connections, which the ladder lacks: it has 5",
    );
}
