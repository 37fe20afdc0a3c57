//! The time series of each trial: throughput, response time, CPU.

use rookery_stats::{GuestMeasurement, Measurement, ResourceSample, SecondSample};

use crate::{
    Run, TrialData,
    cpu::{self, DRIVER, HOST},
};

/// A trial second by second. Times are seconds since the common start.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Number of the trial.
    pub trial: u32,
    /// Number of its point.
    pub point: u32,
    /// Begin and end of the window that counts; `None` where it has none.
    pub window: Option<(f64, f64)>,
    /// Requests per second of all guests: time, value.
    pub requests: Vec<(f64, f64)>,
    /// Failed requests per second of all guests.
    pub failures: Vec<(f64, f64)>,
    /// p95 of the requests completed in each second, ms, of each guest.
    pub p95_ms: Vec<GuestSeries>,
    /// Cores that all guests used.
    pub guest_cores: Vec<(f64, f64)>,
    /// Cores that the driver used.
    pub driver_cores: Vec<(f64, f64)>,
    /// Cores that the whole host used.
    pub host_cores: Vec<(f64, f64)>,
}

/// A series of a guest.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestSeries {
    /// Its name.
    pub guest: String,
    /// Time and value.
    pub values: Vec<(f64, f64)>,
}

/// One for each trial that was measured, void ones included.
#[must_use]
pub fn timelines(run: &Run) -> Vec<Timeline> {
    run.trials.iter().filter_map(timeline).collect()
}

fn timeline(trial: &TrialData) -> Option<Timeline> {
    let record = trial.record.as_ref()?;
    let measured = record.measurement.as_ref()?;
    let window = &measured.window;
    Some(Timeline {
        trial: trial.row.trial.id,
        point: trial.row.trial.point,
        window: (window.start_s.is_finite() && window.end_s.is_finite())
            .then_some((window.start_s, window.end_s)),
        requests: summed(measured, |sample| f64::from(sample.requests)),
        failures: summed(measured, |sample| f64::from(sample.errors)),
        p95_ms: measured.guests.iter().map(p95).collect(),
        guest_cores: guest_cores(&record.resources),
        driver_cores: cores(&record.resources, DRIVER),
        host_cores: cores(&record.resources, HOST),
    })
}

/// Sums over guests, by second.
fn summed(measured: &Measurement, value: impl Fn(&SecondSample) -> f64) -> Vec<(f64, f64)> {
    let mut sums = std::collections::BTreeMap::new();
    for sample in measured.guests.iter().flat_map(|guest| &guest.series) {
        *sums.entry(sample.second).or_insert(0.0) += value(sample);
    }
    sums.into_iter()
        .map(|(second, sum)| (f64::from(second), sum))
        .collect()
}

/// p95 of the seconds in which a guest answered.
fn p95(guest: &GuestMeasurement) -> GuestSeries {
    let answered = guest.series.iter().filter(|sample| sample.requests > 0);
    GuestSeries {
        guest: guest.guest.clone(),
        values: answered
            .map(|sample| (f64::from(sample.second), sample.p95_us as f64 / 1000.0))
            .collect(),
    }
}

fn cores(resources: &[ResourceSample], subject: &str) -> Vec<(f64, f64)> {
    resources
        .iter()
        .filter(|sample| sample.subject == subject && sample.cpu_cores.is_finite())
        .map(|sample| (tenths(sample.at_s), sample.cpu_cores))
        .collect()
}

fn guest_cores(resources: &[ResourceSample]) -> Vec<(f64, f64)> {
    let mut guests: Vec<(f64, f64)> = resources
        .iter()
        .filter(|sample| cpu::is_guest(sample) && sample.cpu_cores.is_finite())
        .map(|sample| (tenths(sample.at_s), sample.cpu_cores))
        .collect();
    guests.sort_by(|a, b| a.0.total_cmp(&b.0));
    guests.dedup_by(|next, sum| {
        let same = next.0 == sum.0;
        sum.1 += if same { next.1 } else { 0.0 };
        same
    });
    guests
}

/// Most points of a line; a longer one is drawn by less.
pub const MOST_POINTS: usize = 1000;

/// A line of at most [`MOST_POINTS`] points that looks like the whole: of each of equal parts the
/// smallest and the largest value, at their own times.
#[must_use]
pub fn envelope(values: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if values.len() <= MOST_POINTS {
        return values.to_vec();
    }
    let part = values.len().div_ceil(MOST_POINTS / 2);
    values
        .chunks(part)
        .flat_map(|part| {
            let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let mut both: Vec<(f64, f64)> =
                [part.iter().min_by(by_value), part.iter().max_by(by_value)]
                    .into_iter()
                    .flatten()
                    .copied()
                    .collect();
            both.sort_by(|a, b| a.0.total_cmp(&b.0));
            both.dedup();
            both
        })
        .collect()
}

/// Samples of one round are taken one after the other; to a tenth of a second they are of the same
/// moment.
fn tenths(at_s: f64) -> f64 {
    (10.0 * at_s).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_extremes() {
        let mut values: Vec<(f64, f64)> = (0..1_000_000)
            .map(|at| (f64::from(at), f64::from(at % 10)))
            .collect();
        values[456_789].1 = 99.0;
        values[7].1 = -5.0;
        let drawn = envelope(&values);
        assert!(drawn.len() <= MOST_POINTS, "{}", drawn.len());
        assert!(drawn.contains(&(456_789.0, 99.0)) && drawn.contains(&(7.0, -5.0)));
        assert!(drawn.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(envelope(&values[..1000]), values[..1000]);
    }
}
