//! A plan from its TOML file, and claims from theirs. Reads and says where it cannot; whether
//! the result makes sense is for `validate/`, because flags may still change it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{PlanError, suggest};
use super::{ClaimSpec, Plan, UrlSource};

/// Reads a plan file and the claims file that it names. Relative paths in it are relative to its
/// folder, where a command without a `dir` of its own runs too.
///
/// # Errors
/// When a file cannot be read or is no plan: one sentence with the line and the remedy.
pub fn read(path: &Path) -> Result<Plan, PlanError> {
    read_text(&text_of(path)?, path)
}

/// Takes a text for what stands in the file `path`, and goes on as [`read`].
///
/// # Errors
/// As [`read`].
pub fn read_text(text: &str, path: &Path) -> Result<Plan, PlanError> {
    let mut plan = parse(text, &path.display().to_string())?;
    let folder = std::path::absolute(path)
        .map_err(|error| PlanError::Read { path: path.into(), error })?
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default();
    resolve(&mut plan, &folder);
    if let Some(file) = &plan.claims_file {
        let more = read_claims(file)?;
        plan.claims.extend(more);
    }
    Ok(plan)
}

/// Parses the text of a plan. `name` stands for it in errors.
///
/// # Errors
/// When it is no plan: one sentence with the line and the remedy.
pub fn parse(text: &str, name: &str) -> Result<Plan, PlanError> {
    parse_toml(text, name)
}

/// Reads a file of `[[claim]]` tables.
///
/// # Errors
/// As [`read`].
pub fn read_claims(path: &Path) -> Result<Vec<ClaimSpec>, PlanError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ClaimsFile {
        #[serde(rename = "claim")]
        claims: Vec<ClaimSpec>,
    }
    let file: ClaimsFile = parse_toml(&text_of(path)?, &path.display().to_string())?;
    Ok(file.claims)
}

fn text_of(path: &Path) -> Result<String, PlanError> {
    std::fs::read_to_string(path).map_err(|error| PlanError::Read { path: path.into(), error })
}

fn resolve(plan: &mut Plan, folder: &Path) {
    if let Some(file) = &mut plan.claims_file {
        *file = folder.join(&*file);
    }
    let load = &mut plan.load;
    let files = [&mut load.body_file, &mut load.tls.ca, &mut load.unix_socket];
    for file in files.into_iter().flatten() {
        *file = folder.join(&*file);
    }
    for service in &mut plan.services {
        service.dir = Some(working_folder(service.dir.take(), folder));
    }
    for target in &mut plan.targets {
        // A container's folder is one inside of it.
        if target.command.is_some() && target.image.is_none() {
            target.dir = Some(working_folder(target.dir.take(), folder));
        }
        match &mut target.urls {
            Some(UrlSource::Named(file)) if file != "crawl" => {
                *file = folder.join(&*file).display().to_string();
            }
            _ => {}
        }
    }
}

/// Where a command of a plan in `folder` runs.
fn working_folder(dir: Option<PathBuf>, folder: &Path) -> PathBuf {
    match dir {
        // Joining an empty path would leave a trailing slash.
        Some(dir) if !dir.as_os_str().is_empty() => folder.join(dir),
        _ => folder.into(),
    }
}

fn parse_toml<T: DeserializeOwned>(text: &str, name: &str) -> Result<T, PlanError> {
    toml::from_str(text).map_err(|error| explain(&error, text, name))
}

/// serde's messages are kept where they are plain, and put into the words of a plan where they
/// speak of Rust.
fn explain(error: &toml::de::Error, text: &str, name: &str) -> PlanError {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let name = name.to_owned();
    if let Some((key, known)) = unknown_field(error.message()) {
        return PlanError::UnknownKey { key: key.into(), name, line, hint: suggest(key, &known) };
    }
    let written = text.lines().nth(line - 1).and_then(|line| line.split_once('='));
    let key = written.map_or("", |(key, _value)| key.trim());
    PlanError::Syntax { name, line, problem: problem(error.message(), key) }
}

/// The parts of serde's "unknown field `a`, expected one of `b`, `c`".
fn unknown_field(message: &str) -> Option<(&str, Vec<&str>)> {
    let (key, expected) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let known = expected.split('`').skip(1).step_by(2).collect();
    Some((key, known))
}

fn problem(message: &str, key: &str) -> String {
    let untagged = [
        ("enum Limit", "a count such as 0, or false"),
        ("enum SpanLimit", "a duration such as \"1s\", or false"),
        ("enum ShareLimit", "a share such as 0.01, or false"),
        ("enum UrlSource", "\"crawl\", the path of a file, or a list of addresses"),
        ("enum StageSelector", "\"all\", \"saturated\", \"peak\" or a list of connections"),
    ];
    if let Some((_, wanted)) = untagged.iter().find(|(name, _)| message.ends_with(name)) {
        return format!("`{key}` must be {wanted}");
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("the key {field} is missing: add it to this table");
    }
    let mut words = message.lines().map(str::trim).collect::<Vec<_>>().join(", ");
    for (rust, plain) in [
        ("expected u32", "expected a whole number from 0 on"),
        ("expected u64", "expected a whole number from 0 on"),
        ("expected f64", "expected a number"),
        ("expected a string", "expected text in quotes"),
        ("expected a boolean", "expected true or false"),
    ] {
        words = words.replace(rust, plain);
    }
    // A syntax error is about the line, a wrong value about its key.
    let about_a_value = words.starts_with("invalid type") || words.starts_with("invalid value");
    if about_a_value && !key.is_empty() { format!("`{key}` has an {words}") } else { words }
}

#[cfg(test)]
mod tests;
