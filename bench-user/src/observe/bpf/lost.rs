//! What spoils figures, by cause; causes without any are left out.

use std::collections::BTreeMap;

/// What was lost between two readings that keep it by cause.
pub(super) fn since(
    now: &BTreeMap<&'static str, u64>,
    then: &BTreeMap<&'static str, u64>,
) -> BTreeMap<String, u64> {
    by_cause(now.iter().map(|(cause, n)| (*cause, n - then.get(cause).copied().unwrap_or(0))))
}

/// The causes that lost something.
pub(super) fn by_cause(
    causes: impl IntoIterator<Item = (&'static str, u64)>,
) -> BTreeMap<String, u64> {
    let some = causes.into_iter().filter(|(_, n)| *n > 0);
    some.map(|(cause, n)| (cause.to_owned(), n)).collect()
}
