//! The HTML report in a browser: it is drawn without an error, asks nobody for anything, shows the
//! figures of the record, and can be used by keyboard, by screen reader, on a phone and in the dark.
//!
//! Where there is no Chromium, each test is counted as ignored, with that reason.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

mod browser;
mod content;
mod looks;
mod reach;
mod use_of;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use bench_user::record::{self, RunRecord};
use bench_user::report;
use libtest_mimic::{Arguments, Completion, Trial};

use browser::Browser;

/// A test: it opens the page as it needs it.
type Test = fn(&mut Browser, &Page);

/// The page of a stored run, beside its record.
struct Page {
    file: PathBuf,
    record: RunRecord,
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They share one browser.
    arguments.test_threads = Some(1);
    let folder = tempfile::tempdir().unwrap();
    let stored = below("tests/fixtures/run-two-targets.json");
    let page = Arc::new(page(folder.path(), record::read(&stored).unwrap()));
    let browser = Arc::new(Mutex::new(None));
    let tests = [content::TESTS, use_of::TESTS, reach::TESTS, looks::TESTS].concat();
    let trial = |(name, test): (&str, Test)| {
        let (browser, page) = (Arc::clone(&browser), Arc::clone(&page));
        Trial::ignorable_test(name, move || Ok(in_browser(&browser, &page, test)))
    };
    let conclusion = libtest_mimic::run(&arguments, tests.into_iter().map(trial).collect());
    drop(browser);
    conclusion.exit_code()
}

/// Runs a test in the one browser, which the first of them starts.
fn in_browser(browser: &Mutex<Option<Browser>>, page: &Page, test: Test) -> Completion {
    // A test that failed leaves a browser that works.
    let mut browser = browser.lock().unwrap_or_else(PoisonError::into_inner);
    if browser.is_none() {
        let Some(program) = browser::find() else {
            return Completion::ignored_with("no Chromium here: `apt-get install chromium`");
        };
        *browser = Some(Browser::start(&program).unwrap());
    }
    test(browser.as_mut().unwrap(), page);
    Completion::Completed
}

/// A file of the package.
fn below(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The page of a run in a file of this folder.
fn page(folder: &Path, record: RunRecord) -> Page {
    let file = folder.join("report.html");
    let mut text = Vec::new();
    report::html(&record, &mut text).unwrap();
    std::fs::write(&file, text).unwrap();
    Page { file, record }
}
