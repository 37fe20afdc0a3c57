//! The ways in which a run is interrupted.

use std::{
    process::{Child, Command, Stdio},
    thread::{self, sleep},
    time::{Duration, Instant},
};

use rookery_host::{Identity, environ, process_numbers, procfs::environ_value};
use rookery_workload::random::{RandomSource as _, SplitMix64};

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Interruption {
    /// kill -9 of the controller.
    Kill,
    /// kill -9 of its process group.
    KillGroup,
    /// kill -9 of a process of its guests or builders; the controller goes on.
    KillChild,
    /// SIGTERM, and kill -9 a moment later.
    TermThenKill,
    /// SIGTERM alone.
    Term,
    /// SIGHUP alone.
    Hangup,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-C twice.
    InterruptTwice,
    /// The controller stands still while `clean` runs, then goes on.
    StopAndClean,
}

/// All of them, with their weights in a hundred.
const WAYS: [(Interruption, u64); 9] = [
    (Interruption::Kill, 40),
    (Interruption::KillGroup, 8),
    (Interruption::KillChild, 18),
    (Interruption::TermThenKill, 8),
    (Interruption::Term, 6),
    (Interruption::Hangup, 4),
    (Interruption::Interrupt, 6),
    (Interruption::InterruptTwice, 4),
    (Interruption::StopAndClean, 6),
];

/// How long a controller may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(120);

/// How long a controller stands still while `clean` runs.
const STANDSTILL: Duration = Duration::from_secs(5);

impl Interruption {
    pub(super) fn draw(random: &mut SplitMix64) -> Self {
        let mut left = random.below(WAYS.iter().map(|(_, weight)| weight).sum());
        for (way, weight) in WAYS {
            if left < weight {
                return way;
            }
            left -= weight;
        }
        Self::Kill
    }

    /// Do it to the controller, which leads a process group of its own; `clean` runs the clean-up
    /// of dead runs. Afterwards the controller has ended, unless the way lets it go on.
    ///
    /// # Errors
    /// When the controller does not end as it should, or the clean-up fails.
    pub(super) fn strike(
        self,
        controller: &mut Child,
        random: &mut SplitMix64,
        clean: &dyn Fn() -> Result<(), String>,
    ) -> Result<(), String> {
        let pid = controller.id();
        match self {
            Self::Kill => send("-KILL", &pid.to_string()),
            Self::KillGroup => send("-KILL", &format!("-{pid}")),
            Self::KillChild => return kill_child(pid, random),
            Self::TermThenKill => {
                send("-TERM", &pid.to_string());
                sleep(Duration::from_millis(random.below(300)));
                send("-KILL", &pid.to_string());
            }
            Self::Term => send("-TERM", &pid.to_string()),
            Self::Hangup => send("-HUP", &pid.to_string()),
            Self::Interrupt => send("-INT", &pid.to_string()),
            Self::InterruptTwice => {
                send("-INT", &pid.to_string());
                sleep(Duration::from_millis(random.below(300)));
                send("-INT", &pid.to_string());
            }
            Self::StopAndClean => {
                send("-STOP", &pid.to_string());
                // Stopped with the lock of the registry in its hands it keeps `clean`, and whatever
                // else runs, waiting.
                let goes_on = thread::spawn(move || {
                    sleep(STANDSTILL);
                    send("-CONT", &pid.to_string());
                });
                let cleaned = clean();
                let _ = goes_on.join();
                return cleaned;
            }
        }
        await_end(controller)
    }

    /// Whether the controller goes on after it.
    pub(super) fn goes_on(self) -> bool {
        matches!(self, Self::KillChild | Self::StopAndClean)
    }
}

/// Wait for the end of a controller that was told to end, or was killed.
pub(super) fn await_end(controller: &mut Child) -> Result<(), String> {
    let deadline = Instant::now() + GRACE;
    loop {
        match controller.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if Instant::now() < deadline => sleep(Duration::from_millis(10)),
            Ok(None) => {
                return Err(format!(
                    "the controller {} did not end within {GRACE:?} after it was asked to",
                    controller.id()
                ));
            }
            Err(error) => return Err(format!("waiting for the controller: {error}")),
        }
    }
}

/// The process may be gone already: that is no fault.
fn send(signal: &str, target: &str) {
    let _ = Command::new("kill")
        .args([signal, "--", target])
        .stderr(Stdio::null())
        .status();
}

/// Kill one process that carries the label of a run whose controller is `controller`.
fn kill_child(controller: u32, random: &mut SplitMix64) -> Result<(), String> {
    let numbers = process_numbers().map_err(|error| format!("reading /proc: {error}"))?;
    let own = format!("{controller}:");
    let children: Vec<Identity> = numbers
        .into_iter()
        .filter_map(|pid| {
            let identity = Identity::read(pid)?;
            let environment = environ(pid)?;
            let value = environ_value(&environment, "ROOKERY_CONTROLLER")?;
            value.starts_with(&own).then_some(identity)
        })
        .collect();
    if children.is_empty() {
        return Ok(());
    }
    let victim = children[random.index(children.len())];
    send("-KILL", &victim.pid.to_string());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_drawn() {
        let mut random = SplitMix64::new(1);
        let drawn: std::collections::BTreeSet<Interruption> = (0..2_000)
            .map(|_| Interruption::draw(&mut random))
            .collect();
        assert_eq!(drawn.len(), WAYS.len());
    }
}
