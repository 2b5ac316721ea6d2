use super::*;

fn spec(urls: &[&str], headers: &[(&str, &str)]) -> RequestSpec {
    RequestSpec {
        urls: urls.iter().map(|url| url.parse().unwrap()).collect(),
        method: None,
        headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        body: None,
        basic_auth: None,
        seed: 0,
    }
}

fn wire(spec: &RequestSpec) -> Result<String, RequestError> {
    let requests = Requests::new(spec, Protocol::Http1)?;
    Ok(String::from_utf8(requests.list[0].wire.to_vec()).unwrap())
}

#[test]
fn targets_are_origin_form_and_host_is_as_the_address_says() {
    let check = |url: &str, target: &str, host: &str| {
        let expect = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        assert_eq!(wire(&spec(&[url], &[])).unwrap(), expect);
    };
    check("http://[::1]:9000/a?b#c", "/a?b", "[::1]:9000");
    check("http://example.org:80", "/", "example.org");
    check("http://example.org:8080/a%2Fb/\u{e9}", "/a%2Fb/%C3%A9", "example.org:8080");
    check("http://127.0.0.1/?q=a|b`{c}\"d", "/?q=a|b`{c}%22d", "127.0.0.1");
}

#[test]
fn a_host_header_of_the_user_replaces_ours_in_any_case_of_letters() {
    let text = wire(&spec(&["http://127.0.0.1:9/"], &[("hOsT", "x.test"), ("a", "1")])).unwrap();
    assert_eq!(text, "GET / HTTP/1.1\r\nhost: x.test\r\na: 1\r\n\r\n");
}

#[test]
fn a_body_is_posted_with_its_length_and_any_method_can_be_asked_for() {
    let base = spec(&["http://a/"], &[]);
    let posted = RequestSpec { body: Some(Bytes::from_static(b"h\xc3\xa9")), ..base.clone() };
    let expect = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nh\u{e9}";
    assert_eq!(wire(&posted).unwrap(), expect);
    assert!(!Requests::new(&posted, Protocol::Http1).unwrap().at(0).is_idempotent);
    let put = RequestSpec { method: Some("PUT".into()), ..posted };
    assert!(wire(&put).unwrap().starts_with("PUT / HTTP/1.1\r\n"));
    assert!(Requests::new(&put, Protocol::Http1).unwrap().at(0).is_idempotent);
    let empty = RequestSpec { method: Some("POST".into()), ..base.clone() };
    assert!(wire(&empty).unwrap().contains("content-length: 0\r\n"));
    let head = RequestSpec { method: Some("HEAD".into()), ..base };
    assert!(Requests::new(&head, Protocol::Http1).unwrap().at(0).is_head);
}

#[test]
fn basic_auth_is_the_known_answer_of_rfc_7617() {
    let auth =
        RequestSpec { basic_auth: Some("Aladdin:open sesame".into()), ..spec(&["http://a/"], &[]) };
    assert!(wire(&auth).unwrap().contains("authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
}

#[test]
fn addresses_take_turns_over_all_workers_and_a_seed_only_changes_their_order() {
    let urls = ["http://a/0", "http://a/1", "http://a/2", "http://a/3", "http://a/4"];
    let given = spec(&urls, &[]);
    let shuffled = RequestSpec { seed: 7, ..given.clone() };
    let round = |spec: &RequestSpec| -> Vec<String> {
        let requests = Requests::new(spec, Protocol::Http1).unwrap();
        let other_worker = requests.clone();
        (0..urls.len())
            .map(|i| if i % 2 == 0 { requests.next() } else { other_worker.next() })
            .map(|prepared| prepared.url.to_string())
            .collect()
    };
    assert_eq!(round(&given), urls);
    let mut other = round(&shuffled);
    assert_ne!(other, urls);
    assert_eq!(other, round(&shuffled));
    other.sort();
    assert_eq!(other, urls);
}

#[test]
fn what_cannot_be_requested_is_refused_with_a_remedy() {
    let refusal = |url, headers: &[_]| wire(&spec(&[url], headers)).unwrap_err().to_string();
    assert!(refusal("ftp://a/", &[]).contains("http://"));
    assert!(refusal("http://me:pw@a/", &[]).contains("basic_auth"));
    assert!(refusal("http://a/", &[("Content-Length", "3")]).contains("remove it"));
    assert!(refusal("http://a/", &[("bad name", "3")]).contains("`bad name`"));
    assert!(refusal("http://a/", &[("x", "a\nb")]).contains("control"));
    assert!(matches!(
        Requests::new(&spec(&[], &[]), Protocol::Http1),
        Err(RequestError::NoAddress)
    ));
    let method =
        |name: &str| RequestSpec { method: Some(name.into()), ..spec(&["http://a/"], &[]) };
    assert!(wire(&method("CONNECT")).unwrap_err().to_string().contains("GET"));
    assert!(wire(&method("G T")).is_err());
}
