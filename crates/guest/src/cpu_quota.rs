//! The CPU quota of a control group.

use rookery_cast::truncate_u64;

use crate::spec::CpuTime;

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

/// The shares of a guest that has a share, as version 1 of control groups counts them: 1024 for
/// each core.
pub(crate) fn shares_of(time: CpuTime) -> Option<u64> {
    match time {
        CpuTime::Share { cores } => {
            Some(truncate_u64((cores * SHARES_OF_CORE).round()).clamp(2, 262_144))
        }
        CpuTime::Unlimited | CpuTime::Cap { .. } => None,
    }
}

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
    fn small_quotas_get_the_long_period() {
        assert_eq!(quota(0.25), (5_000, 20_000));
        assert_eq!(quota(2.0), (40_000, 20_000));
        assert_eq!(quota(0.02), (2_000, 100_000));
        assert_eq!(quota(0.001), (1_000, 100_000));
    }
}
