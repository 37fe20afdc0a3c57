//! The time series of each trial: throughput, response time, CPU, memory.

use rookery_stats::{GuestMeasurement, Measurement, ResourceSample, SecondSample};
use rookery_study::Study;

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
    /// Memory of each guest, MiB.
    pub memory_mib: Vec<GuestSeries>,
    /// What became of the memory of each guest; of those of which it is told.
    pub guest_memory: Vec<MemorySeries>,
    /// And of the whole host.
    pub host_memory: Option<MemorySeries>,
}

/// What became of the memory of a guest, or of the host: time and value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemorySeries {
    /// Its name.
    pub subject: String,
    /// Memory in swap, MiB.
    pub swap_mib: Vec<(f64, f64)>,
    /// Faults that waited for a disk, per second.
    pub major_faults: Vec<(f64, f64)>,
    /// Pages read again soon after they had been dropped, per second.
    pub refaults: Vec<(f64, f64)>,
    /// Pages that the kernel took to free memory, per second; empty where it does not count them.
    pub reclaimed: Vec<(f64, f64)>,
    /// Share of the time in which a task waited for memory, %; empty where the kernel does not
    /// tell.
    pub pressure: Vec<(f64, f64)>,
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
    run.trials
        .iter()
        .filter_map(|trial| timeline(run, trial))
        .collect()
}

fn timeline(run: &Run, trial: &TrialData) -> Option<Timeline> {
    let record = trial.record.as_ref()?;
    let measured = record.measurement.as_ref()?;
    let window = &measured.window;
    let seconds = Seconds {
        load_end_s: window.end_s + study(run, trial).load.ramp_down.as_secs_f64(),
    };
    Some(Timeline {
        trial: trial.row.trial.id,
        point: trial.row.trial.point,
        window: (window.start_s.is_finite() && window.end_s.is_finite())
            .then_some((window.start_s, window.end_s)),
        requests: summed(measured, &seconds, |sample| f64::from(sample.requests)),
        failures: summed(measured, &seconds, |sample| f64::from(sample.errors)),
        p95_ms: measured
            .guests
            .iter()
            .map(|guest| p95(guest, &seconds))
            .collect(),
        guest_cores: guest_cores(&record.resources),
        driver_cores: cores(&record.resources, DRIVER),
        host_cores: cores(&record.resources, HOST),
        memory_mib: memory_mib(&record.resources),
        guest_memory: guest_names(&record.resources)
            .iter()
            .filter_map(|guest| memory(&record.resources, guest))
            .collect(),
        host_memory: memory(&record.resources, HOST),
    })
}

/// A MiB in bytes.
const MIB: f64 = 1_048_576.0;

/// The names of guests, in the order of their samples.
fn guest_names(resources: &[ResourceSample]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for sample in resources.iter().filter(|sample| cpu::is_guest(sample)) {
        if !names.contains(&sample.subject) {
            names.push(sample.subject.clone());
        }
    }
    names
}

/// The memory of each guest; of those that nobody looked into there is none.
fn memory_mib(resources: &[ResourceSample]) -> Vec<GuestSeries> {
    let series = |guest: String| {
        let own = resources.iter().filter(|sample| sample.subject == guest);
        let values = own.filter(|sample| sample.memory_bytes > 0);
        GuestSeries {
            values: values
                .map(|sample| (tenths(sample.at_s), sample.memory_bytes as f64 / MIB))
                .collect(),
            guest,
        }
    };
    let all = guest_names(resources).into_iter().map(series);
    all.filter(|series| !series.values.is_empty()).collect()
}

fn memory(resources: &[ResourceSample], subject: &str) -> Option<MemorySeries> {
    let mut series = MemorySeries {
        subject: subject.to_owned(),
        ..MemorySeries::default()
    };
    for sample in resources.iter().filter(|sample| sample.subject == subject) {
        let Some(rates) = &sample.memory else {
            continue;
        };
        let at = tenths(sample.at_s);
        series.swap_mib.push((at, rates.swap_bytes as f64 / MIB));
        series.major_faults.push((at, rates.major_faults_per_s));
        series.refaults.push((at, rates.refaults_per_s));
        let reclaimed = rates.reclaim.map(|reclaim| (at, reclaim.reclaimed_per_s));
        series.reclaimed.extend(reclaimed);
        let pressure = rates.pressure.map(|pressure| (at, 100.0 * pressure.some));
        series.pressure.extend(pressure);
    }
    (!series.major_faults.is_empty()).then_some(series)
}

/// The study of a trial's variant.
fn study<'a>(run: &'a Run, trial: &TrialData) -> &'a Study {
    let plan = &run.header.plan;
    let point = plan
        .points
        .iter()
        .find(|point| point.id == trial.row.trial.point);
    point
        .and_then(|point| {
            plan.variants
                .iter()
                .find(|variant| variant.id == point.variant)
        })
        .map_or(&run.header.study, |variant| &variant.study)
}

/// Where the values of seconds lie. The load rarely ends with a second: the rest of its last one is
/// empty, or holds what was still under way.
struct Seconds {
    /// When users stop, seconds since the common start.
    load_end_s: f64,
}

/// Shorter parts of a second say nothing.
const SHORTEST_PART_S: f64 = 0.25;

impl Seconds {
    /// How much of a second had load: all of it before the end, and after it, where answers to what
    /// was under way come in.
    fn covered(&self, second: u32) -> Option<f64> {
        let part = self.load_end_s - f64::from(second);
        if !(0.0..1.0).contains(&part) {
            return Some(1.0);
        }
        (part >= SHORTEST_PART_S).then_some(part)
    }

    /// The middle of what it covers.
    fn middle(&self, second: u32) -> Option<f64> {
        Some(f64::from(second) + self.covered(second)? / 2.0)
    }
}

/// Sums over guests, by second, as rates.
fn summed(
    measured: &Measurement,
    seconds: &Seconds,
    value: impl Fn(&SecondSample) -> f64,
) -> Vec<(f64, f64)> {
    let mut sums = std::collections::BTreeMap::new();
    for sample in measured.guests.iter().flat_map(|guest| &guest.series) {
        *sums.entry(sample.second).or_insert(0.0) += value(sample);
    }
    rates(sums, seconds)
}

fn rates(sums: std::collections::BTreeMap<u32, f64>, seconds: &Seconds) -> Vec<(f64, f64)> {
    sums.into_iter()
        .filter_map(|(second, sum)| Some((seconds.middle(second)?, sum / seconds.covered(second)?)))
        .collect()
}

/// p95 of the seconds in which a guest answered.
fn p95(guest: &GuestMeasurement, seconds: &Seconds) -> GuestSeries {
    let answered = guest.series.iter().filter(|sample| sample.requests > 0);
    GuestSeries {
        guest: guest.guest.clone(),
        values: answered
            .filter_map(|sample| {
                Some((
                    seconds.middle(sample.second)?,
                    sample.p95_us as f64 / 1000.0,
                ))
            })
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

/// A line of at most `most` points that looks like the whole: of each of equal parts the smallest
/// and the largest value, at their own times. A line of two points or fewer stays whole.
#[must_use]
pub fn envelope(values: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if values.len() <= most.max(2) {
        return values.to_vec();
    }
    let part = values.len().div_ceil(most.max(2) / 2);
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
        let drawn = envelope(&values, 1000);
        assert!(drawn.len() <= 1000, "{}", drawn.len());
        assert!(drawn.contains(&(456_789.0, 99.0)) && drawn.contains(&(7.0, -5.0)));
        assert!(drawn.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(envelope(&values[..1000], 1000), values[..1000]);
    }

    #[test]
    fn the_last_second_counts_for_what_it_covers() {
        let ending = |load_end_s| {
            let sums = [(13, 200.0), (14, 200.0), (15, 100.0), (16, 3.0)];
            rates(sums.into_iter().collect(), &Seconds { load_end_s })
        };
        assert_eq!(
            ending(15.5),
            [(13.5, 200.0), (14.5, 200.0), (15.25, 200.0), (16.5, 3.0)],
            "no collapse where the load ends"
        );
        assert_eq!(
            ending(15.02),
            [(13.5, 200.0), (14.5, 200.0), (16.5, 3.0)],
            "two hundredths of a second say nothing"
        );
        assert_eq!(ending(f64::NAN).len(), 4);
    }
}
