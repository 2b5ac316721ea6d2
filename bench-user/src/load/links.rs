//! The addresses that an HTML page links to, as a browser would resolve them.
//!
//! Only attributes that are addresses by the HTML standard are read; text, scripts, styles and
//! `<meta>` are not searched for what looks like one. The page is taken as UTF-8.

use std::sync::LazyLock;

use scraper::{ElementRef, Html, Selector};
use url::Url;

static BASE: LazyLock<Selector> = LazyLock::new(|| selector("base[href]"));
static PAGES: LazyLock<Selector> = LazyLock::new(|| selector("a[href], area[href]"));
static ALL: LazyLock<Selector> =
    LazyLock::new(|| selector("a[href], area[href], link[rel][href], script[src], img[src]"));

/// The links of `html` in document order, each once, absolute and without a fragment.
///
/// `page` is the address that the page was got from in the end, after redirects. `assets` adds
/// style sheets, icons, scripts and images.
#[must_use]
pub fn links(page: &Url, html: &str, assets: bool) -> Vec<Url> {
    let document = Html::parse_document(html);
    // The first `<base href>` counts, and it is itself relative to the page.
    let base = document
        .select(&BASE)
        .next()
        .and_then(|element| element.attr("href"))
        .and_then(|href| page.join(href).ok())
        .unwrap_or_else(|| page.clone());
    let mut found: Vec<Url> = Vec::new();
    for element in document.select(if assets { &ALL } else { &PAGES }) {
        let Some(address) = address_of(element) else { continue };
        let Ok(mut url) = base.join(address) else { continue };
        url.set_fragment(None);
        if !found.contains(&url) {
            found.push(url);
        }
    }
    found
}

fn address_of(element: ElementRef<'_>) -> Option<&str> {
    match element.value().name() {
        "link" => {
            let mut kinds = element.attr("rel")?.split_ascii_whitespace();
            let is_fetched = kinds.any(|kind| {
                kind.eq_ignore_ascii_case("stylesheet") || kind.eq_ignore_ascii_case("icon")
            });
            is_fetched.then(|| element.attr("href")).flatten()
        }
        "script" | "img" => element.attr("src"),
        _ => element.attr("href"),
    }
}

fn selector(text: &str) -> Selector {
    Selector::parse(text).expect("the selectors of this module are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The links of a page at `http://h.test/a/b`, as text.
    fn check(html: &str, expect: &[&str]) {
        let page = "http://h.test/a/b".parse().unwrap();
        let found: Vec<String> = links(&page, html, false).into_iter().map(String::from).collect();
        assert_eq!(found, expect, "{html}");
    }

    #[test]
    fn addresses_are_resolved_as_browsers_do() {
        for (href, expect) in [
            ("c", "http://h.test/a/c"),
            ("/c", "http://h.test/c"),
            ("?q=1", "http://h.test/a/b?q=1"),
            ("../../../x", "http://h.test/x"),
            ("//other.test/y", "http://other.test/y"),
            ("", "http://h.test/a/b"),
            ("#top", "http://h.test/a/b"),
            ("c#part", "http://h.test/a/c"),
            ("/a%2Fb", "http://h.test/a%2Fb"),
            ("/a%252Fb", "http://h.test/a%252Fb"),
            ("/caf\u{e9}", "http://h.test/caf%C3%A9"),
            ("http://b\u{fc}cher.test/", "http://xn--bcher-kva.test/"),
            (" \n/spaced\t ", "http://h.test/spaced"),
            ("/two words", "http://h.test/two%20words"),
            ("/x?a=1&amp;b=2", "http://h.test/x?a=1&b=2"),
            ("HTTP://H.TEST:80/Up", "http://h.test/Up"),
            ("mailto:a@b", "mailto:a@b"),
        ] {
            check(&format!("<a href='{href}'>x</a>"), &[expect]);
        }
    }

    #[test]
    fn base_href_counts_for_every_link_and_only_the_first_one() {
        check(
            "<base target=_top><base href='/deep/er/'><base href='/no/'><a href=c>x</a>",
            &["http://h.test/deep/er/c"],
        );
        check("<base href='http://cdn.test/'><a href='?x'>x</a>", &["http://cdn.test/?x"]);
    }

    #[test]
    fn only_links_are_links_and_each_is_there_once() {
        check(
            "<meta http-equiv=refresh content='0;url=/meta'><!-- <a href=/comment> -->\
             <script>'<a href=/script>'</script><p>http://h.test/text</p><a name=x>no</a>\
             <img src=/image><link rel=stylesheet href=/style>\
             <a href=/z>1</a><a href=/y>2</a><a href=/z#part>3</a><area href=/area>",
            &["http://h.test/z", "http://h.test/y", "http://h.test/area"],
        );
    }

    #[test]
    fn assets_are_the_ones_a_browser_fetches() {
        let page = "http://h.test/".parse().unwrap();
        let html = "<link rel='Shortcut ICON' href=/i><link rel=canonical href=/no>\
                    <link rel=stylesheet href=/s><script src=/j></script><img src=/p><a href=/a>x</a>";
        let found = links(&page, html, true);
        let paths: Vec<_> = found.iter().map(Url::path).collect();
        assert_eq!(paths, ["/i", "/s", "/j", "/p", "/a"]);
    }
}
