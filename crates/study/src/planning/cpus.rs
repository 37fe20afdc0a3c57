//! Which CPUs belong to the driver and which to the guests.

use crate::{
    CpuSet, DriverPlace, HostFacts, HostUse, grammar::Context, grammar::kinds::cpu_list,
    problem::Code,
};

/// The CPUs of both, disjoint and not empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) guests: CpuSet,
    pub(super) driver: CpuSet,
    /// Whether the study left a part of it to us.
    pub(super) chosen: bool,
    /// Whether it can be had; otherwise it only serves to show what was asked for.
    pub(super) sound: bool,
}

/// A division of a host that cannot be divided as the study asks: everything for everybody.
pub(super) fn unsound(host: &HostFacts) -> Division {
    // A host without usable CPUs still has the one that this runs on.
    let all = if host.cpus.is_empty() {
        vec![0]
    } else {
        host.cpus.clone()
    };
    Division {
        guests: all.clone(),
        driver: all,
        chosen: false,
        sound: false,
    }
}

/// On large hosts the driver gets one CPU in so many.
const CPUS_PER_DRIVER_CPU: usize = 8;

/// Divides the host; what the study does not say is chosen: the driver gets the last CPUs, the
/// guests the rest.
pub(super) fn divide(asked: &HostUse, host: &HostFacts, context: &mut Context) -> Option<Division> {
    if asked.driver == DriverPlace::Elsewhere {
        exist(asked.guest_cpus.as_ref(), "host.guest_cpus", host, context).then_some(())?;
        return Some(Division {
            guests: asked
                .guest_cpus
                .clone()
                .unwrap_or_else(|| host.cpus.clone()),
            driver: Vec::new(),
            chosen: asked.guest_cpus.is_none(),
            sound: true,
        });
    }
    if host.cpus.len() < 2 {
        let span = context.spans.nearest("host.driver_cpus");
        let message = format!(
            "this host has {} usable CPU: driver and guests cannot be kept apart",
            host.cpus.len()
        );
        return context.refuse(
            Code::TooFewCpus,
            span,
            message,
            "run on a host with two or more CPUs",
        );
    }
    let known = exist(asked.guest_cpus.as_ref(), "host.guest_cpus", host, context);
    if !(exist(
        asked.driver_cpus.as_ref(),
        "host.driver_cpus",
        host,
        context,
    ) && known)
    {
        return None;
    }
    let without = |taken: &CpuSet| -> CpuSet {
        host.cpus
            .iter()
            .copied()
            .filter(|cpu| !taken.contains(cpu))
            .collect()
    };
    let last = |cpus: &CpuSet| -> CpuSet {
        let count = (host.cpus.len() / CPUS_PER_DRIVER_CPU).clamp(1, cpus.len().max(1));
        cpus[cpus.len().saturating_sub(count)..].to_vec()
    };
    let (guests, driver) = match (&asked.guest_cpus, &asked.driver_cpus) {
        (Some(guests), Some(driver)) => (guests.clone(), driver.clone()),
        (Some(guests), None) => (guests.clone(), last(&without(guests))),
        (None, Some(driver)) => (without(driver), driver.clone()),
        (None, None) => {
            let driver = last(&host.cpus);
            (without(&driver), driver)
        }
    };
    let (path, taker) = if driver.is_empty() {
        ("host.guest_cpus", "guests")
    } else {
        ("host.driver_cpus", "driver")
    };
    if driver.is_empty() || guests.is_empty() {
        let message = format!(
            "the {taker} have all {} CPUs of this host, the other side has none",
            host.cpus.len()
        );
        return context.refuse(
            Code::SharedCpu,
            context.spans.nearest(path),
            message,
            "leave at least one CPU out of this list",
        );
    }
    Some(Division {
        guests,
        driver,
        chosen: asked.guest_cpus.is_none() || asked.driver_cpus.is_none(),
        sound: true,
    })
}

/// Whether the host has all these CPUs.
pub(super) fn exist(
    asked: Option<&CpuSet>,
    path: &str,
    host: &HostFacts,
    context: &mut Context,
) -> bool {
    let missing: CpuSet = asked
        .into_iter()
        .flatten()
        .copied()
        .filter(|cpu| !host.cpus.contains(cpu))
        .collect();
    if missing.is_empty() {
        return true;
    }
    let noun = if missing.len() == 1 { "CPU" } else { "CPUs" };
    let message = format!(
        "`{path}` names {noun} {}, which this host does not have",
        cpu_list(&missing)
    );
    let help = format!(
        "choose among its CPUs {}, or remove the key",
        cpu_list(&host.cpus)
    );
    context.refuse::<()>(Code::NoSuchCpu, context.spans.nearest(path), message, help);
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(
        guests: Option<&[u32]>,
        driver: Option<&[u32]>,
        cpus: u32,
    ) -> Result<(CpuSet, CpuSet), Code> {
        let asked = HostUse {
            guest_cpus: guests.map(<[u32]>::to_vec),
            driver_cpus: driver.map(<[u32]>::to_vec),
            driver: DriverPlace::Here,
            overcommit: 1.0,
            reserve_mib: 0,
            settings: None,
            ..HostUse::default()
        };
        let host = HostFacts {
            cpus: (0..cpus).collect(),
            memory_mib: 1024,
            disk_free_mib: 1024,
            root: false,
            places: Vec::new(),
        };
        let mut context = Context::default();
        match divide(&asked, &host, &mut context) {
            Some(division) => Ok((division.guests, division.driver)),
            None => Err(context.findings[0].code),
        }
    }

    #[test]
    fn the_driver_gets_the_last_cpus() {
        assert_eq!(divided(None, None, 2), Ok((vec![0], vec![1])));
        assert_eq!(
            divided(None, None, 16),
            Ok(((0..14).collect(), vec![14, 15]))
        );
        assert_eq!(divided(Some(&[2, 3]), None, 4), Ok((vec![2, 3], vec![1])));
        assert_eq!(divided(None, Some(&[0]), 3), Ok((vec![1, 2], vec![0])));
    }

    #[test]
    fn impossible_divisions() {
        assert_eq!(divided(None, None, 1), Err(Code::TooFewCpus));
        assert_eq!(divided(Some(&[0, 1]), None, 2), Err(Code::SharedCpu));
        assert_eq!(divided(None, Some(&[0, 1]), 2), Err(Code::SharedCpu));
        assert_eq!(divided(Some(&[7]), Some(&[1]), 2), Err(Code::NoSuchCpu));
    }
}
