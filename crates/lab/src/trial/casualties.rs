//! What became of guests that should have served.

use rookery_guest::{Guest, VolumeFault, VolumeLook};
use rookery_monitor::{GuestDeath, StorageLoss};
use rookery_store::{GuestAudit, OUT_OF_MEMORY, Reason};

use super::record::with_help;

/// When a guest ran out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// While it started, or was warmed: its load never began.
    BeforeLoad,
    /// Under the load, to whose end it lived.
    UnderLoad,
    /// After it, while what it holds was audited.
    AtAudit,
}

/// A guest that lost processes for want of memory.
#[derive(Clone, Debug)]
pub(crate) struct Starved {
    pub(crate) guest: String,
    pub(crate) when: When,
    pub(crate) killed: u64,
    pub(crate) limit_mib: u64,
}

/// Guests that did not serve as they should have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Casualties {
    /// Those that died under the load.
    pub(crate) deaths: Vec<GuestDeath>,
    /// Those that lack memory.
    pub(crate) starved: Vec<Starved>,
    /// Those whose volume is full or fails.
    pub(crate) storage: Vec<StorageLoss>,
}

impl Casualties {
    /// Those that were seen under the load, and those that are found after it. `limits_mib` = the
    /// memory of each guest.
    pub(super) fn after_load(
        guests: &[Box<dyn Guest>],
        deaths: Vec<GuestDeath>,
        mut storage: Vec<StorageLoss>,
        limits_mib: &[u64],
    ) -> Self {
        let later = StorageLoss::all(guests, VolumeLook::Thorough);
        let new = |loss: &StorageLoss| storage.iter().all(|known| known.guest != loss.guest);
        let later: Vec<_> = later.into_iter().filter(new).collect();
        storage.extend(later);
        Self {
            starved: starved(guests, &deaths, limits_mib, When::UnderLoad),
            deaths,
            storage,
        }
    }

    /// Add those that could not be audited because they ran out of memory meanwhile.
    pub(super) fn after_audit(
        &mut self,
        guests: &[Box<dyn Guest>],
        audits: &[GuestAudit],
        limits_mib: &[u64],
    ) {
        let found = starved(guests, &self.deaths, limits_mib, When::AtAudit);
        self.blame_for_audits(found, audits);
    }

    /// Of the guests that lack memory by now, those count that are not known yet and whose audit
    /// failed.
    fn blame_for_audits(&mut self, found: Vec<Starved>, audits: &[GuestAudit]) {
        let has_failed = |guest: &str| {
            let mut own = audits.iter().filter(|audit| audit.guest == guest);
            own.any(|audit| !audit.consistent)
        };
        let new = found
            .into_iter()
            .filter(|starved| has_failed(&starved.guest) && !self.has(&starved.guest));
        let new: Vec<Starved> = new.collect();
        self.starved.extend(new);
    }

    /// Whether a guest died, or may be half dead for want of memory or of its device: its web
    /// server still there, its database killed.
    pub(super) fn has(&self, guest: &str) -> bool {
        self.deaths.iter().any(|death| death.guest == guest)
            || self.starved.iter().any(|starved| starved.guest == guest)
            || self.device_failed(guest)
    }

    /// Whether what a guest holds cannot be read any more.
    pub(super) fn device_failed(&self, guest: &str) -> bool {
        let failed = |loss: &StorageLoss| matches!(loss.fault, VolumeFault::Failed(_));
        let own = self.storage.iter().filter(|loss| loss.guest == guest);
        own.into_iter().any(failed)
    }

    /// Why the trial failed: what ended the others first.
    pub(super) fn reasons(&self) -> Vec<Reason> {
        let deaths = self.deaths.iter().map(|death| {
            let text = format!("guest {} died under load: {}", death.guest, death.reason);
            Reason::new("guest-died", text)
        });
        let starved = self.starved.iter().map(starved_reason);
        let mut reasons = storage_reasons(&self.storage);
        reasons.extend(deaths.chain(starved));
        reasons
    }
}

/// Why guests that did not come to their load did not, where they lack memory. `limits_mib` = the
/// memory of each.
pub(super) fn starved_before_load(guests: &[Box<dyn Guest>], limits_mib: &[u64]) -> Vec<Reason> {
    let all = starved(guests, &[], limits_mib, When::BeforeLoad);
    all.iter().map(starved_reason).collect()
}

/// The living that lack memory, each with its limit; of the dead, the reason of their death says
/// it.
fn starved(
    guests: &[Box<dyn Guest>],
    deaths: &[GuestDeath],
    limits_mib: &[u64],
    when: When,
) -> Vec<Starved> {
    guests
        .iter()
        .zip(limits_mib)
        .filter(|(guest, _)| deaths.iter().all(|death| death.guest != guest.name()))
        .map(|(guest, limit_mib)| Starved {
            guest: guest.name().to_owned(),
            when,
            killed: guest.memory_kills(),
            limit_mib: *limit_mib,
        })
        .filter(|starved| starved.killed > 0)
        .collect()
}

fn starved_reason(starved: &Starved) -> Reason {
    let Starved {
        guest,
        when,
        killed,
        limit_mib,
    } = starved;
    let when = match when {
        When::BeforeLoad => "before its load",
        When::UnderLoad => "under load",
        When::AtAudit => "after its load, while it was audited",
    };
    let what = format!(
        "guest {guest} ran out of memory {when}: the kernel killed {killed} of its processes, its \
         limit is {limit_mib} MiB"
    );
    let help = "raise `memory` in [guest], or choose a tuning that takes less";
    Reason::new(OUT_OF_MEMORY, with_help(&what, help))
}

/// What is wrong with the volumes of guests, as reasons of a trial.
pub(super) fn storage_reasons(losses: &[StorageLoss]) -> Vec<Reason> {
    let reason = |loss: &StorageLoss| {
        let guest = &loss.guest;
        let (code, what, help) = match &loss.fault {
            VolumeFault::Full(what) => (
                "storage-full",
                format!("the volume of guest {guest} is full: {what}"),
                "make `size` in [storage] larger, or the load shorter",
            ),
            VolumeFault::Failed(what) => (
                "storage-failed",
                format!("the volume of guest {guest} fails: {what}"),
                "look into the kernel's log (`dmesg`), and at the disk under the directory of runs",
            ),
        };
        Reason::new(code, with_help(&what, help))
    };
    losses.iter().map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_named_before_the_deaths_that_it_caused() {
        let loss = |guest: &str, fault| StorageLoss {
            guest: guest.to_owned(),
            fault,
        };
        let casualties = Casualties {
            deaths: vec![GuestDeath {
                guest: "g1".to_owned(),
                reason: "exit code 1".to_owned(),
            }],
            starved: Vec::new(),
            storage: vec![
                loss("g1", VolumeFault::Failed("writing to it: EIO".to_owned())),
                loss(
                    "g2",
                    VolumeFault::Full("0 KiB of 64 MiB are free".to_owned()),
                ),
            ],
        };
        let reasons = casualties.reasons();
        let codes: Vec<&str> = reasons.iter().map(|reason| reason.code.as_str()).collect();
        assert_eq!(codes, ["storage-failed", "storage-full", "guest-died"]);
        assert!(casualties.has("g1") && casualties.device_failed("g1"));
        assert!(!casualties.has("g2"), "its database can be read");
    }

    #[test]
    fn an_audit_that_fails_for_want_of_memory_is_told_as_that() {
        let starved = |guest: &str| Starved {
            guest: guest.to_owned(),
            when: When::AtAudit,
            killed: 1,
            limit_mib: 36,
        };
        let audit = |guest: &str, consistent| GuestAudit {
            guest: guest.to_owned(),
            rows: Vec::new(),
            killed: false,
            consistent,
            detail: String::new(),
        };
        let mut casualties = Casualties {
            starved: vec![starved("g3")],
            ..Casualties::default()
        };
        let found = ["g1", "g2", "g3"].map(starved).to_vec();
        let audits = [audit("g1", true), audit("g2", false), audit("g3", false)];
        casualties.blame_for_audits(found, &audits);
        let told: Vec<String> = casualties.reasons().iter().map(Reason::to_string).collect();
        assert_eq!(told.len(), 2, "g1 was audited all the same: {told:?}");
        let expected = "guest g2 ran out of memory after its load, while it was audited: the \
                        kernel killed 1 of its processes, its limit is 36 MiB";
        assert!(told[1].contains(expected), "{told:?}");
    }
}
