//! The present stage as the held connections see it; between two stages there is none.

use std::ops::Deref;
use std::rc::Rc;

use tokio::sync::watch;

use super::super::setting::Setting;
use crate::clock;
use crate::load::recorder::Recorder;

/// Which stage it is now, if any.
#[derive(Debug, Default)]
pub(super) struct Current(watch::Sender<Option<Rc<Stage>>>);

/// A stage under way.
#[derive(Debug)]
pub(super) struct Stage {
    setting: Setting,
    /// Has a receiver for everything that is being opened.
    opening: watch::Sender<()>,
}

/// Held while a connection and its stream are opened: the stage waits for it.
#[derive(Debug)]
pub(super) struct Opening {
    stage: Rc<Stage>,
    _held: watch::Receiver<()>,
}

impl Deref for Opening {
    type Target = Setting;

    fn deref(&self) -> &Setting {
        &self.stage.setting
    }
}

impl Stage {
    /// Returns when nothing is being opened.
    pub(super) async fn all_settled(&self) {
        self.opening.closed().await;
    }

    fn takes_streams(&self) -> bool {
        self.setting.recorder.accepts_requests(clock::now_ns())
    }
}

impl Current {
    /// A stage begins, and connections are opened.
    pub(super) fn begin(&self, setting: Setting) -> Rc<Stage> {
        let stage = Rc::new(Stage { setting, opening: watch::Sender::new(()) });
        self.0.send_replace(Some(Rc::clone(&stage)));
        stage
    }

    /// It ends: what is being opened is given up, and nothing is counted.
    pub(super) fn end(&self) {
        self.0.send_replace(None);
    }

    /// Waits for a stage in which a stream may be opened.
    pub(super) async fn opening(&self) -> Opening {
        let mut stages = self.0.subscribe();
        let takes = |stage: &Option<Rc<Stage>>| stage.as_ref().is_some_and(|s| s.takes_streams());
        loop {
            // An error would mean that the sender is gone, and it is this very struct.
            if let Ok(stage) = stages.wait_for(takes).await
                && let Some(stage) = stage.as_ref()
            {
                return Opening { stage: Rc::clone(stage), _held: stage.opening.subscribe() };
            }
        }
    }

    /// Returns when there is no stage.
    pub(super) async fn ended(&self) {
        // As above.
        drop(self.0.subscribe().wait_for(Option::is_none).await);
    }

    /// Writes something down, where there is a stage.
    pub(super) fn record(&self, what: impl FnOnce(&Recorder)) {
        if let Some(stage) = self.0.borrow().as_ref() {
            what(&stage.setting.recorder);
        }
    }
}
