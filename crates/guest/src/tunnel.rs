//! Tunnels between the network of a lab and a driver on another machine.
//!
//! Each end is a VXLAN interface (RFC 7348) inside a namespace of the run: the bridge of the lab
//! has one as a port, and the driver's threads are in a namespace whose only interface is the
//! other. Its packets travel between the hosts as UDP, through a socket that belongs to the
//! interface; nothing else of the hosts' own networks is used or changed, and the namespaces take
//! the interfaces away with them.

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{Controller, Host, RealHost, RunId, in_netns, make_netns, netns_path};
use serde::{Deserialize, Serialize};

use crate::{
    error::GuestError,
    kind::Kind,
    kinds::SWEEPS,
    lab_core::LabCore,
    label::{Label, run_name},
    link::{BRIDGE, run_batch},
    paths::RunDirs,
    registry::Registry,
};

/// The port of VXLAN (RFC 7348, section 8).
pub const TUNNEL_PORT: u16 = 4789;
/// Most drivers of a lab: each has an address of its own below that of the bridge.
pub const MOST_DRIVERS: u8 = 200;
/// The driver's interface.
const DRIVER_DEVICE: &str = "eth0";
/// Largest packets through a tunnel on a network that carries 1500 bytes.
const MTU_OVER_IPV4: u32 = 1_450;
const MTU_OVER_IPV6: u32 = 1_430;

/// One end of a tunnel, as the host of this end sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunnel {
    /// Which of the lab's drivers it leads to, from zero, below [`MOST_DRIVERS`].
    pub driver: u8,
    /// The network identifier, 24 bits; the same at both ends.
    pub identifier: u32,
    /// The address of this host on its own network.
    pub here: IpAddr,
    /// The address of the other host.
    pub there: IpAddr,
}

/// A tunnel's end at the lab; it is removed when this is dropped.
#[derive(Debug)]
pub struct LabEnd {
    lab: PathBuf,
    device: String,
    environment: Vec<(String, String)>,
}

/// The network of a driver far from the lab, registered as a run of its own; it is removed when
/// this is dropped, or by whoever cleans its host.
pub struct DriverNetwork {
    core: LabCore,
}

impl Tunnel {
    /// The end at the lab of `run`, which leads from `here` to a driver.
    #[must_use]
    pub fn new(run: &RunId, driver: u8, here: IpAddr, there: IpAddr) -> Self {
        // FNV-1a, so that the tunnels of two runs between the same hosts are apart.
        let hash = run.to_string().bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        Self {
            driver,
            identifier: hash & 0x00ff_ff00 | u32::from(driver),
            here,
            there,
        }
    }

    /// The same tunnel as its other end sees it.
    #[must_use]
    pub fn other_end(self) -> Self {
        Self {
            here: self.there,
            there: self.here,
            ..self
        }
    }

    /// Make the end at the lab whose namespace has this path a port of the lab's bridge. On an
    /// error nothing is left.
    ///
    /// # Errors
    /// When the interface cannot be made.
    pub fn join_lab(self, run: &RunId, lab: &Path) -> Result<LabEnd, GuestError> {
        let failed = |error| GuestError::in_lab("making the tunnel to a driver", error);
        let (host, environment) = (RealHost, environment(run).map_err(failed)?);
        let device = format!("d{}", self.driver);
        host.step("tunnel to a driver").map_err(failed)?;
        run_batch(&host, &environment, &self.lines(&device, lab)).map_err(failed)?;
        // From here on it is removed by its drop.
        let end = LabEnd {
            lab: lab.to_owned(),
            device,
            environment,
        };
        let join = format!("link set {} master {BRIDGE} up\n", end.device);
        end.inside(&join).map_err(failed)?;
        Ok(end)
    }

    /// Make the network of the driver at this end, for guests of `run`. What must be kept of it
    /// lies in `directory`. On an error nothing is left.
    ///
    /// # Errors
    /// When the namespace or the interface cannot be made.
    pub fn make_driver_network(
        self,
        run: &RunId,
        directory: &Path,
    ) -> Result<DriverNetwork, GuestError> {
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let failed = |error| GuestError::in_lab("making the network of a driver", error);
        let dirs = RunDirs {
            run: self.driver_label(run)?,
            dir: directory.to_owned(),
            templates: directory.to_owned(),
        };
        // From here on it is removed by its drop.
        let core = LabCore::open(Kind::Container, dirs, Arc::clone(&host), SWEEPS)?;
        let network = DriverNetwork { core };
        let environment = network.core.label.environment("");
        host.step("network of a driver").map_err(failed)?;
        make_netns(&run_name(&network.core.label.run), || {
            run_batch(&*host, &environment, "link set lo up\n")
        })
        .map_err(failed)?;
        let path = network.path();
        run_batch(&*host, &environment, &self.lines(DRIVER_DEVICE, &path)).map_err(failed)?;
        let inside = format!(
            "address add {}/16 dev {DRIVER_DEVICE}\nlink set {DRIVER_DEVICE} up\n",
            self.driver_address()
        );
        in_netns(Some(&path), || run_batch(&*host, &environment, &inside))
            .and_then(|done| done)
            .map_err(failed)?;
        Ok(network)
    }

    /// The label of the driver's network: another than that of the guests, whose lab may be on the
    /// same host.
    fn driver_label(self, run: &RunId) -> Result<RunId, GuestError> {
        // Ids of runs are seven letters and digits, and may have ten. A further lab of a run has
        // one more than the run, of which none is `r`.
        let mark = if run.to_string().len() > 7 { "" } else { "r" };
        RunId::try_from(format!("{run}{mark}{:02x}", self.driver)).map_err(|error| {
            GuestError::in_lab("naming the network of a driver", io::Error::other(error))
        })
    }

    /// The driver's address in the lab: that of the bridge is 10.77.255.254.
    fn driver_address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 255, 253_u8.saturating_sub(self.driver))
    }

    /// What `ip` is told in the host's own namespace, through which the packets go: the interface
    /// begins its life in the other one.
    fn lines(self, device: &str, namespace: &Path) -> String {
        let mtu = match self.there {
            IpAddr::V4(_) => MTU_OVER_IPV4,
            IpAddr::V6(_) => MTU_OVER_IPV6,
        };
        format!(
            "link add {device} netns {} mtu {mtu} type vxlan id {} local {} remote {} dstport \
             {TUNNEL_PORT}\n",
            namespace.display(),
            self.identifier,
            self.here,
            self.there
        )
    }
}

fn environment(run: &RunId) -> io::Result<Vec<(String, String)>> {
    let label = Label {
        run: run.clone(),
        controller: Controller::current()?,
    };
    Ok(label.environment(""))
}

impl LabEnd {
    fn inside(&self, batch: &str) -> io::Result<()> {
        in_netns(Some(&self.lab), || {
            run_batch(&RealHost, &self.environment, batch)
        })?
    }
}

impl Drop for LabEnd {
    fn drop(&mut self) {
        // With the lab's namespace it would go anyhow.
        if let Err(error) = self.inside(&format!("link delete {}\n", self.device)) {
            tracing::warn!(
                device = self.device,
                "a tunnel stays until its lab goes: {error}"
            );
        }
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

    fn run(name: &str) -> RunId {
        RunId::try_from(name.to_owned()).expect("valid")
    }

    #[test]
    fn both_ends_lead_to_each_other_and_runs_are_apart() {
        let (here, there) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let end = Tunnel::new(&run("ab12"), 3, here, there);
        let far = end.other_end();
        assert_eq!((far.here, far.there), (there, here));
        assert_eq!(far.identifier, end.identifier);
        assert_eq!(far.driver_address(), Ipv4Addr::new(10, 77, 255, 250));
        let other = Tunnel::new(&run("ab13"), 3, here, there);
        assert_ne!(other.identifier, end.identifier);
        let next = Tunnel::new(&run("ab12"), 4, here, there);
        assert_ne!(next.identifier, end.identifier);
        assert!(end.identifier < 1 << 24);
    }

    #[test]
    fn the_interface_is_born_in_the_other_namespace() {
        let (here, there) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let end = Tunnel {
            identifier: 258,
            ..Tunnel::new(&run("ab12"), 2, here, there)
        };
        assert_eq!(
            end.lines("d2", Path::new("/lab")),
            "link add d2 netns /lab mtu 1450 type vxlan id 258 local 10.0.0.1 remote 10.0.0.2 \
             dstport 4789\n"
        );
    }
}
