//! The page in use, by keyboard: targets are switched, tables are sorted and copied, marks tell
//! their values.

use serde_json::Value;

use super::browser::Browser;
use super::{Page, Test};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("a_target_is_switched_off_and_on_by_keyboard", switches),
    ("a_table_is_sorted_by_what_its_figures_are_worth", sorts),
    ("a_table_is_copied_as_it_is_shown", copies),
    ("arrow_keys_tell_the_values_of_marks", tells),
    ("a_frame_of_a_flame_graph_is_enlarged", enlarges),
];

const SHOWN: &str = "[0, 1].map((place) =>
    [...document.querySelectorAll(`[data-t=\"${place}\"]`)]
        .filter((part) => part.getBoundingClientRect().width > 0).length)";

fn switches(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    let shown = |browser: &mut Browser| -> [u64; 2] {
        serde_json::from_value(browser.evaluate(SHOWN)).unwrap()
    };
    let before = shown(browser);
    assert!(before[0] > 5 && before[1] > 5, "{before:?}");
    browser.evaluate("document.querySelector('[data-switch=\"1\"]').focus()");
    browser.press(" ");
    assert_eq!(shown(browser), [before[0], 0]);
    browser.press(" ");
    assert_eq!(shown(browser), before);
}

fn sorts(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    // The levels of the first target, by their rate: 20 has the highest, 10 the lowest.
    let table = "[...document.querySelectorAll('#ladder > div[data-t] table')][0]";
    let order = format!("[...{table}.tBodies[0].rows].map((row) => row.cells[0].textContent)");
    let head = format!("{table}.tHead.rows[0].cells[1]");
    let sorted = |browser: &mut Browser| {
        (browser.evaluate(&order), browser.evaluate(&format!("{head}.getAttribute('aria-sort')")))
    };
    let expect = |levels: [&str; 3], sort: Value| (Value::from(levels.to_vec()), sort);
    assert_eq!(sorted(browser), expect(["10", "20", "50"], Value::Null));
    browser.evaluate(&format!("{head}.querySelector('button').focus()"));
    browser.press("Enter");
    assert_eq!(sorted(browser), expect(["20", "50", "10"], "descending".into()));
    browser.press("Enter");
    assert_eq!(sorted(browser), expect(["10", "50", "20"], "ascending".into()));
}

fn copies(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    // Without the right to the clipboard it copies as pages did before there was one.
    let copied = browser.evaluate(
        "new Promise((done) => {
            navigator.clipboard.writeText = async (text) => done(text);
            document.querySelector('#threads .copy').click();
        })",
    );
    let copied = copied.as_str().unwrap();
    let head = copied.lines().next().unwrap();
    assert!(head.starts_with("target\tthread\ttid\t"), "{copied}");
    assert!(copied.lines().all(|line| line.matches('\t').count() == head.matches('\t').count()));
    assert!(copied.lines().count() > 1, "{copied}");
}

fn tells(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    browser.evaluate("document.querySelector('#throughput svg[role=img]').focus()");
    let said =
        |browser: &mut Browser| browser.evaluate("document.getElementById('tip').textContent");
    let mut all = Vec::new();
    for _ in 0..3 {
        browser.press("ArrowRight");
        all.push(said(browser).as_str().unwrap().to_owned());
    }
    let all = all.join("; ");
    assert!(all.contains("lean") && all.contains("req/s"), "{all}");
    assert_eq!(browser.evaluate("document.getElementById('tip').role"), "status");
}

fn enlarges(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    let widest = "(() => {
        const svg = document.querySelector('#flame-0-on svg[role=img]');
        const frames = [...svg.querySelectorAll('.frame')];
        const leaf = frames.at(-1);
        leaf.dispatchEvent(new MouseEvent('click', { bubbles: true }));
        return Number(leaf.querySelector('rect').getAttribute('width')) / svg.viewBox.baseVal.width;
    })()";
    assert_eq!(browser.evaluate(widest), 1);
    let again = browser.evaluate(widest).as_f64().unwrap();
    assert!(again < 1.0, "{again}");
}
