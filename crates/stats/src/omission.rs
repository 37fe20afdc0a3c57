//! What the percentiles of a closed load hide.
//!
//! While a server stands still, a closed load sends nothing: each user waits for its answer. So few
//! operations are slow, however long the server stood, and percentiles over operations hardly see
//! it. The series of seconds does: throughput is missing, and the largest time is as long as the
//! gap.

use rookery_cast::truncate_usize;

use crate::{GuestMeasurement, Latencies, Measurement, Mode};

/// A stop shorter than this is not worth a word, us.
const SHORTEST_US: u64 = 100_000;
/// A stop is so many times longer than what 99 % of the operations took.
const STANDS_OUT: u64 = 5;
/// Part of a stop's length for which throughput must be missing: one slow operation is no stop.
const MISSING: f64 = 0.5;
/// Requests per second that make a gap in throughput visible.
const FEWEST: f64 = 10.0;
/// Largest times of two seconds that differ by less than this share of them belong to one stop.
const ALIKE: f64 = 0.1;
/// The share of operations that a p99 leaves out.
const LEFT_OUT: f64 = 0.01;

/// A server that stood still under a closed load.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenFreeze {
    /// Name of the guest.
    pub guest: String,
    /// How often it stood still inside the window.
    pub stops: usize,
    /// The longest, s.
    pub longest_s: f64,
    /// All together, s.
    pub total_s: f64,
    /// The p99 of all requests of the closed load, s.
    pub closed_p99_s: f64,
    /// An estimate of the p99 that arrivals independent of the answers would have seen, s.
    ///
    /// They come at every moment alike, and one at the offset u of a stop of length f waits f - u:
    /// the share sum((f - x)+) / T of them waits longer than x, which is 1 % at this x. It leaves
    /// out the queue that such arrivals would have left behind.
    pub open_p99_s: f64,
}

impl HiddenFreeze {
    /// In words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let times = match self.stops {
            1 => "once".to_owned(),
            stops => format!("{stops} times"),
        };
        format!(
            "{}: the p99 of {:.0} ms hides that the server stood still {times}, for up to {:.2} s \
             and {:.2} s in all: the users of a closed \
             load wait and send nothing meanwhile. Arrivals that do not wait would have seen a p99 \
             of about {:.0} ms (estimate); drive an \
             open load to measure it",
            self.guest,
            1e3 * self.closed_p99_s,
            self.longest_s,
            self.total_s,
            1e3 * self.open_p99_s
        )
    }
}

/// The guests of a closed load whose p99 hides that they stood still; none of an open load, whose
/// percentiles show it.
///
/// A stop ends in a second whose largest time stands out and before which throughput is missing, or
/// it reaches the end of the window. A
/// p99 hides stops that are longer than twice itself and that more than 1 % of independent arrivals
/// would have met.
#[must_use]
pub fn hidden_freezes(measurement: &Measurement) -> Vec<HiddenFreeze> {
    if measurement.mode != Mode::Closed {
        return Vec::new();
    }
    let window = &measurement.window;
    measurement
        .guests
        .iter()
        .filter_map(|guest| of_guest(guest, window.start_s, window.end_s))
        .collect()
}

fn of_guest(guest: &GuestMeasurement, start_s: f64, end_s: f64) -> Option<HiddenFreeze> {
    let mut all = Latencies::new();
    guest
        .requests()
        .for_each(|operation| all.merge(&operation.service));
    let p99_us = all.percentile_us(99.0)?;
    let stops_s = stops(
        guest,
        (start_s, end_s),
        SHORTEST_US.max(STANDS_OUT * p99_us),
    );
    let open_p99_s = exceeded_by(&stops_s, LEFT_OUT * (end_s - start_s))?;
    (open_p99_s > 2e-6 * p99_us as f64).then(|| HiddenFreeze {
        guest: guest.guest.clone(),
        stops: stops_s.len(),
        longest_s: stops_s.iter().copied().fold(0.0, f64::max),
        total_s: stops_s.iter().sum(),
        closed_p99_s: 1e-6 * p99_us as f64,
        open_p99_s,
    })
}

/// Lengths of the stops that end inside the window, s; and of one that does not, what of it lies
/// inside in whole seconds.
fn stops(guest: &GuestMeasurement, (start_s, end_s): (f64, f64), least_us: u64) -> Vec<f64> {
    let whole = |second: u32| f64::from(second) >= start_s && f64::from(second) + 1.0 <= end_s;
    let mut rates: Vec<u32> = guest
        .series
        .iter()
        .filter(|sample| whole(sample.second) && sample.requests > 0)
        .map(|sample| sample.requests)
        .collect();
    rates.sort_unstable();
    let usual = rates.get(rates.len() / 2).copied().map_or(0.0, f64::from);
    if usual < FEWEST {
        return Vec::new();
    }
    // Before the window fewer users are there, or colder servers: what is missing then is no stop.
    let first = guest
        .series
        .iter()
        .position(|sample| whole(sample.second))
        .unwrap_or(0);
    let mut stops: Vec<(u32, f64)> = Vec::new();
    for (index, sample) in guest
        .series
        .iter()
        .enumerate()
        .filter(|(_, sample)| whole(sample.second))
    {
        let length_s = 1e-6 * sample.max_us as f64;
        let seconds = &guest.series[index
            .saturating_sub(truncate_usize(length_s.ceil()))
            .max(first)..=index];
        let missing_s: f64 = seconds
            .iter()
            .map(|sample| (1.0 - f64::from(sample.requests) / usual).max(0.0))
            .sum();
        if sample.max_us < least_us || missing_s < MISSING * length_s {
            continue;
        }
        // Those that waited for the same stop may be answered on both sides of a full second.
        match stops.last_mut() {
            Some((second, longest_s))
                if *second + 1 == sample.second
                    && (*longest_s - length_s).abs() < ALIKE * length_s =>
            {
                (*second, *longest_s) = (sample.second, longest_s.max(length_s));
            }
            _ => stops.push((sample.second, length_s)),
        }
    }
    let mut stops: Vec<f64> = stops.into_iter().map(|(_, length_s)| length_s).collect();
    let last = guest
        .series
        .iter()
        .rfind(|sample| whole(sample.second) && sample.requests > 0);
    let silent_s = last.map_or(0.0, |last| end_s.floor() - f64::from(last.second) - 1.0);
    if silent_s * 1e6 >= least_us as f64 {
        stops.push(silent_s);
    }
    stops
}

/// The time x for which the stops exceed x by `beyond_s` together; `None` when they do not even
/// reach that.
fn exceeded_by(stops_s: &[f64], beyond_s: f64) -> Option<f64> {
    let mut longest: Vec<f64> = stops_s.to_vec();
    longest.sort_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    for (index, length_s) in longest.iter().enumerate() {
        sum += length_s;
        // If exactly these are longer than x, x is their mean without what lies beyond.
        let x = (sum - beyond_s) / (index + 1) as f64;
        let next = longest.get(index + 1).copied().unwrap_or(0.0);
        if x >= next && x > 0.0 {
            return Some(x);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SecondSample, faults::tests::healthy};

    /// Ten seconds of a server with 6400 requests/s of 10 ms each, and what is different in some of
    /// them: (second, requests, largest time).
    fn closed(different: &[(u32, u32, u64)]) -> Measurement {
        let mut measurement = healthy();
        (measurement.window.start_s, measurement.window.end_s) = (1.0, 10.0);
        let guest = &mut measurement.guests[0];
        guest.operations[0].name = "page".to_owned();
        let mut service = Latencies::new();
        (0..50_000).for_each(|_| service.record_us(10_000));
        guest.series = (0..10)
            .map(|second| SecondSample {
                second,
                requests: 6_400,
                max_us: 12_000,
                ..SecondSample::default()
            })
            .collect();
        for &(second, requests, max_us) in different {
            let sample = &mut guest.series[second as usize];
            (sample.requests, sample.max_us) = (requests, max_us);
            (0..64).for_each(|_| service.record_us(max_us));
        }
        guest.operations[0].service = service;
        measurement
    }

    #[test]
    fn a_freeze_of_a_second_is_found_wherever_it_lies() {
        for different in [
            &[(4, 0, 0), (5, 6_400, 1_010_000)][..],
            &[(4, 3_200, 12_000), (5, 3_200, 1_010_000)],
            &[(4, 64, 1_010_000), (5, 6_300, 1_005_000)],
        ] {
            let found = hidden_freezes(&closed(different));
            assert_eq!(found.len(), 1, "{different:?}");
            let freeze = &found[0];
            assert_eq!(freeze.stops, 1, "{different:?}");
            // The truth of an open load is 920 ms; the stop is seen with the service time of 10 ms.
            assert!((freeze.open_p99_s - 0.92).abs() < 1e-9, "{freeze:?}");
        }
    }

    #[test]
    fn a_freeze_up_to_the_end_is_found_with_and_without_rows_of_nothing() {
        let mut silent = closed(&[4, 5, 6, 7, 8, 9].map(|second| (second, 0, 0)));
        let found = hidden_freezes(&silent);
        assert_eq!((found[0].stops, found[0].total_s), (1, 6.0));
        silent.guests[0].series.truncate(4);
        assert_eq!(hidden_freezes(&silent), found);
        silent.window.end_s = 4.7;
        assert_eq!(hidden_freezes(&silent), Vec::new(), "no whole second");
    }

    #[test]
    fn the_words_say_what_is_hidden_and_what_to_do() {
        let found = hidden_freezes(&closed(&[(4, 3_200, 12_000), (5, 3_200, 1_010_000)]));
        let sentence = found[0].sentence();
        assert_eq!(
            sentence,
            "g1: the p99 of 10 ms hides that the server stood still once, for up to 1.01 s and \
             1.01 s in all: the users of a closed load wait and \
             send nothing meanwhile. Arrivals that do not wait would have seen a p99 of about 920 \
             ms (estimate); drive an open load to measure it"
        );
    }

    #[test]
    fn what_is_no_hidden_freeze_gets_no_words() {
        // Nothing; one slow request while all others go on; a stop too short; one that fewer than 1
        // % would have met.
        for different in [
            &[][..],
            &[(5, 6_400, 1_010_000)],
            &[(5, 6_000, 60_000)],
            &[(5, 5_824, 89_000)],
        ] {
            assert_eq!(
                hidden_freezes(&closed(different)),
                Vec::new(),
                "{different:?}"
            );
        }
        // Requests that waited since the ramp-up, when fewer users were there.
        let mut ramp = closed(&[
            (0, 300, 1_000_000),
            (1, 3_000, 2_000_000),
            (2, 5_000, 2_900_000),
        ]);
        ramp.window.start_s = 2.0;
        assert_eq!(hidden_freezes(&ramp), Vec::new());
        let mut open = closed(&[(4, 0, 0), (5, 6_400, 1_010_000)]);
        open.mode = Mode::Open;
        assert_eq!(hidden_freezes(&open), Vec::new(), "its percentiles show it");
        let mut known = closed(&[(4, 0, 0), (5, 6_400, 1_010_000)]);
        (0..5_000).for_each(|_| known.guests[0].operations[0].service.record_us(900_000));
        assert_eq!(hidden_freezes(&known), Vec::new(), "its p99 shows it, too");
    }

    #[test]
    fn several_stops_add_up() {
        assert_eq!(exceeded_by(&[], 0.1), None);
        assert_eq!(
            exceeded_by(&[0.05, 0.04], 0.1),
            None,
            "fewer than 1 % meet them"
        );
        let x = exceeded_by(&[0.3, 1.0, 0.8], 0.4).expect("stops");
        // (1 - 0.7) + (0.8 - 0.7) = 0.4.
        assert!((x - 0.7).abs() < 1e-12, "{x}");
        let found = hidden_freezes(&closed(&[
            (2, 3_200, 500_000),
            (4, 3_200, 510_000),
            (8, 3_000, 505_000),
        ]));
        assert_eq!(found[0].stops, 3);
        assert!((found[0].total_s - 1.515).abs() < 1e-9);
        assert!(found[0].sentence().contains("3 times"));
    }
}
