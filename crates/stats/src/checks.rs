//! Checks of a trial that need more than its measurement: what the mix should have been, clocks,
//! memory, and the steady state.
//!
//! Each gives remarks: a [`Remark::Fault`] voids the trial, as those of
//! [`faults`](crate::faults::faults) do, a [`Remark::Warning`] is what a reader should know.
//! [`trial_checks`](crate::trial_checks) applies all that follow from what is stored of a trial;
//! clocks are the matter of whoever conducts it.
//!
//! Limits are those of established drivers: mix within 2 percentage points of its target (Faban),
//! clocks of nodes within 10 ms (Faban), buffers that grow by less than 10 %.

use rookery_cast::truncate_u32;
use serde::{Deserialize, Serialize};

use crate::{
    Measurement, ResourceSample, Window,
    faults::{Fault, FaultCode},
    steady,
};

/// Largest distance of a share of the mix from its target, as a share of 1.
const MIX_LIMIT: f64 = 0.02;
/// The 99.9 % quantile of the normal distribution: chance alone passes it once in a thousand times.
pub(crate) const Z_999: f64 = 3.090_232;
/// Its quantile that chance alone passes once in a million times. A study tests thousands of rows
/// of mixes that were drawn right, and none of them is to cost it a trial.
const Z_MILLIONTH: f64 = 4.753_424;
/// Fewer expected operations are counted together with others.
const EXPECTED: f64 = 5.0;
/// Clocks of two nodes may differ by this, s, before it is said.
const OFFSET_WARNING_S: f64 = 0.002;
/// Clocks of two nodes may differ by this, s.
const OFFSET_LIMIT_S: f64 = 0.010;
/// A clock that is steered may run so much faster or slower (the kernel's limit: 500 parts in a
/// million).
const SLEW: f64 = 500e-6;
/// Largest growth of the driver's memory over the window.
const GROWTH_LIMIT: f64 = 0.1;
/// Growth that is never worth a word, bytes.
const GROWTH_FLOOR: f64 = 16.0 * 1024.0 * 1024.0;

/// What a check has to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remark {
    /// The trial is void.
    Fault(Fault),
    /// A reader should know.
    Warning(String),
}

impl Remark {
    /// A fault in words, under its code.
    #[must_use]
    pub fn fault(code: FaultCode, text: String) -> Self {
        Self::Fault(Fault::new(code, text))
    }
}

/// Whether operations were drawn in the right shares: `started` counts each operation (failed ones
/// too, so that failures do not bend the mix), `targets` are its shares, which are taken relative
/// to their sum. Empty = right, or nothing was started.
///
/// A fault where a share is more than two percentage points off and chance does not do that once in
/// a million times (chi-square), or where something was started that never should be; a warning
/// where chance alone is unlikely (0.1 %), but possible or the shares are near.
#[must_use]
pub fn mix(started: &[(&str, u64)], targets: &[f64]) -> Vec<Remark> {
    let all = started.iter().map(|(_, count)| *count as f64).sum::<f64>();
    let whole = targets.iter().sum::<f64>();
    if all == 0.0 || started.len() != targets.len() || whole.is_nan() || whole <= 0.0 {
        return Vec::new();
    }
    let rows = || {
        started
            .iter()
            .zip(targets)
            .map(|((name, count), target)| (*name, *count as f64, target / whole))
    };
    if let Some((name, count, _)) = rows().find(|(_, count, share)| *share <= 0.0 && *count > 0.0) {
        return vec![Remark::fault(
            FaultCode::Mix,
            format!("`{name}` was started ({count} x), which the mix never draws"),
        )];
    }
    let cells: Vec<(f64, f64)> = rows()
        .map(|(_, count, share)| (count, share * all))
        .collect();
    let Some(test) = chi_square(cells).filter(|test| test.is_beyond_chance()) else {
        return Vec::new();
    };
    let off = |(_, count, share): &(&str, f64, f64)| (count / all - share).abs();
    let worst = rows().max_by(|a, b| off(a).total_cmp(&off(b)));
    let remark = worst.map(|row| {
        let (name, achieved, target) = (row.0, 100.0 * row.1 / all, 100.0 * row.2);
        match (off(&row) > MIX_LIMIT, test.is_beyond_doubt()) {
            (true, true) => Remark::fault(
                FaultCode::Mix,
                format!(
                    "`{name}` made up {achieved:.1} % of the mix instead of {target:.1} % (limit 2 \
                     points)"
                ),
            ),
            (true, false) => Remark::Warning(format!(
                "`{name}` made up {achieved:.1} % of the mix instead of {target:.1} %, which \
                 chance does less than once in a thousand times, but more than once in a million"
            )),
            (false, _) => Remark::Warning(format!(
                "`{name}` made up {achieved:.2} % of the mix instead of {target:.2} %: more than \
                 chance, less than the limit"
            )),
        }
    });
    remark.into_iter().collect()
}

/// Whether transitions of a Markov mix were drawn right: `counts[i][j]` from operation i to j,
/// `matrix` its weights. Each row as in [`mix`].
#[must_use]
pub fn transitions(names: &[&str], counts: &[Vec<u64>], matrix: &[Vec<f64>]) -> Vec<Remark> {
    let after = |from: &str, remark: Remark| match remark {
        Remark::Fault(fault) => {
            Remark::fault(fault.code, format!("after `{from}`: {}", fault.text))
        }
        Remark::Warning(text) => Remark::Warning(format!("after `{from}`: {text}")),
    };
    let rows = names.iter().zip(counts.iter().zip(matrix));
    let remarks = rows.flat_map(|(from, (counts, targets))| {
        let started: Vec<(&str, u64)> = names.iter().copied().zip(counts.iter().copied()).collect();
        mix(&started, targets)
            .into_iter()
            .map(|remark| after(from, remark))
    });
    remarks.collect()
}

/// A test of counts against the shares that they should have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquare {
    /// Pearson's chi-square.
    pub statistic: f64,
    /// Degrees of freedom, at least 1.
    pub degrees: f64,
    /// What chance alone passes once in a thousand times.
    pub limit: f64,
}

impl ChiSquare {
    /// Whether chance alone is no good reason.
    #[must_use]
    pub fn is_beyond_chance(self) -> bool {
        self.statistic > self.limit
    }

    /// Whether chance alone does that less than once in a million times.
    fn is_beyond_doubt(self) -> bool {
        self.statistic > quantile(self.degrees, Z_MILLIONTH)
    }
}

/// The quantile of chi-square with `degrees` degrees of freedom where the normal distribution has
/// `z`, by Wilson and Hilferty, PNAS 17 (1931) 684: k (1 - 2/(9 k) + z sqrt(2/(9 k)))^3. That is at
/// most a tenth too high for two degrees and more.
fn quantile(degrees: f64, z: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + z * part.sqrt()).powi(3)
}

/// The test of a row of transitions: how often each operation followed, and the probabilities of
/// the row. `None` where fewer than two cells can be told apart.
///
/// ```
/// use rookery_stats::checks::transition_test;
/// let test = transition_test(&[60, 40], &[0.5, 0.5]).expect("two cells");
/// assert_eq!((test.statistic, test.degrees), (4.0, 1.0));
/// assert!(!test.is_beyond_chance());
/// ```
#[must_use]
pub fn transition_test(counts: &[u64], probabilities: &[f64]) -> Option<ChiSquare> {
    let all = counts.iter().map(|count| *count as f64).sum::<f64>();
    let cells = counts
        .iter()
        .zip(probabilities)
        .filter(|(_, probability)| **probability > 0.0)
        .map(|(count, probability)| (*count as f64, probability * all));
    chi_square(cells.collect())
}

/// Pearson's chi-square of (counted, expected) against its 99.9 % quantile. Cells that expect fewer
/// than five are put together.
fn chi_square(cells: Vec<(f64, f64)>) -> Option<ChiSquare> {
    let (small, mut large): (Vec<_>, Vec<_>) = cells
        .into_iter()
        .partition(|(_, expected)| *expected < EXPECTED);
    let rest = small
        .iter()
        .fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
    match large.last_mut() {
        Some(last) if rest.1 < EXPECTED => *last = (last.0 + rest.0, last.1 + rest.1),
        _ => large.push(rest),
    }
    let degrees = large.len() as f64 - 1.0;
    let statistic: f64 = large
        .iter()
        .map(|(count, expected)| (count - expected).powi(2) / expected)
        .sum();
    (degrees > 0.0).then(|| ChiSquare {
        statistic,
        degrees,
        limit: quantile(degrees, Z_999),
    })
}

/// Whether the clocks of two driver nodes agree; `offset_s` is the estimated difference, s.
#[must_use]
pub fn clock_offset(node: &str, offset_s: f64) -> Option<Remark> {
    let ms = offset_s.abs() * 1e3;
    if offset_s.is_nan() || offset_s.abs() > OFFSET_LIMIT_S {
        Some(Remark::fault(
            FaultCode::Clock,
            format!("the clock of {node} is off by {ms:.1} ms (limit 10 ms): synchronise it"),
        ))
    } else {
        (offset_s.abs() > OFFSET_WARNING_S).then(|| {
            Remark::Warning(format!(
                "the clock of {node} is off by {ms:.1} ms (above 2 ms)"
            ))
        })
    }
}

/// Whether the wall clock was set during a trial: seconds that passed by the wall clock and by the
/// monotonic clock. What steering by a time service may do (500 ppm) is no step.
#[must_use]
pub fn clock_step(wall_s: f64, monotonic_s: f64) -> Option<Remark> {
    let step_s = wall_s - monotonic_s;
    let steady = step_s.abs() <= OFFSET_LIMIT_S + SLEW * monotonic_s;
    (!steady).then(|| {
        let ms = step_s * 1e3;
        Remark::fault(FaultCode::Clock, format!(
            "the wall clock was set by {ms:+.0} ms during the trial: series of guests and driver \
             do not fit together"
        ))
    })
}

/// Whether the memory of a subject grew within the window: from the first to the last fifth of it,
/// by more than 10 % and 16 MiB. The driver's growth is a fault (its own buffers slow it down), a
/// guest's or the host's a warning (a leak, or a cache that fills).
#[must_use]
pub fn memory_growth(subject: &str, samples: &[ResourceSample], window: &Window) -> Option<Remark> {
    let fifth = window.seconds() / 5.0;
    let mean = |from: f64, to: f64| {
        let inside = samples
            .iter()
            .filter(|sample| sample.subject == subject && (from..=to).contains(&sample.at_s));
        let (count, sum) = inside.fold((0.0, 0.0), |(count, sum), sample| {
            (count + 1.0, sum + sample.memory_bytes as f64)
        });
        (count > 0.0).then(|| sum / count)
    };
    let before = mean(window.start_s, window.start_s + fifth)?;
    let after = mean(window.end_s - fifth, window.end_s)?;
    let grown = after - before;
    (grown > GROWTH_FLOOR && grown > GROWTH_LIMIT * before).then(|| {
        let (share, mib) = (100.0 * grown / before.max(1.0), grown / (1024.0 * 1024.0));
        let name = if subject == "driver" {
            "the driver"
        } else {
            subject
        };
        let text =
            format!("the memory of {name} grew by {share:.0} % ({mib:.0} MiB) within the window");
        if subject == "driver" {
            Remark::fault(FaultCode::Memory, text)
        } else {
            Remark::Warning(text)
        }
    })
}

/// Whether the trial was in steady state: throughput and median response time, second by second
/// over all guests, judged by [`steady::judge`]. `settle_s` is how many seconds before the window
/// all users were at work already.
#[must_use]
pub fn steadiness(measurement: &Measurement, settle_s: f64) -> Vec<Remark> {
    let Window { start_s, end_s } = measurement.window;
    let inside = truncate_u32(start_s.ceil().max(0.0))..truncate_u32(end_s.floor().max(0.0));
    let from = truncate_u32((start_s - settle_s.max(0.0)).ceil().max(0.0));
    let seconds: Vec<(u32, f64, f64)> = (from..inside.end.max(from))
        .map(|second| second_of(measurement, second))
        .collect();
    let settle = |kept: &[&(u32, f64, f64)]| {
        kept.iter()
            .filter(|(second, ..)| *second < inside.start)
            .count()
    };
    let all: Vec<_> = seconds.iter().collect();
    let answered: Vec<_> = seconds
        .iter()
        .filter(|(_, requests, _)| *requests > 0.0)
        .collect();
    let throughput: Vec<f64> = all.iter().map(|(_, requests, _)| *requests).collect();
    let response: Vec<f64> = answered.iter().map(|(_, _, median)| *median).collect();
    let mut findings = steady::judge(steady::Quantity::Throughput, &throughput, settle(&all));
    // Units of work, not requests: those of one unit come together, which chance must allow for.
    let window: Vec<f64> = inside
        .clone()
        .map(|second| units_of(measurement, second))
        .collect();
    if let Some(change) = steady::halves_apart(&window)
        && !findings.iter().any(steady::Finding::serious)
    {
        findings.push(steady::Finding::HalvesApart { change });
    }
    findings.extend(steady::judge(
        steady::Quantity::Response,
        &response,
        settle(&answered),
    ));
    let remark = |finding: steady::Finding| {
        let text = finding.sentence();
        if finding.serious() {
            Remark::fault(FaultCode::SteadyState, text)
        } else {
            Remark::Warning(text)
        }
    };
    findings.into_iter().map(remark).collect()
}

/// Units of work of all guests in a second.
fn units_of(measurement: &Measurement, second: u32) -> f64 {
    let samples = measurement.guests.iter().flat_map(|guest| &guest.series);
    samples
        .filter(|sample| sample.second == second)
        .map(|sample| f64::from(sample.orders))
        .sum()
}

/// Requests of all guests in a second, and the mean of their medians weighted by requests.
fn second_of(measurement: &Measurement, second: u32) -> (u32, f64, f64) {
    let samples = measurement
        .guests
        .iter()
        .flat_map(|guest| &guest.series)
        .filter(|sample| sample.second == second);
    let (requests, weighted) = samples.fold((0.0, 0.0), |(requests, weighted), sample| {
        let count = f64::from(sample.requests);
        (requests + count, weighted + count * sample.p50_us as f64)
    });
    (
        second,
        requests,
        if requests > 0.0 {
            weighted / requests
        } else {
            0.0
        },
    )
}

#[cfg(test)]
mod tests {
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;
    use crate::{SecondSample, faults::tests::healthy};

    fn text(remarks: &[Remark]) -> String {
        remarks
            .iter()
            .map(|remark| format!("{remark:?}\n"))
            .collect()
    }

    #[test]
    fn a_mix_may_be_off_by_two_points() {
        let of = |login, new, search| {
            mix(
                &[("login", login), ("new-customer", new), ("browse", search)],
                &[0.4, 0.1, 0.5],
            )
        };
        assert_eq!(of(4_000, 1_000, 5_000), Vec::new());
        assert_eq!(of(40, 12, 48), Vec::new(), "chance");
        assert_eq!(of(0, 0, 0), Vec::new());
        let texts = [
            of(4_500, 1_000, 4_500),
            of(40_800, 9_900, 49_300),
            of(60, 10, 30),
            mix(&[("login", 10), ("logout", 1)], &[1.0, 0.0]),
            transitions(
                &["login", "browse"],
                &[vec![0, 900], vec![500, 500]],
                &[vec![0.0, 1.0], vec![0.1, 0.9]],
            ),
        ];
        insta::assert_snapshot!(texts.map(|remarks| text(&remarks)).concat(), @r#"
        Fault(Fault { code: Mix, text: "`browse` made up 45.0 % of the mix instead of 50.0 % (limit 2 points)" })
        Warning("`login` made up 40.80 % of the mix instead of 40.00 %: more than chance, less than the limit")
        Warning("`browse` made up 30.0 % of the mix instead of 50.0 %, which chance does less than once in a thousand times, but more than once in a million")
        Fault(Fault { code: Mix, text: "`logout` was started (1 x), which the mix never draws" })
        Fault(Fault { code: Mix, text: "after `browse`: `browse` made up 50.0 % of the mix instead of 90.0 % (limit 2 points)" })
        "#);
    }

    #[test]
    fn quantiles_are_a_little_above_those_of_tables() {
        for (degrees, z, expected) in [
            (2.0, Z_999, 13.816),
            (4.0, Z_999, 18.467),
            (2.0, Z_MILLIONTH, 27.631),
            (10.0, Z_MILLIONTH, 46.863),
        ] {
            let found = quantile(degrees, z);
            assert!(
                (1.0..1.1).contains(&(found / expected)),
                "{degrees}: {found}"
            );
        }
    }

    #[test]
    fn a_mix_that_is_drawn_right_is_seldom_accused() {
        let mut stream = SplitMix64::new(12);
        let shares = [0.5, 0.3, 0.15, 0.049, 0.001];
        let accused = (0..2_000).filter(|_| {
            let mut counts = [0_u64; 5];
            for _ in 0..500 {
                let mut left = stream.unit();
                let drawn = shares.iter().position(|share| {
                    left -= share;
                    left <= 0.0
                });
                counts[drawn.unwrap_or(4)] += 1;
            }
            let started: Vec<(&str, u64)> =
                ["a", "b", "c", "d", "e"].into_iter().zip(counts).collect();
            !mix(&started, &shares).is_empty()
        });
        let accused = accused.count();
        assert!(accused <= 10, "{accused} of 2000, expected 2");
    }

    #[test]
    fn clocks_may_be_steered_but_not_set() {
        assert_eq!(
            (clock_offset("n2", 0.001), clock_step(60.02, 60.0)),
            (None, None)
        );
        let remarks = [
            clock_offset("n2", -0.003),
            clock_offset("n2", 0.02),
            clock_offset("n2", f64::NAN),
            clock_step(59.0, 60.0),
        ];
        let remarks: Vec<Remark> = remarks.into_iter().flatten().collect();
        insta::assert_snapshot!(text(&remarks), @r#"
        Warning("the clock of n2 is off by 3.0 ms (above 2 ms)")
        Fault(Fault { code: Clock, text: "the clock of n2 is off by 20.0 ms (limit 10 ms): synchronise it" })
        Fault(Fault { code: Clock, text: "the clock of n2 is off by NaN ms (limit 10 ms): synchronise it" })
        Fault(Fault { code: Clock, text: "the wall clock was set by -1000 ms during the trial: series of guests and driver do not fit together" })
        "#);
    }

    #[test]
    fn memory_may_not_grow_in_the_window() {
        let window = Window {
            start_s: 10.0,
            end_s: 60.0,
        };
        let samples = |subject: &str, slope: u64| -> Vec<ResourceSample> {
            let sample = |second: u32| ResourceSample {
                subject: subject.to_owned(),
                at_s: f64::from(second),
                cpu_cores: 1.0,
                memory_bytes: (200 << 20) + u64::from(second) * (slope << 20),
                io: None,
                parts: None,
                throttled_cores: None,
                memory: None,
            };
            (0..70).map(sample).collect()
        };
        assert_eq!(
            memory_growth("driver", &samples("driver", 0), &window),
            None
        );
        assert_eq!(
            memory_growth("driver", &samples("g1", 9), &window),
            None,
            "another's"
        );
        let remarks =
            ["driver", "g1"].map(|subject| memory_growth(subject, &samples(subject, 1), &window));
        let remarks: Vec<Remark> = remarks.into_iter().flatten().collect();
        insta::assert_snapshot!(text(&remarks), @r#"
        Fault(Fault { code: Memory, text: "the memory of the driver grew by 19 % (40 MiB) within the window" })
        Warning("the memory of g1 grew by 19 % (40 MiB) within the window")
        "#);
    }

    #[test]
    fn a_trial_that_slows_down_is_told() {
        let mut stream = SplitMix64::new(13);
        let mut trial = |throughput: fn(f64) -> f64| {
            let mut measurement = healthy();
            measurement.window = Window {
                start_s: 20.0,
                end_s: 120.0,
            };
            let sample = |second: u32| SecondSample {
                second,
                requests: (throughput(f64::from(second)) * (1.0 + 0.02 * stream.normal())) as u32,
                p50_us: 20_000,
                ..SecondSample::default()
            };
            measurement.guests[0].series = (0..130).map(sample).collect();
            steadiness(&measurement, 10.0)
        };
        assert_eq!(trial(|_| 1_000.0), Vec::new());
        assert_eq!(
            trial(|second| 1_000.0 * (second / 10.0).min(1.0)),
            Vec::new(),
            "the ramp-up is not looked at"
        );
        let slow = trial(|second| 1_000.0 - 3.0 * second);
        assert!(
            slow.iter().any(
                |remark| matches!(remark, Remark::Warning(text) if text.contains("drifted by -"))
            ),
            "{slow:?}"
        );
        let late = trial(|second| if second < 50.0 { 500.0 } else { 1_000.0 });
        assert!(
            matches!(&late[0], Remark::Fault(fault) if fault.text.contains("warm-up too short")),
            "{late:?}"
        );
        let mut silent = healthy();
        silent.window = Window {
            start_s: 5.0,
            end_s: 2.0,
        };
        assert_eq!(steadiness(&silent, 99.0), Vec::new());
    }
}
