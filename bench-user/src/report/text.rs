//! Draws a page for a terminal: columns by blanks, no lines, no colour.

use std::io::{self, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid};

use super::page::{Block, Item, Page, Table};

/// Sentences are broken here, in columns; tables are as wide as their figures.
const WIDTH: u16 = 110;

/// Blanks before what stands under a heading, and between two columns.
const GAP: u16 = 2;

/// Draws every block.
pub(super) fn draw(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let mut close_up = true;
    for block in &page.blocks {
        if !close_up {
            writeln!(out)?;
        }
        close_up = matches!(block, Block::Heading(_));
        let grid = match block {
            Block::Title(text) | Block::Heading(text) => {
                writeln!(out, "{}", printable(text))?;
                continue;
            }
            Block::Text(text) => sentence(text),
            Block::Items(items) => list(items),
            Block::Table(t) => table(t),
        };
        for line in grid.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}

fn sentence(text: &str) -> Grid {
    let mut grid = grid(ContentArrangement::Dynamic);
    grid.add_row([printable(text)]);
    pad(grid)
}

fn list(items: &[Item]) -> Grid {
    let mut grid = grid(ContentArrangement::Dynamic);
    for item in items {
        grid.add_row([printable(&item.lead), printable(&item.lines.join("\n"))]);
    }
    if let Some(leads) = grid.column_mut(0) {
        leads.set_constraint(ColumnConstraint::ContentWidth);
    }
    pad(grid)
}

fn table(table: &Table) -> Grid {
    let mut grid = grid(ContentArrangement::Disabled);
    grid.set_header(table.columns.iter().map(|(title, _)| printable(title)));
    for row in &table.rows {
        grid.add_row(row.iter().map(|cell| printable(cell)));
    }
    for (column, (_, figures)) in grid.column_iter_mut().zip(&table.columns) {
        if *figures {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    pad(grid)
}

fn grid(arrangement: ContentArrangement) -> Grid {
    let mut grid = Grid::new();
    grid.load_style(NOTHING);
    grid.set_content_arrangement(arrangement).set_width(WIDTH);
    grid
}

fn pad(mut grid: Grid) -> Grid {
    for column in grid.column_iter_mut() {
        column.set_padding((GAP, 0));
    }
    grid
}

/// Names of threads and messages of servers come from outside: no escape sequence of theirs may
/// reach the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(page: &Page) -> String {
        let mut out = Vec::new();
        draw(page, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn figures_stand_to_the_right_and_words_to_the_left() {
        let mut page = Page::titled("T".into());
        let mut table = Table::new(["name", ">p50"]);
        table.rows = vec![vec!["a".into(), "12.3 µs".into()], vec!["bcdef".into(), "1 ns".into()]];
        page.table(table);
        assert_eq!(drawn(&page), "T\n\n  name       p50\n  a      12.3 µs\n  bcdef     1 ns\n");
    }

    #[test]
    fn a_long_line_is_broken_under_its_own_column() {
        let mut page = Page::default();
        page.items(vec![Item::new("lead", "word ".repeat(40))]);
        let text = drawn(&page);
        assert!(text.lines().all(|l| l.len() <= usize::from(WIDTH)), "{text}");
        assert!(text.lines().skip(1).all(|l| l.starts_with("        word")), "{text}");
    }

    #[test]
    fn an_escape_sequence_of_a_thread_name_does_not_reach_the_terminal() {
        let mut page = Page::default();
        page.text("evil\u{1b}[2J");
        assert!(!drawn(&page).contains('\u{1b}'));
    }
}
