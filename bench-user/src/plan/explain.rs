//! Why a stage is slow: the kinds of explanation that the kernel can be asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A kind of explanation; each has a cost of its own, so all are off unless asked for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Explain {
    /// How long syscalls take, how they fail, and how much each brings: two probe runs a syscall.
    Syscalls,
    /// What is submitted to io_uring: a probe run a submission.
    IoUring,
    /// What threads wait in while they are off the CPU: a probe run a switch.
    OffCpu,
    /// Who holds the CPU while threads wait for it: probe runs at every switch and wake-up.
    RunQueue,
    /// Time in softirqs, and how much of it on top of the target's threads.
    Softirq,
    /// Stacks on the CPU (sampled) and off it, for flame graphs.
    Stacks,
}

impl Explain {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Syscalls, Self::IoUring, Self::OffCpu, Self::RunQueue, Self::Softirq, Self::Stacks];

    /// As in a plan and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syscalls => "syscalls",
            Self::IoUring => "io-uring",
            Self::OffCpu => "off-cpu",
            Self::RunQueue => "run-queue",
            Self::Softirq => "softirq",
            Self::Stacks => "stacks",
        }
    }
}

/// As a plan writes it: `"all"`, or a list of kinds.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum AllOrKinds {
    All(All),
    Kinds(Vec<Explain>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum All {
    All,
}

/// Each kind once, in the order of [`Explain::ALL`].
pub(super) fn kinds<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Explain>, D::Error> {
    let expected = || {
        let names = Explain::ALL.map(Explain::name).join("\", \"");
        serde::de::Error::custom(format!("`explain` is \"all\" or a list of \"{names}\""))
    };
    Ok(match AllOrKinds::deserialize(from).map_err(|_untagged| expected())? {
        AllOrKinds::All(All::All) => Explain::ALL.to_vec(),
        AllOrKinds::Kinds(kinds) => in_order(&kinds),
    })
}

/// Each kind once, in the order of [`Explain::ALL`].
pub(super) fn in_order(kinds: &[Explain]) -> Vec<Explain> {
    Explain::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect()
}

#[cfg(test)]
mod tests {
    use crate::plan::{Explain, ObserveSpec};

    fn asked(text: &str) -> Result<Vec<Explain>, String> {
        toml::from_str::<ObserveSpec>(text).map(|spec| spec.explain).map_err(|e| e.to_string())
    }

    #[test]
    fn kinds_are_a_list_or_all_and_a_wrong_one_shows_those_there_are() {
        assert_eq!(asked("").unwrap(), []);
        assert_eq!(asked("explain = \"all\"").unwrap(), Explain::ALL);
        let twice = asked("explain = [\"stacks\", \"syscalls\", \"stacks\"]").unwrap();
        assert_eq!(twice, [Explain::Syscalls, Explain::Stacks]);
        assert!(asked("explain = [\"offcpu\"]").unwrap_err().contains("\"off-cpu\""));
    }

    #[test]
    fn a_name_is_what_a_record_says() {
        for kind in Explain::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
