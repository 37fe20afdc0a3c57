//! The rate of arrivals over a trial, its integral, and the inverse of that.

use std::f64::consts::TAU;

use rookery_study::{Course as Shares, CourseStep};

use crate::{load::Profile, phases::Phases};

/// More halvings of an interval than a double has digits.
const HALVINGS: usize = 64;
/// Where the search for a moment ends, s: a tenth of a nanosecond.
const CLOSE_ENOUGH_S: f64 = 1e-10;

/// The rate within one piece, as a function of the time `u` since its begin.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Evenly from one rate to another.
    Line { from: f64, to: f64 },
    /// `mean (1 + amplitude sin(2 pi u / period))`.
    Wave {
        mean: f64,
        amplitude: f64,
        period_s: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    start_s: f64,
    length_s: f64,
    /// Expected arrivals before it.
    before: f64,
    shape: Shape,
}

impl Piece {
    fn rate(&self, u: f64) -> f64 {
        match self.shape {
            Shape::Line { from, to } => from + (to - from) * u / self.length_s,
            Shape::Wave {
                mean,
                amplitude,
                period_s,
            } => mean * (1.0 + amplitude * (TAU * u / period_s).sin()),
        }
    }

    /// Expected arrivals from its begin to `u`.
    fn integral(&self, u: f64) -> f64 {
        match self.shape {
            Shape::Line { from, to } => u * (from + (to - from) * u / (2.0 * self.length_s)),
            Shape::Wave {
                mean,
                amplitude,
                period_s,
            } => {
                let angle = TAU / period_s;
                mean * (u + amplitude / angle * (1.0 - (angle * u).cos()))
            }
        }
    }

    /// The `u` up to which `count` arrivals are expected.
    fn when(&self, count: f64) -> f64 {
        let u = match self.shape {
            Shape::Line { from, to } => {
                // The root of a quadratic equation in the form that loses no digits and stands a
                // slope of zero.
                let slope = (to - from) / self.length_s;
                let root = (from * from + 2.0 * slope * count).max(0.0).sqrt();
                if from + root > 0.0 {
                    2.0 * count / (from + root)
                } else {
                    0.0
                }
            }
            Shape::Wave { .. } => self.search(count),
        };
        u.clamp(0.0, self.length_s)
    }

    /// Newton's method, kept inside an interval that is halved where it would leave it.
    fn search(&self, count: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.length_s);
        let mut u = self.length_s * count / self.integral(self.length_s);
        for _ in 0..HALVINGS {
            let off = self.integral(u) - count;
            *(if off > 0.0 { &mut high } else { &mut low }) = u;
            let step = off / self.rate(u);
            if step.abs() < CLOSE_ENOUGH_S || high - low < CLOSE_ENOUGH_S {
                break;
            }
            let next = u - step;
            u = if next > low && next < high {
                next
            } else {
                (low + high) / 2.0
            };
        }
        u
    }
}

/// The rate of arrivals from the common start of a trial to the end of its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    pieces: Vec<Piece>,
}

impl Course {
    /// The course of a profile through the phases of a trial.
    pub fn new(profile: &Profile, phases: &Phases) -> Self {
        let mut course = Self { pieces: Vec::new() };
        let steady_s = phases.steady.as_secs_f64();
        let window = pieces(profile, steady_s);
        let level = |rate| Shape::Line {
            from: rate,
            to: rate,
        };
        let first = window
            .first()
            .map_or(0.0, |(shape, length_s)| edge(*shape, *length_s, 0.0));
        course.push(
            Shape::Line {
                from: 0.0,
                to: first,
            },
            phases.ramp_up.as_secs_f64(),
        );
        course.push(level(first), phases.settle.as_secs_f64());
        let mut last = first;
        for (shape, length_s) in window {
            course.push(shape, length_s);
            last = edge(shape, length_s, length_s);
        }
        let half_s = phases.ramp_down.as_secs_f64() / 2.0;
        course.push(level(last), half_s);
        course.push(
            Shape::Line {
                from: last,
                to: 0.0,
            },
            half_s,
        );
        course
    }

    fn push(&mut self, shape: Shape, length_s: f64) {
        if length_s > 0.0 {
            let last = self.pieces.last();
            self.pieces.push(Piece {
                start_s: last.map_or(0.0, |last| last.start_s + last.length_s),
                length_s,
                before: last.map_or(0.0, |last| last.before + last.integral(last.length_s)),
                shape,
            });
        }
    }

    /// Expected arrivals over the whole trial.
    pub fn total(&self) -> f64 {
        self.pieces
            .last()
            .map_or(0.0, |last| last.before + last.integral(last.length_s))
    }

    /// Expected arrivals from the common start to `at_s`.
    #[cfg(test)]
    pub(crate) fn integral(&self, at_s: f64) -> f64 {
        let piece = self.pieces.iter().rev().find(|piece| piece.start_s <= at_s);
        piece.map_or(0.0, |piece| {
            piece.before + piece.integral((at_s - piece.start_s).min(piece.length_s))
        })
    }

    /// The moment up to which `count` arrivals are expected, s; `None` beyond the end.
    pub fn when(&self, count: f64) -> Option<f64> {
        let after = self
            .pieces
            .partition_point(|piece| piece.before <= count)
            .max(1)
            - 1;
        let piece = self.pieces.get(after).filter(|_| count < self.total())?;
        Some(piece.start_s + piece.when(count - piece.before))
    }
}

/// The rate of a shape at the time `u`.
fn edge(shape: Shape, length_s: f64, u: f64) -> f64 {
    let piece = Piece {
        start_s: 0.0,
        length_s,
        before: 0.0,
        shape,
    };
    piece.rate(u)
}

/// The pieces of a profile over a window of `steady_s`, with their lengths.
fn pieces(profile: &Profile, steady_s: f64) -> Vec<(Shape, f64)> {
    let rate = profile.rate_per_s;
    let line = |from, to| Shape::Line {
        from: from * rate,
        to: to * rate,
    };
    match &profile.course {
        Shares::Level => vec![(line(1.0, 1.0), steady_s)],
        Shares::Ramp { from, to } => vec![(line(*from, *to), steady_s)],
        Shares::Swing { amplitude, period } => vec![(
            Shape::Wave {
                mean: rate,
                amplitude: *amplitude,
                period_s: period.as_secs_f64(),
            },
            steady_s,
        )],
        Shares::Steps(steps) => staircase(steps, rate, steady_s),
    }
}

/// Steps one after the other, cut at the end of the window or made to last until then.
fn staircase(steps: &[CourseStep], rate: f64, steady_s: f64) -> Vec<(Shape, f64)> {
    let (mut left_s, mut before) = (steady_s, None);
    let mut pieces = Vec::new();
    for step in steps.iter().filter(|step| !step.length.is_zero()) {
        let length_s = step.length.as_secs_f64();
        let end = step.share * rate;
        let from = before.filter(|_| step.linear).unwrap_or(end);
        let kept_s = length_s.min(left_s);
        let to = from + (end - from) * kept_s / length_s;
        if kept_s > 0.0 {
            pieces.push((Shape::Line { from, to }, kept_s));
        }
        (left_s, before) = (left_s - kept_s, Some(end));
    }
    if let Some(rate) = before.filter(|_| left_s > 0.0) {
        pieces.push((
            Shape::Line {
                from: rate,
                to: rate,
            },
            left_s,
        ));
    }
    pieces
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    pub(crate) fn phases(ramp_up_s: f64, settle_s: f64, steady_s: f64, ramp_down_s: f64) -> Phases {
        let time = Duration::from_secs_f64;
        Phases {
            ramp_up: time(ramp_up_s),
            settle: time(settle_s),
            steady: time(steady_s),
            ramp_down: time(ramp_down_s),
            drain: Duration::ZERO,
        }
    }

    #[test]
    fn a_constant_rate_is_climbed_held_and_left() {
        let course = Course::new(&Profile::level(100.0), &phases(4.0, 2.0, 10.0, 6.0));
        let expected = [
            (2.0, 50.0),
            (4.0, 200.0),
            (6.0, 400.0),
            (16.0, 1_400.0),
            (19.0, 1_700.0),
            (22.0, 1_850.0),
        ];
        for (at_s, arrivals) in expected {
            assert!(
                (course.integral(at_s) - arrivals).abs() < 1e-9,
                "{at_s} s: {}",
                course.integral(at_s)
            );
        }
        assert_eq!(course.total(), 1_850.0);
        assert_eq!(
            (course.when(50.0), course.when(700.0)),
            (Some(2.0), Some(9.0))
        );
        assert_eq!(
            course.when(1_850.0),
            None,
            "the end of the load is not part of it"
        );
    }

    #[test]
    fn steps_are_cut_at_the_window_or_last_until_its_end() {
        let step = |seconds, share, linear| CourseStep {
            length: Duration::from_secs(seconds),
            share,
            linear,
        };
        let profile = steps(vec![
            step(2, 10.0, true),
            step(4, 30.0, true),
            step(1, 5.0, false),
        ]);
        let whole = Course::new(&profile, &phases(0.0, 0.0, 10.0, 0.0));
        for (at_s, arrivals) in [
            (2.0, 20.0),
            (4.0, 50.0),
            (6.0, 100.0),
            (7.0, 105.0),
            (10.0, 120.0),
        ] {
            assert!(
                (whole.integral(at_s) - arrivals).abs() < 1e-9,
                "{at_s} s: {}",
                whole.integral(at_s)
            );
        }
        let cut = Course::new(&profile, &phases(0.0, 0.0, 4.0, 2.0));
        assert!(
            (cut.total() - 50.0 - 20.0 - 10.0).abs() < 1e-9,
            "it stays at 20 for a second: {}",
            cut.total()
        );
    }

    #[test]
    fn a_silence_is_passed_over() {
        let step = |seconds, share| CourseStep {
            length: Duration::from_secs(seconds),
            share,
            linear: false,
        };
        let profile = steps(vec![step(1, 4.0), step(5, 0.0), step(1, 4.0)]);
        let course = Course::new(&profile, &phases(0.0, 0.0, 7.0, 0.0));
        let times: Vec<f64> = (0..8)
            .filter_map(|n| course.when(f64::from(n) + 0.5))
            .collect();
        assert_eq!(
            times,
            [0.125, 0.375, 0.625, 0.875, 6.125, 6.375, 6.625, 6.875]
        );
        assert_eq!(
            Course::new(&Profile::level(0.0), &phases(1.0, 1.0, 1.0, 1.0)).when(0.0),
            None
        );
    }

    /// Steps of these rates.
    fn steps(steps: Vec<CourseStep>) -> Profile {
        Profile {
            rate_per_s: 1.0,
            course: Shares::Steps(steps),
        }
    }

    pub(crate) fn profile() -> impl Strategy<Value = Profile> {
        let share = || 0.0..50.0f64;
        let step =
            (1u64..4_000, share(), any::<bool>()).prop_map(|(millis, share, linear)| CourseStep {
                length: Duration::from_millis(millis),
                share,
                linear,
            });
        let course = prop_oneof![
            Just(Shares::Level),
            prop::collection::vec(step, 1..6).prop_map(Shares::Steps),
            (share(), share()).prop_map(|(from, to)| Shares::Ramp { from, to }),
            (0.0..=1.0f64, 100u64..20_000).prop_map(|(amplitude, millis)| Shares::Swing {
                amplitude,
                period: Duration::from_millis(millis),
            }),
        ];
        (0.0..100.0f64, course).prop_map(|(rate_per_s, course)| Profile { rate_per_s, course })
    }

    proptest! {
        /// The integral of the rate, by Simpson's rule on a grid that the pieces' edges blur
        /// little, is the integral.
        #[test]
        fn the_integral_is_that_of_the_rate(profile in profile()) {
            let course = Course::new(&profile, &phases(1.0, 0.5, 6.0, 2.0));
            let summed: f64 = course.pieces.iter().map(|piece| {
                let step = piece.length_s / 2_000.0;
                let at = |n: u32| piece.rate(step * f64::from(n));
                (0..1_000).map(|n| step / 3.0 * (at(2 * n) + 4.0 * at(2 * n + 1) + at(2 * n + 2))).sum::<f64>()
            }).sum();
            prop_assert!((course.total() - summed).abs() <= 1e-6 * (1.0 + summed), "{} \
                {summed}", course.total());
        }

        /// `when` is the inverse of the integral, and ascends.
        #[test]
        fn when_undoes_the_integral(profile in profile(), shares in prop::collection::vec(0.0..1.0f64, 1..50)) {
            let course = Course::new(&profile, &phases(1.0, 0.5, 6.0, 2.0));
            let mut counts: Vec<f64> = shares.iter().map(|share| share * course.total()).collect();
            counts.sort_by(f64::total_cmp);
            let mut before = 0.0;
            for count in counts {
                let Some(at_s) = course.when(count) else {
                    prop_assert!(course.total() <= count);
                    continue;
                };
                prop_assert!((course.integral(at_s) - count).abs() < 1e-5 * (1.0 + count), "{count} at {at_s}");
                prop_assert!(at_s + 1e-9 >= before && at_s <= 9.5);
                before = at_s;
            }
        }
    }
}
