//! How the page looks: on a phone, in the dark, on paper.

use serde_json::json;

use super::browser::Browser;
use super::{Page, Test};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("a_phone_needs_no_sideways_scroll", phone),
    ("both_schemes_differ_and_can_be_read", schemes),
    ("on_paper_there_are_no_controls_and_no_dark", paper),
];

fn phone(browser: &mut Browser, page: &Page) {
    for width in [390, 320] {
        browser.open(&page.file, width, "light");
        browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
        let wide = browser.evaluate("document.documentElement.scrollWidth");
        assert!(wide.as_f64().unwrap() <= f64::from(width), "{wide} of {width}");
    }
}

/// Text, and what is behind it, as WCAG 2 has their contrast.
const CONTRAST: &str = "(() => {
    const light = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).map(Number)
            .map((n) => n / 255).map((n) => n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        for (let n = node; n; n = n.parentElement) {
            const color = getComputedStyle(n).backgroundColor;
            if (!/, 0\\)$|transparent/.test(color)) return color;
        }
        return 'rgb(255, 255, 255)';
    };
    const worst = {};
    for (const node of document.querySelectorAll('body *')) {
        const isText = [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!isText || !node.checkVisibility() || ['SCRIPT', 'STYLE'].includes(node.tagName)) continue;
        const style = getComputedStyle(node);
        const ink = node.ownerSVGElement ? style.fill : style.color;
        // A name on a bar has the bar behind it.
        if (node.ownerSVGElement && node.closest('.m')) continue;
        const [a, b] = [light(ink), light(behind(node))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        const key = `${node.tagName}.${node.getAttribute('class') ?? ''}`;
        worst[key] = Math.min(worst[key] ?? 99, ratio);
    }
    return [getComputedStyle(document.body).backgroundColor, Object.entries(worst)];
})()";

fn schemes(browser: &mut Browser, page: &Page) {
    let mut papers = Vec::new();
    for scheme in ["light", "dark"] {
        browser.open(&page.file, 1280, scheme);
        let (paper, worst): (String, Vec<(String, f64)>) =
            serde_json::from_value(browser.evaluate(CONTRAST)).unwrap();
        assert!(worst.len() > 10, "{worst:?}");
        for (what, ratio) in worst {
            assert!(ratio >= 4.5, "{scheme}: {what} has a contrast of {ratio:.2}");
        }
        papers.push(paper);
    }
    assert_ne!(papers[0], papers[1]);
}

fn paper(browser: &mut Browser, page: &Page) {
    browser.open(&page.file, 1280, "dark");
    browser.call("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    let seen = browser.evaluate(
        "[...document.querySelectorAll('nav, .switches, .copy, summary')]
            .filter((part) => part.checkVisibility()).length",
    );
    assert_eq!(seen, 0);
    let printed = browser.call("Page.printToPDF", &json!({ "printBackground": false }));
    assert!(printed["data"].as_str().unwrap().len() > 10_000);
}
