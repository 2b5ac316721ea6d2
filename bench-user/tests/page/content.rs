//! What the page holds: no error, no request, its pictures, and the figures of the record.

use bench_user::record;
use serde_json::Value;

use super::browser::Browser;
use super::{Page, Test, below};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("it_is_drawn_without_an_error_or_a_request", quiet),
    ("the_page_of_every_stored_run_is_drawn_without_an_error", all_quiet),
    ("its_policy_refuses_every_request", refuses),
    ("its_pictures_are_there", pictures),
    ("its_numbers_are_those_of_the_record", numbers),
];

fn quiet(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    said_nothing(browser, "two targets");
    let requests = browser.told("Network.requestWillBeSent");
    let asked: Vec<&str> = requests.iter().filter_map(|r| r["request"]["url"].as_str()).collect();
    assert_eq!(asked, [url::Url::from_file_path(&page.file).unwrap().as_str()]);
}

fn said_nothing(browser: &mut Browser, name: &str) {
    for method in ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"] {
        assert_eq!(browser.told(method), Vec::<Value>::new(), "{name}: {method}");
    }
}

/// The fixtures, and the runs of the studies: jobs, rates, searches, streams, idle connections.
fn all_quiet(browser: &mut Browser, _page: &Page) {
    let folder = tempfile::tempdir().unwrap();
    let mut folders = vec![below("tests/fixtures"), below("studies/records")];
    let mut seen = 0;
    while let Some(place) = folders.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(run) = record::read(&path) {
                let page = super::page(folder.path(), run);
                browser.open(&page.file, 1280, "light");
                said_nothing(browser, &path.display().to_string());
                seen += 1;
            }
        }
    }
    assert!(seen > 25, "{seen}");
}

fn refuses(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    let refused = browser.evaluate(
        "new Promise((done) => {
            addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective));
            fetch('http://127.0.0.1:9/').catch(() => {});
        })",
    );
    assert_eq!(refused, "connect-src");
}

fn pictures(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    let drawn = browser.evaluate(
        "[...document.querySelectorAll('figure')].map((figure) => [
            figure.id,
            [...figure.querySelectorAll('.pictures svg')].filter((svg) => {
                const box = svg.getBoundingClientRect();
                return box.width > 200 && box.height > 60 && svg.querySelectorAll('.m').length > 0;
            }).length,
            figure.querySelectorAll('.pictures svg').length,
        ])",
    );
    let drawn: Vec<(String, u64, u64)> = serde_json::from_value(drawn).unwrap();
    for (id, good, all) in &drawn {
        assert!(good == all && *all > 0, "{id}: {good} of {all} pictures show something");
    }
    let ids: Vec<&str> = drawn.iter().map(|(id, ..)| id.as_str()).collect();
    for id in ["throughput", "times", "syscalls-by-name", "threads-bars", "over-time", "flame-0-on"]
    {
        assert!(ids.contains(&id), "no figure {id} among {ids:?}");
    }
}

/// Marks of the pictures and cells of their data, as the browser has them, are the record's numbers
/// to the last bit.
fn numbers(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    let analysis = page.record.analysis.as_ref().unwrap();
    for (place, ladder) in analysis.ladders.iter().enumerate() {
        let of = |metric: &str| -> Vec<f64> {
            ladder.levels.iter().map(|level| level.metrics[metric].value).collect()
        };
        let drawn = browser.evaluate(&format!(
            "[...document.querySelectorAll('#throughput g[data-t=\"{place}\"] .m:has(.point)')]
                .map((mark) => Number(mark.dataset.v))"
        ));
        let drawn: Vec<f64> = serde_json::from_value(drawn).unwrap();
        assert_eq!(drawn, of("load.achieved_rps"), "{}", ladder.target);
        let knee = browser.evaluate(&format!(
            "[...document.querySelectorAll('#throughput g[data-t=\"{place}\"] .knee')]
                .map((knee) => Number(knee.dataset.level))"
        ));
        let knee: Vec<u32> = serde_json::from_value(knee).unwrap();
        assert_eq!(knee, Vec::from_iter(ladder.knee_connections), "{}", ladder.target);
        let listed = browser.evaluate(&format!(
            "[...document.querySelectorAll('#times tbody tr')]
                .filter((row) => row.cells[0].textContent === '{}'
                    && row.cells[2].textContent === 'load.response_ns.p99')
                .map((row) => Number(row.cells[3].textContent))",
            ladder.target
        ));
        let listed: Vec<f64> = serde_json::from_value(listed).unwrap();
        assert_eq!(listed, of("load.response_ns.p99"), "{}", ladder.target);
    }
    let verdicts = browser.evaluate(
        "[...document.querySelectorAll('#claims .badge')].map((b) => b.lastChild.textContent.trim())",
    );
    let expect: Vec<Value> =
        page.record.claims.iter().map(|c| serde_json::to_value(c.verdict).unwrap()).collect();
    assert_eq!(verdicts, Value::from(expect));
}
