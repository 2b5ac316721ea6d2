//! Targets against the real kernel: cgroups made, filled, emptied and removed.
//!
//! Each test has a run id of its own, so that it can look for what it left behind.

mod lifecycle;
mod spawn;
mod support;

use libtest_mimic::Trial;

/// A test and its name, which is a sentence.
type Named = (&'static str, fn() -> support::Outcome);

pub(crate) fn tests() -> Vec<Trial> {
    let all = spawn::tests().into_iter().chain(lifecycle::tests());
    all.map(|(name, test)| Trial::test(name, move || rooted(test))).collect()
}

fn rooted(test: fn() -> support::Outcome) -> support::Outcome {
    if !rustix::process::geteuid().is_root() {
        return Err("needs root".into());
    }
    test()
}
