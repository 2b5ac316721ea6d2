//! Kernels beside one another: a row a check.

use super::results::{Outcome, Results};

/// Prints the table, then what failed and why, then what was skipped and why.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
pub(super) fn print(all: &[Results]) {
    for line in lines(all) {
        println!("{line}");
    }
}

fn lines(all: &[Results]) -> Vec<String> {
    let names = names(all);
    let width = names.iter().map(|name| name.len()).max().unwrap_or_default();
    let mut lines = vec![row("", all.iter().map(|results| &*results.kernel), all, width)];
    for name in &names {
        let cells = all.iter().map(|results| match outcome(results, name) {
            Some(Outcome::Ok) => "ok",
            Some(Outcome::Failed(_)) => "FAILED",
            Some(Outcome::Skipped(_)) => "skipped",
            None => "-",
        });
        lines.push(row(name, cells, all, width));
    }
    for results in all {
        let [ok, failed, skipped] = results.counts();
        lines.push(String::new());
        lines.push(format!("{}: {ok} ok, {failed} FAILED, {skipped} skipped", results.kernel));
        for check in &results.checks {
            match &check.outcome {
                Outcome::Ok => {}
                Outcome::Failed(why) => lines.push(format!("  FAILED   {}: {why}", check.name)),
                Outcome::Skipped(why) => lines.push(format!("  skipped  {}: {why}", check.name)),
            }
        }
    }
    lines
}

/// Every check of any kernel, in the order of their first run.
fn names(all: &[Results]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for check in all.iter().flat_map(|results| &results.checks) {
        if !names.contains(&&*check.name) {
            names.push(&check.name);
        }
    }
    names
}

fn outcome<'a>(results: &'a Results, name: &str) -> Option<&'a Outcome> {
    results.checks.iter().find(|check| check.name == name).map(|check| &check.outcome)
}

fn row<'a>(
    name: &str,
    cells: impl Iterator<Item = &'a str>,
    all: &[Results],
    width: usize,
) -> String {
    let mut line = format!("{name:<width$}");
    for (cell, results) in cells.zip(all) {
        let width = results.kernel.len().max("skipped".len());
        line.push_str(&format!("  {cell:<width$}"));
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::results::Check;
    use super::*;

    fn results(kernel: &str, checks: [(&str, Outcome); 2]) -> Results {
        let checks = checks.map(|(name, outcome)| Check { name: name.to_owned(), outcome });
        Results { kernel: kernel.to_owned(), checks: checks.into() }
    }

    #[test]
    fn kernels_stand_beside_one_another_and_reasons_below() {
        let all = [
            results("5.10", [("a", Outcome::Ok), ("b", Outcome::Failed("counted 3".to_owned()))]),
            results("7.3", [("a", Outcome::Ok), ("c", Outcome::Skipped("no PMU".to_owned()))]),
        ];
        assert_eq!(
            lines(&all),
            [
                "   5.10     7.3",
                "a  ok       ok",
                "b  FAILED   -",
                "c  -        skipped",
                "",
                "5.10: 1 ok, 1 FAILED, 0 skipped",
                "  FAILED   b: counted 3",
                "",
                "7.3: 1 ok, 0 FAILED, 1 skipped",
                "  skipped  c: no PMU",
            ]
        );
    }
}
