//! The arrows of `bench-user/src/lib.rs`: data flows down the list of modules there, so a module may
//! name only what stands above it, and some pairs may not meet at all.

use super::Source;

/// Module, what it must not name, and why.
const FORBIDDEN: [(&str, &str, &str); 1] =
    [("observe", "load", "client and kernel numbers are independent witnesses")];

/// Modules that are pure functions of a record.
const PURE: [&str; 5] = ["record", "analyze", "claims", "report", "live"];

/// Reaching for one of these is touching the measured system.
const IMPURE: [&str; 8] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::time::Instant",
    "tokio::",
    "rustix::",
    "procfs::",
    "crate::clock",
];

/// The one file of the pure modules that reads and writes files.
const STORE: &str = "bench-user/src/record/store";

/// The modules that `lib.rs` lists, in its order.
pub(super) fn order(lib: &str) -> Vec<String> {
    lib.lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

/// Every arrow in the file that points the wrong way.
pub(super) fn check(source: &Source, order: &[String]) -> Vec<String> {
    let Source { path, text } = source;
    let Some(module) = module_of(path) else { return Vec::new() };
    let Some(place) = order.iter().position(|name| name == module) else { return Vec::new() };
    let mut breaches = Vec::new();
    let mut breach = |line: usize, what: String| breaches.push(format!("{path}:{line}: {what}"));

    let code = without_comments(text);
    for (line, named) in named_modules(&code) {
        if order.iter().position(|name| name == named).is_some_and(|other| other > place) {
            breach(line, format!("`{module}` names `{named}`, which stands below it in lib.rs"));
        }
        let rule = FORBIDDEN.iter().find(|(from, to, _)| *from == module && *to == named);
        if let Some((.., why)) = rule {
            breach(line, format!("`{module}` names `{named}`: {why}"));
        }
    }
    if PURE.contains(&module) && !path.starts_with(STORE) {
        for (index, line) in code.lines().enumerate() {
            if let Some(name) = IMPURE.iter().find(|name| line.contains(**name)) {
                let rule = format!("`{module}` is a pure function of a record and uses `{name}`");
                breach(index + 1, rule);
            }
        }
    }
    breaches
}

/// The text with the same lines and no comments in them.
fn without_comments(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .fold(String::with_capacity(text.len()), |code, line| code + line + "\n")
}

/// `load` for `bench-user/src/load/pacer.rs`, `clock` for `bench-user/src/clock.rs`.
fn module_of(path: &str) -> Option<&str> {
    path.strip_prefix("bench-user/src/")?.trim_end_matches(".rs").split('/').next()
}

/// The names that follow `crate::`, also those in braces, and the lines of their `crate::`.
fn named_modules(code: &str) -> Vec<(usize, &str)> {
    let mut named = Vec::new();
    for (at, prefix) in code.match_indices("crate::") {
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => named.extend(first_names(list).into_iter().map(|name| (line, name))),
            None => named.push((line, identifier(rest))),
        }
    }
    named
}

/// The first name of each item of a list in braces; `list` begins behind the opening brace.
fn first_names(list: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(identifier(list[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> usize {
        let order = ["clock", "load", "observe", "ladder", "report"].map(str::to_owned);
        check(&Source { path: path.to_owned(), text: text.to_owned() }, &order).len()
    }

    #[test]
    fn the_order_is_that_of_the_public_modules() {
        let lib = "/// A.\npub mod clock;\n\nmod hidden;\npub mod load;\n";
        assert_eq!(order(lib), ["clock", "load"]);
    }

    #[test]
    fn a_module_may_name_what_stands_above_it_and_itself() {
        assert_eq!(breaches("bench-user/src/load/pacer.rs", "use crate::clock::now;"), 0);
        assert_eq!(breaches("bench-user/src/load/pacer.rs", "use crate::load::Sample;"), 0);
        assert_eq!(breaches("bench-user/src/ladder/stage.rs", "use crate::{load, observe};"), 0);
    }

    #[test]
    fn a_module_that_names_what_stands_below_it_is_found() {
        assert_eq!(breaches("bench-user/src/load/pacer.rs", "use crate::ladder::Stage;"), 1);
        assert_eq!(breaches("bench-user/src/clock.rs", "fn a() -> crate::load::Sample {}"), 1);
    }

    #[test]
    fn names_in_braces_are_arrows_too_over_several_lines() {
        let text = "use crate::{\n    clock,\n    load::{Sample, ladder},\n    ladder::Stage,\n};";
        assert_eq!(breaches("bench-user/src/observe/mod.rs", text), 2, "load and ladder");
        assert_eq!(breaches("bench-user/src/ladder/mod.rs", text), 0);
    }

    #[test]
    fn the_two_witnesses_do_not_meet() {
        assert_eq!(breaches("bench-user/src/observe/mod.rs", "use crate::load::Sample;"), 1);
        assert_eq!(breaches("bench-user/src/load/mod.rs", "use crate::observe::Sample;"), 1);
    }

    #[test]
    fn a_pure_module_does_not_touch_the_system() {
        assert_eq!(breaches("bench-user/src/report/text.rs", "use std::fs;"), 1);
        assert_eq!(breaches("bench-user/src/load/mod.rs", "use std::fs;"), 0);
    }

    #[test]
    fn what_a_comment_names_is_no_arrow() {
        assert_eq!(breaches("bench-user/src/load/mod.rs", "/// See [`crate::ladder`]."), 0);
    }
}
