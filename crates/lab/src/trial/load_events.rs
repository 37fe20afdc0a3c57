//! What listeners are told of a load, second by second.

use std::sync::{Mutex, PoisonError};

use rookery_cast::{count_u32, truncate_u32};
use rookery_driver::{GuestSecond, LoadSecond, Phases, Progress};
use rookery_monitor::LoadState;
use rookery_stats::{ResourceSample, SecondSample};

use super::context::{TrialContext, TrialRunner};
use crate::{
    event::{
        Event, GroupDetail, GuestDetail, Listener, LoadDetail, LoadLimit, LoadedGroup, LoadedGuest,
        MOST_TOLD,
    },
    guest_set::GuestSet,
};

/// Bytes that the details of one trial take at most as JSON, about: readers keep them.
const DETAIL_BYTES: f64 = 1_250_000.0;
/// Bytes of a detail, of each of its groups, and of each guest, about.
const BYTES_OF_ALL: f64 = 160.0;
const BYTES_OF_GROUP: f64 = 160.0;
const BYTES_OF_GUEST: f64 = 32.0;

/// Tells of the load of a trial. Each of its groups has a driver of its own; the first one's is the
/// clock of all.
pub(super) struct LoadReporter<'a> {
    trial: u32,
    phases: Phases,
    listener: &'a Listener<'a>,
    host_cpus: f64,
    driver_cpus: u32,
    groups: Vec<LoadedGroup>,
    every_s: u32,
    said: Mutex<Said>,
}

/// What each group said last.
struct Said {
    rates: Vec<Rates>,
    seconds: Vec<Option<LoadSecond>>,
    /// The second of the first group that was told last.
    told: Option<u32>,
}

/// How a group does.
#[derive(Clone, Copy, Default)]
struct Rates {
    requests_per_s: f64,
    errors_per_s: f64,
    arrivals_per_s: Option<f64>,
    active_users: u32,
}

impl<'a> LoadReporter<'a> {
    /// For the groups of a trial that have users.
    pub(super) fn new(
        runner: &TrialRunner<'a>,
        trial: &TrialContext<'_>,
        guests: &GuestSet<'_>,
        phases: Phases,
        driver_cpus: u32,
    ) -> Self {
        let groups: Vec<LoadedGroup> = trial
            .loaded()
            .map(|group| {
                let info = group.study.workload.kind().info();
                let operation = info.main_operation();
                let named = guests.guests()[group.range()].iter();
                let users = group.point.each_guest().map(|guest| guest.users());
                let told = named
                    .zip(users)
                    .take(MOST_TOLD)
                    .map(|(guest, users)| LoadedGuest {
                        name: guest.name().to_owned(),
                        users,
                    });
                LoadedGroup {
                    name: group.name().to_owned(),
                    operation: operation.to_owned(),
                    units: info.unit.plural.to_owned(),
                    limits: limits(group.study, operation),
                    guests: told.collect(),
                    guests_in_all: group.point.guests(),
                }
            })
            .collect();
        let count = groups.len();
        Self {
            trial: trial.trial.id,
            listener: runner.context.listener,
            host_cpus: runner.host.cpus,
            driver_cpus,
            every_s: every_s(&groups, phases.load_end().as_secs_f64()),
            phases,
            groups,
            said: Mutex::new(Said {
                rates: vec![Rates::default(); count],
                seconds: vec![None; count],
                told: None,
            }),
        }
    }

    /// The users are about to begin.
    pub(super) fn started(&self) {
        (self.listener)(&Event::LoadStarted {
            trial: self.trial,
            window_start_s: self.phases.window_start().as_secs_f64(),
            window_end_s: self.phases.window_end().as_secs_f64(),
            total_s: self.phases.load_end().as_secs_f64(),
            driver_cpus: self.driver_cpus,
            host_cpus: self.host_cpus,
            detail_every_s: self.every_s,
            groups: self.groups.clone(),
        });
    }

    /// Takes in the progress of the group at `place`.
    pub(super) fn tell(&self, place: usize, own: Progress, state: &LoadState) {
        let event = {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(rates) = said.rates.get_mut(place) {
                *rates = Rates {
                    requests_per_s: own.requests_per_s,
                    errors_per_s: own.errors_per_s,
                    arrivals_per_s: own.arrivals_per_s,
                    active_users: own.active_users,
                };
            }
            if let (Some(known), Some(last)) =
                (said.seconds.get_mut(place), own.seconds.last().cloned())
            {
                *known = Some(last);
            }
            if place > 0 {
                return;
            }
            self.event(&own, &mut said, state)
        };
        (self.listener)(&event);
    }

    fn event(&self, own: &Progress, said: &mut Said, state: &LoadState) -> Event {
        let arrivals: Vec<f64> = said
            .rates
            .iter()
            .filter_map(|rates| rates.arrivals_per_s)
            .collect();
        Event::Load {
            trial: self.trial,
            phase: own.phase.to_string(),
            elapsed_s: own.elapsed.as_secs_f64(),
            total_s: self.phases.load_end().as_secs_f64(),
            requests_per_s: said.rates.iter().map(|rates| rates.requests_per_s).sum(),
            errors_per_s: said.rates.iter().map(|rates| rates.errors_per_s).sum(),
            offered_per_s: (!arrivals.is_empty()).then(|| arrivals.iter().sum()),
            active_users: said.rates.iter().map(|rates| rates.active_users).sum(),
            detail: self.detail(said, &state.latest_usage()).map(Box::new),
        }
    }

    /// The newest second of all groups, where it is one that is told and was not.
    fn detail(&self, said: &mut Said, usage: &[ResourceSample]) -> Option<LoadDetail> {
        let second = said.seconds.first()?.as_ref()?.second;
        let due = said
            .told
            .is_none_or(|told| second >= told.saturating_add(self.every_s));
        if !due {
            return None;
        }
        said.told = Some(second);
        let usage_of = |subject: &str| usage.iter().find(|sample| sample.subject == subject);
        let cores = |subject: &str| usage_of(subject).map(|sample| rounded(sample.cpu_cores));
        let groups = self.groups.iter().zip(&said.seconds);
        let groups = groups.map(|(group, second)| group_detail(group, second.as_ref(), &cores));
        let lags = said
            .seconds
            .iter()
            .flatten()
            .map(|second| second.lag_p99_us);
        Some(LoadDetail {
            second,
            lag_p99_us: lags.max().unwrap_or(0),
            driver_cores: cores("driver"),
            host_cores: cores("host"),
            host_mib: usage_of("host").map(|sample| sample.memory_bytes >> 20),
            groups: groups.collect(),
        })
    }
}

fn group_detail(
    group: &LoadedGroup,
    second: Option<&LoadSecond>,
    cores: &dyn Fn(&str) -> Option<f64>,
) -> GroupDetail {
    let all = second.map(|second| second.all).unwrap_or_default();
    let faults = second.map_or(&[][..], |second| &second.faults);
    let faults = faults.iter().map(|fault| {
        let name = format!("{}: {}", fault.class.name(), fault.sub_class);
        (name, fault.count)
    });
    let of = |place: usize| -> GuestSecond {
        let guests = second.map_or(&[][..], |second| &second.guests);
        guests.get(place).copied().unwrap_or_default()
    };
    let guests = group.guests.iter().enumerate().map(|(place, guest)| {
        let own = of(place);
        GuestDetail(
            own.requests.requests,
            own.requests.orders,
            own.requests.errors,
            percentile_ms(&own.main, own.main.p95_us),
            cores(&guest.name),
        )
    });
    GroupDetail {
        requests: all.requests.requests,
        units: all.requests.orders,
        errors: all.requests.errors,
        p50_ms: percentile_ms(&all.main, all.main.p50_us),
        p95_ms: percentile_ms(&all.main, all.main.p95_us),
        faults: faults.collect(),
        guests: guests.collect(),
    }
}

/// A percentile in ms, where there is one.
fn percentile_ms(of: &SecondSample, us: u64) -> Option<f64> {
    (of.requests > 0).then(|| us as f64 / 1_000.0)
}

/// To the thousandth: more digits would only be bytes.
fn rounded(cores: f64) -> f64 {
    (1_000.0 * cores).round() / 1_000.0
}

/// The limits of a study on an operation.
fn limits(study: &rookery_study::Study, operation: &str) -> Vec<LoadLimit> {
    let all = study.qos.percentiles.iter();
    let named = |limit: &&rookery_stats::qos::PercentileLimit| {
        limit.operation.as_deref() == Some(operation)
    };
    let own: Vec<_> = all.clone().filter(named).collect();
    let is_whole = !study.workload.kind().info().is_request(operation);
    let every = all.filter(|limit| limit.operation.is_none() && !is_whole);
    let every = every.filter(|limit| own.iter().all(|own| own.percentile != limit.percentile));
    own.iter()
        .copied()
        .chain(every)
        .map(|limit| LoadLimit {
            percentile: limit.percentile,
            limit_ms: limit.limit_us as f64 / 1_000.0,
        })
        .collect()
}

/// Seconds from one detail of a trial to the next.
fn every_s(groups: &[LoadedGroup], total_s: f64) -> u32 {
    let guests = groups.iter().map(|group| group.guests.len()).sum::<usize>();
    let bytes = BYTES_OF_ALL
        + BYTES_OF_GROUP * f64::from(count_u32(groups.len()))
        + BYTES_OF_GUEST * f64::from(count_u32(guests));
    truncate_u32((bytes * total_s / DETAIL_BYTES).ceil()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(guests: usize) -> LoadedGroup {
        LoadedGroup {
            name: String::new(),
            operation: "order".to_owned(),
            units: "orders".to_owned(),
            limits: Vec::new(),
            guests: (0..guests)
                .map(|number| LoadedGuest {
                    name: format!("g{number}"),
                    users: 1,
                })
                .collect(),
            guests_in_all: count_u32(guests),
        }
    }

    #[test]
    fn long_trials_of_many_guests_are_told_in_fewer_steps() {
        assert_eq!(every_s(&[group(2)], 1_800.0), 1);
        assert_eq!(every_s(&[group(64)], 60.0), 1);
        let steps = every_s(&[group(64)], 36_000.0);
        let one = serde_json::to_string(&detail(64))
            .expect("plain data")
            .len();
        let all = one as f64 * 36_000.0 / f64::from(steps);
        assert!(
            (0.3 * DETAIL_BYTES..1.5 * DETAIL_BYTES).contains(&all),
            "{steps}: {all}"
        );
    }

    fn detail(guests: u32) -> LoadDetail {
        LoadDetail {
            second: 1_234,
            groups: vec![GroupDetail {
                requests: 12_345,
                units: 1_234,
                errors: 0,
                p50_ms: Some(12.345),
                p95_ms: Some(123.456),
                faults: Vec::new(),
                guests: (0..guests)
                    .map(|_| GuestDetail(123, 12, 0, Some(123.456), Some(0.987)))
                    .collect(),
            }],
            lag_p99_us: 123,
            driver_cores: Some(0.123),
            host_cores: Some(12.345),
            host_mib: Some(12_345),
        }
    }
}
