//! What ends when the user says so.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::time::timeout;

use crate::OltpError;

/// Time between two looks at the flag.
const LOOK: Duration = Duration::from_millis(50);

/// How long a run that was stopped may take to say what it has done.
const GRACE: Duration = Duration::from_millis(500);

/// Awaits `work` unless `stop` is set first: then what is under way is dropped, its connection with
/// it.
pub(crate) async fn unless_stopped<T>(
    stop: &AtomicBool,
    work: impl Future<Output = Result<T, OltpError>>,
) -> Result<T, OltpError> {
    let mut work = pin!(work);
    while !stop.load(Ordering::Relaxed) {
        if let Ok(done) = timeout(LOOK, &mut work).await {
            return done;
        }
    }
    Err(OltpError::Stopped)
}

/// Awaits `work`, which says what a run has done: for as long as it takes unless `stop` is set, and
/// then for as long as a user waits who has said so.
pub(crate) async fn soon_after<T>(
    stop: &AtomicBool,
    work: impl Future<Output = Result<T, OltpError>>,
) -> Result<T, OltpError> {
    let mut work = pin!(work);
    while !stop.load(Ordering::Relaxed) {
        if let Ok(done) = timeout(LOOK, &mut work).await {
            return done;
        }
    }
    timeout(GRACE, work)
        .await
        .unwrap_or(Err(OltpError::Stopped))
}
