//! The results as a table.

use super::peers::Name;
use super::results::{Measured, Results};
use crate::statistics::Quartiles;

/// A column of one figure.
struct Column {
    title: &'static str,
    width: usize,
    decimals: usize,
    figure: fn(&Measured) -> Option<f64>,
}

const RATE: Column = Column {
    title: "requests/client-CPU-s",
    width: 27,
    decimals: 0,
    figure: |m| Some(m.requests_per_cpu_s),
};
const OTHERS: [Column; 3] = [
    Column {
        title: "syscalls/request",
        width: 22,
        decimals: 2,
        figure: |m| m.syscalls_per_request,
    },
    Column { title: "peak memory, MiB", width: 25, decimals: 1, figure: |m| m.peak_mib },
    Column { title: "time on a CPU", width: 0, decimals: 2, figure: |m| Some(m.cpu_ratio) },
];
/// The ratio is no figure of one client alone.
const RATIO: &str = "ratio to wrk";
const RATIO_WIDTH: usize = 22;
const RATIO_DECIMALS: usize = 2;

/// Prints the medians, the quartiles and what is to be known about them.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
pub(super) fn print(results: &Results, rounds: u32, seconds: u32) {
    println!("median (quartiles) of {rounds} rounds of {seconds} s");
    for line in lines(results) {
        println!("{line}");
    }
}

fn lines(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    let mut block = None;
    for cell in results.cells() {
        if block.replace(cell.0) != Some(cell.0) {
            lines.extend([String::new(), heading(cell.0)]);
        }
        lines.push(row(results, cell));
    }
    if !results.notes.is_empty() {
        lines.push(String::new());
    }
    lines.extend(results.notes.iter().map(|note| format!("note: {note}")));
    lines
}

fn heading(connections: u32) -> String {
    let shown = |column: &Column| (column.title.to_owned(), column.width);
    let columns = [shown(&RATE), (RATIO.to_owned(), RATIO_WIDTH)];
    aligned(
        &format!("{connections} connections"),
        columns.into_iter().chain(OTHERS.iter().map(shown)),
    )
}

fn row(results: &Results, cell: (u32, Name)) -> String {
    let shown = |column: &Column| {
        (show(results.over_rounds(cell, column.figure), column.decimals), column.width)
    };
    let ratio = (show(results.ratio_to_wrk(cell), RATIO_DECIMALS), RATIO_WIDTH);
    let columns = [shown(&RATE), ratio].into_iter().chain(OTHERS.iter().map(shown));
    aligned(&format!("  {}", cell.1.word()), columns)
}

/// Texts, each with the width of its column.
fn aligned(title: &str, columns: impl Iterator<Item = (String, usize)>) -> String {
    let line =
        columns.fold(format!("{title:<18}"), |line, (text, width)| format!("{line}{text:<width$}"));
    line.trim_end().to_owned()
}

fn show(quartiles: Option<Quartiles>, decimals: usize) -> String {
    quartiles.map_or_else(
        || "unavailable".to_owned(),
        |Quartiles { low, median, high }| {
            format!("{median:.decimals$} ({low:.decimals$} .. {high:.decimals$})")
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_connections_has_its_block_and_missing_figures_are_named() {
        let mut results = Results::default();
        for (connections, name, requests_per_cpu_s) in
            [(10, Name::Wrk, 1000.0), (10, Name::Hyper, 500.0), (9, Name::Hyper, 7.0)]
        {
            let (peak_mib, syscalls_per_request) = (Some(3.25), None);
            let measured =
                Measured { requests_per_cpu_s, cpu_ratio: 0.5, peak_mib, syscalls_per_request };
            results.add(connections, name, 0, measured);
        }
        results.notes.insert("oha: not on PATH".to_owned());
        let text = lines(&results);
        let words: Vec<Vec<&str>> =
            text.iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[1][..2], ["9", "connections"], "few before many: {text:?}");
        assert_eq!(words[2][..5], ["hyper", "7", "(7", "..", "7)"]);
        assert_eq!(words[2][5], "unavailable", "no ratio without wrk");
        assert_eq!(
            words[5][..9],
            ["hyper", "500", "(500", "..", "500)", "0.50", "(0.50", "..", "0.50)"]
        );
        assert_eq!(words[5][9], "unavailable", "no syscalls");
        assert_eq!(words[5][10], "3.2", "MiB");
        assert_eq!(text.last().map(String::as_str), Some("note: oha: not on PATH"));
    }
}
