//! Client libraries behind a fence: a panic over bytes from outside becomes an error, without a
//! word on the terminal.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    pin::pin,
    sync::Once,
    task::Poll,
};

use thiserror::Error;

/// A library gave up over what came from outside. What it held is of no use then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the server's answer makes no sense: the client library gave up on it")]
pub struct Panicked;

thread_local! {
    /// Whether this thread is behind the fence.
    static FENCED: Cell<bool> = const { Cell::new(false) };
}

/// Lets the hook of panics say nothing of those that the fence catches, on any thread.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = take_hook();
        set_hook(Box::new(move |panic| {
            if !FENCED.get() {
                loud(panic);
            }
        }));
    });
}

/// Runs `work`, which reads bytes from outside.
///
/// What it borrows must be thrown away after an error: it may be half changed.
///
/// # Errors
/// [`Panicked`].
pub fn fenced_call<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    silence();
    let outer = FENCED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    FENCED.set(outer);
    done.map_err(|_| Panicked)
}

/// Awaits `work`, which reads bytes from outside.
///
/// As with [`fenced_call`], what it borrows must be thrown away after an error.
///
/// # Errors
/// [`Panicked`].
pub async fn fenced<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        match fenced_call(|| work.as_mut().poll(context)) {
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Ok(Poll::Pending) => Poll::Pending,
            // It is not polled again.
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_panic_behind_the_fence_is_an_error_and_silent() {
        static HEARD: AtomicUsize = AtomicUsize::new(0);
        silence();
        // A hook over the fence's own: it hears of all panics, and passes on what is loud.
        let inner = take_hook();
        set_hook(Box::new(move |panic| {
            HEARD.fetch_add(usize::from(!FENCED.get()), Ordering::Relaxed);
            inner(panic);
        }));
        let runtime = crate::runtime().expect("a runtime");
        let ended = runtime.block_on(fenced(async {
            tokio::task::yield_now().await;
            let length = std::hint::black_box(usize::MAX);
            Vec::<u8>::with_capacity(length).len()
        }));
        assert_eq!(ended, Err(Panicked));
        assert_eq!(fenced_call(|| 7), Ok(7));
        assert_eq!(HEARD.load(Ordering::Relaxed), 0, "nothing was said");
        assert!(!FENCED.get(), "the fence ends with the work");
    }
}
