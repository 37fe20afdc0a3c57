//! A part of a load that is carried on this machine: by an agent, or by the controller itself.

use std::{
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_diagnosis::Diagnosis;
use rookery_guest::{DriverNetwork, TUNNEL_PORT, Tunnel};
use rookery_host::{RunId, in_netns};
use rookery_lab::LabError;
use rookery_web::{Config, Part, Recording};

/// How long the first guest may take to accept a connection through a tunnel.
const REACH: Duration = Duration::from_secs(2);

/// What a part of a load needs to be carried.
pub(crate) struct CarriedPart<'a> {
    /// The run of the guests.
    pub(crate) run: &'a RunId,
    /// The whole load, with the CPUs of this part.
    pub(crate) config: &'a Config,
    /// The part.
    pub(crate) part: Part,
    /// When users begin.
    pub(crate) start: Instant,
    /// How the guests are reached where they are on a network of their own.
    pub(crate) tunnel: Option<Tunnel>,
    /// Where what must be kept of the network lies.
    pub(crate) networks: &'a Path,
    /// Set when the load is to end.
    pub(crate) stop: &'a AtomicBool,
}

/// Why a part of a load was not carried.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// A network is asked for by someone who cannot make it.
    #[error("to drive guests on a network of their own, the driver must run as root")]
    NotRoot,
    /// The tunnel leads to no guest.
    #[error("no connection to {target} through the tunnel from this host: {source}")]
    Unreachable {
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
            Self::Unreachable { .. } => "fleet::tunnel",
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
            Self::Unreachable { .. } => Some(format!(
                "let UDP port {TUNNEL_PORT} pass between the hosts, in both directions"
            )),
            Self::Lab(error) => error.help(),
        }
    }
}

impl CarriedPart<'_> {
    /// Carry it to its end.
    ///
    /// # Errors
    /// When the guests cannot be reached or the load not be put on; nothing of the network stays.
    pub(crate) fn carry(&self) -> Result<Recording, CarryError> {
        let network = match self.tunnel {
            None => None,
            Some(_) if !is_root() => return Err(CarryError::NotRoot),
            Some(tunnel) => {
                let made = tunnel.make_driver_network(self.run, self.networks);
                Some(made.map_err(LabError::from)?)
            }
        };
        let network = network.as_ref().map(DriverNetwork::path);
        if let (Some(path), Some(guest)) = (&network, self.config.assignments.first()) {
            reach(path, guest.target)?;
        }
        let config = Config {
            network,
            ..self.config.clone()
        };
        let recording = rookery_web::run_part(&config, self.part, self.start, self.stop, &|_| {});
        Ok(recording.map_err(LabError::Driver)?)
    }
}

/// See that a guest accepts connections through the network with this path.
fn reach(network: &Path, target: SocketAddr) -> Result<(), CarryError> {
    let connect = || TcpStream::connect_timeout(&target, REACH).map(drop);
    let reached = in_netns(Some(network), connect).and_then(|done| done);
    reached.map_err(|source| CarryError::Unreachable { target, source })
}

/// Whether this process may make networks.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
