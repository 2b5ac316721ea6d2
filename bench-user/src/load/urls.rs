//! The list of addresses of a target, from where the plan says.

use std::io;
use std::path::{Path, PathBuf};

use url::Url;

use super::crawl::{CrawlError, CrawlLimits, crawl};
use crate::fetch::Fetcher;
use crate::plan::UrlSource;

/// The word in a plan for "find them yourself".
const CRAWL: &str = "crawl";

/// No list of addresses.
#[derive(Debug, thiserror::Error)]
pub enum UrlsError {
    /// The crawl could not begin.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    /// The file cannot be read.
    #[error("cannot read the address list {0}: {1}; `urls` is \"crawl\", a file or a list")]
    File(PathBuf, io::Error),
    /// Something in the list is no address.
    #[error("{place}: `{text}` is no address ({why}); write a path such as /a?b or a whole URL")]
    Invalid {
        /// File and line, or place in the list.
        place: String,
        /// What stands there.
        text: String,
        /// What is wrong.
        why: url::ParseError,
    },
    /// There is nothing in it.
    #[error("{0} has no address; give at least one, or leave `urls` out to request `url` alone")]
    Empty(String),
}

/// The addresses to request in turn; `base` alone without a source.
///
/// A file has one address a line; lines that are empty or begin with `#` are left out. Relative
/// addresses are relative to `base`. Fragments are cut. `fetcher` is for a crawl.
///
/// # Errors
/// One of [`UrlsError`].
pub fn resolve(
    base: &Url,
    source: Option<&UrlSource>,
    fetcher: &Fetcher,
) -> Result<Vec<Url>, UrlsError> {
    match source {
        None => Ok(vec![joined(base, base.as_str(), || "url".to_owned())?]),
        Some(UrlSource::Named(name)) if name == CRAWL => crawled(base, fetcher),
        Some(UrlSource::Named(file)) => from_file(base, Path::new(file)),
        Some(UrlSource::List(list)) => {
            let entry = |(i, text): (usize, &String)| {
                joined(base, text, || format!("urls, entry {}", i + 1))
            };
            let urls = list.iter().enumerate().map(entry).collect::<Result<_, _>>()?;
            filled(urls, || "the list `urls`".to_owned())
        }
    }
}

/// Asks for every address of a crawl once, as the crawl did: what a server keeps of a page that it
/// was asked for, each of its climbs begins with. Does nothing for other sources.
///
/// What has no answer is left to the load, which counts it. `stops` is asked before each.
pub fn visit(
    urls: &[Url],
    source: Option<&UrlSource>,
    fetcher: &Fetcher,
    stops: &dyn Fn() -> bool,
) {
    let is_crawl = matches!(source, Some(UrlSource::Named(name)) if name == CRAWL);
    for url in urls.iter().filter(|_| is_crawl) {
        if stops() {
            return;
        }
        if let Err(error) = fetcher.get(url, CrawlLimits::default().timeout) {
            log::info!("{url} was visited and gave no answer: {error}");
        }
    }
}

fn crawled(base: &Url, fetcher: &Fetcher) -> Result<Vec<Url>, UrlsError> {
    let found = crawl(base, &CrawlLimits::default(), fetcher)?;
    for (url, status) in &found.non_2xx {
        log::warn!("{url} answers {status}: left out of the addresses");
    }
    for skipped in &found.skipped {
        log::info!("{} left out of the addresses: {}", skipped.url, skipped.why);
    }
    if found.truncated {
        log::warn!("the crawl of {base} ended at its limit of {} pages", found.pages.len());
    }
    Ok(found.pages)
}

fn from_file(base: &Url, file: &Path) -> Result<Vec<Url>, UrlsError> {
    let text = std::fs::read_to_string(file).map_err(|e| UrlsError::File(file.to_owned(), e))?;
    let urls = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(n, line)| joined(base, line, || format!("{}, line {n}", file.display())))
        .collect::<Result<_, _>>()?;
    filled(urls, || file.display().to_string())
}

fn joined(base: &Url, text: &str, place: impl Fn() -> String) -> Result<Url, UrlsError> {
    let invalid = |why| UrlsError::Invalid { place: place(), text: text.to_owned(), why };
    let mut url = base.join(text).map_err(invalid)?;
    url.set_fragment(None);
    Ok(url)
}

fn filled(urls: Vec<Url>, what: impl Fn() -> String) -> Result<Vec<Url>, UrlsError> {
    if urls.is_empty() { Err(UrlsError::Empty(what())) } else { Ok(urls) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: Option<UrlSource>) -> Result<Vec<String>, String> {
        let base = "http://h.test/a/b#top".parse().unwrap();
        resolve(&base, source.as_ref(), &Fetcher::default())
            .map(|urls| urls.into_iter().map(String::from).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_source_the_address_itself_is_the_list() {
        assert_eq!(check(None), Ok(vec!["http://h.test/a/b".to_owned()]));
    }

    #[test]
    fn a_list_is_relative_to_the_address_and_keeps_its_order() {
        let list = UrlSource::List(["c?x#y", "/", "http://o.test/z"].map(String::from).into());
        let expect = ["http://h.test/a/c?x", "http://h.test/", "http://o.test/z"];
        assert_eq!(check(Some(list)).unwrap(), expect);
        let error = check(Some(UrlSource::List(vec!["/".into(), "http://".into()])));
        assert!(error.unwrap_err().contains("entry 2"));
        let error = check(Some(UrlSource::List(Vec::new()))).unwrap_err();
        assert!(error.contains("at least one"), "{error}");
    }

    #[test]
    fn a_file_has_one_address_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("urls.txt");
        let file = UrlSource::Named(path.display().to_string());
        std::fs::write(&path, "# the pages\n/a\r\n\n  ?q=1 \n").unwrap();
        let expect = ["http://h.test/a", "http://h.test/a/b?q=1"];
        assert_eq!(check(Some(file.clone())).unwrap(), expect);
        std::fs::write(&path, "/a\nhttp://[\n").unwrap();
        assert!(check(Some(file.clone())).unwrap_err().contains("urls.txt, line 2"));
        std::fs::write(&path, "#\n").unwrap();
        assert!(check(Some(file)).unwrap_err().contains("has no address"));
        let error = check(Some(UrlSource::Named("absent".into()))).unwrap_err();
        assert!(error.contains("absent") && error.contains("\"crawl\""), "{error}");
    }
}
