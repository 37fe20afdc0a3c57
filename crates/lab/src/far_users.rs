//! Users of a trial that drivers on other machines carry, each a part of them.

use std::{
    net::{IpAddr, Ipv4Addr, UdpSocket},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

use rookery_cast::count_u32;
use rookery_driver::{DriverError, Phases, Progress};
use rookery_guest::{LabEnd, MOST_DRIVERS, Tunnel};
use rookery_host::RunId;
use rookery_stats::Measurement;
use rookery_store::Tuning;
use rookery_study::{Callers, GuestGroup, GuestKind, Plan, Point, Variant};
use rookery_web::{Config, Part};

use crate::{
    driver_start::{self, DriverStart},
    elsewhere::{DrivenPart, NumberedDriver, PartOrder, RemoteDriver, RemoteError},
    error::{Failure, LabError},
    trial_load::TrialLoad,
};

/// The users of one group, and those who drive them.
pub(crate) struct FarUsers<'a> {
    config: Config,
    /// The lab's label.
    run: &'a RunId,
    drivers: &'a [NumberedDriver<'a>],
    /// When each driver began and how its clock was, once they have driven.
    starts: Mutex<Vec<DriverStart>>,
}

impl<'a> FarUsers<'a> {
    /// The users of `config`, wherever its CPUs are, driven from all CPUs of other machines.
    pub(crate) fn new(config: Config, run: &'a RunId, drivers: &'a [NumberedDriver<'a>]) -> Self {
        let cpus = drivers.iter().flat_map(|driver| cpus(driver.remote));
        let cpus = cpus.copied();
        Self {
            config: Config {
                cpus: cpus.collect(),
                ..config
            },
            run,
            drivers,
            starts: Mutex::default(),
        }
    }

    /// A tunnel to each driver, where the guests are on a network of their own; nothing is left on
    /// an error.
    fn tunnels(&self) -> Result<Vec<Option<(Tunnel, LabEnd)>>, Failure> {
        let Some(lab) = &self.config.network else {
            return Ok(self.drivers.iter().map(|_| None).collect());
        };
        let tunnel = |NumberedDriver { number, remote }: &NumberedDriver<'_>| {
            let (here, there) = addresses(*remote).map_err(|error| fault(*remote, error))?;
            let tunnel = Tunnel::new(self.run, *number, here, there);
            let end = tunnel.join_lab(self.run, lab).map_err(LabError::from)?;
            Ok(Some((tunnel, end)))
        };
        self.drivers.iter().map(tunnel).collect()
    }

    /// All parts side by side. The first that fails ends the others.
    fn drive_parts(
        &self,
        start: Instant,
        stop: &AtomicBool,
        tunnels: &[Option<(Tunnel, LabEnd)>],
    ) -> Result<Vec<DrivenPart>, Failure> {
        let failed = &AtomicBool::new(false);
        let stop = &|| stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
        let of = count_u32(self.config.cpus.len());
        let driven: Vec<Result<DrivenPart, Failure>> = thread::scope(|scope| {
            let mut before = 0;
            let mut threads = Vec::new();
            for (driver, tunnel) in self.drivers.iter().zip(tunnels) {
                let driver = driver.remote;
                let own = Config {
                    cpus: cpus(driver).to_vec(),
                    ..self.config.clone()
                };
                let part = Part { before, of };
                before += count_u32(own.cpus.len());
                threads.push(scope.spawn(move || {
                    let order = PartOrder {
                        run: self.run,
                        config: &own,
                        part,
                        start,
                        tunnel: tunnel.as_ref().map(|(tunnel, _)| tunnel.other_end()),
                        stop,
                    };
                    let driven = driver.drive(&order);
                    failed.fetch_or(driven.is_err(), Ordering::Relaxed);
                    driven.map_err(|error| fault(driver, error))
                }));
            }
            let ended = threads.into_iter().map(|thread| {
                let panicked = || Err(LabError::Driver(DriverError::Panicked).into());
                thread.join().unwrap_or_else(|_| panicked())
            });
            ended.collect()
        });
        driven.into_iter().collect()
    }
}

impl TrialLoad for FarUsers<'_> {
    /// None of this machine.
    fn cpus(&self) -> &[u32] {
        &[]
    }

    fn phases(&self) -> &Phases {
        &self.config.phases
    }

    fn drive(
        &self,
        start: &(dyn Fn() -> Instant + Sync),
        stop: &AtomicBool,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<Measurement, Failure> {
        let tunnels = self.tunnels()?;
        let parts = self.drive_parts(start(), stop, &tunnels)?;
        let starts = self.drivers.iter().zip(&parts);
        let starts = starts.map(|(driver, part)| DriverStart::new(driver.remote.name(), part));
        *self.starts.lock().unwrap_or_else(PoisonError::into_inner) = starts.collect();
        let recordings = parts.into_iter().map(|part| part.recording).collect();
        Ok(rookery_web::merge(&self.config, recordings).map_err(LabError::Recording)?)
    }

    fn facts(&self) -> Vec<Tuning> {
        let starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        driver_start::facts(&starts)
    }
}

/// The address of this machine on the way to a driver, and that of the driver.
fn addresses(driver: &dyn RemoteDriver) -> Result<(IpAddr, IpAddr), RemoteError> {
    let there = driver.address(Ipv4Addr::LOCALHOST.into())?;
    let here = own_address_towards(there).map_err(|error| RemoteError::Lost {
        reason: format!("no way to {there} is known: {error}"),
    })?;
    Ok((here, there))
}

/// Whether what is planned can be driven from where it is to be.
///
/// # Errors
/// When machines are missing or too many, or something of the plan is bound to this one.
pub(crate) fn check(plan: &Plan, drivers: &[&dyn RemoteDriver]) -> Result<(), LabError> {
    let studies = || plan.variants.iter().flat_map(Variant::studies);
    let here =
        !plan.driver_cpus.is_empty() || studies().any(|study| study.stack.simulated().is_some());
    match (drivers, here) {
        ([], true) => return Ok(()),
        ([], false) => return Err(LabError::DriverElsewhere),
        (_, true) => return Err(LabError::DriverHere),
        (_, false) => {}
    }
    let refuse = |what, help| Err(LabError::NotDrivenElsewhere { what, help });
    if drivers.len() > usize::from(MOST_DRIVERS) {
        return refuse("guests of so many drivers", "name at most 200 machines");
    }
    if studies().any(|study| study.guest.kind() == GuestKind::Bare) {
        return refuse(
            "bare guests",
            "they are on this host's loopback; let guests be containers or machines",
        );
    }
    let most_hosts = plan.points.iter().map(|point| point.hosts().len()).max();
    if most_hosts.is_some_and(|hosts| hosts > drivers.len()) {
        return refuse(
            "guests of one trial on more hosts than it has drivers",
            "each of these hosts needs a driver of its own: a CPU of this machine, or a host of \
             `--drivers HOSTS.toml`",
        );
    }
    if plan.points.iter().any(|point| most_loaded(point) > 1) {
        return refuse(
            "groups that each have users on one host",
            "give each a `host` of its own with `--guests HOSTS.toml`, put them into studies of \
             their own, or drive them from this host",
        );
    }
    Ok(())
}

/// The most groups with users that one host has.
fn most_loaded(point: &Point) -> usize {
    let loaded = || {
        let groups = point.groups.iter();
        groups.filter(|group| group.callers == Callers::Users)
    };
    let with = |group: &GuestGroup| loaded().filter(|other| other.host == group.host).count();
    loaded().map(with).max().unwrap_or(0)
}

/// The CPUs that a driver has.
fn cpus<'d>(driver: &'d (dyn RemoteDriver + 'd)) -> &'d [u32] {
    &driver.host().facts.cpus
}

fn fault(driver: &dyn RemoteDriver, error: RemoteError) -> Failure {
    let host = driver.name().to_owned();
    match error {
        RemoteError::Lost { reason } => LabError::DriverLost { host, reason },
        RemoteError::Refused(fields) => LabError::Elsewhere { host, fields },
    }
    .into()
}

/// The address of this machine on the way to another one. No packet is sent.
///
/// # Errors
/// When no way is known.
pub fn own_address_towards(there: IpAddr) -> std::io::Result<IpAddr> {
    let any: IpAddr = match there {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((there, rookery_guest::TUNNEL_PORT))?;
    Ok(socket.local_addr()?.ip())
}
