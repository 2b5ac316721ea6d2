//! The crawl of a small site, against a table of what it should find.

use std::sync::mpsc;
use std::time::Duration;

use url::{Position, Url};

use super::super::test_server::{Next, TestServer};
use super::super::{CrawlLimits, SkipReason, Skipped, crawl, resolve, visit};
use crate::fetch::Fetcher;
use crate::plan::UrlSource;

const HOME: &str = "<a href=/b#x>b</a> <a href=/a>a</a> <a href=/hop>hop</a> <a href=/away>w</a>
    <a href=/loop>loop</a> <a href=/gone>gone</a> <a href=/file>file</a> <a href=/to-b>b</a>
    <a href=http://other.test/>other</a> <a href='mailto:x@y'>mail</a> <a href=/%2F?q#f>enc</a>
    <img src=/image>";

/// What the site answers; everything else is a 404.
fn answer(path: &str) -> String {
    let html = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let redirect =
        |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    match path {
        "/" => html(HOME),
        "/a" => html("<a href=/deep>deep</a><a href=/>home</a>"),
        "/b" | "/deep" | "/%2F?q" => html("<p>no links"),
        // Each hop is relative to the one before: /x/y/z, then /x/c/final.
        "/hop" => redirect("x/y/z"),
        "/x/y/z" => redirect("../c/final#part"),
        "/x/c/final" => html("<a href=sibling>s</a>"),
        "/x/c/sibling" => html(""),
        "/away" => redirect("http://other.test/"),
        "/loop" => redirect("/loop"),
        "/to-b" => redirect("/b"),
        "/file" | "/image" => {
            "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 1\r\n\r\nx"
                .to_owned()
        }
        _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
    }
}

#[test]
fn a_visit_asks_for_every_address_of_a_crawl_once_and_of_no_other_source() {
    let (tell, asked) = mpsc::channel();
    let site = TestServer::start(move |request, peer| {
        tell.send(request.path.clone()).ok();
        peer.answer(&answer(&request.path));
        Next::Keep
    });
    let source = UrlSource::Named("crawl".into());
    let urls = resolve(&site.url("/"), Some(&source), &Fetcher::default()).unwrap();
    let mut pages = paths(&urls);
    let crawled: Vec<String> = asked.try_iter().collect();
    assert!(pages.iter().all(|page| crawled.iter().any(|path| path == page)), "{crawled:?}");

    visit(&urls, Some(&source), &Fetcher::default(), &|| false);
    let mut visited: Vec<String> = asked.try_iter().collect();
    pages.sort_unstable();
    visited.sort_unstable();
    assert_eq!(visited, pages);
    visit(&urls, Some(&source), &Fetcher::default(), &|| true);
    let list = UrlSource::List(vec!["/".into()]);
    visit(&urls, Some(&list), &Fetcher::default(), &|| false);
    assert_eq!(asked.try_iter().count(), 0);
}

fn site() -> TestServer {
    TestServer::start(|request, peer| {
        peer.answer(&answer(&request.path));
        Next::Keep
    })
}

fn paths(urls: &[Url]) -> Vec<&str> {
    urls.iter().map(|url| &url[Position::BeforePath..]).collect()
}

#[test]
fn pages_are_found_breadth_first_under_their_final_addresses() {
    let site = site();
    let found = crawl(&site.url("/"), &CrawlLimits::default(), &Fetcher::default()).unwrap();
    assert_eq!(
        paths(&found.pages),
        ["/", "/b", "/a", "/x/c/final", "/%2F?q", "/deep", "/x/c/sibling"]
    );
    assert_eq!(found.non_2xx, [(site.url("/gone"), 404)]);
    let other = "http://other.test/".parse().unwrap();
    let skipped = |path, why| Skipped { url: site.url(path), why };
    assert_eq!(
        found.skipped,
        [
            skipped("/away", SkipReason::LeavesOrigin(other)),
            skipped("/loop", SkipReason::TooManyRedirects),
            skipped("/file", SkipReason::NotAPage("application/pdf".into())),
        ]
    );
    assert!(!found.truncated);
    let asked = site.finish();
    // Once by its own link and once as the end of a redirect, never once more.
    assert_eq!((asked.received["/b"], asked.received["/"]), (2, 1));
    assert!(!asked.received.contains_key("/image"), "{asked:?}");
}

#[test]
fn assets_come_along_when_asked_for() {
    let site = site();
    let limits = CrawlLimits { assets: true, ..CrawlLimits::default() };
    let found = crawl(&site.url("/"), &limits, &Fetcher::default()).unwrap();
    let found = paths(&found.pages);
    assert!(found.contains(&"/image") && found.contains(&"/file"), "{found:?}");
}

#[test]
fn limits_end_a_crawl_and_say_so() {
    let site = site();
    let limits = CrawlLimits { max_pages: 2, ..CrawlLimits::default() };
    let found = crawl(&site.url("/"), &limits, &Fetcher::default()).unwrap();
    assert_eq!((paths(&found.pages), found.truncated), (vec!["/", "/b"], true));
    let limits = CrawlLimits { within: Duration::ZERO, ..CrawlLimits::default() };
    let found = crawl(&site.url("/"), &limits, &Fetcher::default()).unwrap();
    assert_eq!((paths(&found.pages), found.truncated), (vec!["/"], true));
}

#[test]
fn a_start_without_a_page_is_an_error_with_a_remedy() {
    let site = site();
    let refusal =
        |path| crawl(&site.url(path), &CrawlLimits::default(), &Fetcher::default()).unwrap_err();
    assert!(refusal("/gone").to_string().contains("404"));
    assert!(refusal("/away").to_string().contains("http://other.test/; crawl"));
    let file = crawl(&site.url("/file"), &CrawlLimits::default(), &Fetcher::default()).unwrap();
    assert_eq!(paths(&file.pages), ["/file"]);
}
