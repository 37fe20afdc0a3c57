//! Ctrl-C and termination as a flag.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::exit::{Code, Failure};

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; a second one ends the process at once
/// (`rookery clean` removes what it leaves).
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the shutdown looks at the flag before the same signal sets it.
        flag::register_conditional_shutdown(signal, Code::Interrupted as i32, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| {
                Failure::new(
                    Code::Internal,
                    format!("cannot listen for signals: {error}"),
                )
            })?;
    }
    Ok(stop)
}

/// Whether a signal came.
pub(crate) fn came(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}
