//! Each rule of a target, by the sentence that it gives.

use super::*;

fn spec(toml: &str) -> TargetSpec {
    let text = format!("[[target]]\nname = \"t\"\n{toml}");
    crate::plan::file::parse(&text, "the plan").unwrap().targets.remove(0)
}

fn check(toml: &str, sentence: &str) {
    let error = target(&spec(toml), Purpose::Load).unwrap_err().to_string();
    assert_eq!(error, sentence, "{toml}");
}

const URL: &str = "url = \"http://127.0.0.1:1/\"\n";

#[test]
fn a_target_is_found_in_exactly_one_way() {
    check(
        "",
        "target \"t\" cannot be found: give one of `command`, `image`, `builtin`, \
         `container`, `cgroup`, `pid`, `unit`, or `url` alone",
    );
    check(
        "pid = 1\nunit = \"x\"",
        "target \"t\" is given in 2 ways (`pid`, `unit`): keep one of them",
    );
    for way in ["command = [\"x\"]", "pid = 1", "container = \"x\"", "cgroup = \"/x\"", ""] {
        target(&spec(&format!("{URL}{way}")), Purpose::Load).unwrap();
    }
    target(&spec("builtin = \"lean\"\ncpus = 1.0"), Purpose::Load).unwrap();
    check(
        "image = \"web\"\ncontainer = \"web\"",
        "target \"t\" is given in 2 ways (`image`, `container`): keep one of them",
    );
}

#[test]
fn what_is_only_watched_needs_no_address_but_a_cgroup() {
    target(&spec("unit = \"x\""), Purpose::Watch).unwrap();
    let error = target(&spec(URL), Purpose::Watch).unwrap_err().to_string();
    assert!(error.starts_with("nothing to watch: give one of --pid"), "{error}");
}

#[test]
fn addresses_are_of_http_or_websocket() {
    for scheme in ["http", "https", "ws", "wss"] {
        target(&spec(&format!("url = \"{scheme}://x/\"")), Purpose::Load).unwrap();
    }
    check(
        "pid = 1",
        "target \"t\" has no `url`: say where its requests go, such as http://127.0.0.1:3000/",
    );
    check(
        "url = \"localhost:3000\"",
        "target \"t\" is at \"localhost:3000\", which is no http:// address: write it in full, \
         such as http://127.0.0.1:3000/",
    );
    check(
        &format!("{URL}urls = [\"/a\", \"ftp://x/\"]"),
        "target \"t\" is at \"ftp://x/\", which is no http:// address: write it in full, such as \
         http://127.0.0.1:3000/",
    );
    check(
        &format!("{URL}urls = []"),
        "target \"t\" has an empty list of `urls`: take it out or fill it",
    );
    check(
        &format!("{URL}ready = \"http://[x\""),
        "target \"t\" has an address \"http://[x\" that cannot be read (invalid IPv6 address): \
         write it as /path or http://host/path",
    );
    check(
        &format!("builtin = \"lean\"\n{URL}"),
        "target \"t\" is built in and picks its own address: take `url` out",
    );
}

#[test]
fn limits_are_for_what_is_started_here() {
    check(
        &format!("{URL}pid = 1\ncpus = 1.0"),
        "target \"t\" is given by `pid`, where `cpus` has no meaning: take it out, or start the \
         target by `command`",
    );
    check(
        "builtin = \"lean\"\ndir = \"/\"",
        "target \"t\" is given by `builtin`, where `dir` has no meaning: take it out, or start \
         the target by `command`",
    );
    let command = format!("{URL}command = [\"x\"]\n");
    check(
        &format!("{command}cpus = 0.0"),
        "target \"t\" may use no CPU: `cpus` must be above 0, such as 1.0",
    );
    check(
        &format!("{command}cpuset = \"2-\""),
        "\"2-\" is not a list of CPUs: write one as \"0-3,6\"",
    );
    check(
        &format!("{command}memory = \"512\""),
        "target \"t\" may use 512B of memory, less than any process needs: write a size with \
         its unit, such as \"512MiB\"",
    );
    check(
        &format!("{command}env = {{ \"A=B\" = \"1\" }}"),
        "target \"t\" has an environment variable \"A=B\": a name is not empty and has no `=`",
    );
}

#[test]
fn switches_stand_only_where_they_mean_something() {
    check(
        &format!("{URL}pid = 1\nengine = \"/x.sock\""),
        "target \"t\" has `engine` without `container` or `image`: take it out",
    );
    check(
        &format!("{URL}adopt = true"),
        "target \"t\" cannot be adopted: `adopt` is for a running `container`, `pid` or `unit`",
    );
    check(&format!("{URL}pid = 0"), "target \"t\" has pid 0: give that of a process");
    check(
        &format!("{URL}ready_within = \"0s\""),
        "target \"t\" has no time to get ready: raise `ready_within`",
    );
    check(
        &format!("{URL}command = []"),
        "target \"t\" has an empty `command`: give the program to start",
    );
}
