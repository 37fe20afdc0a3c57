//! Whose turn it is on this machine.

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

static MACHINE: RwLock<()> = RwLock::new(());

/// What a thread holds while it has its turn.
enum Held {
    Alone(#[expect(dead_code, reason = "it is held")] RwLockWriteGuard<'static, ()>),
    Shared(#[expect(dead_code, reason = "it is held")] RwLockReadGuard<'static, ()>),
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The machine is this thread's alone while it lives, or its and that of others that need little of
/// it, in a binary that says so (`ONE_AT_A_TIME`). A thread that has its turn may take it again.
pub(crate) struct Turn {
    /// It belongs to the thread that took it.
    _thread: PhantomData<RwLockWriteGuard<'static, ()>>,
}

impl Turn {
    /// For what measures, or looks at the whole host.
    pub(crate) fn alone() -> Self {
        Self::take(|| Held::Alone(MACHINE.write().unwrap_or_else(PoisonError::into_inner)))
    }

    /// For what only computes, or puts a small load on: whatever else goes on, it ends the same.
    pub(crate) fn shared() -> Self {
        Self::take(|| Held::Shared(MACHINE.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Wait until the machine is this thread's alone, where it is not.
    pub(crate) fn have_alone(&self) {
        let shares = HELD.with_borrow(|held| matches!(held, Some(Held::Shared(_))));
        if shares {
            // Two that wait for each other's end would wait for ever.
            HELD.set(None);
            let alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
            HELD.set(Some(Held::Alone(alone)));
        }
    }

    /// A test that failed did not spoil the machine for the next.
    fn take(hold: impl FnOnce() -> Held) -> Self {
        if crate::ONE_AT_A_TIME {
            if DEPTH.get() == 0 {
                let held = hold();
                HELD.set(Some(held));
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
