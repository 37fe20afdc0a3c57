//! What is refused before the first packet, whatever the driver speaks.

use rookery_study::Course;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    error::DriverError,
    load::{OpenLoad, Profile, Visit},
};

/// Descriptors of this process besides the users' connections: logs, stores, event queues, pipes of
/// guests.
const OTHER_DESCRIPTORS: u64 = 256;
/// More arrivals per second than any machine starts.
const MOST_RATE: f64 = 1e7;

/// Refuses an open load that cannot be put on so many guests by so many driver threads.
///
/// # Errors
/// [`DriverError::Config`].
pub fn check_open_load(load: &OpenLoad, guests: usize, threads: usize) -> Result<(), DriverError> {
    let refuse = |what: String, help| Err(DriverError::Config { what, help });
    if let Some(rate) = rates(&load.profile)
        .into_iter()
        .find(|rate| !(0.0..=MOST_RATE).contains(rate))
    {
        return refuse(
            format!("{rate} is no rate of arrivals"),
            "write arrivals per second from 0 to ten million",
        );
    }
    if let Course::Swing { amplitude, period } = &load.profile.course
        && (!(0.0..=1.0).contains(amplitude) || period.is_zero())
    {
        let what = format!("a rate cannot swing by {amplitude} of its mean in {period:?}");
        return refuse(
            what,
            "let it swing by 0 to 1 of its mean, with a period above zero",
        );
    }
    if !load.weights.is_empty() && load.weights.len() != guests {
        let what = format!("{} weights for {guests} guests", load.weights.len());
        return refuse(what, "give one weight for each guest, or none");
    }
    if let Some(weight) = load
        .weights
        .iter()
        .find(|weight| !(weight.is_finite() && **weight > 0.0))
    {
        return refuse(
            format!("{weight} is no weight"),
            "write a number above zero",
        );
    }
    if (load.max_in_flight as usize) < threads {
        let what = format!(
            "at most {} visitors at a guest, by {threads} driver CPUs",
            load.max_in_flight
        );
        return refuse(what, "allow at least one visitor for each driver CPU");
    }
    match load.visit {
        Visit::GoOn(probability) if !(0.0..1.0).contains(&probability) => refuse(
            format!("visitors cannot go on with the probability {probability}"),
            "write a number from 0 to below 1",
        ),
        Visit::Acts(0) => refuse(
            "visitors that never act".to_owned(),
            "let a visit have at least one act",
        ),
        _ => Ok(()),
    }
}

/// All rates that a profile names.
fn rates(profile: &Profile) -> Vec<f64> {
    let shares = match &profile.course {
        Course::Level | Course::Swing { .. } => vec![1.0],
        Course::Steps(steps) => steps.iter().map(|step| step.share).collect(),
        Course::Ramp { from, to } => vec![*from, *to],
    };
    shares
        .into_iter()
        .map(|share| share * profile.rate_per_s)
        .collect()
}

/// Make room for one connection per user or visitor: raises the soft limit on open files of this
/// process, never the hard one.
///
/// # Errors
/// [`DriverError::Descriptors`] when that is not enough.
pub fn allow_descriptors(users: u64) -> Result<(), DriverError> {
    let limits = getrlimit(Resource::Nofile);
    let needed = users + OTHER_DESCRIPTORS;
    // `None` = unlimited.
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed);
    if enough(limits.current) {
        return Ok(());
    }
    let raised = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    if enough(limits.maximum) && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    Err(DriverError::Descriptors {
        users,
        needed,
        limit: limits.maximum.unwrap_or(u64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_open_load_that_cannot_be_is_refused() {
        use crate::load::{Arrivals, Precision};
        let good = OpenLoad {
            arrivals: Arrivals::Poisson,
            profile: Profile::level(100.0),
            weights: Vec::new(),
            max_in_flight: 10,
            precision: Precision::Exact,
            visit: Visit::Single,
        };
        let refusal = |change: fn(&mut OpenLoad)| {
            let mut load = good.clone();
            change(&mut load);
            check_open_load(&load, 1, 1)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(refusal(|_| {}), None);
        type Change = fn(&mut OpenLoad);
        let cases: [(Change, &str); 9] = [
            (
                |load| load.profile = Profile::level(f64::NAN),
                "NaN is no rate",
            ),
            (
                |load| {
                    load.profile.course = Course::Ramp {
                        from: 1.0,
                        to: -1.0,
                    }
                },
                "-100 is no rate",
            ),
            (
                |load| load.profile = Profile::level(f64::INFINITY),
                "inf is no rate",
            ),
            (
                |load| {
                    load.profile.course = Course::Swing {
                        amplitude: 1.5,
                        period: Duration::from_secs(1),
                    }
                },
                "cannot swing by 1.5",
            ),
            (
                |load| load.weights = vec![1.0, 1.0],
                "2 weights for 1 guests",
            ),
            (|load| load.weights = vec![0.0], "0 is no weight"),
            (|load| load.max_in_flight = 0, "at most 0 visitors"),
            (|load| load.visit = Visit::GoOn(1.0), "the probability 1"),
            (|load| load.visit = Visit::Acts(0), "never act"),
        ];
        for (change, expected) in cases {
            let refused = refusal(change);
            assert!(
                refused.as_ref().is_some_and(|text| text.contains(expected)),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn impossible_numbers_of_users_are_refused_with_the_limit() {
        let refused = allow_descriptors(u64::from(u32::MAX));
        let limit = getrlimit(Resource::Nofile).maximum;
        assert_eq!(
            refused.is_err(),
            limit.is_some_and(|limit| limit < u64::from(u32::MAX))
        );
    }
}
