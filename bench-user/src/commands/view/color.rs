//! Whether words are coloured, and how: only where the words say the same.

use std::io::{self, IsTerminal as _};

use bench_user::cli::ColorName;
use bench_user::live::{Piece, Tone};

const RESET: &str = "\x1b[0m";

/// Puts colours around words, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paint {
    /// It may use colours.
    pub(super) has_colors: bool,
}

/// What the environment says of colours.
#[derive(Debug, Clone, Copy, Default)]
struct Surroundings {
    /// `NO_COLOR` is set to something.
    no_color: bool,
    /// `CLICOLOR_FORCE` is set, and not to 0.
    force: bool,
    /// `CLICOLOR` is 0.
    is_off: bool,
    /// Standard error is a terminal that knows colours.
    knows: bool,
}

impl Paint {
    /// By `--color`, else by the environment, for standard error.
    pub(super) fn chosen(wanted: ColorName) -> Self {
        let around = Surroundings {
            no_color: anstyle_query::no_color(),
            force: anstyle_query::clicolor_force(),
            is_off: anstyle_query::clicolor() == Some(false),
            knows: io::stderr().is_terminal() && anstyle_query::term_supports_color(),
        };
        Self { has_colors: has_colors(wanted, around) }
    }

    /// A piece as it is written.
    pub(super) fn piece(self, piece: &Piece) -> String {
        self.words(&piece.text, piece.tone)
    }

    /// A line as it is written: what warns and what was stopped is said in words too.
    pub(super) fn line(self, line: &str) -> String {
        let tone = if line.starts_with("error:") {
            Tone::Bad
        } else if ["stopped: ", "invalid: "].iter().any(|word| line.contains(word))
            || line.starts_with("warning:")
        {
            Tone::Near
        } else {
            Tone::Plain
        };
        self.words(line, tone)
    }

    fn words(self, words: &str, tone: Tone) -> String {
        let color = match tone {
            Tone::Near => "\x1b[33m",
            Tone::Bad => "\x1b[31m",
            Tone::Plain => return words.to_owned(),
        };
        if self.has_colors { format!("{color}{words}{RESET}") } else { words.to_owned() }
    }
}

/// As no-color.org and bixense.com/clicolors have it; who names a flag means it.
fn has_colors(wanted: ColorName, around: Surroundings) -> bool {
    match wanted {
        ColorName::Always => true,
        ColorName::Never => false,
        ColorName::Auto if around.no_color => false,
        ColorName::Auto => around.force || (around.knows && !around.is_off),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_wins_over_the_environment_and_no_color_over_the_rest_of_it() {
        let terminal = Surroundings { knows: true, ..Surroundings::default() };
        let auto = |around| has_colors(ColorName::Auto, around);
        assert!(auto(terminal) && !auto(Surroundings::default()));
        assert!(auto(Surroundings { force: true, ..Surroundings::default() }));
        assert!(!auto(Surroundings { force: true, no_color: true, ..terminal }));
        assert!(!auto(Surroundings { is_off: true, ..terminal }));
        assert!(has_colors(ColorName::Always, Surroundings { no_color: true, ..terminal }));
        assert!(!has_colors(ColorName::Never, Surroundings { force: true, ..terminal }));
    }

    #[test]
    fn without_colours_words_are_as_they_were() {
        let line = "  812/s, stopped: p99 1.20 s reached 1s";
        assert_eq!(Paint { has_colors: false }.line(line), line);
        assert_eq!(Paint { has_colors: true }.line(line), format!("\x1b[33m{line}\x1b[0m"));
        assert_eq!(Paint { has_colors: true }.line("  812/s"), "  812/s");
    }
}
