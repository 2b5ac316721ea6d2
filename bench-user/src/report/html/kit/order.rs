//! What a cell of figures is worth when a column is sorted: the number that it shows, in the unit
//! that it names. Two cells that show the same are equal.

/// Units of the cells of reports with what they stand for; longer ones before their endings.
const UNITS: [(&str, f64); 13] = [
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("B", 1.0),
    ("%", 0.01),
    ("k", 1e3),
    ("M", 1e6),
    ("conns", 1.0),
];

/// The number at the beginning of a cell, such as `21.9 k ±15%`; `None` for `n/a` and words.
pub(super) fn worth(cell: &str) -> Option<f64> {
    let text = cell.trim_start_matches(['+', '[']);
    let is_of_number = |(at, c): (usize, char)| {
        c.is_ascii_digit()
            || ".,e".contains(c)
            || (c == '-' && (at == 0 || text[..at].ends_with('e')))
    };
    let end = text.char_indices().find(|at| !is_of_number(*at)).map_or(text.len(), |(at, _)| at);
    let number: f64 = text[..end].replace(',', "").parse().ok()?;
    let unit = text[end..].trim_start();
    let unit =
        unit.split(|c: char| c.is_whitespace() || ",]".contains(c)).next().unwrap_or_default();
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, factor)| *factor);
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::{bytes, percent};
    use crate::units::{show_count, show_ns};

    /// The digits of it that people see: at least two.
    fn is_about(cell: &str, value: f64, within: f64) {
        let found = worth(cell).unwrap_or_else(|| panic!("{cell}"));
        assert!((found - value).abs() <= value.abs() * within, "{cell}: {found}");
    }

    #[test]
    fn a_cell_is_worth_what_it_shows() {
        for value in [1.0, 42.0, 999.4, 1_234.0, 45_678.0, 3.21e6, 7.89e9, 1.5e12] {
            is_about(&show_ns(value), value, 0.05);
            is_about(&show_count(value), value, 0.006);
            is_about(&bytes(value), value, 0.05);
        }
        is_about(&percent(0.42), 0.42, 0.006);
    }

    #[test]
    fn signs_intervals_and_remarks_do_not_count() {
        let cells = ["21.9 k ±15%", "-42%", "+3.1%", "1600 (live 1541)", "[-44%, -40%]", "8 conns"];
        let worths = cells.map(|cell| worth(cell).map(|n| (n * 1e6).round() / 1e6));
        assert_eq!(worths, [21_900.0, -0.42, 0.031, 1600.0, -0.44, 8.0].map(Some));
        assert_eq!(worth("4,210"), Some(4210.0));
        assert_eq!(["n/a", "", "cpu-quota"].map(worth), [None, None, None]);
        assert_eq!(worth("1.5e-7"), Some(1.5e-7));
    }
}
