//! A report as plain blocks, before any format: what `text` and `markdown` draw.

/// Blocks from top to bottom.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Debug)]
pub(super) enum Block {
    /// What the page is about; once, at its top.
    Title(String),
    /// Begins a section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A list, each entry with a word or two that leads it.
    Items(Vec<Item>),
    /// A table.
    Table(Table),
}

/// An entry of a list.
#[derive(Debug)]
pub(super) struct Item {
    /// What it is about.
    pub(super) lead: String,
    /// What is said of it, one line each.
    pub(super) lines: Vec<String>,
}

/// A table; every row has as many cells as there are columns.
#[derive(Debug)]
pub(super) struct Table {
    /// Titles and whether the column is of figures, which stand to the right.
    pub(super) columns: Vec<(String, bool)>,
    /// Cells, row by row.
    pub(super) rows: Vec<Vec<String>>,
}

impl Page {
    /// A page about `title`.
    pub(super) fn titled(title: String) -> Self {
        Self { blocks: vec![Block::Title(title)] }
    }

    /// Adds a paragraph.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// Adds a heading.
    pub(super) fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    /// Adds a list without a heading; nothing when it is empty.
    pub(super) fn items(&mut self, items: Vec<Item>) {
        if !items.is_empty() {
            self.blocks.push(Block::Items(items));
        }
    }

    /// Adds a table.
    pub(super) fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a section with a list; nothing when there is nothing to list.
    pub(super) fn section(&mut self, heading: &str, items: Vec<Item>) {
        if !items.is_empty() {
            self.heading(heading);
            self.items(items);
        }
    }
}

impl Item {
    /// An entry of one line.
    pub(super) fn new(lead: impl Into<String>, line: impl Into<String>) -> Self {
        Self { lead: lead.into(), lines: vec![line.into()] }
    }
}

impl Table {
    /// Drops every column that holds this and nothing else.
    pub(super) fn drop_columns_of(&mut self, cell: &str) {
        for column in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[column] == cell) {
                self.columns.remove(column);
                self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
            }
        }
    }

    /// A table without rows. A title that begins with `>` is of a column of figures.
    pub(super) fn new<S: AsRef<str>>(titles: impl IntoIterator<Item = S>) -> Self {
        let column = |title: S| match title.as_ref().strip_prefix('>') {
            Some(figures) => (figures.to_owned(), true),
            None => (title.as_ref().to_owned(), false),
        };
        Self { columns: titles.into_iter().map(column).collect(), rows: Vec::new() }
    }
}
