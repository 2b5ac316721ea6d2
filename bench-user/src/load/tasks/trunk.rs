//! What the lanes of one connection share: the connection, and the right to open it.
//!
//! One lane opens it while the others wait, so that a target that refuses connections is tried as
//! often, and fails as many requests, as with one lane.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::http2::Connection;

/// A place for one connection. Protocols with a lane a connection keep that in the lane itself.
#[derive(Debug)]
pub(super) struct Trunk {
    turns: Arc<Semaphore>,
    was_open: Cell<bool>,
    shared: RefCell<Option<Rc<Connection>>>,
}

/// The right to open the connection, until dropped.
pub(super) type Turn = OwnedSemaphorePermit;

impl Trunk {
    pub(super) fn new() -> Self {
        let turns = Arc::new(Semaphore::new(1));
        Self { turns, was_open: Cell::new(false), shared: RefCell::default() }
    }

    /// Waits until no other lane is opening the connection.
    pub(super) async fn turn(&self) -> Option<Turn> {
        // An error would mean that it was closed, which nobody does.
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }

    /// The next connection replaces one that was closed.
    pub(super) fn was_open(&self) -> bool {
        self.was_open.get()
    }

    /// The connection has been opened.
    pub(super) fn opened(&self) {
        self.was_open.set(true);
    }

    /// The connection, where it takes another request.
    pub(super) fn shared(&self) -> Option<Rc<Connection>> {
        self.shared.borrow().as_ref().filter(|connection| connection.is_open()).cloned()
    }

    /// Lets the other lanes have a connection that was opened.
    pub(super) fn share(&self, connection: &Rc<Connection>) {
        self.opened();
        *self.shared.borrow_mut() = Some(Rc::clone(connection));
    }
}
