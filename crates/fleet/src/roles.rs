//! A machine has one role in a run.
//!
//! Guests and those who drive them would measure each other's CPU time, and two trials at a time on
//! one machine each other's load. Names alone do not tell: one machine may have several addresses.

use crate::{
    error::{HostError, HostFault},
    hosts::HostEntry,
    probe::{MachineIdentity, Probe},
};

/// The hosts of a file, at each of which a shell was asked who it is.
pub struct SeenHosts<'a>(pub(crate) Vec<(&'a HostEntry, Probe)>);

/// A host, and which machine it is; nothing where it does not say.
pub(crate) type Identified<'a> = (&'a HostEntry, Option<&'a MachineIdentity>);

/// That hosts of one file are different machines.
///
/// # Errors
/// One for each that is a machine that stands before it.
pub(crate) fn expect_different(hosts: &[Identified<'_>]) -> Result<(), Vec<HostError>> {
    let doubles = hosts.iter().enumerate().filter_map(|(place, host)| {
        let known = hosts[..place].iter().find(|known| is_same(known, host))?;
        Some(same(host.0, known.0))
    });
    none_or_errors(doubles.collect())
}

/// That the hosts of guests and those of drivers are different machines, with different names: a
/// report names a trial's hosts by them.
///
/// # Errors
/// One for each driver that is a host of guests, or is named like one.
pub fn expect_one_role(
    guests: &SeenHosts<'_>,
    drivers: &SeenHosts<'_>,
) -> Result<(), Vec<HostError>> {
    apart(&identified(guests), &identified(drivers))
}

fn identified<'a>(hosts: &'a SeenHosts<'_>) -> Vec<Identified<'a>> {
    let hosts = hosts.0.iter();
    hosts
        .map(|(host, probe)| (*host, probe.identity.as_ref()))
        .collect()
}

fn apart(guests: &[Identified<'_>], drivers: &[Identified<'_>]) -> Result<(), Vec<HostError>> {
    let twice = drivers.iter().filter_map(|driver| {
        if let Some(guest) = guests.iter().find(|guest| is_same(guest, driver)) {
            return Some(same(driver.0, guest.0));
        }
        let named = guests.iter().find(|guest| guest.0.name == driver.0.name)?;
        let other = named.0.place();
        Some(HostError::new(driver.0, HostFault::NameTwice { other }))
    });
    none_or_errors(twice.collect())
}

fn is_same(one: &Identified<'_>, other: &Identified<'_>) -> bool {
    one.1.is_some() && one.1 == other.1
}

fn same(host: &HostEntry, known: &HostEntry) -> HostError {
    let other = known.place();
    HostError::new(host, HostFault::SameMachine { other })
}

fn none_or_errors(errors: Vec<HostError>) -> Result<(), Vec<HostError>> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

#[cfg(test)]
mod tests {
    use rookery_diagnosis::Diagnosis as _;

    use super::*;
    use crate::HostsFile;

    fn hosts(names: &[&str]) -> Vec<HostEntry> {
        let host = |(at, name): (usize, &&str)| {
            format!("[[host]]\nname = \"{name}\"\naddress = \"192.0.2.{at}\"\n")
        };
        let text: String = names.iter().enumerate().map(host).collect();
        HostsFile::parse("h.toml", &text).expect("right").hosts
    }

    fn machine(name: &str) -> MachineIdentity {
        MachineIdentity(name.to_owned())
    }

    #[test]
    fn a_machine_twice_in_a_file_is_refused() {
        let hosts = hosts(&["a", "b", "c"]);
        let (one, other) = (machine("1"), machine("2"));
        let file = [
            (&hosts[0], Some(&one)),
            (&hosts[1], Some(&other)),
            (&hosts[2], Some(&one)),
        ];
        expect_different(&file[..2]).expect("two machines");
        let errors = expect_different(&file).expect_err("one twice");
        let [error] = errors.as_slice() else {
            panic!("{errors:?}");
        };
        assert_eq!(error.host, "c");
        assert_eq!(
            error.to_string(),
            "this is the same machine as host a (192.0.2.0, port 22)"
        );
        assert!(error.help().is_some());
    }

    #[test]
    fn machines_that_do_not_say_who_they_are_pass() {
        let hosts = hosts(&["a", "b"]);
        expect_different(&[(&hosts[0], None), (&hosts[1], None)]).expect("nothing known");
    }

    #[test]
    fn a_driver_is_no_host_of_guests() {
        let (guests, drivers) = (hosts(&["a", "b"]), hosts(&["c", "b", "d"]));
        let (one, other, third) = (machine("1"), machine("2"), machine("3"));
        let guests = [(&guests[0], Some(&one)), (&guests[1], Some(&other))];
        let drivers = [
            (&drivers[0], Some(&other)),
            (&drivers[1], None),
            (&drivers[2], Some(&third)),
        ];
        let errors = apart(&guests, &drivers).expect_err("two of three");
        let codes: Vec<_> = errors
            .iter()
            .map(|error| (error.host.as_str(), error.code()))
            .collect();
        assert_eq!(
            codes,
            [("c", "fleet::same-machine"), ("b", "fleet::name-twice")]
        );
        apart(&guests, &drivers[2..]).expect("another machine with another name");
    }
}
