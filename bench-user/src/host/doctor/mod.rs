//! What this machine can do for a run: each capability found by trying it, with the remedy.
//!
//! Leaves nothing behind: a cgroup or counter that is made for a try is removed at once.

mod cgroups;
mod kernel;
mod surroundings;

use serde::Serialize;

pub use kernel::thread_books;

/// One thing that a run may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// What it is.
    pub name: String,
    /// It works here.
    pub works: bool,
    /// What the try showed.
    pub why: String,
    /// What would make it work; empty where it does.
    pub remedy: String,
    /// The main job cannot run without it.
    pub needed: bool,
}

/// What a try showed: what works, or why it does not and the remedy.
type Tried = Result<String, (String, String)>;

impl Capability {
    /// From the outcome of a try: what works, or why it does not and the remedy.
    #[must_use]
    pub fn tried(name: &str, needed: bool, outcome: Result<String, (String, String)>) -> Self {
        let (works, why, remedy) = match outcome {
            Ok(why) => (true, why, String::new()),
            Err((why, remedy)) => (false, why, remedy),
        };
        Self { name: name.into(), works, why, remedy, needed }
    }
}

/// Tries everything that a run may use; `extra` are tries of modules above this one, such as
/// loading the probes, and follow the kernel's own.
#[must_use]
pub fn doctor(extra: Vec<Capability>) -> Vec<Capability> {
    let needed = |name, outcome| Capability::tried(name, true, outcome);
    let useful = |name, outcome| Capability::tried(name, false, outcome);
    let scratch = cgroups::Scratch::make();
    let mut found = vec![
        needed("rights", kernel::rights()),
        needed("kernel type information (BTF)", kernel::btf()),
        useful("kernel lockdown", kernel::lockdown()),
        useful("locked memory", kernel::memlock()),
    ];
    found.extend(extra);
    found.extend([
        needed("run-queue times per thread", kernel::books()),
        needed("cgroup v2", cgroups::v2(&scratch)),
        useful("perf hardware events", cgroups::perf_hardware(&scratch)),
        useful("pressure (PSI)", cgroups::pressure(&scratch)),
    ]);
    for controller in &cgroups::CONTROLLERS {
        let name = format!("{} controller", controller.name);
        found.push(Capability::tried(&name, false, cgroups::controller(controller, &scratch)));
    }
    found.extend([
        useful("Docker", surroundings::docker()),
        useful("Podman", surroundings::podman()),
        useful("descriptors", surroundings::descriptors()),
        useful("local ports", surroundings::ports()),
        useful("clock source", surroundings::clock_source()),
    ]);
    found
}

const CAN: &str = "This machine can run the main job and check its claims";

/// Whether the main job can run here and its claims be checked, in one line.
#[must_use]
pub fn doctor_summary(found: &[Capability]) -> String {
    let missing = |needed| found.iter().filter(move |c| !c.works && c.needed == needed);
    let needed: Vec<_> =
        missing(true).map(|c| format!("{}: {}; {}", c.name, c.why, c.remedy)).collect();
    if !needed.is_empty() {
        return format!(
            "This machine cannot run the main job and check its claims. {}.",
            needed.join(". ")
        );
    }
    let without: Vec<_> = missing(false).map(|c| &*c.name).collect();
    if without.is_empty() {
        return format!("{CAN}.");
    }
    format!("{CAN}; it has to do without: {}.", without.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(needed_works: bool, useful_works: bool) -> Vec<Capability> {
        let outcome = |works, text: &str| {
            if works { Ok(String::new()) } else { Err((text.into(), "do this".into())) }
        };
        vec![
            Capability::tried("rights", true, outcome(needed_works, "not root")),
            Capability::tried("Podman", false, outcome(useful_works, "no socket")),
        ]
    }

    #[test]
    fn the_summary_says_what_is_missing_and_what_to_do() {
        let check = |needed, useful, expect: &str| {
            assert_eq!(doctor_summary(&found(needed, useful)), expect);
        };
        check(true, true, "This machine can run the main job and check its claims.");
        let without = format!("{CAN}; it has to do without: Podman.");
        check(true, false, &without);
        let cannot = "This machine cannot run the main job and check its claims. ";
        let cannot = format!("{cannot}rights: not root; do this.");
        check(false, true, &cannot);
    }

    #[test]
    fn every_capability_that_fails_names_a_remedy_and_no_cgroup_is_left() {
        let probes = Capability::tried("probes", true, Ok("loaded".into()));
        let found = doctor(vec![probes.clone()]);
        assert!(found.contains(&probes));
        for capability in &found {
            assert!(!capability.why.is_empty(), "{capability:?}");
            assert_eq!(capability.works, capability.remedy.is_empty(), "{capability:?}");
        }
        let trees = crate::host::CgroupTrees::discover().unwrap();
        for mount in trees.v1.values().chain(&trees.v2) {
            let scratch = mount.join(cgroups::scratch_name());
            assert!(!scratch.exists(), "{} is left", scratch.display());
        }
    }
}
