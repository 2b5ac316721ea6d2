//! A run for GitHub Actions: the summary of a step, and annotations.
//!
//! GitHub drops the whole summary of a step that is larger than [`SUMMARY_MAX`], so a part that has
//! no room is left out and named.
//! Sources: docs.github.com, "Workflow commands for GitHub Actions".

use std::io::{self, Write};

use crate::record::{ClaimResult, ClaimVerdict, RunRecord};
use crate::report::page::{Page, Table};
use crate::report::{claims, figures, markdown, run as report};

/// The most that the summary of a step may hold, bytes: 1 MiB.
pub const SUMMARY_MAX: usize = 1 << 20;

/// Writes the summary in at most `room` bytes, nothing where not even a sentence fits.
pub(in crate::report) fn summary(
    run: &RunRecord,
    room: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut parts = vec![("The answers", drawn(|out| markdown::draw(&answers(run), out))?)];
    if !run.claims.is_empty() {
        let is_open = run.claims.iter().any(|result| result.verdict != ClaimVerdict::Holds);
        let mut stages = Page::default();
        claims::add_stages(&mut stages, &run.claims);
        let name = "Stage by stage";
        parts.push((name, drawn(|out| markdown::fold(name, is_open, &stages, out))?));
    }
    let mut whole = report::page(run);
    // The summary has a heading of its own.
    whole.blocks.remove(0);
    let name = "The whole report";
    parts.push((name, drawn(|out| markdown::fold(name, false, &whole, out))?));
    write_parts(&parts, room, out)
}

fn drawn(draw: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    draw(&mut text)?;
    // Between two parts, and before whatever another step of the job appends.
    text.push(b'\n');
    Ok(text)
}

/// What has room, in order, and a sentence for each part that has none.
fn write_parts(parts: &[(&str, Vec<u8>)], room: usize, out: &mut dyn Write) -> io::Result<()> {
    let note = |name| {
        format!("{name} had no room: GitHub takes 1 MiB a step. `bench-user report` prints it.\n\n")
    };
    let mut left = room;
    for (i, (name, part)) in parts.iter().enumerate() {
        let notes: usize = parts[i + 1..].iter().map(|(name, _)| note(name).len()).sum();
        let note = note(name);
        let text = if part.len() + notes <= left { part } else { note.as_bytes() };
        if text.len() <= left {
            out.write_all(text)?;
            left -= text.len();
        }
    }
    Ok(())
}

/// The answer to each claim in a row, those that want to be read first.
fn answers(run: &RunRecord) -> Page {
    let mut page = Page::default();
    page.heading(match run.claims.len() {
        0 => run.plan.name.clone(),
        _ => format!("{}: {}", run.plan.name, claims::summary(&run.claims)),
    });
    page.text(format!("Run {}, started {}.", run.id, run.started_at));
    if !run.claims.is_empty() {
        let mut table = Table::new(["answer", "claim", "figures"]);
        let mut results: Vec<&ClaimResult> = run.claims.iter().collect();
        results.sort_by_key(|result| rank(result.verdict));
        table.rows.extend(results.into_iter().map(|result| {
            let ClaimResult { claim, verdict, .. } = result;
            let says = if claim.says.is_empty() { &claim.id } else { &claim.says };
            let answer = format!("{} {}", sign(*verdict), figures::word(*verdict));
            vec![answer, says.clone(), claims::because(result)]
        }));
        page.table(table);
    }
    page
}

const fn rank(verdict: ClaimVerdict) -> u8 {
    match verdict {
        ClaimVerdict::Fails => 0,
        ClaimVerdict::Unavailable => 1,
        ClaimVerdict::Inconclusive => 2,
        ClaimVerdict::Holds => 3,
    }
}

const fn sign(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Holds => "✅",
        ClaimVerdict::Fails => "❌",
        ClaimVerdict::Inconclusive | ClaimVerdict::Unavailable => "⚠️",
    }
}

/// Writes a workflow command for each claim that does not hold.
pub(in crate::report) fn annotations(
    results: &[ClaimResult],
    out: &mut dyn Write,
) -> io::Result<()> {
    for result in results {
        let command = match result.verdict {
            ClaimVerdict::Holds => continue,
            ClaimVerdict::Fails => "error",
            ClaimVerdict::Inconclusive | ClaimVerdict::Unavailable => "warning",
        };
        let answer = figures::word(result.verdict);
        let title = property(&format!("{} {answer}", result.claim.id));
        let says = match result.claim.says.as_str() {
            "" => String::new(),
            says => format!("{says}: "),
        };
        let message = data(&format!("{says}{}", claims::because(result)));
        writeln!(out, "::{command} title={title}::{message}")?;
    }
    Ok(())
}

/// The message of a workflow command. What else is a control character has no meaning in it.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    text.replace(char::is_control, "\u{fffd}")
}

/// The value of one of its properties.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_named_and_the_room_is_kept() {
        let parts = [("A", vec![b'a'; 500]), ("B", vec![b'b'; 500]), ("C", vec![b'c'; 100])];
        let text = |room| {
            let mut out = Vec::new();
            write_parts(&parts, room, &mut out).unwrap();
            assert!(out.len() <= room, "{} > {room}", out.len());
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(1100).len(), 1100);
        let short = text(800);
        assert!(short.starts_with("aaa") && short.ends_with("ccc"), "{short}");
        assert!(short.contains("B had no room: GitHub takes 1 MiB"), "{short}");
        assert!(text(300).starts_with("A had no room"));
        assert_eq!(text(20), "");
        for room in 0..1200 {
            text(room);
        }
    }

    #[test]
    fn what_ends_a_property_or_a_line_is_escaped() {
        assert_eq!(data("100 %\nof a:b, c"), "100 %25%0Aof a:b, c");
        assert_eq!(property("a:b,c%"), "a%3Ab%2Cc%25");
    }
}
