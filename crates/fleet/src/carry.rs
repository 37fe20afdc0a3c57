//! A part of a load that is carried on this machine: by an agent, or by the controller itself.

use std::{
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_diagnosis::Diagnosis;
use rookery_driver::DriverError;
use rookery_guest::{DriverNetwork, TUNNEL_PORT, Way, WayKind};
use rookery_host::{Host, RealHost, in_netns};
use rookery_lab::{GroupPart, LabError};
use rookery_web::{Config, Recording};

/// How long the first guest may take to accept a connection on its way.
const REACH: Duration = Duration::from_secs(2);

/// What a part of a load needs to be carried.
pub(crate) struct CarriedPart<'a> {
    /// What of each group of guests is to be carried.
    pub(crate) groups: &'a [GroupPart],
    /// When users begin.
    pub(crate) start: Instant,
    /// Where what must be kept of networks lies.
    pub(crate) networks: &'a Path,
    /// Set when the load is to end; set here where the part of one group fails.
    pub(crate) stop: &'a AtomicBool,
}

/// Why a part of a load was not carried.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// A network is asked for by someone who cannot make it.
    #[error("to drive guests on a network of their own, the driver must run as root")]
    NotRoot,
    /// The way leads to no guest.
    #[error("no connection to {target} from this host, way `{way}`: {source}")]
    Unreachable {
        /// The way.
        way: WayKind,
        /// Address of the guest.
        target: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The load cannot be put on.
    #[error(transparent)]
    Lab(#[from] LabError),
}

impl Diagnosis for CarryError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotRoot => "fleet::not-root",
            Self::Unreachable { way, .. } => match way {
                WayKind::Tunnel => "fleet::tunnel",
                WayKind::Direct => "fleet::direct-way",
            },
            Self::Lab(error) => error.code(),
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Lab(error) => error.place(),
            Self::NotRoot | Self::Unreachable { .. } => None,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::NotRoot => Some(
                "put `user = \"root\"` or `sudo = true` into the hosts file; with --guests, run \
                 this program as root"
                    .to_owned(),
            ),
            Self::Unreachable { way, .. } => Some(match way {
                WayKind::Tunnel => {
                    format!("let UDP port {TUNNEL_PORT} pass between the hosts, in both directions")
                }
                WayKind::Direct => "let the network between the hosts pass frames of hardware \
                                    addresses that it does not know (hypervisors and clouds drop \
                                    them unless told otherwise), or leave `way = \"direct\"` out \
                                    of the hosts file"
                    .to_owned(),
            }),
            Self::Lab(error) => error.help(),
        }
    }
}

impl CarriedPart<'_> {
    /// Carry it to its end; what was recorded of each group.
    ///
    /// # Errors
    /// When the guests cannot be reached or the load not be put on; nothing of the networks stays.
    pub(crate) fn carry(&self) -> Result<Vec<Recording>, CarryError> {
        let networks = self.make_networks()?;
        let network_of = |group: &GroupPart| {
            let way = group.way?;
            let made = networks.iter().find(|(made, _)| *made == way);
            made.map(|(_, network)| (way.kind(), network.path()))
        };
        let mut configs = Vec::new();
        for group in self.groups {
            let network = network_of(group);
            if let (Some((way, path)), Some(guest)) = (&network, group.config.assignments.first()) {
                reach(*way, path, guest.target)?;
            }
            configs.push(Config {
                network: network.map(|(_, path)| path),
                ..group.config.clone()
            });
        }
        let recorded: Vec<Result<Recording, DriverError>> = thread::scope(|scope| {
            let parts = self.groups.iter().zip(&configs);
            let threads = parts.map(|(group, config)| {
                scope.spawn(move || {
                    let recorded =
                        rookery_web::run_part(config, group.part, self.start, self.stop, &|_| {});
                    self.stop.fetch_or(recorded.is_err(), Ordering::Relaxed);
                    recorded
                })
            });
            let threads: Vec<_> = threads.collect();
            let ended = threads.into_iter().map(|thread| {
                let panicked = |_| Err(DriverError::Panicked);
                thread.join().unwrap_or_else(panicked)
            });
            ended.collect()
        });
        let recorded: Result<Vec<Recording>, DriverError> = recorded.into_iter().collect();
        Ok(recorded.map_err(LabError::Driver)?)
    }

    /// A network at the end of each way: groups of one lab have the same.
    fn make_networks(&self) -> Result<Vec<(Way, DriverNetwork)>, CarryError> {
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let mut networks: Vec<(Way, DriverNetwork)> = Vec::new();
        for group in self.groups {
            let Some(way) = group.way else {
                continue;
            };
            if !is_root() {
                return Err(CarryError::NotRoot);
            }
            if networks.iter().all(|(made, _)| *made != way) {
                let network = way.make_driver_network(&host, &group.lab, self.networks);
                networks.push((way, network.map_err(LabError::from)?));
            }
        }
        Ok(networks)
    }
}

/// See that a guest accepts connections through the network with this path.
fn reach(way: WayKind, network: &Path, target: SocketAddr) -> Result<(), CarryError> {
    let connect = || TcpStream::connect_timeout(&target, REACH).map(drop);
    let reached = in_netns(Some(network), connect).and_then(|done| done);
    reached.map_err(|source| CarryError::Unreachable {
        way,
        target,
        source,
    })
}

/// Whether this process may make networks.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
