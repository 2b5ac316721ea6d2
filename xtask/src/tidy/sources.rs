//! Rules about one file: its length, its opening, its name, and what must not be in it.

use super::Source;

/// The most lines of a file.
const LINES: usize = 300;

/// Files that may be longer: path, most lines, reason.
const LONGER: [(&str, usize, &str); 0] = [];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 5] = ["utils", "util", "common", "helpers", "manager"];

/// What marks unfinished work. Split so that this file does not break its own rule.
const LEFTOVERS: [&str; 5] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("dbg", "!("),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
];

const PRINTS: [&str; 4] = ["println!(", "eprintln!(", "print!(", "eprint!("];

/// Every breach in the file, as `path:line: what is wrong`.
pub(super) fn check(source: &Source) -> Vec<String> {
    let Source { path, text } = source;
    let mut breaches = Vec::new();
    let lines = text.lines().count();
    let most = LONGER.iter().find(|(file, ..)| file == path).map_or(LINES, |(_, most, _)| *most);
    if lines > most {
        breaches.push(format!("{path}:{lines}: more than {most} lines: split it by idea"));
    }
    // Tests that were moved out of their module need no other word than their file's name.
    if !path.ends_with("/tests.rs") && !opens_with_its_purpose(text) {
        breaches.push(format!("{path}:1: no `//!` that says what the file is for"));
    }
    if let Some(name) = EMPTY_NAMES.iter().find(|name| has_part(path, name)) {
        breaches.push(format!("{path}:1: `{name}` does not say what is inside"));
    }
    for (index, line) in text.lines().enumerate() {
        breaches
            .extend(line_breaches(path, line).map(|what| format!("{path}:{}: {what}", index + 1)));
    }
    breaches
}

fn opens_with_its_purpose(text: &str) -> bool {
    text.lines().find(|line| !line.starts_with("#!")).is_some_and(|line| line.starts_with("//!"))
}

fn has_part(path: &str, name: &str) -> bool {
    path.trim_end_matches(".rs").split('/').any(|part| part == name)
}

fn line_breaches(path: &str, line: &str) -> impl Iterator<Item = String> {
    let code = line.split("//").next().unwrap_or_default();
    let leftover = LEFTOVERS.iter().find(|mark| line.contains(**mark));
    let print = PRINTS.iter().find(|print| !may_print(path) && holds_word(code, print));
    let is_unsafe = !path.starts_with("bench-ebpf/") && holds_word(code, concat!("un", "safe "));
    leftover
        .map(|mark| format!("`{mark}` marks unfinished work"))
        .into_iter()
        .chain(print.map(|print| format!("`{print}..)` outside main.rs and commands/")))
        .chain(is_unsafe.then(|| "`unsafe` outside bench-ebpf".to_owned()))
}

/// Programs speak in their `main.rs` and `commands/`; xtask is all command; build scripts speak to
/// cargo; tests may say what they skip.
fn may_print(path: &str) -> bool {
    path == "bench-user/src/main.rs"
        || path == "bench-user/build.rs"
        || ["bench-user/src/commands/", "bench-user/tests/", "xtask/"]
            .iter()
            .any(|folder| path.starts_with(folder))
}

/// Whether `word` stands in `code` and is not the end of a longer name.
fn holds_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> Vec<String> {
        check(&Source { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn a_file_in_order_has_no_breach() {
        assert_eq!(breaches("bench-user/src/load/pacer.rs", "//! Paces.\nfn a() {}\n"), [""; 0]);
    }

    #[test]
    fn a_file_one_line_too_long_is_named_and_one_at_the_cap_is_not() {
        let text = |lines| "//! Long.\n".repeat(lines);
        assert_eq!(breaches("bench-user/src/a.rs", &text(LINES)), [""; 0]);
        assert_eq!(breaches("bench-user/src/a.rs", &text(LINES + 1)).len(), 1);
    }

    #[test]
    fn a_file_must_say_what_it_is_for_also_below_inner_attributes() {
        assert_eq!(breaches("bench-user/src/a.rs", "fn a() {}\n").len(), 1);
        assert_eq!(breaches("bench-ebpf/src/main.rs", "#![no_std]\n//! Probes.\n"), [""; 0]);
    }

    #[test]
    fn printing_is_for_commands_only() {
        let text = "//! A.\nfn a() { println!(\"a\") }\n";
        assert_eq!(breaches("bench-user/src/report/text.rs", text).len(), 1);
        assert_eq!(breaches("bench-user/src/commands/run.rs", text), [""; 0]);
        assert_eq!(breaches("bench-user/src/a.rs", "//! A.\n// no println!( here\n"), [""; 0]);
    }

    #[test]
    fn unfinished_work_and_empty_names_are_found() {
        let text = format!("//! A.\nfn a() {{ {}) }}\n", LEFTOVERS[0]);
        assert_eq!(breaches("bench-user/src/a.rs", &text).len(), 1);
        assert_eq!(breaches("bench-user/src/utils/mod.rs", "//! A.\n").len(), 1);
    }

    #[test]
    fn only_the_probes_may_be_unsafe() {
        let text = format!("//! A.\nfn a() {{ {}{{ b() }} }}\n", concat!("un", "safe "));
        assert_eq!(breaches("bench-user/src/a.rs", &text).len(), 1);
        assert_eq!(breaches("bench-ebpf/src/main.rs", &text), [""; 0]);
    }
}
