//! `crawl`: the addresses that same-origin links reach.

use bench_user::cli::CrawlArgs;
use bench_user::fetch::Fetcher;
use bench_user::load::{self, Crawl, CrawlLimits};
use serde_json::{Value, json};

use super::{Outcome, print, print_json, say};

pub(crate) fn run(args: &CrawlArgs) -> anyhow::Result<Outcome> {
    let limits =
        CrawlLimits { max_pages: args.max_pages, assets: args.assets, ..CrawlLimits::default() };
    let crawl = load::crawl(&args.url, &limits, &Fetcher::default())?;
    if args.json {
        print_json(&as_json(&crawl))?;
    } else {
        print(|out| crawl.pages.iter().try_for_each(|url| writeln!(out, "{url}")))?;
        tell_what_is_missing(&crawl);
    }
    Ok(Outcome::Done)
}

fn as_json(crawl: &Crawl) -> Value {
    let non_2xx = crawl.non_2xx.iter().map(|(url, status)| json!({ "url": url, "status": status }));
    let skipped =
        crawl.skipped.iter().map(|link| json!({ "url": link.url, "why": link.why.to_string() }));
    json!({
        "pages": crawl.pages,
        "non_2xx": non_2xx.collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "truncated": crawl.truncated,
    })
}

/// To standard error, so that the list itself can be piped into a file.
fn tell_what_is_missing(crawl: &Crawl) {
    let missing = crawl.non_2xx.len() + crawl.skipped.len();
    if missing > 0 {
        say(&format!("{missing} links gave no page; --json says which and why"));
    }
    if crawl.truncated {
        say("a limit ended the crawl and there is more; see --max-pages");
    }
}
