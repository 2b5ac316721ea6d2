//! The pages of a site, found from its home page over links of the same origin.
//!
//! Breadth first in document order, so that two crawls of an unchanged site give the same list.
//! Each page is stored under its final address: a redirect in the list of a stage would be
//! counted as a response that is not 2xx. Made before any stage; it is a client of its own and
//! none of its requests is in a window.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::time::Duration;

use url::Url;

use super::links::links;
use crate::clock;
use crate::fetch::{FetchError, Fetched, Fetcher};

/// How far a crawl goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlLimits {
    /// Most pages that are kept.
    pub max_pages: usize,
    /// Most redirects that are followed for one link.
    pub redirects: usize,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long the whole crawl may take; what was found by then is the result.
    pub within: Duration,
    /// Keeps style sheets, icons, scripts, images and other files too, not only HTML pages.
    pub assets: bool,
}

impl Default for CrawlLimits {
    fn default() -> Self {
        Self {
            max_pages: 1000,
            redirects: 10,
            timeout: Duration::from_secs(10),
            within: Duration::from_secs(120),
            assets: false,
        }
    }
}

/// What a crawl found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crawl {
    /// Final addresses that answered 2xx, the start first; each once.
    pub pages: Vec<Url>,
    /// Final addresses that answered with another status.
    pub non_2xx: Vec<(Url, u16)>,
    /// Links of the same origin that gave no page.
    pub skipped: Vec<Skipped>,
    /// A limit ended the crawl: there is more.
    pub truncated: bool,
}

/// A link that gave no page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The link.
    pub url: Url,
    /// Why not.
    pub why: SkipReason,
}

/// Why a link gave no page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// It redirects to another origin.
    LeavesOrigin(Url),
    /// It redirects more often than the limit, or in a circle.
    TooManyRedirects,
    /// It is no HTML; the media type, and assets were not asked for.
    NotAPage(String),
    /// It gave no answer; the message.
    Failed(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeavesOrigin(to) => write!(f, "redirects to another origin: {to}"),
            Self::TooManyRedirects => write!(f, "redirects too often"),
            Self::NotAPage(kind) => write!(f, "is {kind}, not an HTML page"),
            Self::Failed(message) => f.write_str(message),
        }
    }
}

/// A start that gives nothing to crawl from.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// It gave no answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Its status is not 2xx.
    #[error("{0} answers {1}; give the address of a page that answers 2xx")]
    Status(Url, u16),
    /// It redirects, and not to a page of its own origin.
    #[error("{0} {1}; crawl the address that it leads to")]
    Redirect(Url, Box<SkipReason>),
    /// No runtime for the requests.
    #[error("cannot start a runtime: {0}; close programs that hold many file descriptors")]
    Runtime(std::io::Error),
}

/// Crawls from `start`.
///
/// The start is kept whatever its media type; of a server of plain text it is the only page.
///
/// # Errors
/// When the start itself gives no page; see [`CrawlError`].
pub fn crawl(start: &Url, limits: &CrawlLimits, fetcher: &Fetcher) -> Result<Crawl, CrawlError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CrawlError::Runtime)?;
    runtime.block_on(async {
        let mut walk = Walk::new(limits, fetcher);
        walk.begin(start).await?;
        walk.go_on().await;
        Ok(walk.done)
    })
}

/// A crawl under way.
struct Walk<'a> {
    limits: &'a CrawlLimits,
    fetcher: &'a Fetcher,
    deadline_ns: u64,
    /// Links to follow, in the order found.
    queue: VecDeque<Url>,
    /// Every address that was queued or landed on, so that none is asked twice.
    seen: HashSet<Url>,
    done: Crawl,
}

/// Where the redirects of a link end.
enum Landing {
    Answer(Url, Fetched),
    None(SkipReason),
}

impl<'a> Walk<'a> {
    fn new(limits: &'a CrawlLimits, fetcher: &'a Fetcher) -> Self {
        let within_ns = crate::units::ns(limits.within);
        Self {
            limits,
            fetcher,
            deadline_ns: clock::now_ns().saturating_add(within_ns),
            queue: VecDeque::new(),
            seen: HashSet::new(),
            done: Crawl::default(),
        }
    }

    async fn begin(&mut self, start: &Url) -> Result<(), CrawlError> {
        let mut start = start.clone();
        start.set_fragment(None);
        self.seen.insert(start.clone());
        match self.land(start.clone()).await? {
            Landing::None(why) => Err(CrawlError::Redirect(start, Box::new(why))),
            Landing::Answer(url, answer) if !answer.is_success() => {
                Err(CrawlError::Status(url, answer.status))
            }
            Landing::Answer(url, answer) => {
                self.seen.insert(url.clone());
                self.keep(url, &answer);
                Ok(())
            }
        }
    }

    async fn go_on(&mut self) {
        while let Some(link) = self.queue.pop_front() {
            let is_full = self.done.pages.len() >= self.limits.max_pages;
            if is_full || clock::now_ns() >= self.deadline_ns {
                self.done.truncated = true;
                return;
            }
            self.visit(link).await;
        }
    }

    async fn visit(&mut self, link: Url) {
        let landing = self.land(link.clone()).await;
        let why = match landing {
            Ok(Landing::Answer(url, answer)) => {
                // A redirect may land where another link has been before.
                if url != link && !self.seen.insert(url.clone()) {
                    return;
                }
                if !answer.is_success() {
                    self.done.non_2xx.push((url, answer.status));
                    return;
                }
                if self.limits.assets || is_page(&answer) {
                    self.keep(url, &answer);
                    return;
                }
                SkipReason::NotAPage(answer.content_type.unwrap_or_default())
            }
            Ok(Landing::None(why)) => why,
            Err(error) => SkipReason::Failed(error.to_string()),
        };
        self.done.skipped.push(Skipped { url: link, why });
    }

    /// Follows redirects, each hop resolved against the one before it.
    async fn land(&self, link: Url) -> Result<Landing, FetchError> {
        let origin = link.origin();
        let mut url = link;
        for _hop in 0..=self.limits.redirects {
            let answer = self.fetcher.get_async(&url, self.limits.timeout).await?;
            let target = answer.location.as_deref().filter(|_| is_redirect(answer.status));
            let Some(mut next) = target.and_then(|location| url.join(location).ok()) else {
                return Ok(Landing::Answer(url, answer));
            };
            next.set_fragment(None);
            if next.origin() != origin {
                return Ok(Landing::None(SkipReason::LeavesOrigin(next)));
            }
            url = next;
        }
        Ok(Landing::None(SkipReason::TooManyRedirects))
    }

    /// Keeps a page and queues its links that stay on its origin.
    fn keep(&mut self, url: Url, answer: &Fetched) {
        if is_page(answer) {
            let html = String::from_utf8_lossy(&answer.body);
            for link in links(&url, &html, self.limits.assets) {
                if link.origin() == url.origin() && self.seen.insert(link.clone()) {
                    self.queue.push_back(link);
                }
            }
        }
        self.done.pages.push(url);
    }
}

/// 304 and 300 have a `Location` now and then and are no redirects.
fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// HTML by its media type; an answer without one is looked at too.
fn is_page(answer: &Fetched) -> bool {
    let Some(content_type) = &answer.content_type else { return true };
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("text/html") || kind.eq_ignore_ascii_case("application/xhtml+xml")
}
