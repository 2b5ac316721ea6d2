//! What goes with which protocol, client, kind of loop and address.

use super::{URL, at, check, check_at, whole};

#[test]
fn the_lean_client_speaks_plain_http1_alone() {
    for (protocol, name) in [
        ("http2", "HTTP/2"),
        ("grpc", "gRPC"),
        ("sse", "server-sent events"),
        ("websocket", "WebSocket"),
        ("idle", "nothing (idle connections)"),
    ] {
        check(
            &format!("client = \"lean\"\nprotocol = \"{protocol}\""),
            &format!("the client `lean` speaks plain HTTP/1.1 and not {name}: take `client` out"),
        );
        check(
            &format!("pipeline = 2\nprotocol = \"{protocol}\""),
            &format!("`pipeline` is for HTTP/1.1 and not for {name}: take it out"),
        );
        at(URL, &format!("client = \"hyper\"\nprotocol = \"{protocol}\"")).unwrap();
    }
    check_at(
        "https://h.test/",
        "client = \"lean\"",
        "target \"t\" is at https://h.test/, and the client `lean` speaks plain HTTP/1.1: take \
         `client` out",
    );
    check_at(
        "https://h.test/",
        "pipeline = 2",
        "target \"t\" is at https://h.test/, and `pipeline` is for plain HTTP/1.1: take it out",
    );
    check(
        "client = \"hyper\"\npipeline = 2",
        "`pipeline` is for the client `lean`: take `client` out",
    );
    for n in [0, 1025] {
        check(&format!("pipeline = {n}"), &format!("`pipeline` is {n}: it must be from 1 to 1024"));
    }
    at(URL, "client = \"lean\"\npipeline = 1024").unwrap();
}

#[test]
fn streams_are_for_protocols_that_have_them() {
    check("streams = 2", "`streams` is for HTTP/2 and gRPC, and HTTP/1.1 has one: take it out");
    for n in [0, 1001] {
        let load = format!("protocol = \"http2\"\nstreams = {n}");
        check(&load, &format!("`streams` is {n}: it must be from 1 to 1000"));
    }
    for protocol in ["http2", "grpc"] {
        at(URL, &format!("protocol = \"{protocol}\"\nstreams = 1000")).unwrap();
    }
}

#[test]
fn a_protocol_that_fixes_the_request_takes_no_other() {
    check(
        "protocol = \"grpc\"\nmethod = \"PUT\"",
        "gRPC has no method but POST: take `method` out",
    );
    check(
        "protocol = \"websocket\"\nmethod = \"POST\"",
        "WebSocket has no method but GET: take `method` out",
    );
    check(
        "protocol = \"idle\"\nmethod = \"GET\"",
        "idle connections send nothing: take `method` out",
    );
    for body in ["body = \"x\"", "body_file = \"x\""] {
        check(
            &format!("protocol = \"idle\"\n{body}"),
            "idle connections send nothing: take `body` and `body_file` out",
        );
    }
    check(
        "websocket = \"listen\"",
        "`websocket` is \"listen\" and HTTP/1.1 is spoken: set `protocol` to \"websocket\"",
    );
    check_at(
        "http://h.test/",
        "protocol = \"grpc\"",
        "target \"t\" is at http://h.test/, which names no gRPC method: give it as \
         /package.Service/Method",
    );
    check_at(
        "ws://h.test/",
        "protocol = \"http2\"",
        "target \"t\" is at ws://h.test/, and HTTP/2 is spoken: set `protocol` to \"websocket\"",
    );
    for url in ["ws://h.test/", "http://h.test/", "https://h.test/"] {
        at(url, "protocol = \"websocket\"\nwebsocket = \"listen\"\nbody = \"x\"").unwrap();
    }
    at(URL, "protocol = \"sse\"\nmethod = \"POST\"\nbody = \"{}\"").unwrap();
}

#[test]
fn the_open_loop_is_for_requests_with_an_end() {
    let rates = "[ladder]\nconnections = [5]\nrates = [1.0]\n[[target]]\nname = \"t\"\n\
                 url = \"http://h/\"\n[load]\n";
    for (load, what) in [
        ("protocol = \"sse\"", "server-sent events"),
        ("protocol = \"idle\"", "idle connections"),
        ("protocol = \"websocket\"\nwebsocket = \"listen\"", "WebSocket connections that listen"),
    ] {
        assert_eq!(
            whole(&format!("{rates}{load}")).unwrap_err().to_string(),
            format!("{what} have no rate of requests: take `rates` out of the ladder"),
        );
    }
    whole(&format!("{rates}protocol = \"websocket\"\narrivals = \"poisson\"\ncatch_up = \"cap\""))
        .unwrap();
    for (key, value) in [("arrivals", "poisson"), ("catch_up", "skip")] {
        check(
            &format!("{key} = \"{value}\""),
            &format!(
                "`{key}` is for the open loop and the ladder has no `rates`: give them, or take \
                 `{key}` out"
            ),
        );
    }
}

#[test]
fn questions_besides_the_load_are_gets_over_tcp() {
    let target = |keys: &str| format!("[[target]]\nname = \"t\"\n{keys}\n");
    let crawl = "target \"t\" cannot be crawled but over TCP at an http:// or https:// address: \
                 list its `urls`";
    let ready = "target \"t\" is asked whether it is `ready` over TCP and not over the unix \
                 socket: give that address in full, or leave it out to wait until it takes \
                 connections";
    let socket = "[load]\nunix_socket = \"s\"\n";
    let websocket = "[load]\nprotocol = \"websocket\"\n";
    let (http, https) = ("url = \"http://h/\"", "url = \"https://h/\"");
    for (before, url, key, sentence) in [
        (websocket, "url = \"ws://h/\"", "urls = \"crawl\"", crawl),
        (socket, http, "urls = \"crawl\"", crawl),
        (socket, http, "ready = \"/up\"", ready),
    ] {
        let text = format!("{before}{}", target(&format!("{url}\n{key}")));
        assert_eq!(whole(&text).unwrap_err().to_string(), sentence, "{text}");
    }
    for key in ["urls = \"crawl\"", "ready = \"/up\"", "ready = \"http://h:8080/up\""] {
        whole(&target(&format!("{https}\n{key}"))).unwrap();
    }
    whole(&format!("{socket}{}", target(&format!("{http}\nready = \"https://h:8443/up\""))))
        .unwrap();
}

#[test]
fn a_built_in_server_speaks_http1_over_ipv4() {
    let built_in = |load: &str| {
        whole(&format!("[load]\n{load}\n[[target]]\nname = \"t\"\nbuiltin = \"lean\"\n"))
    };
    for (load, sentence) in [
        (
            "protocol = \"http2\"",
            "target \"t\" is built in and does not speak HTTP/2: set `protocol` to \"http1\"",
        ),
        ("unix_socket = \"s\"", "target \"t\" is built in and has no `unix_socket`: take it out"),
        ("family = \"ipv6\"", "target \"t\" is built in and has an IPv4 address: take IPv6 out"),
        ("sources = [\"::1\"]", "target \"t\" is built in and has an IPv4 address: take IPv6 out"),
    ] {
        assert_eq!(built_in(load).unwrap_err().to_string(), sentence, "{load}");
    }
    built_in("protocol = \"idle\"\nsources = [\"127.0.0.2\"]").unwrap();
}
