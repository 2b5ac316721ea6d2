//! Each rule of `[load]`, by the sentence that it gives.

mod protocol;

use crate::plan::file::parse;
use crate::plan::{PlanError, validate};

/// A plan with these keys of `[load]`, for a target at this address.
fn at(url: &str, load: &str) -> Result<(), PlanError> {
    whole(&format!("[load]\n{load}\n[[target]]\nname = \"t\"\nurl = \"{url}\"\n"))
}

fn whole(text: &str) -> Result<(), PlanError> {
    validate::plan(&parse(text, "the plan").unwrap())
}

const URL: &str = "http://h.test/a.B/C";

fn check(load: &str, sentence: &str) {
    assert_eq!(at(URL, load).unwrap_err().to_string(), sentence, "{load}");
}

fn check_at(url: &str, load: &str, sentence: &str) {
    assert_eq!(at(url, load).unwrap_err().to_string(), sentence, "{url} {load}");
}

#[test]
fn the_generator_can_work() {
    check("workers = 0", "`workers` must be from 1 to 1024: leave it out for half of the CPUs");
    check("timeout = \"0s\"", "`timeout` is 0s, in which no request can be answered: raise it");
    check(
        "connect_timeout = \"0s\"",
        "`connect_timeout` is 0s, in which no connection can be opened: raise it",
    );
    check("cpus = \"all\"", "\"all\" is not a list of CPUs: write one as \"0-3,6\"");
}

#[test]
fn headers_can_be_sent_and_are_not_set_twice() {
    check(
        "headers = { \"a b\" = \"x\" }",
        "\"a b\" is not the name of a header: use letters, digits and `-`",
    );
    check(
        "headers = { a = \"x\\ny\" }",
        "the header \"a\" has a value with control characters: take them out",
    );
    check(
        "headers = { Authorization = \"x\" }\nbasic_auth = \"a:b\"",
        "the header \"Authorization\" is what `basic_auth` sends: keep one of the two",
    );
    at(URL, "headers = { Authorization = \"x\" }").unwrap();
}

#[test]
fn a_request_can_be_made() {
    check("method = \"get\"", "the method \"get\" is written in capitals: write it as \"GET\"");
    for (method, shown) in [("CONNECT", "CONNECT"), ("", ""), ("A B", "A B")] {
        check(
            &format!("method = \"{method}\""),
            &format!(
                "\"{shown}\" cannot be the `method` of a request: use one such as GET or POST"
            ),
        );
    }
    at(URL, "method = \"purge\"").unwrap();
    check(
        "body = \"a\"\nbody_file = \"a\"",
        "a request has one body: keep one of `body` and `body_file`",
    );
    check("basic_auth = \"me\"", "`basic_auth` has no colon: write it as \"user:password\"");
    check(
        "basic_auth = \"me:a\\u0007\"",
        "`basic_auth` has control characters, which RFC 7617 forbids: take them out",
    );
    at(URL, "basic_auth = \"me:***\"").unwrap();
}

#[test]
fn sources_are_distinct_addresses_of_one_family() {
    check(
        "sources = [\"127.0.0.1\", \"::1\"]",
        "`sources` has ::1, and connections come from IPv4 addresses: give addresses of one \
         family, that of `family`",
    );
    check(
        "family = \"ipv6\"\nsources = [\"127.0.0.1\"]",
        "`sources` has 127.0.0.1, and connections come from IPv6 addresses: give addresses of \
         one family, that of `family`",
    );
    check(
        "sources = [\"127.0.0.1\", \"127.0.0.2\", \"127.0.0.1\"]",
        "`sources` has 127.0.0.1 twice, which adds no local ports: take one out",
    );
    check(
        "sources = [\"0.0.0.0\"]",
        "`sources` has 0.0.0.0, which no connection comes from: give own addresses",
    );
    check_at(
        "http://[::1]:1/",
        "family = \"ipv4\"",
        "target \"t\" is at http://[::1]:1/, which is no IPv4 address: change it, `family` or \
         `sources`",
    );
    check_at(
        "http://127.0.0.1:1/",
        "sources = [\"::1\"]",
        "target \"t\" is at http://127.0.0.1:1/, which is no IPv6 address: change it, `family` or \
         `sources`",
    );
    at("http://127.0.0.1:1/", "family = \"ipv4\"\nsources = [\"127.0.0.1\", \"127.0.0.2\"]")
        .unwrap();
}

#[test]
fn a_unix_socket_stands_for_one_target_and_has_no_address() {
    for key in ["family = \"ipv4\"", "sources = [\"127.0.0.1\"]"] {
        let name = key.split(' ').next().unwrap();
        check(
            &format!("unix_socket = \"s\"\n{key}"),
            &format!("a connection over `unix_socket` has no `{name}`: take it out"),
        );
    }
    let two = "[load]\nunix_socket = \"s\"\n[[target]]\nname = \"a\"\nurl = \"http://h/\"\n\
               [[target]]\nname = \"b\"\nurl = \"http://h/\"\n";
    assert_eq!(
        whole(two).unwrap_err().to_string(),
        "every target would be reached over the one `unix_socket`: give each a plan of its own"
    );
    at("https://h/", "unix_socket = \"s\"").unwrap();
}

#[test]
fn tls_is_for_addresses_that_have_it() {
    let https = "https://h.test/";
    check(
        "tls = { verify = false }",
        "`tls` is set and no target is at an https:// or wss:// address: take it out",
    );
    check_at(
        https,
        "tls = { verify = false, ca = \"ca.pem\" }",
        "`tls` has a `ca` and verifies nothing: take `ca` out, or `verify = false`",
    );
    check_at(
        https,
        "tls = { server_name = \"https://x\" }",
        "\"https://x\" cannot be a `server_name`: give a host name without scheme and port",
    );
    at(https, "tls = { server_name = \"x.test\", ca = \"ca.pem\" }").unwrap();
    at("wss://h.test/", "protocol = \"websocket\"\ntls = { verify = false }").unwrap();
}
