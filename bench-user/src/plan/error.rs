//! What can be wrong with a plan: each error is one sentence that ends with the remedy.

use std::path::PathBuf;

/// Why a plan, a claims file or the flags that stand for one cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file cannot be read. The I/O error is part of the sentence and not a `source`, which
    /// would print it twice.
    #[error("cannot read {}: {error}; give the path of a TOML file", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A key that no plan has.
    #[error("unknown key \"{key}\" in {name}, line {line}: {hint}")]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The file, or what stands for it.
        name: String,
        /// Line of the key, from 1.
        line: usize,
        /// The nearest known key, or all of them.
        hint: String,
    },
    /// Not TOML, or a value of the wrong kind.
    #[error("{name}, line {line}: {problem}")]
    Syntax {
        /// The file, or what stands for it.
        name: String,
        /// Line of the problem, from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// Well formed, but it makes no sense.
    #[error("{0}")]
    Invalid(String),
}

/// The end of a sentence about an unknown word: the nearest known one, or all of them.
pub(crate) fn suggest(unknown: &str, known: &[&str]) -> String {
    /// Share of the letters that agree (one minus the Damerau-Levenshtein distance by length)
    /// from which a known word is what was probably meant: two swapped letters of three stay
    /// above it, another word does not.
    const SIMILAR: f64 = 0.6;
    let nearest = known
        .iter()
        .map(|word| (strsim::normalized_damerau_levenshtein(unknown, word), word))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((similarity, word)) if similarity >= SIMILAR => format!("did you mean \"{word}\"?"),
        Some(_) => format!("known here: {}", known.join(", ")),
        None => "nothing is known here".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_and_a_far_one_is_not() {
        let known = ["ladder", "load", "target"];
        assert_eq!(suggest("laddr", &known), "did you mean \"ladder\"?");
        assert_eq!(suggest("tagret", &known), "did you mean \"target\"?");
        assert_eq!(suggest("speed", &known), "known here: ladder, load, target");
        assert_eq!(suggest("speed", &[]), "nothing is known here");
    }

    #[test]
    fn an_error_prints_its_cause_once() {
        let error = PlanError::Read {
            path: "x.toml".into(),
            error: std::io::Error::from(std::io::ErrorKind::NotFound),
        };
        let text = format!("{:#}", anyhow::Error::from(error));
        assert_eq!(text, "cannot read x.toml: entity not found; give the path of a TOML file");
    }
}
