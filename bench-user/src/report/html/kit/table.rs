//! Tables in a page: named by a caption, sorted by buttons in their heads, copied as
//! tab-separated text.

use maud::{Markup, html};

use super::order::worth;
use super::words::{plain, words};
use crate::report::page::Table;

/// Where the name of a table is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report::html) enum Caption<'a> {
    /// Above it.
    Shown(&'a str),
    /// In the heading above it, and here for who does not see that.
    Hidden(&'a str),
}

/// A table in a box of its own, which alone scrolls where it is too wide. The script of the page
/// switches rows with their target where a column is called so.
pub(in crate::report::html) fn table(table: &Table, caption: Caption<'_>) -> Markup {
    let (name, class) = match caption {
        Caption::Shown(name) => (name, None),
        Caption::Hidden(name) => (name, Some("unseen")),
    };
    html! {
        div.grid {
            div.scroll tabindex="0" role="region" aria-label=(format!("table: {}", plain(name))) {
                table {
                    caption class=[class] { (words(name)) }
                    thead { tr { @for column in &table.columns { (head(column)) } } }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for (cell, column) in row.iter().zip(&table.columns) {
                                    (body(cell, column.1))
                                }
                            }
                        }
                    }
                }
            }
            button.copy type="button" hidden { "Copy" span.unseen { " the table " (plain(name)) } }
        }
    }
}

fn head((title, figures): &(String, bool)) -> Markup {
    let title = plain(title);
    let class = figures.then_some("n");
    html! {
        @if title.is_empty() {
            td class=[class] {}
        } @else {
            th class=[class] scope="col" { span { (title) } }
        }
    }
}

fn body(cell: &str, figures: bool) -> Markup {
    let value = if figures { worth(cell) } else { None };
    html! {
        td class=[figures.then_some("n")] data-v=[value] { (words(cell)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_figures_carry_what_they_are_worth() {
        let mut of = Table::new(["thread", ">p99"]);
        of.rows.push(vec!["<script>".into(), "1.50 ms".into()]);
        let text = table(&of, Caption::Shown("times of <b>")).into_string();
        assert!(text.contains("<td>&lt;script&gt;</td>"), "{text}");
        assert!(text.contains("<td class=\"n\" data-v=\"1500000\">1.50 ms</td>"), "{text}");
        assert!(text.contains("<caption>times of &lt;b&gt;</caption>"), "{text}");
        assert!(!text.contains("<b>"), "{text}");
    }
}
