//! Draws a page as GitHub's Markdown, for the description of a pull request.

use std::io::{self, Write};

use super::page::{Block, Item, Page, Table};

/// Draws every block.
pub(super) fn draw(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    for (i, block) in page.blocks.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        match block {
            Block::Title(text) => writeln!(out, "# {}", escaped(text))?,
            Block::Heading(text) => writeln!(out, "## {}", escaped(text))?,
            Block::Text(text) => writeln!(out, "{}", escaped(text))?,
            Block::Items(items) => list(items, out)?,
            Block::Table(t) => table(t, out)?,
        }
    }
    Ok(())
}

/// Draws a page that a click on its name unfolds; `is_open` shows it unfolded at first.
pub(super) fn fold(name: &str, is_open: bool, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let open = if is_open { " open" } else { "" };
    // Only behind an empty line is what stands in the tag Markdown again.
    writeln!(out, "<details{open}><summary>{}</summary>\n", escaped(name))?;
    draw(page, out)?;
    writeln!(out, "\n</details>")
}

fn list(items: &[Item], out: &mut dyn Write) -> io::Result<()> {
    for Item { lead, lines } in items {
        let (first, rest) = lines.split_first().map_or(("", &[][..]), |(f, rest)| (f, rest));
        writeln!(out, "- **{}** {}", escaped(lead), escaped(first))?;
        for line in rest {
            writeln!(out, "  - {}", escaped(line))?;
        }
    }
    Ok(())
}

fn table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let row = |cells: &mut dyn Iterator<Item = String>| {
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    writeln!(out, "{}", row(&mut table.columns.iter().map(|(title, _)| escaped(title))))?;
    let rule = |(_, figures): &(String, bool)| if *figures { "---:" } else { "---" }.to_owned();
    writeln!(out, "{}", row(&mut table.columns.iter().map(rule)))?;
    for cells in &table.rows {
        writeln!(out, "{}", row(&mut cells.iter().map(|cell| escaped(cell))))?;
    }
    Ok(())
}

/// Takes their meaning from the characters that would end a cell, begin a tag or emphasise.
/// An underscore inside a word, as in `epoll_wait`, means nothing to GitHub.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    for c in text.chars() {
        in_code ^= c == '`';
        match c {
            // In code everything stands for itself, but a bar still ends the cell.
            '\\' | '<' | '*' if in_code => out.push(c),
            '\\' | '|' | '<' | '*' => out.extend(['\\', c]),
            '\n' => out.push(' '),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_in_a_thread_name_does_not_end_the_cell() {
        let mut page = Page::default();
        let mut table = Table::new(["thread", ">on\nCPU"]);
        table.rows.push(vec!["a|b<i>".into(), "98%".into()]);
        page.table(table);
        let mut out = Vec::new();
        draw(&page, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "| thread | on CPU |\n| --- | ---: |\n| a\\|b\\<i> | 98% |\n"
        );
    }
}
