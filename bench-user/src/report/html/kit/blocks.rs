//! The blocks of a report as they stand in a page: what `text` and `markdown` draw, drawn here.

use maud::{Markup, html};

use super::table::{self, Caption};
use super::words::words;
use crate::report::page::{Block, Item, Page};

/// Every block; headings are of the third level, because a section has the second. A table has the
/// name of the heading above it.
pub(in crate::report::html) fn page(page: &Page) -> Markup {
    let names = page.blocks.iter().scan("figures", |name, block| {
        if let Block::Title(text) | Block::Heading(text) = block {
            *name = text;
        }
        Some(*name)
    });
    html! {
        @for (block, name) in page.blocks.iter().zip(names) {
            @match block {
                Block::Title(text) | Block::Heading(text) => h3 { (words(text)) },
                Block::Text(text) => p { (words(text)) },
                Block::Items(of) => (items(of)),
                Block::Table(of) => (table::table(of, Caption::Hidden(name))),
            }
        }
    }
}

/// What a function adds to a report.
pub(in crate::report::html) fn built(build: impl FnOnce(&mut Page)) -> Markup {
    let mut blocks = Page::default();
    build(&mut blocks);
    page(&blocks)
}

/// A list; nothing when it is empty.
pub(in crate::report::html) fn items(items: &[Item]) -> Markup {
    html! {
        @if !items.is_empty() {
            dl.items {
                @for item in items {
                    div {
                        dt { (words(&item.lead)) }
                        @for line in &item.lines { dd { (words(line)) } }
                    }
                }
            }
        }
    }
}
