//! What the estimates promise, held against simulated runs: false alarms, coverage, power, sign.

use rookery_workload::random::{RandomSource as _, SplitMix64};

use super::*;

/// How the speed of the simulated machine goes over time, beside the scatter of single trials.
#[derive(Clone, Copy, Debug)]
enum Machine {
    Steady,
    /// Every round has its own speed.
    Rounds,
    /// 1/f noise: sum of slow and fast swings of equal size (autoregressions of doubling memory).
    Flicker,
}

/// Speeds of so many rounds in a row, of deviation `size` from one round to another.
fn speeds(stream: &mut SplitMix64, machine: Machine, rounds: usize, size: f64) -> Vec<f64> {
    match machine {
        Machine::Steady => vec![0.0; rounds],
        Machine::Rounds => (0..rounds).map(|_| size * stream.normal()).collect(),
        Machine::Flicker => {
            // Four octaves of memory: 1, 4, 16 and 64 rounds.
            let mut all = vec![0.0; rounds];
            for memory in [0.5, 2.0, 8.0, 32.0, 128.0] {
                let keep = f64::exp(-1.0 / memory);
                let mut state = stream.normal();
                for value in &mut all {
                    *value += size * 0.6 * state;
                    state = keep * state + (1.0 - keep * keep).sqrt() * stream.normal();
                }
            }
            all
        }
    }
}

struct Simulated {
    machine: Machine,
    points: usize,
    rounds: usize,
    /// Deviation of single trials of each point, in turn.
    scatter: [f64; 2],
    /// Deviation of speeds that all points share.
    swing: f64,
    /// Runs of the base and of the new side.
    runs: (usize, usize),
    change: f64,
}

const PLAIN: Simulated = Simulated {
    machine: Machine::Steady,
    points: 5,
    rounds: 3,
    scatter: [0.02, 0.02],
    swing: 0.02,
    runs: (1, 1),
    change: 0.0,
};

impl Simulated {
    fn sides(&self, stream: &mut SplitMix64) -> Sides {
        let speeds = speeds(
            stream,
            self.machine,
            self.rounds * (self.runs.0 + self.runs.1),
            self.swing,
        );
        let mut runs = speeds.chunks(self.rounds).enumerate().map(|(run, speeds)| {
            let change = if run < self.runs.0 { 0.0 } else { self.change };
            let mut lot = Vec::new();
            for (round, speed) in (1..).zip(speeds) {
                lot.extend((0..self.points).map(|point| Sample {
                    point,
                    round,
                    value: change + speed + self.scatter[point % 2] * stream.normal(),
                }));
            }
            lot
        });
        let base = runs.by_ref().take(self.runs.0).collect();
        Sides {
            base,
            new: runs.collect(),
        }
    }

    /// Shares of simulated comparisons, in percent: those whose interval misses the truth; those
    /// that find a change; of these, with the wrong sign.
    fn shares(&self, points: &[usize], seed: u64) -> (f64, f64, f64) {
        const COMPARISONS: u32 = 1_000;
        let mut stream = SplitMix64::new(seed);
        let (mut missed, mut found, mut wrong) = (0, 0, 0);
        for _ in 0..COMPARISONS {
            let estimate = change(&self.sides(&mut stream), points, 0.0)
                .estimate
                .expect("repeats");
            let (low, high) = estimate.interval;
            missed += u32::from(!(low..=high).contains(&self.change));
            if low > 0.0 || high < 0.0 {
                found += 1;
                wrong += u32::from(estimate.change * self.change <= 0.0);
            }
        }
        let percent = |count: u32| 100.0 * f64::from(count) / f64::from(COMPARISONS);
        (percent(missed), percent(found), percent(wrong))
    }
}

const ALL: [usize; 5] = [0, 1, 2, 3, 4];

#[test]
fn runs_between_which_nothing_changed_seldom_differ() {
    // What may be promised at most: 5 %, and 7 with the chance of 1000 comparisons. Of 1/f noise as
    // well, as long as points share it.
    for (machine, rounds) in [
        (Machine::Steady, 2),
        (Machine::Steady, 3),
        (Machine::Rounds, 3),
        (Machine::Rounds, 5),
        (Machine::Flicker, 3),
        (Machine::Flicker, 5),
    ] {
        let simulated = Simulated {
            machine,
            rounds,
            ..PLAIN
        };
        let (overall, single) = (simulated.shares(&ALL, 1).0, simulated.shares(&[0], 2).0);
        assert!(
            overall <= 7.0 && single <= 7.0,
            "{machine:?}, {rounds} rounds: {overall} {single}"
        );
    }
}

#[test]
fn points_that_scatter_unlike_each_other_raise_no_false_alarms() {
    let unlike = Simulated {
        scatter: [0.05, 0.002],
        ..PLAIN
    };
    for point in [0, 1] {
        let share = unlike.shares(&[point], 3).0;
        assert!(share <= 7.0, "point {point}: {share}");
    }
    let overall = unlike.shares(&ALL, 4).0;
    assert!(overall <= 7.0, "{overall}");
}

#[test]
fn intervals_hold_the_true_change_as_often_as_they_say() {
    let one_point = |runs, rounds| Simulated {
        points: 1,
        runs,
        rounds,
        change: 0.3,
        ..PLAIN
    };
    for simulated in [
        one_point((1, 1), 3),
        one_point((1, 1), 10),
        Simulated {
            runs: (3, 3),
            change: 0.3,
            ..PLAIN
        },
    ] {
        let missed = simulated.shares(&[0], 5).0;
        assert!((3.0..=7.0).contains(&missed), "{missed}");
    }
}

#[test]
fn a_slow_down_of_ten_percent_is_found_with_the_right_sign() {
    for (machine, rounds, power) in [
        (Machine::Steady, 3, 99.0),
        (Machine::Flicker, 3, 75.0),
        (Machine::Flicker, 5, 93.0),
    ] {
        let slower = Simulated {
            machine,
            rounds,
            change: -0.1,
            ..PLAIN
        };
        let (_, found, wrong) = slower.shares(&ALL, 6);
        assert!(
            found >= power && wrong == 0.0,
            "{machine:?}, {rounds} rounds: found {found}, wrong {wrong}"
        );
    }
}

#[test]
fn runs_that_alternate_find_what_two_runs_cannot() {
    let two = Simulated {
        machine: Machine::Rounds,
        swing: 0.03,
        change: -0.05,
        ..PLAIN
    };
    let ten = Simulated {
        runs: (5, 5),
        ..two
    };
    let (of_two, of_ten) = (two.shares(&ALL, 7).1, ten.shares(&ALL, 8).1);
    assert!(of_two < 20.0 && of_ten > 70.0, "{of_two} {of_ten}");
}

fn lot(values: &[(usize, u32, f64)]) -> Lot {
    let sample = |(point, round, value): &(usize, u32, f64)| Sample {
        point: *point,
        round: *round,
        value: *value,
    };
    values.iter().map(sample).collect()
}

#[test]
fn one_point_is_welchs_test() {
    // R: t.test(c(5.1, 5.4, 5.0, 5.3), c(4.8, 4.6, 4.9, 4.5)): t = 4.2426, df = 5.7635 with these
    // variances, difference 0.5.
    let run = |values: [f64; 4]| lot(&[0, 1, 2, 3].map(|at| (0, at as u32 + 1, values[at])));
    let sides = Sides {
        base: vec![run([4.8, 4.6, 4.9, 4.5])],
        new: vec![run([5.1, 5.4, 5.0, 5.3])],
    };
    let estimate = change(&sides, &[0], 0.0)
        .estimate
        .expect("four repeats a side");
    assert!((estimate.change - 0.5).abs() < 1e-12);
    assert!(
        (estimate.standard_error - f64::sqrt(1.0 / 30.0 / 2.0)).abs() < 1e-12,
        "{}",
        estimate.standard_error
    );
    assert!(
        (estimate.df - 6.0).abs() < 1e-9,
        "equal variances: {}",
        estimate.df
    );
    assert!((estimate.interval.0 - (0.5 - 2.446_912 * estimate.standard_error)).abs() < 1e-6);
}

#[test]
fn a_single_repeat_carries_no_interval() {
    let sides = Sides {
        base: vec![lot(&[(0, 1, 1.0), (1, 1, 2.0)])],
        new: vec![lot(&[(0, 1, 1.1), (1, 1, 2.1)])],
    };
    let found = change(&sides, &[0, 1], 0.0);
    assert!((found.value.expect("both sides") - 0.1).abs() < 1e-12);
    assert_eq!(found.estimate, None);
    // A point that one side lacks is left out.
    assert_eq!(in_all_runs(&sides, &[0, 1, 2]), [0, 1]);
    assert_eq!(change(&sides, &[2], 0.0).value, None);
}

#[test]
fn a_point_of_one_repeat_borrows_from_the_others() {
    let run = |shift: f64| {
        lot(&[
            (0, 1, shift),
            (1, 1, 2.0 + shift),
            (1, 2, 2.1 + shift),
            (1, 3, 1.9 + shift),
        ])
    };
    let sides = Sides {
        base: vec![run(0.0)],
        new: vec![run(0.5)],
    };
    let estimate = change(&sides, &[0], 0.0).estimate.expect("borrowed");
    assert!(
        (estimate.standard_error - (0.01f64 * 2.0).sqrt()).abs() < 1e-12,
        "{}",
        estimate.standard_error
    );
    assert!((estimate.df - 4.0).abs() < 1e-12);
    // Overall the point that was not repeated counts as one that scatters alike.
    let overall = change(&sides, &[0, 1], 0.0)
        .estimate
        .expect("repeats of one point");
    assert!(
        overall.standard_error >= (2.0 * 0.01 * (1.0 + 1.0 / 3.0) / 4.0f64).sqrt() - 1e-12,
        "{}",
        overall.standard_error
    );
}

#[test]
fn quantiles_between_whole_degrees_of_freedom_lie_between() {
    // R: qt(0.975, 3.5) = 2.938...
    let between = between_df(3.5, t_975).expect("a quantile");
    assert!((between - 2.944).abs() < 0.02, "{between}");
    assert_eq!(between_df(4.0, t_975), t_975(4));
    assert_eq!(between_df(0.3, t_975), t_975(1));
}
