//! A host under which this process dies.

use std::sync::atomic::{AtomicU32, Ordering};

use rookery_host::{CommandError, Host, Invocation, RealHost};

/// Dies, as under kill -9, at its n-th change: before it, or after it is done.
pub(crate) struct Dying {
    at: u32,
    after: bool,
    done: AtomicU32,
}

impl Dying {
    /// Dies at change `at`, from 1; `after` it is done where that says `after`, else before.
    pub(crate) fn new(at: &str, after: &str) -> Self {
        Self {
            at: at.parse().expect("a number"),
            after: after == "after",
            done: AtomicU32::new(0),
        }
    }

    fn next(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed) + 1 == self.at
    }
}

impl Host for Dying {
    fn step(&self, _name: &'static str) -> std::io::Result<()> {
        if self.next() {
            std::process::abort();
        }
        Ok(())
    }

    fn run(&self, invocation: Invocation) -> Result<String, CommandError> {
        let dies = self.next();
        if dies && !self.after {
            std::process::abort();
        }
        let said = RealHost.run(invocation);
        if dies {
            std::process::abort();
        }
        said
    }
}
