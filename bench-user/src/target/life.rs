//! Whose the life of a target is, and how it is told that it has ended.

use std::path::PathBuf;

use super::adopt::Adopted;
use super::container::Container;
use super::oom::OomKills;
use super::own_container::OwnContainer;
use super::process::Started;
use super::watch::Watch;
use super::{Exit, Image};
use crate::host::processes_below;
use crate::measured::Measured;

/// Whose the target's life is.
#[derive(Debug)]
pub(super) enum Life {
    /// A process of ours.
    Ours(Box<Started>),
    /// A container of ours.
    Contained(Box<OwnContainer>),
    Strangers(Box<Stranger>),
    /// An address alone.
    Unknown,
}

/// A target that ran before us and is to run after us.
#[derive(Debug)]
pub(super) struct Stranger {
    pub(super) watch: Option<Watch>,
    pub(super) container: Option<Container>,
    pub(super) oom: OomKills,
    pub(super) exit: Option<Exit>,
    /// Held for its end, which moves the processes back.
    pub(super) adopted: Option<Adopted>,
}

impl Life {
    /// The image of a container.
    pub(super) fn image(&self) -> Option<&Image> {
        match self {
            Self::Contained(container) => Some(&container.image),
            Self::Strangers(stranger) => stranger.container.as_ref()?.image.as_ref(),
            Self::Ours(_) | Self::Unknown => None,
        }
    }

    /// How it ended, if it has; never blocks. `cgroup` is what a target without a known process
    /// lives in.
    pub(super) fn poll_exit(&mut self, cgroup: &Measured<PathBuf>) -> Option<Exit> {
        match self {
            Self::Ours(process) => process.poll_exit(),
            Self::Contained(container) => container.poll_exit(),
            Self::Strangers(stranger) => stranger.poll_exit(cgroup),
            Self::Unknown => None,
        }
    }

    /// Ends what we started and leaves what we found.
    pub(super) fn stop(mut self, cgroup: &Measured<PathBuf>) -> Option<Exit> {
        let ended = self.poll_exit(cgroup);
        match self {
            Self::Ours(process) => Some(process.stop()),
            Self::Contained(container) => Some(container.stop()),
            Self::Strangers(stranger) => {
                drop(stranger.adopted);
                ended
            }
            Self::Unknown => ended,
        }
    }
}

impl Stranger {
    fn poll_exit(&mut self, cgroup: &Measured<PathBuf>) -> Option<Exit> {
        if self.exit.is_none() {
            let has_ended = match &self.watch {
                Some(watch) => watch.has_ended().unwrap_or(false),
                None => cgroup
                    .value()
                    .is_some_and(|dir| processes_below(dir).map_or(true, |pids| pids.is_empty())),
            };
            if has_ended {
                let oom_killed = self.oom.happened();
                self.exit = match &self.container {
                    Some(container) => container.process.exit(oom_killed),
                    None => Some(Exit::of_stranger(oom_killed)),
                };
            }
        }
        self.exit.clone()
    }
}
