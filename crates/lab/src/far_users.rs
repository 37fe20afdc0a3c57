//! Users of a trial that drivers on other machines carry, each a part of them.

use std::{
    net::{IpAddr, Ipv4Addr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use rookery_cast::count_u32;
use rookery_driver::{DriverError, Phases};
use rookery_guest::{LabEnd, MOST_DRIVERS, Way};
use rookery_host::{RealHost, RunId};
use rookery_stats::Measurement;
use rookery_store::Tuning;
use rookery_study::{GuestKind, Plan, Point, Variant};
use rookery_web::{Config, ForeignRecording, Part, Recording};

use crate::{
    driver_start::{self, DriverStart, fact},
    elsewhere::{DrivenPart, GroupPart, NumberedDriver, PartOrder, RemoteDriver, RemoteError},
    error::{Failure, LabError},
    trial_load::{Driven, DriverCpu},
};

/// The users of one group of a trial.
pub(crate) struct GroupUsers {
    /// What they do, wherever its CPUs are.
    pub(crate) config: Config,
    /// The label of the lab that has the guests.
    pub(crate) lab: RunId,
    /// The place of the group in its point.
    pub(crate) place: usize,
}

/// The users of all groups of a trial, and those who drive them. Each driver carries parts of as
/// many groups as it has CPUs for.
pub(crate) struct FarUsers<'a> {
    groups: Vec<FarGroup>,
    drivers: &'a [NumberedDriver<'a>],
}

/// The users of one group, and the CPUs from which they are driven.
struct FarGroup {
    /// Its CPUs are those of `cpus`.
    config: Config,
    lab: RunId,
    /// By driver.
    cpus: Vec<DriverCpu>,
}

/// The way from a lab to a driver.
struct LabWay<'a> {
    lab: &'a RunId,
    /// Place of the driver.
    driver: usize,
    way: Way,
    _end: LabEnd,
}

/// What one driver is to carry.
struct DriverParts {
    /// Places of the groups.
    groups: Vec<usize>,
    parts: Vec<GroupPart>,
}

impl FarGroup {
    /// The part of the driver at this place; nothing where none of its CPUs is for the group.
    fn part(&self, driver: usize, ways: &[LabWay<'_>]) -> Option<GroupPart> {
        let own = self.cpus.iter().filter(|cpu| cpu.driver == driver);
        let cpus: Vec<u32> = own.map(|cpu| cpu.cpu).collect();
        let before = self.cpus.iter().filter(|cpu| cpu.driver < driver).count();
        let is_own = |way: &&LabWay<'_>| way.driver == driver && *way.lab == self.lab;
        let way = ways.iter().find(is_own);
        (!cpus.is_empty()).then(|| GroupPart {
            lab: self.lab.clone(),
            config: Config {
                cpus,
                ..self.config.clone()
            },
            part: Part {
                before: count_u32(before),
                of: count_u32(self.cpus.len()),
            },
            way: way.map(|way| way.way.other_end()),
        })
    }
}

impl<'a> FarUsers<'a> {
    /// The users of the groups of `point` that have some, driven from all CPUs of other machines,
    /// which are shared out to the groups as those of a driver here are.
    pub(crate) fn new(
        users: Vec<GroupUsers>,
        point: &Point,
        drivers: &'a [NumberedDriver<'a>],
    ) -> Self {
        let all: Vec<DriverCpu> = drivers
            .iter()
            .enumerate()
            .flat_map(|(driver, NumberedDriver { remote, .. })| {
                let cpus = remote.host().facts.cpus.iter();
                cpus.map(move |cpu| DriverCpu { driver, cpu: *cpu })
            })
            .collect();
        let places: Vec<u32> = (0..count_u32(all.len())).collect();
        let group = |users: GroupUsers| {
            let own = point.driver_cpus(users.place, &places);
            let own = own.into_iter();
            let cpus: Vec<DriverCpu> = own
                .filter_map(|place| all.get(place as usize).copied())
                .collect();
            FarGroup {
                config: Config {
                    cpus: cpus.iter().map(|cpu| cpu.cpu).collect(),
                    ..users.config
                },
                lab: users.lab,
                cpus,
            }
        };
        Self {
            groups: users.into_iter().map(group).collect(),
            drivers,
        }
    }

    /// The phases of all groups; nothing where none has users.
    pub(crate) fn phases(&self) -> Option<&Phases> {
        self.groups.first().map(|group| &group.config.phases)
    }

    /// By group: the CPUs from which its users are driven.
    pub(crate) fn cpus(&self) -> Vec<Vec<DriverCpu>> {
        self.groups.iter().map(|group| group.cpus.clone()).collect()
    }

    /// Put all loads on. `start` gives the common start of all users, when all are ready.
    ///
    /// # Errors
    /// When no load was put on.
    pub(crate) fn drive(
        &self,
        start: &dyn Fn() -> Instant,
        stop: &AtomicBool,
    ) -> Result<Driven, Failure> {
        let ways = self.ways()?;
        let orders: Vec<DriverParts> = (0..self.drivers.len())
            .map(|driver| self.parts_of(driver, &ways))
            .collect();
        let parts = self.drive_parts(start(), stop, &orders)?;
        let starts = self.drivers.iter().zip(&parts);
        let starts = starts.map(|(driver, part)| DriverStart::new(driver.remote.name(), part));
        let mut facts = driver_start::facts(&starts.collect::<Vec<_>>());
        facts.extend(self.told_ways(&ways));
        let mut recordings: Vec<Vec<Recording>> = self.groups.iter().map(|_| Vec::new()).collect();
        for (order, part) in orders.iter().zip(parts) {
            if order.groups.len() != part.recordings.len() {
                return Err(LabError::Recording(ForeignRecording).into());
            }
            for (group, recording) in order.groups.iter().zip(part.recordings) {
                recordings[*group].push(recording);
            }
        }
        let merged = self.groups.iter().zip(recordings);
        let merged = merged.map(|(group, own)| rookery_web::merge(&group.config, own));
        let measured: Result<Vec<Measurement>, _> = merged.collect();
        Ok(Driven {
            measured: measured.map_err(LabError::Recording)?,
            facts,
            outputs: Vec::new(),
        })
    }

    /// The rows among the settings of a trial that say how each driver reached its guests; none
    /// where these are on a network that all are on.
    fn told_ways(&self, ways: &[LabWay<'_>]) -> Vec<Tuning> {
        let drivers = self.drivers.iter().enumerate();
        let told = drivers.filter_map(|(place, driver)| {
            let own = ways.iter().find(|way| way.driver == place)?;
            let name = format!("driver.{}.way", driver.remote.name());
            Some(fact(&name, own.way.kind().to_string()))
        });
        told.collect()
    }

    fn parts_of(&self, driver: usize, ways: &[LabWay<'_>]) -> DriverParts {
        let groups = self.groups.iter().enumerate();
        let parts = groups.filter_map(|(place, group)| Some((place, group.part(driver, ways)?)));
        let (groups, parts) = parts.unzip();
        DriverParts { groups, parts }
    }

    /// A way to each driver from each lab whose guests it loads, where they are on a network of
    /// their own; nothing is left on an error.
    fn ways(&self) -> Result<Vec<LabWay<'_>>, Failure> {
        let mut ways: Vec<LabWay<'_>> = Vec::new();
        for group in &self.groups {
            let Some(network) = &group.config.network else {
                continue;
            };
            for (place, NumberedDriver { number, remote }) in self.drivers.iter().enumerate() {
                let drives = group.cpus.iter().any(|cpu| cpu.driver == place);
                let known = |known: &LabWay<'_>| *known.lab == group.lab && known.driver == place;
                if !drives || ways.iter().any(known) {
                    continue;
                }
                let (here, there) = addresses(*remote).map_err(|error| fault(*remote, error))?;
                let way = Way::new(remote.way(), &group.lab, *number, here, there);
                let end = way.join_lab(&RealHost, &group.lab, network);
                ways.push(LabWay {
                    lab: &group.lab,
                    driver: place,
                    way,
                    _end: end.map_err(LabError::from)?,
                });
            }
        }
        Ok(ways)
    }

    /// All drivers side by side. The first that fails ends the others.
    fn drive_parts(
        &self,
        start: Instant,
        stop: &AtomicBool,
        orders: &[DriverParts],
    ) -> Result<Vec<DrivenPart>, Failure> {
        let failed = &AtomicBool::new(false);
        let stop = &|| stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
        let driven: Vec<Result<DrivenPart, Failure>> = thread::scope(|scope| {
            let drivers = self.drivers.iter().zip(orders);
            let threads = drivers.map(|(NumberedDriver { remote, .. }, order)| {
                scope.spawn(move || {
                    let driven = remote.drive(&PartOrder {
                        groups: &order.parts,
                        start,
                        stop,
                    });
                    failed.fetch_or(driven.is_err(), Ordering::Relaxed);
                    driven.map_err(|error| fault(*remote, error).into())
                })
            });
            let threads: Vec<_> = threads.collect();
            let ended = threads.into_iter().map(|thread| {
                let panicked = || Err(LabError::Driver(DriverError::Panicked).into());
                thread.join().unwrap_or_else(|_| panicked())
            });
            ended.collect()
        });
        driven.into_iter().collect()
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
    Ok(())
}

/// Whether packets can travel to these drivers from here as their hosts ask for.
///
/// # Errors
/// When they cannot to one of them.
pub(crate) fn check_ways(plan: &Plan, drivers: &[&dyn RemoteDriver]) -> Result<(), LabError> {
    let mut studies = plan.variants.iter().flat_map(Variant::studies);
    if studies.all(|study| study.guest.kind() == GuestKind::External) {
        // It is reached as it is anyway.
        return Ok(());
    }
    for driver in drivers {
        let (_, there) = addresses(*driver).map_err(|error| fault(*driver, error))?;
        Way::check(driver.way(), there)?;
    }
    Ok(())
}

fn fault(driver: &dyn RemoteDriver, error: RemoteError) -> LabError {
    let host = driver.name().to_owned();
    match error {
        RemoteError::Lost { reason } => LabError::DriverLost { host, reason },
        RemoteError::Refused(fields) => LabError::Elsewhere { host, fields },
    }
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

#[cfg(test)]
mod tests {
    use rookery_driver::Load;
    use rookery_stats::Pacing;
    use rookery_web::Limits;
    use rookery_workload::DelayDistribution;

    use super::*;

    /// A group of no guests, driven from these CPUs of drivers.
    fn group(lab: &str, cpus: &[(usize, u32)]) -> FarGroup {
        let second = std::time::Duration::from_secs(1);
        let cpus = cpus.iter().map(|(driver, cpu)| DriverCpu {
            driver: *driver,
            cpu: *cpu,
        });
        FarGroup {
            config: Config {
                assignments: Vec::new(),
                network: None,
                cpus: Vec::new(),
                phases: Phases {
                    ramp_up: second,
                    settle: second,
                    steady: second,
                    ramp_down: second,
                    drain: second,
                },
                load: Load::Closed,
                pacing: Pacing::Think,
                think_time: second,
                think_distribution: DelayDistribution::Constant,
                timeout: second,
                limits: Limits::default(),
                seed: 1,
                confirmed_targets: Vec::new(),
            },
            lab: RunId::try_from(lab.to_owned()).expect("valid"),
            cpus: cpus.collect(),
        }
    }

    #[test]
    fn a_driver_carries_a_part_of_each_group_that_has_some_of_its_cpus() {
        let users = FarUsers {
            groups: vec![
                group("ab12", &[(0, 1), (1, 1), (1, 2)]),
                group("ab12", &[(1, 3)]),
            ],
            drivers: &[],
        };
        let parts = |driver| -> Vec<(usize, Vec<u32>, u32, u32)> {
            let order = users.parts_of(driver, &[]);
            let all = order.groups.into_iter().zip(order.parts);
            all.map(|(group, part)| (group, part.config.cpus, part.part.before, part.part.of))
                .collect()
        };
        assert_eq!(parts(0), [(0, vec![1], 0, 3)]);
        assert_eq!(parts(1), [(0, vec![1, 2], 1, 3), (1, vec![3], 0, 1)]);
        assert_eq!(parts(2), []);
    }
}
