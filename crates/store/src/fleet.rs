//! The hosts of a fleet, and which of them performed a trial.

use rusqlite::params;

use crate::{HostDescription, Store, StoreError, cells::int};

/// A host of a fleet, as it was when the run began or went on there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetHost {
    /// Its name in the hosts file.
    pub name: String,
    /// Its own name.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs that were lent.
    pub cpus: u64,
    /// Memory that was lent, MiB.
    pub memory_mib: u64,
}

impl FleetHost {
    /// A described host of this name.
    #[must_use]
    pub fn new(name: &str, host: &HostDescription) -> Self {
        Self {
            name: name.to_owned(),
            hostname: host.hostname.clone(),
            kernel: host.kernel.clone(),
            cpu_model: host.cpu_model.clone(),
            cpus: host.facts.cpus.len() as u64,
            memory_mib: host.facts.memory_mib,
        }
    }
}

/// A host that performed a trial, or its part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialHost {
    /// The trial.
    pub trial: u32,
    /// Name of the host in the hosts file.
    pub host: String,
    /// How far its clock was ahead meanwhile; nothing where it was not heard.
    pub clock: Option<HostClock>,
}

/// How far the clock of a host was ahead of the controller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostClock {
    /// Microseconds; below 0 it was behind.
    pub offset_us: i64,
    /// How wrong that may be at most, microseconds.
    pub bound_us: i64,
    /// Whether a clock was stepped meanwhile.
    pub stepped: bool,
}

impl std::fmt::Display for HostClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stepped = if self.stepped { ", set meanwhile" } else { "" };
        let (offset, bound) = (self.offset_us, self.bound_us);
        write!(f, "{offset} us ahead, known to {bound} us{stepped}")
    }
}

impl Store {
    /// Keep what is known of a host of a fleet; what was kept of it before is replaced.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn keep_host(&self, host: &FleetHost) -> Result<(), StoreError> {
        self.write("storing a host of the fleet", |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO hosts (host, hostname, kernel, cpu_model, cpus, \
                 memory_mib) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    host.name,
                    host.hostname,
                    host.kernel,
                    host.cpu_model,
                    int(host.cpus),
                    int(host.memory_mib)
                ],
            )?;
            Ok(())
        })
    }

    /// Keep that a host performed a trial, or its part of one, which has begun and not ended.
    ///
    /// # Errors
    /// When there is no such trial, or the disk refuses.
    pub fn keep_trial_host(&self, host: &TrialHost) -> Result<(), StoreError> {
        self.write("storing a host of a trial", |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO trial_hosts (trial, host, clock_offset_us, \
                 clock_bound_us, clock_stepped) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    host.trial,
                    host.host,
                    host.clock.map(|clock| clock.offset_us),
                    host.clock.map(|clock| clock.bound_us),
                    host.clock.map(|clock| clock.stepped)
                ],
            )?;
            Ok(())
        })
    }

    /// The trials and the hosts that performed them, by trial: several where groups of guests name
    /// theirs; none of a run on one machine.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn trial_hosts(&self) -> Result<Vec<(u32, String)>, StoreError> {
        let sql = "SELECT trial, host FROM trial_hosts ORDER BY trial, host";
        self.collect("trial_hosts", sql, [], |cells| {
            Ok((cells.small("trial")?, cells.text("host")?))
        })
    }
}
