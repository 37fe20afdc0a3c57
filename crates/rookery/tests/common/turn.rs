//! Whose turn it is on this machine.

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
    sync::{Mutex, MutexGuard, PoisonError},
};

static MACHINE: Mutex<()> = Mutex::new(());

thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The machine is this thread's alone while it lives, in a binary that says so
/// (`ONE_AT_A_TIME`). A thread that has its turn may take it again.
pub(crate) struct Turn {
    /// It belongs to the thread that took it.
    _thread: PhantomData<MutexGuard<'static, ()>>,
}

impl Turn {
    pub(crate) fn take() -> Self {
        if crate::ONE_AT_A_TIME {
            if DEPTH.get() == 0 {
                // A test that failed did not spoil the machine for the next.
                let guard = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
                HELD.set(Some(guard));
            }
            DEPTH.set(DEPTH.get() + 1);
        }
        Self {
            _thread: PhantomData,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if crate::ONE_AT_A_TIME {
            DEPTH.set(DEPTH.get() - 1);
            if DEPTH.get() == 0 {
                HELD.set(None);
            }
        }
    }
}
