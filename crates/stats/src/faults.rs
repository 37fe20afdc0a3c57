//! Reasons that make a trial void: the driver, not the system under test, decided the numbers.
//!
//! The limits are those that established drivers print as warnings; a trial is void well beyond
//! them. [`faults`] lists what voids a trial, [`warnings`] what a reader should know.

mod arrivals;
mod code;
mod little;
mod standstill;

pub use code::{Fault, FaultCode};

use rookery_workload::DriverRole;

use crate::{ErrorClass, GuestMeasurement, Measurement, Mode, Pacing};

/// Largest share of its CPUs that a driver may use: beyond, its own queueing is in the response
/// times.
const CPU_LIMIT: f64 = 0.8;
/// The same, as a warning.
const CPU_WARNING: f64 = 0.7;
/// Scheduling lag p99 that is always acceptable, us: what a general-purpose kernel may take to give
/// a busy CPU to another thread.
const LAG_FLOOR_US: f64 = 2_000.0;
/// Scheduling lag p99 as a share of the mean response time.
const LAG_SHARE: f64 = 0.01;
/// Mean lag that is always acceptable, us.
const MEAN_LAG_FLOOR_US: f64 = 1_000.0;
/// Mean lag as a share of the mean delay.
const MEAN_LAG_SHARE: f64 = 0.005;
/// A warning becomes a fault at so many times the limit.
const LAG_FAULT: f64 = 5.0;
/// Largest share of the users' time that may be missing from the window, or too much.
const PRESENCE_LIMIT: f64 = 0.02;
/// Largest deviation of the mean actual delay from the mean drawn delay.
const PACING_LIMIT: f64 = 0.02;
/// Deviation of the mean delay that is always acceptable, s.
const PACING_FLOOR_S: f64 = 0.002;
/// Run-queue wait as a share of run time, as a warning.
const RUN_QUEUE_WARNING: f64 = 0.02;
/// A window should hold so many cycles (R + Z) of a user.
const CYCLES: f64 = 20.0;

/// Why the trial is void: every reason for which the driver was at fault. Empty = the driver is
/// innocent.
#[must_use]
pub fn faults(measurement: &Measurement) -> Vec<Fault> {
    let rules = [
        cpu,
        lag,
        mean_lag,
        little,
        presence,
        pacing,
        unconnected,
        own_errors,
        exhausted,
        standstill::standstill,
    ];
    let of_arrivals = [arrivals::dropped, arrivals::lost];
    rules
        .into_iter()
        .chain(of_arrivals)
        .filter_map(|rule| rule(measurement))
        .collect()
}

/// Those of [`faults`] in which the driver itself was the limit, whatever the system under test
/// did: its CPUs, its punctuality, its connections. The others may have their cause in a system
/// that does not keep up.
#[must_use]
pub fn driver_bound(measurement: &Measurement) -> Vec<Fault> {
    let rules = [
        cpu,
        lag,
        mean_lag,
        unconnected,
        own_errors,
        exhausted,
        arrivals::lost,
    ];
    rules
        .into_iter()
        .filter_map(|rule| rule(measurement))
        .collect()
}

/// Why an open load was more than the system carries: arrivals were dropped, or more and more of
/// them waited.
#[must_use]
pub fn overload(measurement: &Measurement) -> Option<Fault> {
    arrivals::dropped(measurement).or_else(|| arrivals::unserved(measurement))
}

/// More arrived than was served; see [`overload`].
pub(crate) fn unstable(measurement: &Measurement) -> Option<Fault> {
    arrivals::unserved(measurement)
}

/// What a reader should know although it does not void the trial.
#[must_use]
pub fn warnings(measurement: &Measurement) -> Vec<String> {
    let driver = &measurement.driver;
    let mut warnings = Vec::new();
    if is_end(measurement) && driver.cpu_share > CPU_LIMIT {
        warnings.push(format!(
            "the driver used {:.0} % of its CPUs: it is one end of what is measured, and was the \
             limit as far as the other end was not",
            driver.cpu_share * 100.0
        ));
    }
    if (CPU_WARNING..=CPU_LIMIT).contains(&driver.cpu_share) {
        warnings.push(format!(
            "the driver used {:.0} % of its CPUs (above 70 %)",
            driver.cpu_share * 100.0
        ));
    }
    if driver.run_queue_share > RUN_QUEUE_WARNING {
        let share = driver.run_queue_share * 100.0;
        warnings.push(format!(
            "the driver waited for its CPUs for {share:.1} % of its run time (above 2 %)"
        ));
    }
    let limit = lag_limit_us(measurement);
    if driver.lag_p99_us as f64 > limit && driver.lag_p99_us as f64 <= LAG_FAULT * limit {
        let (lag, limit) = (driver.lag_p99_us as f64 / 1e3, limit / 1e3);
        warnings.push(format!(
            "the driver's scheduling lag p99 was {lag:.1} ms (above {limit:.1} ms)"
        ));
    }
    if let Some(cycle_s) = cycle_s(measurement).filter(|_| is_short(measurement)) {
        let window_s = window_s(measurement);
        warnings.push(format!(
            "short: the window of {window_s:.1} s holds fewer than 20 cycles of {cycle_s:.2} s"
        ));
    }
    if little::limit(measurement).is_none() && !is_untimed(measurement) {
        warnings.push(format!(
            "too short to judge by Little's law (off by {:.1} %): take more users or a longer \
             window",
            100.0 * driver.little_error
        ));
    }
    warnings
}

fn cpu(measurement: &Measurement) -> Option<Fault> {
    let share = measurement.driver.cpu_share;
    (share > CPU_LIMIT && !is_end(measurement)).then(|| {
        let share = share * 100.0;
        Fault::new(FaultCode::Cpu, format!(
            "the driver used {share:.0} % of its CPUs (limit 80 %): give it more CPUs or less load"
        ))
    })
}

/// Whether work was done whose time nobody told, as where another program measured it.
fn is_untimed(measurement: &Measurement) -> bool {
    let guests = measurement.guests.iter();
    let mut operations = guests.flat_map(|guest| &guest.operations);
    operations.any(|operation| operation.completed > 0 && operation.service.count() == 0)
}

/// Whether the driver is one end of what is measured.
fn is_end(measurement: &Measurement) -> bool {
    measurement
        .info()
        .is_some_and(|info| info.driver == DriverRole::End)
}

fn lag(measurement: &Measurement) -> Option<Fault> {
    let (lag, limit) = (
        measurement.driver.lag_p99_us as f64,
        LAG_FAULT * lag_limit_us(measurement),
    );
    (lag > limit).then(|| {
        let (lag, limit) = (lag / 1e3, limit / 1e3);
        Fault::new(
            FaultCode::Lag,
            format!(
                "the driver's scheduling lag p99 was {lag:.1} ms (limit {limit:.1} ms): keep other \
                 work off its CPUs"
            ),
        )
    })
}

fn mean_lag(measurement: &Measurement) -> Option<Fault> {
    let delay_us = 1e6 * delays_s(measurement)?.0;
    let (lag, limit) = (
        measurement.driver.lag_mean_us,
        LAG_FAULT * MEAN_LAG_FLOOR_US.max(MEAN_LAG_SHARE * delay_us),
    );
    (lag > limit).then(|| {
        let (lag, limit) = (lag / 1e3, limit / 1e3);
        Fault::new(
            FaultCode::Lag,
            format!(
                "the driver's mean scheduling lag was {lag:.1} ms (limit {limit:.1} ms): keep \
                 other work off its CPUs"
            ),
        )
    })
}

fn little(measurement: &Measurement) -> Option<Fault> {
    let (error, limit) = (measurement.driver.little_error, little::limit(measurement)?);
    (error > limit).then(|| {
        let (error, limit) = (error * 100.0, limit * 100.0);
        Fault::new(
            FaultCode::Little,
            format!(
                "Little's law is off by {error:.1} % (limit {limit:.0} %): users were missing or \
                 their times were not recorded right"
            ),
        )
    })
}

/// Every user of a closed load is somewhere, in an act or between two, during the whole window.
fn presence(measurement: &Measurement) -> Option<Fault> {
    let expected_s = users(measurement) * window_s(measurement);
    let spent_s: f64 = measurement
        .guests
        .iter()
        .map(|guest| guest.busy_s + guest.idle_s)
        .sum();
    let absent = (spent_s - expected_s).abs() > PRESENCE_LIMIT * expected_s;
    (absent && measurement.mode == Mode::Closed && measurement.aborted.is_none()).then(|| {
        let share = 100.0 * spent_s / expected_s;
        Fault::new(
            FaultCode::Presence,
            format!(
                "the users were there for {share:.1} % of the window (limit 2 % off): some came \
                 late or went away"
            ),
        )
    })
}

/// Only think pacing accuses the driver: a cycle that is not kept is the server's slowness.
fn pacing(measurement: &Measurement) -> Option<Fault> {
    let (drawn, actual) = delays_s(measurement).filter(|(drawn, _)| *drawn > 0.001)?;
    let off = (actual - drawn).abs();
    let kept =
        measurement.pacing == Pacing::Cycle || off <= PACING_FLOOR_S.max(PACING_LIMIT * drawn);
    (!kept).then(|| {
        let (drawn, actual, off) = (drawn * 1e3, actual * 1e3, 100.0 * off / drawn);
        Fault::new(
            FaultCode::Pacing,
            format!(
                "think times were {actual:.1} ms on average instead of {drawn:.1} ms ({off:.1} %, \
                 limit 2 %)"
            ),
        )
    })
}

fn unconnected(measurement: &Measurement) -> Option<Fault> {
    let users = measurement.driver.unconnected_users;
    (users > 0).then(|| {
        Fault::new(
            FaultCode::Unconnected,
            match users {
                1 => "1 user never connected".to_owned(),
                users => format!("{users} users never connected"),
            },
        )
    })
}

fn own_errors(measurement: &Measurement) -> Option<Fault> {
    let count = errors(measurement, |class, _| class == ErrorClass::Driver);
    (count > 0).then(|| {
        Fault::new(
            FaultCode::DriverErrors,
            format!("{count} operations failed by a fault of the driver itself"),
        )
    })
}

/// The driver ran out of ports or descriptors: the server never saw these requests.
fn exhausted(measurement: &Measurement) -> Option<Fault> {
    let ours = |class, sub: &str| {
        class == ErrorClass::Connect && ["local-port-exhausted", "fd-limit"].contains(&sub)
    };
    let count = errors(measurement, ours);
    (count > 0).then(|| {
        Fault::new(
            FaultCode::Exhausted,
            format!(
                "{count} connections failed because the driver ran out of local \
                                 ports or file descriptors"
            ),
        )
    })
}

fn errors(measurement: &Measurement, of: impl Fn(ErrorClass, &str) -> bool) -> u64 {
    let tallies = measurement.guests.iter().flat_map(|guest| &guest.errors);
    tallies
        .filter(|tally| of(tally.class, &tally.sub_class))
        .map(|tally| tally.count)
        .sum()
}

/// Warning limit of the scheduling lag p99, us: 2 ms or 1 % of the mean response time.
fn lag_limit_us(measurement: &Measurement) -> f64 {
    LAG_FLOOR_US.max(LAG_SHARE * service_moments(measurement).map_or(0.0, |[mean, ..]| 1e6 * mean))
}

fn window_s(measurement: &Measurement) -> f64 {
    measurement.window.end_s - measurement.window.start_s
}

fn users(measurement: &Measurement) -> f64 {
    measurement
        .guests
        .iter()
        .map(|guest| f64::from(guest.users))
        .sum()
}

fn is_short(measurement: &Measurement) -> bool {
    cycle_s(measurement).is_some_and(|cycle_s| window_s(measurement) < CYCLES * cycle_s)
}

/// Mean of the time of an act, s, of its square and of its cube: an order where there are any, else
/// any operation. Acts that never ended are left out: what a trial that stood still measured must
/// not widen what a healthy trial may be off.
fn service_moments(measurement: &Measurement) -> Option<[f64; 3]> {
    let (mut count, mut sums) = (0.0, [0.0; 3]);
    for operation in measurement
        .guests
        .iter()
        .flat_map(GuestMeasurement::cycle_operations)
    {
        let (service, unfinished) = (&operation.service, operation.unfinished);
        let Some(moments) = service.moments_us(unfinished) else {
            continue;
        };
        let ended = service.count().saturating_sub(unfinished) as f64;
        count += ended;
        for (sum, (moment, power)) in sums.iter_mut().zip(moments.into_iter().zip(1..)) {
            *sum += ended * moment / 1e6f64.powi(power);
        }
    }
    (count > 0.0).then(|| sums.map(|sum| sum / count))
}

fn cycles(measurement: &Measurement) -> u64 {
    measurement
        .guests
        .iter()
        .flat_map(GuestMeasurement::cycle_operations)
        .map(|operation| operation.completed)
        .sum()
}

/// Mean drawn and actual delay over all guests, weighted by their cycles, s.
fn delays_s(measurement: &Measurement) -> Option<(f64, f64)> {
    let (mut weight, mut drawn, mut actual) = (0.0, 0.0, 0.0);
    for guest in &measurement.guests {
        let cycles = guest
            .cycle_operations()
            .map(|operation| operation.completed)
            .sum::<u64>()
            .max(1) as f64;
        if let (Some(drawn_s), Some(actual_s)) =
            (guest.drawn_delay_mean_s, guest.actual_delay_mean_s)
        {
            weight += cycles;
            drawn += cycles * drawn_s;
            actual += cycles * actual_s;
        }
    }
    (weight > 0.0).then(|| (drawn / weight, actual / weight))
}

/// Mean time from one order to the next of one user, s.
fn cycle_s(measurement: &Measurement) -> Option<f64> {
    let [service_s, ..] = service_moments(measurement)?;
    let delay_s = delays_s(measurement).map_or(0.0, |(_, actual)| actual);
    Some(match measurement.pacing {
        Pacing::Think => service_s + delay_s,
        Pacing::Cycle => service_s.max(delay_s),
        Pacing::Arrivals => service_s,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use rookery_workload::{
        Counters,
        dvdstore::{ORDER, ShopCounters},
    };

    use super::*;
    use crate::{DriverQuality, ErrorTally, Latencies, Mode, OperationMeasurement, Window};

    /// Ten users, 60 s, order time 0.15 s, think time 0.45 s: 1000 orders.
    pub(crate) fn healthy() -> Measurement {
        let mut service = Latencies::new();
        (0..1_000).for_each(|_| service.record_us(150_000));
        let order = OperationMeasurement {
            name: ORDER.to_owned(),
            started: 1_000,
            completed: 1_000,
            succeeded: 1_000,
            failed: 0,
            unfinished: 0,
            response: service.clone(),
            service,
        };
        let guest = GuestMeasurement {
            guest: "g1".to_owned(),
            users: 10,
            operations: vec![order],
            series: Vec::new(),
            errors: Vec::new(),
            counters: Counters::Dvdstore(ShopCounters::default()),
            busy_s: 150.0,
            idle_s: 450.0,
            drawn_delay_mean_s: Some(0.45),
            actual_delay_mean_s: Some(0.451),
        };
        Measurement {
            mode: Mode::Closed,
            pacing: Pacing::Think,
            window: Window {
                start_s: 10.0,
                end_s: 70.0,
            },
            guests: vec![guest],
            driver: DriverQuality {
                cpus: vec![1],
                cpu_share: 0.2,
                lag_mean_us: 900.0,
                lag_p99_us: 1_900,
                ..DriverQuality::default()
            },
            aborted: None,
        }
    }

    fn tally(class: ErrorClass, sub_class: &str) -> ErrorTally {
        ErrorTally {
            class,
            sub_class: sub_class.to_owned(),
            count: 3,
            examples: Vec::new(),
        }
    }

    /// A change to a healthy trial, and a piece of the only fault that it must raise; `None` =
    /// none.
    type Case = (fn(&mut Measurement), Option<&'static str>);

    #[test]
    fn each_rule_fires_beyond_its_limit_and_not_before() {
        let cases: [Case; 25] = [
            (|_| {}, None),
            (|m| m.driver.cpu_share = 0.8, None),
            (|m| m.driver.cpu_share = 0.81, Some("81 % of its CPUs")),
            (|m| m.driver.lag_p99_us = 10_000, None),
            (|m| m.driver.lag_p99_us = 10_001, Some("scheduling lag p99")),
            // 1 % of a mean order of 1 s is 10 ms: five times that is allowed.
            (
                |m| {
                    (0..100_000)
                        .for_each(|_| m.guests[0].operations[0].service.record_us(1_000_000));
                    m.driver.lag_p99_us = 45_000;
                },
                None,
            ),
            (|m| m.driver.lag_mean_us = 11_250.0, None),
            (
                |m| m.driver.lag_mean_us = 11_300.0,
                Some("mean scheduling lag"),
            ),
            (|m| m.driver.little_error = 0.019, None),
            (|m| m.driver.little_error = 0.021, Some("Little's law")),
            (
                |m| {
                    m.guests[0].operations[0].completed = 999;
                    m.driver.little_error = 0.049;
                },
                None,
            ),
            (
                |m| {
                    m.guests[0].operations[0].completed = 999;
                    m.driver.little_error = 0.051;
                },
                Some("Little's law"),
            ),
            (|m| m.guests[0].actual_delay_mean_s = Some(0.458), None),
            (
                |m| m.guests[0].actual_delay_mean_s = Some(0.46),
                Some("instead of 450.0 ms"),
            ),
            (
                |m| m.guests[0].actual_delay_mean_s = Some(0.44),
                Some("instead of 450.0 ms"),
            ),
            (
                |m| {
                    m.pacing = Pacing::Cycle;
                    m.guests[0].actual_delay_mean_s = Some(0.9);
                },
                None,
            ),
            (
                |m| {
                    (
                        m.guests[0].drawn_delay_mean_s,
                        m.guests[0].actual_delay_mean_s,
                    ) = (Some(0.02), Some(0.0215))
                },
                None,
            ),
            (
                |m| {
                    (
                        m.guests[0].drawn_delay_mean_s,
                        m.guests[0].actual_delay_mean_s,
                    ) = (Some(0.0), Some(0.9))
                },
                None,
            ),
            // In 4 s even an error of 9 % may be chance.
            (
                |m| {
                    m.window.end_s = 14.0;
                    (m.guests[0].busy_s, m.guests[0].idle_s) = (10.0, 30.0);
                    m.driver.little_error = 0.09;
                },
                None,
            ),
            (|m| m.guests[0].idle_s -= 11.0, None),
            (
                |m| m.guests[0].idle_s -= 13.0,
                Some("there for 97.8 % of the window"),
            ),
            (
                |m| m.driver.unconnected_users = 1,
                Some("1 user never connected"),
            ),
            (
                |m| {
                    m.guests[0]
                        .errors
                        .push(tally(ErrorClass::Driver, "no-connection"))
                },
                Some("fault of the driver itself"),
            ),
            (
                |m| {
                    m.guests[0]
                        .errors
                        .push(tally(ErrorClass::Connect, "fd-limit"))
                },
                Some("ran out of local ports"),
            ),
            (
                |m| {
                    m.guests[0]
                        .errors
                        .push(tally(ErrorClass::Connect, "refused"))
                },
                None,
            ),
        ];
        for (number, (change, expected)) in cases.into_iter().enumerate() {
            let mut measurement = healthy();
            change(&mut measurement);
            let faults = faults(&measurement);
            match expected {
                None => assert!(faults.is_empty(), "case {number}: {faults:?}"),
                Some(part) => assert!(
                    faults.len() == 1 && faults[0].text.contains(part),
                    "case {number}: {faults:?}"
                ),
            }
        }
    }

    #[test]
    fn warnings_come_before_faults() {
        assert_eq!(warnings(&healthy()), Vec::<String>::new());
        let mut measurement = healthy();
        measurement.driver.cpu_share = 0.75;
        measurement.driver.run_queue_share = 0.05;
        measurement.driver.lag_p99_us = 3_000;
        measurement.window.end_s = 15.0;
        (measurement.guests[0].busy_s, measurement.guests[0].idle_s) = (12.5, 37.5);
        assert_eq!(
            warnings(&measurement).len(),
            5,
            "{:?}",
            warnings(&measurement)
        );
        assert_eq!(faults(&measurement), Vec::<Fault>::new());
    }
}
