//! Signals as something that `poll` can wait for.

use std::{
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::{
    consts::{SIGCHLD, SIGINT, SIGTERM},
    flag,
    low_level::pipe,
};

/// The signals that a supervisor heeds.
pub(super) struct Signals {
    stop: Arc<AtomicBool>,
    wakes: UnixStream,
}

impl Signals {
    /// Take over SIGTERM, SIGINT and SIGCHLD.
    pub(super) fn install() -> io::Result<Self> {
        let (wakes, waker) = UnixStream::pair()?;
        wakes.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT, SIGCHLD] {
            // The flag first: whoever is woken finds it raised.
            if signal != SIGCHLD {
                flag::register(signal, Arc::clone(&stop))?;
            }
            pipe::register(signal, waker.try_clone()?)?;
        }
        Ok(Self { stop, wakes })
    }

    /// Whether the guest was asked to stop.
    pub(super) fn stop_asked(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Forget the wakes so far: before looking for what they announced.
    pub(super) fn clear(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.wakes.read(&mut bytes), Ok(read) if read > 0) {}
    }

    /// Readable when a signal has come.
    pub(super) fn wakes(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }
}
