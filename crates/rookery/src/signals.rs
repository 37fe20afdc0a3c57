//! Ctrl-C and termination as a flag.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level,
};

use crate::{
    exit::{Code, Failure},
    output,
};

/// The run whose guests a second signal would leave behind.
static RUN: OnceLock<String> = OnceLock::new();

/// Guests of the run of this id exist from now on.
pub(crate) fn guests_of(run: &str) {
    let _ = RUN.set(run.to_owned());
}

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; a second one ends the process at once, and
/// says what it leaves.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let cannot = |error: std::io::Error| {
        Failure::new(
            Code::Internal,
            format!("cannot listen for signals: {error}"),
        )
    };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(cannot)?;
    let flag = Arc::clone(&stop);
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for _ in signals.forever() {
                let first = !flag.swap(true, Ordering::SeqCst);
                report(&notice(first, RUN.get().map(String::as_str)));
                if !first {
                    low_level::exit(Code::Interrupted as i32);
                }
            }
        })
        .map_err(cannot)?;
    Ok(stop)
}

/// What is said at a signal.
fn notice(first: bool, run: Option<&str>) -> String {
    match (first, run) {
        (true, None) => "stopping; Ctrl-C again ends at once".to_owned(),
        (true, Some(_)) => {
            "stopping and removing the guests; Ctrl-C again leaves them behind".to_owned()
        }
        (false, None) => "ended at once".to_owned(),
        (false, Some(run)) => format!(
            "left behind: guests, mounts and networks of run {run}\n  `rookery guests` lists them, \
             `rookery clean {run}` removes them"
        ),
    }
}

/// Print a notice on a line of its own, where a bar may stand.
fn report(notice: &str) {
    let mut out = stderr();
    if out.is_terminal() {
        let _ = out.write_all(b"\r\x1b[K");
    }
    output::remark(notice);
}

/// Whether a signal came.
pub(crate) fn came(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_signal_names_what_it_leaves_and_the_remedy() {
        assert!(notice(true, Some("abc")).contains("again leaves them behind"));
        let second = notice(false, Some("abc"));
        assert!(
            second.contains("left behind") && second.contains("rookery clean abc"),
            "{second}"
        );
        assert!(!notice(false, None).contains("clean"));
    }
}
