//! Ways between the network of a lab and a driver on another machine.
//!
//! Each end is an interface inside a namespace of the run, one in that of the lab, the other the
//! only one of the namespace that the driver's threads are in. Both begin their life there, and the
//! namespaces take them away with them: nothing of the hosts' own networks is changed.

mod direct;
mod tunnel;

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{Controller, Host, RealHost, RunId, in_netns, make_netns, netns_path};
use serde::{Deserialize, Serialize};

pub use self::{direct::Direct, tunnel::Tunnel};
use crate::{
    error::GuestError,
    kind::Kind,
    kinds::SWEEPS,
    lab_core::LabCore,
    label::{Label, run_name},
    link::run_batch,
    paths::RunDirs,
    registry::Registry,
};

/// The port of VXLAN (RFC 7348, section 8).
pub const TUNNEL_PORT: u16 = 4789;
/// Most drivers of a lab: each has an address of its own below that of the bridge.
pub const MOST_DRIVERS: u8 = 200;
/// The driver's interface.
const DRIVER_DEVICE: &str = "eth0";

/// How packets travel between two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WayKind {
    /// As UDP, through any network.
    #[default]
    Tunnel,
    /// As they are, through the Ethernet segment that both hosts are on.
    Direct,
}

impl WayKind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 2] = [Self::Tunnel, Self::Direct];

    /// Its name in files and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tunnel => "tunnel",
            Self::Direct => "direct",
        }
    }

    /// The way between hosts that ask for one each: direct where either asks for it.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Tunnel => other,
            Self::Direct => self,
        }
    }
}

impl fmt::Display for WayKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One end of a way, as the host of this end sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "way", rename_all = "kebab-case")]
pub enum Way {
    /// A tunnel.
    Tunnel(Tunnel),
    /// A direct way.
    Direct(Direct),
}

/// What `ip` is told at one end.
struct EndLines {
    /// In the host's own namespace, through which the packets go: it makes the interface, which
    /// begins its life in the other one.
    outside: String,
    /// In that of the interface.
    inside: String,
}

/// A switch of the kernel in the namespace that is entered, and its value.
type Switch = (String, &'static str);

/// The end of a way at a lab; it is removed when this is dropped.
pub struct LabEnd {
    lab: PathBuf,
    removal: String,
    environment: Vec<(String, String)>,
}

/// The network of a driver far from the lab, registered as a run of its own; it is removed when
/// this is dropped, or by whoever cleans its host.
pub struct DriverNetwork {
    core: LabCore,
}

impl Way {
    /// The end at the lab of `run`, which leads from `here` to the driver of this number, which is
    /// from zero and below [`MOST_DRIVERS`].
    #[must_use]
    pub fn new(kind: WayKind, run: &RunId, driver: u8, here: IpAddr, there: IpAddr) -> Self {
        match kind {
            WayKind::Tunnel => Self::Tunnel(Tunnel::new(run, driver, here, there)),
            WayKind::Direct => Self::Direct(Direct::new(run, driver, here, there)),
        }
    }

    /// Which kind it is.
    #[must_use]
    pub fn kind(self) -> WayKind {
        match self {
            Self::Tunnel(_) => WayKind::Tunnel,
            Self::Direct(_) => WayKind::Direct,
        }
    }

    /// The same way as its other end sees it.
    #[must_use]
    pub fn other_end(self) -> Self {
        match self {
            Self::Tunnel(tunnel) => Self::Tunnel(tunnel.other_end()),
            Self::Direct(direct) => Self::Direct(direct.other_end()),
        }
    }

    /// See that such a way can lead from this host to `there`.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check(kind: WayKind, there: IpAddr) -> Result<(), GuestError> {
        match kind {
            WayKind::Tunnel => Ok(()),
            WayKind::Direct => direct::interface_towards(&RealHost, there).map(drop),
        }
    }

    /// Join this end to the lab whose namespace has this path. On an error nothing is left.
    ///
    /// # Errors
    /// When such a way cannot lead to the other host, or the interface cannot be made.
    pub fn join_lab(self, host: &dyn Host, run: &RunId, lab: &Path) -> Result<LabEnd, GuestError> {
        let failed = |error| GuestError::in_lab("making the way to a driver", error);
        let environment = environment(run).map_err(failed)?;
        let device = format!("d{}", self.driver());
        let lines = self.lab_lines(host, &device, lab)?;
        host.step("way to a driver").map_err(failed)?;
        // From here on it is removed by its drop.
        let end = LabEnd {
            lab: lab.to_owned(),
            removal: self.removal(&device),
            environment,
        };
        run_batch(host, &end.environment, &lines.outside).map_err(failed)?;
        let inside = || {
            run_batch(host, &end.environment, &lines.inside)?;
            let switches = self.lab_switches(&device).into_iter();
            switches.into_iter().try_for_each(|(file, value)| {
                host.step("switch of the way to a driver")?;
                std::fs::write(&file, value)
                    .map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))
            })
        };
        in_netns(Some(lab), inside)
            .and_then(|done| done)
            .map_err(failed)?;
        Ok(end)
    }

    /// Make the network of the driver at this end, for guests of `run`. What must be kept of it
    /// lies in `directory`. On an error nothing is left.
    ///
    /// # Errors
    /// When such a way cannot lead to the other host, or the namespace or the interface cannot be
    /// made.
    pub fn make_driver_network(
        self,
        host: &Arc<dyn Host>,
        run: &RunId,
        directory: &Path,
    ) -> Result<DriverNetwork, GuestError> {
        let failed = |error| GuestError::in_lab("making the network of a driver", error);
        let label = self.driver_label(run)?;
        let path = netns_path(&run_name(&label));
        let lines = self.driver_lines(&**host, &path)?;
        let dirs = RunDirs {
            run: label,
            dir: directory.to_owned(),
            templates: directory.to_owned(),
        };
        // From here on it is removed by its drop.
        let core = LabCore::open(Kind::Container, dirs, Arc::clone(host), SWEEPS)?;
        let network = DriverNetwork { core };
        let environment = network.core.label.environment("");
        host.step("network of a driver").map_err(failed)?;
        make_netns(&run_name(&network.core.label.run), || {
            run_batch(&**host, &environment, "link set lo up\n")
        })
        .map_err(failed)?;
        run_batch(&**host, &environment, &lines.outside).map_err(failed)?;
        in_netns(Some(&path), || {
            run_batch(&**host, &environment, &lines.inside)
        })
        .and_then(|done| done)
        .map_err(failed)?;
        Ok(network)
    }

    fn driver(self) -> u8 {
        match self {
            Self::Tunnel(Tunnel { driver, .. }) | Self::Direct(Direct { driver, .. }) => driver,
        }
    }

    fn lab_lines(self, host: &dyn Host, device: &str, lab: &Path) -> Result<EndLines, GuestError> {
        match self {
            Self::Tunnel(tunnel) => Ok(tunnel.lab_lines(device, lab)),
            Self::Direct(direct) => direct.lab_lines(host, device, lab),
        }
    }

    fn driver_lines(self, host: &dyn Host, network: &Path) -> Result<EndLines, GuestError> {
        match self {
            Self::Tunnel(tunnel) => Ok(tunnel.driver_lines(network)),
            Self::Direct(direct) => direct.driver_lines(host, network),
        }
    }

    /// What else is set in the lab's namespace.
    fn lab_switches(self, device: &str) -> Vec<Switch> {
        match self {
            Self::Tunnel(_) => Vec::new(),
            Self::Direct(_) => direct::lab_switches(device),
        }
    }

    /// What `ip` is told in the lab's namespace to remove this end.
    fn removal(self, device: &str) -> String {
        match self {
            Self::Tunnel(_) => tunnel::removal(device),
            Self::Direct(direct) => direct.removal(device),
        }
    }

    /// The label of the driver's network: another than that of the guests, whose lab may be on the
    /// same host.
    fn driver_label(self, run: &RunId) -> Result<RunId, GuestError> {
        // Ids of runs are seven letters and digits, and may have ten. A further lab of a run has
        // one more than the run, of which none is `r`.
        let mark = if run.to_string().len() > 7 { "" } else { "r" };
        RunId::try_from(format!("{run}{mark}{:02x}", self.driver())).map_err(|error| {
            GuestError::in_lab("naming the network of a driver", io::Error::other(error))
        })
    }
}

/// A driver's address in the lab: that of the bridge is 10.77.255.254.
fn driver_address(driver: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 255, 253_u8.saturating_sub(driver))
}

/// FNV-1a, so that the ways of two runs between the same hosts are apart.
fn hash(run: &RunId) -> u32 {
    run.to_string().bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn environment(run: &RunId) -> io::Result<Vec<(String, String)>> {
    let label = Label {
        run: run.clone(),
        controller: Controller::current()?,
    };
    Ok(label.environment(""))
}

impl Drop for LabEnd {
    fn drop(&mut self) {
        // With the lab's namespace it would go anyhow.
        let removed = in_netns(Some(&self.lab), || {
            run_batch(&RealHost, &self.environment, &self.removal)
        });
        if let Err(error) = removed.and_then(|done| done) {
            tracing::warn!("a way stays until its lab goes: {error}");
        }
    }
}

impl Drop for DriverNetwork {
    fn drop(&mut self) {
        // The kernel takes a namespace apart some time after it is gone, and until then no other
        // tunnel may have this one's identifier. Where there is no interface, none was made.
        let environment = self.core.label.environment("");
        let removal = format!("link delete {DRIVER_DEVICE}\n");
        let _ = in_netns(Some(&self.path()), || {
            run_batch(&RealHost, &environment, &removal)
        });
    }
}

impl DriverNetwork {
    /// The namespace that the driver's threads enter.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        netns_path(&run_name(&self.core.label.run))
    }
}

/// The registered runs whose guests or networks lie below a directory, and whose controllers are
/// dead.
#[must_use]
pub fn dead_runs_below(directory: &Path) -> Vec<RunId> {
    let all = Registry::open().read().into_iter();
    let dead = all.filter(|run| run.dir.starts_with(directory) && !run.is_alive());
    dead.map(|registration| registration.run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_direct_where_either_host_asks_for_it() {
        use WayKind::{Direct, Tunnel};
        for (one, other, way) in [
            (Tunnel, Tunnel, Tunnel),
            (Tunnel, Direct, Direct),
            (Direct, Tunnel, Direct),
            (Direct, Direct, Direct),
        ] {
            assert_eq!(one.or(other), way);
        }
    }

    #[test]
    fn drivers_have_addresses_below_that_of_the_bridge() {
        assert_eq!(driver_address(0), Ipv4Addr::new(10, 77, 255, 253));
        let last = driver_address(MOST_DRIVERS - 1);
        assert_eq!(last, Ipv4Addr::new(10, 77, 255, 54));
    }
}
