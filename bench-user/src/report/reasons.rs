//! What was not measured and why: each reason once, with everything that it spoils.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::page::Item;

/// Reasons in the order of their first sight.
#[derive(Default)]
pub(super) struct Reasons {
    entries: Vec<Entry>,
}

struct Entry {
    reason: String,
    what: Vec<String>,
    whose: BTreeSet<String>,
}

impl Reasons {
    /// Notes that `what` of `whose` is missing for this reason.
    pub(super) fn note(&mut self, whose: &str, what: &str, reason: &str) {
        let known = self.entries.iter().position(|entry| entry.reason == reason);
        let at = known.unwrap_or_else(|| {
            let entry =
                Entry { reason: reason.into(), what: Vec::new(), whose: BTreeSet::default() };
            self.entries.push(entry);
            self.entries.len() - 1
        });
        let entry = &mut self.entries[at];
        if !entry.what.iter().any(|known| known == what) {
            entry.what.push(what.into());
        }
        entry.whose.insert(whose.into());
    }

    /// Notes every unavailable value inside `data`, by its path. Looking at the JSON finds the
    /// fields of all blocks alike, also those that no table shows.
    pub(super) fn note_all<T: Serialize>(&mut self, whose: &str, path: &str, data: &T) {
        let value = serde_json::to_value(data).expect("records have text keys, so they are JSON");
        self.walk(whose, path, &value);
    }

    fn walk(&mut self, whose: &str, path: &str, value: &Value) {
        let below = |key: &str| if path.is_empty() { key.into() } else { format!("{path}.{key}") };
        match value {
            Value::Object(fields) => match fields.get("unavailable").and_then(Value::as_str) {
                Some(reason) => self.note(whose, path, reason),
                None => fields.iter().for_each(|(key, v)| self.walk(whose, &below(key), v)),
            },
            Value::Array(entries) => entries.iter().for_each(|v| self.walk(whose, path, v)),
            _ => {}
        }
    }

    /// Whether a sentence passes on a reason that was noted already.
    pub(super) fn explains(&self, sentence: &str) -> bool {
        self.entries.iter().any(|entry| sentence.contains(&entry.reason))
    }

    /// One entry a reason. `everyone` is what the owners are called when nobody is left out.
    pub(super) fn items(self, all: &[&str], everyone: &str) -> Vec<Item> {
        let item = |entry: Entry| {
            let is_all = all.len() > 1 && all.iter().all(|name| entry.whose.contains(*name));
            let lead = if is_all {
                everyone.to_owned()
            } else {
                entry.whose.into_iter().collect::<Vec<_>>().join(", ")
            };
            Item::new(lead, format!("{}: {}", entry.what.join(", "), entry.reason))
        };
        self.entries.into_iter().map(item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Measured;

    #[test]
    fn a_reason_is_said_once_with_all_that_it_spoils() {
        #[derive(Serialize)]
        struct Block {
            a: Measured<u64>,
            b: Vec<Measured<f64>>,
            c: Measured<u64>,
        }
        let why = Measured::unavailable("no PMU");
        let block = Block {
            a: why.clone(),
            b: vec![Measured::unavailable("no PMU")],
            c: Measured::Value(0),
        };
        let mut reasons = Reasons::default();
        for target in ["x", "y"] {
            reasons.note_all(target, "perf", &block);
        }
        reasons.note("y", "p99", "too few");
        let items = reasons.items(&["x", "y"], "all targets");
        let shown: Vec<_> = items.iter().map(|i| (i.lead.as_str(), i.lines[0].as_str())).collect();
        assert_eq!(shown, [("all targets", "perf.a, perf.b: no PMU"), ("y", "p99: too few")]);
    }
}
