//! The HTML report of every stored run, as text: it is whole, names what it draws, asks nobody for
//! anything, and takes no name from a record for markup.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bench_user::record::{self, RunRecord};
use bench_user::report;
use scraper::{ElementRef, Html, Selector};

use super::runs;

fn page(run: &RunRecord) -> String {
    let mut out = Vec::new();
    report::html(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Every stored run that can be read: the fixtures and the records of the studies.
fn stored() -> Vec<(PathBuf, RunRecord)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("tests/fixtures"), root.join("studies/records")];
    let mut runs = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(run) = record::read(&path) {
                runs.push((path, run));
            }
        }
    }
    runs
}

fn all<'a>(html: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    html.select(&Selector::parse(selector).unwrap()).collect()
}

fn text(element: ElementRef<'_>) -> String {
    element.text().collect()
}

/// What must hold of any page.
fn check(html: &Html, name: &str) {
    let ids: Vec<&str> = all(html, "[id]").iter().filter_map(|e| e.attr("id")).collect();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(known.len(), ids.len(), "{name}: an id twice among {ids:?}");
    for attribute in ["aria-labelledby", "aria-describedby", "href"] {
        for element in all(html, &format!("[{attribute}]")) {
            let to = element.attr(attribute).unwrap();
            assert!(known.contains(to.trim_start_matches('#')), "{name}: {attribute}={to}");
        }
    }
    for (selector, what) in [
        ("[src], link, iframe, object, embed, img", "nothing is loaded"),
        ("[style], [onclick], [onload], [onerror]", "nothing that the policy refuses"),
    ] {
        assert!(all(html, selector).is_empty(), "{name}: {what}");
    }
    assert_eq!((all(html, "script").len(), all(html, "style").len()), (1, 1), "{name}");
    for figure in all(html, "figure") {
        let has = |selector| figure.select(&Selector::parse(selector).unwrap()).next().is_some();
        let id = figure.attr("id").unwrap_or_default();
        for part in
            ["figcaption h3", "figcaption p", "svg[role=img][aria-label] .m", "details table"]
        {
            assert!(has(part), "{name}: the figure {id} has no {part}");
        }
    }
    for caption in all(html, "table") {
        let caption = caption.select(&Selector::parse("caption").unwrap()).next();
        assert!(
            caption.is_some_and(|c| !text(c).trim().is_empty()),
            "{name}: a table without a name"
        );
    }
    let levels: Vec<u8> =
        all(html, "h1, h2, h3, h4").iter().map(|h| h.value().name().as_bytes()[1]).collect();
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{name}: {levels:?}");
    for element in all(html, "svg *") {
        for (attribute, value) in element.value().attrs() {
            let is_number = !value.contains("NaN") && !value.contains("inf");
            assert!(is_number || attribute.starts_with("aria"), "{name}: {attribute}={value}");
        }
    }
}

#[test]
fn every_stored_run_is_drawn() {
    let stored = stored();
    assert!(stored.len() > 25, "{}", stored.len());
    for (path, run) in stored {
        let text = page(&run);
        let html = Html::parse_document(&text);
        check(&html, &path.display().to_string());
        // A section without data is a sentence.
        for section in all(&html, "main section") {
            let words = self::text(section).split_whitespace().count();
            assert!(words > 3, "{}: {:?} says nothing", path.display(), section.attr("id"));
        }
    }
}

#[test]
fn a_run_that_measured_little_says_why_in_place_of_pictures() {
    let text = page(&runs::unavailable());
    let html = Html::parse_document(&text);
    let missing: Vec<String> = all(&html, ".missing").into_iter().map(self::text).collect();
    let said = missing.join("\n");
    for part in [
        "Syscalls were not counted: ",
        "Threads were not seen: ",
        "Waits for a CPU were not measured: ",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
}

#[test]
fn the_data_of_a_figure_is_the_record_to_the_last_bit() {
    let run = runs::two_targets();
    let text = page(&run);
    let html = Html::parse_document(&text);
    let rows = all(&html, "#throughput tbody tr");
    let cells = |row: &ElementRef<'_>| -> Vec<String> {
        row.select(&Selector::parse("td").unwrap()).map(self::text).collect()
    };
    let drawn: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let number = |of: Option<f64>| of.map_or("n/a".to_owned(), |n| n.to_string());
    let ladders = run.analysis.as_ref().unwrap().ladders.iter();
    let expect: Vec<Vec<String>> = ladders
        .flat_map(|ladder| ladder.levels.iter().map(move |level| (ladder, level)))
        .map(|(ladder, level)| {
            let rate = level.metrics["load.achieved_rps"];
            vec![
                ladder.target.clone(),
                level.connections.to_string(),
                "load.achieved_rps".into(),
                number(Some(rate.value)),
                number(rate.low),
                number(rate.high),
                rate.repetitions.to_string(),
                "repetitions".into(),
            ]
        })
        .collect();
    assert_eq!(drawn, expect);
}

#[test]
fn no_name_of_a_record_becomes_markup() {
    const EVIL: &str = "<script>alert(1)</script>\" onload=\"x' </title></style><b>";
    let mut run = runs::two_targets();
    run.plan.name = EVIL.into();
    run.interrupted = Some(EVIL.into());
    for target in &mut run.targets {
        target.name = format!("{}{EVIL}", target.name);
    }
    let analysis = run.analysis.as_mut().unwrap();
    for ladder in &mut analysis.ladders {
        ladder.target = format!("{}{EVIL}", ladder.target);
    }
    for stage in run.targets.iter_mut().flat_map(|t| &mut t.stages) {
        if let bench_user::measured::Measured::Value(threads) = &mut stage.threads {
            threads.iter_mut().for_each(|thread| thread.comm = EVIL.into());
        }
        stage.verdict.stopped_by = Some(EVIL.into());
    }
    for claim in &mut run.claims {
        claim.claim.says = EVIL.into();
        claim.because = EVIL.into();
    }
    let text = page(&run);
    let html = Html::parse_document(&text);
    check(&html, "hostile names");
    assert!(all(&html, "b").is_empty());
    assert_eq!(self::text(all(&html, "title")[0]), EVIL);
    assert_eq!(self::text(all(&html, "h1")[0]), EVIL);
    let heads: Vec<String> = all(&html, "#claims h3").into_iter().map(self::text).collect();
    assert!(heads.iter().all(|head| head.ends_with(EVIL)), "{heads:?}");
}

#[test]
fn the_page_of_a_large_run_stays_small() {
    let run = runs::large();
    let size = page(&run).len();
    assert!(size < 6_000_000, "{size} bytes");
    // No sample is left out silently: a point is eight of the 300 samples of a stage.
    assert!(page(&run).contains("A point is up to 8 samples"));
}
