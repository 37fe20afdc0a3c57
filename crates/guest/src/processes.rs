//! The processes that carry a run's label in their environment.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use rookery_host::{Controller, Identity, RunId, environ, process_numbers, procfs::environ_value};
use rustix::process::Signal;

use crate::label::{CONTROLLER_VARIABLE, GUEST_VARIABLE, RUN_VARIABLE};

/// How long killed processes are waited for.
pub(crate) const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A process with a label in its environment.
pub(crate) struct LabelledProcess {
    pub(crate) identity: Identity,
    pub(crate) run: RunId,
    pub(crate) guest: String,
    pub(crate) controller: Option<Controller>,
}

/// Processes that carry a label, but never this one.
///
/// # Errors
/// When `/proc` cannot be read.
pub(crate) fn labelled_processes() -> io::Result<Vec<LabelledProcess>> {
    let own = std::process::id();
    Ok(process_numbers()?
        .into_iter()
        .filter(|pid| *pid != own)
        .filter_map(labelled)
        .collect())
}

fn labelled(pid: u32) -> Option<LabelledProcess> {
    let identity = Identity::read(pid)?;
    let environment = environ(pid)?;
    let run = RunId::try_from(environ_value(&environment, RUN_VARIABLE)?.to_owned()).ok()?;
    let guest = environ_value(&environment, GUEST_VARIABLE)
        .unwrap_or_default()
        .to_owned();
    let controller = environ_value(&environment, CONTROLLER_VARIABLE).and_then(Controller::parse);
    // Read before and after: the number did not change hands in between.
    (Identity::read(pid) == Some(identity)).then_some(LabelledProcess {
        identity,
        run,
        guest,
        controller,
    })
}

/// The processes that carry the label of a guest.
///
/// # Errors
/// When `/proc` cannot be read.
pub(crate) fn guest_processes(run: &RunId, guest: &str) -> io::Result<Vec<Identity>> {
    Ok(labelled_processes()?
        .into_iter()
        .filter(|process| process.run == *run && process.guest == guest)
        .map(|process| process.identity)
        .collect())
}

/// Kill the processes that carry the label of a run (of one guest of it, if named) and wait until
/// they are gone.
///
/// # Errors
/// When one may not be killed or does not go.
pub(crate) fn kill_labelled(run: &RunId, guest: Option<&str>) -> io::Result<Vec<Identity>> {
    let deadline = Instant::now() + KILL_LIMIT;
    let mut killed = Vec::new();
    loop {
        let alive: Vec<Identity> = labelled_processes()?
            .into_iter()
            .filter(|process| {
                process.run == *run && guest.is_none_or(|guest| process.guest == guest)
            })
            .map(|process| process.identity)
            .filter(|identity| identity.is_alive())
            .collect();
        if alive.is_empty() {
            return Ok(killed);
        }
        for identity in alive {
            identity.signal(Signal::KILL)?;
            if !killed.contains(&identity) {
                killed.push(identity);
            }
        }
        if Instant::now() > deadline {
            return Err(io::Error::other(format!(
                "processes of run {run} outlive SIGKILL for {KILL_LIMIT:?}"
            )));
        }
        thread::sleep(Duration::from_millis(1));
    }
}
