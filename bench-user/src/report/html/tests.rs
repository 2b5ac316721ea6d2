//! The page says what the text report says: every block of the one is in the other, word by word.

use std::path::Path;

use super::super::page::{Block, Page};
use super::*;
use crate::record;

/// The words of a page, without markup and without what is not for readers.
fn words_of(html: &str) -> String {
    let document = scraper::Html::parse_document(html);
    let selector = scraper::Selector::parse("header, main, footer").expect("it is a selector");
    let parts = document.select(&selector).flat_map(|part| part.text());
    squeezed(&parts.collect::<Vec<_>>().join("\u{1}"))
}

/// A table's head has its lines beside each other, and code has no backticks in a page.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '`' && *c != '\u{1}').collect()
}

fn texts(page: &Page) -> Vec<String> {
    let mut texts = Vec::new();
    for block in &page.blocks {
        match block {
            Block::Title(_) | Block::Heading(_) => {}
            Block::Text(text) => texts.push(text.clone()),
            Block::Items(items) => {
                texts.extend(items.iter().flat_map(|item| &item.lines).cloned());
            }
            Block::Table(table) => {
                texts.extend(table.columns.iter().map(|(title, _)| title.clone()));
                texts.extend(table.rows.iter().map(|row| row.join("")));
            }
        }
    }
    texts
}

#[test]
fn whatever_the_text_report_says_is_in_the_page() {
    for name in ["two-targets", "interrupted", "unavailable", "jobs"] {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let run = record::read(&fixtures.join(format!("run-{name}.json"))).expect("a stored run");
        let mut out = Vec::new();
        write(&run, &mut out).expect("memory takes any text");
        let page = words_of(&String::from_utf8(out).expect("a page is text"));
        for text in texts(&run::page(&run)) {
            // A claim's id stands apart from what it says.
            let said = text
                .split_once(": ")
                .filter(|(id, _)| run.claims.iter().any(|c| c.claim.id == *id));
            let text = said.map_or(text.as_str(), |(_, says)| says);
            assert!(page.contains(&squeezed(text)), "{name}: the page does not say\n{text}");
        }
    }
}
