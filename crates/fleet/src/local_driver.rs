//! The driver of the controller's own machine, for guests on another one.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rookery_diagnosis::ErrorFields;
use rookery_guest::{CleanOptions, WayKind};
use rookery_lab::{
    DrivenPart, LabError, PartOrder, RemoteDriver, RemoteError, describe_host, own_address_towards,
};
use rookery_store::{HostClock, HostDescription};

use crate::carry::{CarriedPart, CarryError, is_root};

/// Its name, which notes and settings have.
const NAME: &str = "controller";
/// Directory of what is kept of its networks, in that of the runs.
const NETWORKS: &str = "driver-networks";
/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// The driver of this machine, for guests on another one.
pub struct LocalDriver {
    name: String,
    host: HostDescription,
    networks: PathBuf,
}

impl LocalDriver {
    /// So many drivers, at least one, that share all CPUs which this process may use; fewer where
    /// it has fewer CPUs. `runs` is where runs are kept. What dead controllers left of their
    /// networks there is removed.
    ///
    /// # Errors
    /// When this is not root, the machine cannot be described, or something that was left cannot be
    /// removed.
    pub fn share(runs: &Path, drivers: usize) -> Result<Vec<Self>, CarryError> {
        if !is_root() {
            return Err(CarryError::NotRoot);
        }
        let networks = runs.join(NETWORKS);
        // Where it is not there, nothing was left.
        if let Ok(networks) = networks.canonicalize() {
            let labels = Some(rookery_guest::dead_runs_below(&networks));
            rookery_guest::clean(&CleanOptions { labels }).map_err(LabError::from)?;
        }
        let whole = describe_host(runs)?;
        let cpus = &whole.facts.cpus;
        let count = drivers.clamp(1, cpus.len().max(1));
        let own = (0..count).map(|place| {
            let mut host = whole.clone();
            // In runs, so that threads of a core stay together.
            let (first, last) = (place * cpus.len() / count, (place + 1) * cpus.len() / count);
            host.facts.cpus = cpus.get(first..last).unwrap_or_default().to_vec();
            Self {
                name: match place {
                    0 => NAME.to_owned(),
                    place => format!("{NAME}-{}", place + 1),
                },
                host,
                networks: networks.clone(),
            }
        });
        Ok(own.collect())
    }
}

impl RemoteDriver for LocalDriver {
    fn name(&self) -> &str {
        &self.name
    }

    fn host(&self) -> &HostDescription {
        &self.host
    }

    fn address(&self, guests: IpAddr) -> Result<IpAddr, RemoteError> {
        own_address_towards(guests).map_err(|error| RemoteError::Lost {
            reason: format!("no way to {guests} is known: {error}"),
        })
    }

    fn way(&self) -> WayKind {
        // The host of the guests says otherwise.
        WayKind::Tunnel
    }

    fn drive(&self, order: &PartOrder<'_>) -> Result<DrivenPart, RemoteError> {
        let (stop, ended) = (&AtomicBool::new(false), &AtomicBool::new(false));
        let recordings = thread::scope(|scope| {
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    stop.fetch_or((order.stop)(), Ordering::Relaxed);
                    thread::sleep(LOOK);
                }
            });
            let part = CarriedPart {
                groups: order.groups,
                start: order.start,
                networks: &self.networks,
                stop,
            };
            let carried = part.carry();
            ended.store(true, Ordering::Relaxed);
            carried
        });
        let refused = |error| RemoteError::Refused(Box::new(ErrorFields::new(&error)));
        Ok(DrivenPart {
            recordings: recordings.map_err(refused)?,
            start_shift_us: 0,
            // That of the one who gives the order.
            clock: Some(HostClock {
                offset_us: 0,
                bound_us: 0,
                stepped: false,
            }),
        })
    }

    fn lease(&self) -> Duration {
        Duration::ZERO
    }
}
