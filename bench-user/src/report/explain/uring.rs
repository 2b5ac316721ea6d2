//! Work given to io_uring: a row an opcode.

use crate::observe::UringExplained;
use crate::report::figures::{self, NONE, count, percent};
use crate::report::page::{Item, Table};

/// Submissions by opcode, the most frequent first; `None` where there were none.
#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
pub(super) fn table(uring: &UringExplained) -> Option<Table> {
    let mut opcodes: Vec<_> = uring.by_opcode.iter().collect();
    opcodes.sort_by(|a, b| b.1.count.cmp(&a.1.count).then(a.0.cmp(b.0)));
    let mut table = Table::new(["opcode", ">submitted", ">per second", ">per request", ">share"]);
    for (name, of) in opcodes {
        let per_request = of.per_request.map(|n| figures::show("per_request", n));
        table.rows.push(vec![
            name.clone(),
            count(of.count),
            figures::show("per_sec", of.per_sec),
            per_request.unwrap_or(NONE.into()),
            percent(of.count as f64 / uring.submitted.count as f64),
        ]);
    }
    table.drop_columns_of(NONE);
    (!table.rows.is_empty()).then_some(table)
}

/// Who submitted, and what became of it.
pub(super) fn items(uring: &UringExplained) -> Vec<Item> {
    let mut line = match uring.submitted.count {
        0 => "nothing was submitted to io_uring".to_owned(),
        n => format!(
            "{} in all, {} by polling threads without a syscall",
            count(n),
            count(uring.by_poller)
        ),
    };
    if let (Some(succeeded), Some(failed)) = (uring.succeeded.value(), uring.failed.value())
        && uring.submitted.count + succeeded + failed > 0
    {
        line += &format!("; {} completed, {} failed", count(*succeeded), count(*failed));
    }
    let mut items = vec![Item::new("submissions", line)];
    items.extend(super::missed(uring.missed));
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Measured;
    use crate::observe::Count;

    #[test]
    fn opcodes_stand_by_frequency_and_without_load_nothing_is_per_request() {
        let of = |n| Count::over(n, 1_000_000_000);
        let uring = UringExplained {
            submitted: of(40),
            by_opcode: [("recv".into(), of(10)), ("send".into(), of(30))].into(),
            by_poller: 4,
            succeeded: Measured::Value(39),
            failed: Measured::Value(1),
            missed: 2,
        };
        let table = table(&uring).unwrap();
        assert_eq!(table.rows[0], ["send", "30", "30", "75%"]);
        let items = items(&uring);
        assert!(
            items[0].lines[0].contains("4 by polling") && items[0].lines[0].contains("1 failed")
        );
        assert!(items[1].lines[0].contains("lower bounds"));
        assert!(super::table(&UringExplained::default()).is_none());
        let idle = UringExplained {
            succeeded: Measured::Value(0),
            failed: Measured::Value(0),
            ..UringExplained::default()
        };
        assert_eq!(super::items(&idle)[0].lines, ["nothing was submitted to io_uring"]);
    }
}
