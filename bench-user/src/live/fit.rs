//! One line of pieces, as many as there is room for.

use ratatui::text::Span;

/// What a piece means, beside its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// A limit is near.
    Near,
    /// A limit is reached, or something failed.
    Bad,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its words.
    pub text: String,
    /// What they mean.
    pub tone: Tone,
    /// The larger, the sooner it is left out.
    pub rank: u8,
}

impl Piece {
    /// A piece without a meaning beside its words.
    #[must_use]
    pub fn plain(rank: u8, text: impl Into<String>) -> Self {
        Self { text: printable(&text.into()), tone: Tone::Plain, rank }
    }
}

const BETWEEN: &str = ", ";

/// The pieces that fit into so many columns with `, ` between them, in their order: those of the
/// lowest rank are taken first, the earlier ones of equals, and the very first one is cut where
/// even it does not fit.
#[must_use]
pub fn fit(pieces: Vec<Piece>, columns: usize) -> Vec<Piece> {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|n| pieces[*n].rank);
    let mut taken = vec![false; pieces.len()];
    let mut used = 0;
    for n in order {
        let between = if used == 0 { 0 } else { BETWEEN.len() };
        let more = between + columns_of(&pieces[n].text);
        if used == 0 || used + more <= columns {
            taken[n] = true;
            used += more;
        }
    }
    let fitting = pieces.into_iter().zip(taken).filter_map(|(piece, taken)| taken.then_some(piece));
    let mut fitting: Vec<Piece> = fitting.collect();
    if let [only] = &mut fitting[..] {
        only.text = cut(&only.text, columns);
    }
    fitting
}

/// The pieces as one text; `paint` puts what stands for a tone around the words.
#[must_use]
pub fn join(pieces: &[Piece], paint: impl Fn(&Piece) -> String) -> String {
    pieces.iter().map(paint).collect::<Vec<_>>().join(BETWEEN)
}

fn columns_of(text: &str) -> usize {
    Span::raw(text).width()
}

/// At most so many columns of a text, the last of them `…` where it is cut.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        let longer = format!("{kept}{c}");
        if columns_of(&longer) >= columns {
            break;
        }
        kept = longer;
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Names of threads and targets are other people's bytes, and a terminal obeys some of them.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(columns: usize, expected: &str) {
        let pieces = vec![
            Piece::plain(0, "lean, 20 connections"),
            Piece::plain(1, "45.3 k/s"),
            Piece::plain(5, "p50 1 ms"),
            Piece::plain(2, "p99 4 ms"),
        ];
        let fitted = fit(pieces, columns);
        assert_eq!(join(&fitted, |piece| piece.text.clone()), expected, "{columns}");
    }

    #[test]
    fn what_matters_least_is_left_out_first_and_the_rest_is_cut() {
        check(50, "lean, 20 connections, 45.3 k/s, p50 1 ms, p99 4 ms");
        check(49, "lean, 20 connections, 45.3 k/s, p99 4 ms");
        check(39, "lean, 20 connections, 45.3 k/s");
        check(29, "lean, 20 connections");
        check(19, "lean, 20 connectio…");
        check(1, "…");
        check(0, "");
    }

    #[test]
    fn wide_letters_take_two_columns_and_a_terminal_is_told_nothing() {
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(Piece::plain(0, "a\x1b[2Jb\n").text, "a?[2Jb?");
    }
}
