//! How the connections of a trial begin to live.

use std::rc::Rc;

use super::{
    job::{Job, Seat},
    worker::Worker,
};

/// Work whose connections live on their own.
pub(crate) trait Spawn: Job {
    /// Lets a connection live, as tasks of the current thread.
    fn spawn(worker: &Rc<Worker<Self>>, seat: Seat, row: usize, session: Option<Self::Session>);
}
