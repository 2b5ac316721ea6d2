//! Who does not see the page: names of its parts in the accessibility tree, the order of its
//! headings, the way of the keyboard.

use serde_json::{Value, json};

use super::browser::Browser;
use super::{Page, Test};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("landmarks_figures_and_tables_have_names", names),
    ("headings_are_in_order", headings),
    ("the_first_stop_of_the_keyboard_skips_to_the_report", skips),
];

/// Role and name of every part that a screen reader is told of.
fn tree(browser: &mut Browser) -> Vec<(String, String)> {
    let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
    let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
    let nodes = tree["nodes"].as_array().unwrap().iter();
    nodes
        .filter(|node| node["ignored"] == false)
        .map(|node| (text(&node["role"]), text(&node["name"])))
        .collect()
}

fn names(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
    let tree = tree(browser);
    let of = |role: &str| tree.iter().filter(|(r, _)| r == role).collect::<Vec<_>>();
    for role in ["banner", "main", "contentinfo"] {
        assert_eq!(of(role).len(), 1, "{role}");
    }
    for (role, fewest) in
        [("navigation", 1), ("region", 8), ("figure", 6), ("table", 10), ("checkbox", 2)]
    {
        let found = of(role);
        assert!(found.len() >= fewest, "{role}: {found:?}");
        let nameless = found.iter().filter(|(_, name)| name.trim().is_empty()).count();
        assert_eq!(nameless, 0, "{role}: {found:?}");
    }
    let pictures = tree.iter().filter(|(role, _)| role == "image" || role == "img");
    assert!(pictures.clone().count() >= 8 && pictures.clone().all(|(_, name)| !name.is_empty()));
    let buttons = of("button");
    assert!(buttons.iter().all(|(_, name)| !name.trim().is_empty()), "{buttons:?}");
}

fn headings(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    let levels = browser.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.tagName[1]))",
    );
    let levels: Vec<u32> = serde_json::from_value(levels).unwrap();
    assert_eq!((levels[0], levels.iter().filter(|level| **level == 1).count()), (1, 1));
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
}

fn skips(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "light");
    browser.press("Tab");
    let focus = "document.activeElement.className + ' ' + document.activeElement.id";
    assert_eq!(browser.evaluate(focus), "skip ");
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.evaluate(outline), "solid", "what has the focus is seen");
    browser.press("Enter");
    assert_eq!(browser.evaluate(focus), " main");
}
