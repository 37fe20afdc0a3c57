//! The request to end.

use std::{
    io,
    pin::pin,
    sync::Arc,
    task::{Context, Wake, Waker},
    thread::{self, Thread},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use tokio::sync::watch;

/// Tells a running server to stop. Clones belong together: raising one raises all.
#[derive(Clone, Debug)]
pub struct StopSignal(watch::Sender<bool>);

impl Default for StopSignal {
    fn default() -> Self {
        Self::new()
    }
}

impl StopSignal {
    /// A signal that is raised by [`StopSignal::raise`] alone.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// A signal that SIGTERM and SIGINT raise as well.
    ///
    /// # Errors
    /// When the process cannot install the handlers or start the thread that waits for them.
    pub fn on_termination() -> io::Result<Self> {
        let stop = Self::new();
        let raised = stop.clone();
        let mut signals = Signals::new([SIGTERM, SIGINT])?;
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                if signals.forever().next().is_some() {
                    raised.raise();
                }
            })?;
        Ok(stop)
    }

    /// Ask to stop. May be called from any thread, any number of times.
    pub fn raise(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is raised.
    pub(crate) fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns once the signal is raised, for a thread that has no runtime.
    pub(crate) fn wait(&self) {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut raised = pin!(self.raised());
        while raised.as_mut().poll(&mut context).is_pending() {
            thread::park();
        }
    }

    /// Returns once the signal is raised.
    pub(crate) async fn raised(&self) {
        // The sender lives in `self`, so the channel cannot close while we wait.
        let _ = self.0.subscribe().wait_for(|raised| *raised).await;
    }
}

/// Wakes a parked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
