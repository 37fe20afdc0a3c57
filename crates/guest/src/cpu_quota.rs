//! The CPU quota of a control group, and its weight beside others.

use rookery_cast::truncate_u64;
use rookery_host::Cgroups;

use crate::{
    spec::{CpuTime, GuestSpec},
    storage::InForce,
};

/// Period of the CPU quota, us. The kernel's usual 100 ms would let a guest of 0.25 vCPU run 25 ms
/// and stand still for 75 ms: such pauses, not the server, would then decide its response times. A
/// fifth of it keeps a pause below a think time that anyone notices.
const PERIOD_US: u64 = 20_000;
/// Period for limits whose quota would fall below the kernel's least (1 ms).
const LONG_PERIOD_US: u64 = 100_000;
/// The least quota that the kernel takes, us.
const LEAST_QUOTA_US: u64 = 1_000;

/// Quota and period, us, of a guest that is capped.
pub(crate) fn quota_of(time: CpuTime) -> Option<(u64, u64)> {
    match time {
        CpuTime::Cap {
            cores,
            period_us: Some(period),
        } => {
            let quota = truncate_u64((cores * period as f64).round());
            Some((quota.max(LEAST_QUOTA_US), period))
        }
        CpuTime::Cap { cores, .. } => Some(quota(cores)),
        CpuTime::Unlimited | CpuTime::Share { .. } => None,
    }
}

/// What the kernel gives a group by itself, in its own units, for one core.
const SHARES_OF_CORE: f64 = 1024.0;

/// The shares of a guest that has a weight or a share, as version 1 of control groups counts them:
/// 1024 for each core, or for a weight of 100.
pub(crate) fn shares_of(spec: &GuestSpec) -> Option<u64> {
    match (spec.cpu_weight, spec.cpu_time) {
        (Some(weight), _) => Some(shares_of_weight(weight)),
        (None, CpuTime::Share { cores }) => {
            Some(truncate_u64((cores * SHARES_OF_CORE).round()).clamp(2, 262_144))
        }
        (None, CpuTime::Unlimited | CpuTime::Cap { .. }) => None,
    }
}

/// The fewest shares that are this weight when they are read as one: 1024 are 100.
fn shares_of_weight(weight: u32) -> u64 {
    (u64::from(weight) * 1024).div_ceil(100)
}

/// The weight that was asked for, beside the one in force.
pub(crate) fn weight_reading(spec: &GuestSpec, group: Option<(&Cgroups, &str)>) -> Option<InForce> {
    let asked = spec.cpu_weight?;
    let effective = group.and_then(|(cgroups, group)| cgroups.cpu_weight(group));
    Some(InForce::new(
        WEIGHT,
        asked.to_string(),
        effective.map_or_else(|| "none".to_owned(), |weight| weight.to_string()),
    ))
}

/// What the weight is called among settings.
const WEIGHT: &str = "guest.cpu_weight";

/// Quota and period, us, that give `cores` of CPU time.
fn quota(cores: f64) -> (u64, u64) {
    let of = |period: u64| truncate_u64((cores * period as f64).round());
    if of(PERIOD_US) >= LEAST_QUOTA_US {
        (of(PERIOD_US), PERIOD_US)
    } else {
        (of(LONG_PERIOD_US).max(LEAST_QUOTA_US), LONG_PERIOD_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_goes_before_a_share_of_vcpus() {
        let spec = |cpu_weight, cpu_time| GuestSpec {
            cpu_weight,
            cpu_time,
            ..crate::spec::spec("g1")
        };
        let share = CpuTime::Share { cores: 0.25 };
        assert_eq!(shares_of(&spec(None, share)), Some(256));
        assert_eq!(shares_of(&spec(Some(100), share)), Some(1024));
        assert_eq!(shares_of(&spec(Some(300), CpuTime::cap(1.0))), Some(3072));
        assert_eq!(shares_of(&spec(None, CpuTime::cap(1.0))), None);
    }

    #[test]
    fn every_weight_is_read_as_it_was_written() {
        for weight in 1..=10_000 {
            let shares = shares_of_weight(weight);
            assert_eq!(shares * 100 / 1024, u64::from(weight));
        }
    }

    #[test]
    fn small_quotas_get_the_long_period() {
        assert_eq!(quota(0.25), (5_000, 20_000));
        assert_eq!(quota(2.0), (40_000, 20_000));
        assert_eq!(quota(0.02), (2_000, 100_000));
        assert_eq!(quota(0.001), (1_000, 100_000));
    }
}
