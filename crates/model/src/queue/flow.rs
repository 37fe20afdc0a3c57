//! A whole network as one station: how fast work leaves it, by the number inside.
//!
//! Many questions are asked of the same stations (every number of users, every rate); the
//! convolution is done once, and each answer is a walk along a birth-death chain.

use rookery_cast::truncate_usize;

use crate::queue::{
    exact::{convolution, guard},
    station::{Capacity, ModelError, Station, check, not_negative, positive},
};

/// A flow-equivalent server.
///
/// Source: Chandy, Herzog, Woo, IBM J. Research and Development 19(1) (1975) 36; exact for
/// product-form stations whose users are all alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Departures per second with 1, 2, ... inside; the last one holds for more.
    rates: Vec<f64>,
    /// Whether it never slows down as more enter, so that shares of time have one mode.
    rising: bool,
}

/// What users find who think, or arrive, and then need the stations.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSolution {
    /// Throughput, 1/s.
    pub x: f64,
    /// Mean time at the stations, s.
    pub time: f64,
    /// Standard deviation of that time, s: an arrival that finds j stays for j + 1 departures at
    /// the speed of j + 1, as at one first-come-first-served station. An approximation where there
    /// are several.
    pub deviation: f64,
    /// Share of arrivals that find no room; 0 in a closed network.
    pub dropped: f64,
}

impl Flow {
    /// Of queueing stations, for up to `most` users inside. Delays do not belong here: they are
    /// part of the think time.
    ///
    /// # Errors
    /// When a value is out of range, a station is a delay, or the network is too large.
    pub fn solve(stations: &[Station], most: u32) -> Result<Self, ModelError> {
        check(stations, 0.0, most)?;
        if stations
            .iter()
            .any(|station| station.capacity == Capacity::Delay)
        {
            return Err(ModelError::Unsupported {
                method: "a flow-equivalent server",
                station: "a delay",
                instead: "the think time",
            });
        }
        let n = most as usize;
        let queueing: Vec<usize> = (0..stations.len())
            .filter(|&k| stations[k].demand > 0.0)
            .collect();
        guard(stations, &queueing, n)?;
        let scale = queueing
            .iter()
            .map(|&k| stations[k].demand / stations[k].capacity.top())
            .fold(0.0, f64::max);
        let constants = convolution(stations, &queueing, None, scale, n);
        let rates: Vec<f64> = (1..=n)
            .map(|j| constants[j - 1] / (constants[j] * scale))
            .collect();
        // A slope within rounding is none.
        let rising = rates
            .windows(2)
            .all(|pair| pair[1] >= pair[0] * (1.0 - 1e-12));
        Ok(Self { rates, rising })
    }

    /// With no more than `most` departures per second, > 0: what several networks share.
    #[must_use]
    pub fn limited(mut self, most: f64) -> Self {
        self.rates
            .iter_mut()
            .for_each(|rate| *rate = rate.min(most));
        self
    }

    /// Departures per second with 1, 2, ... inside.
    #[must_use]
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Departures per second with `present` > 0 inside.
    #[must_use]
    pub fn rate(&self, present: usize) -> f64 {
        self.rates[present.clamp(1, self.rates.len()) - 1]
    }

    /// `users` who spend `delay` seconds outside of the stations between two visits; between whole
    /// numbers of users on a straight line.
    ///
    /// # Errors
    /// When `users` is not above 0, or `delay` is negative.
    pub fn closed(&self, delay: f64, users: f64) -> Result<FlowSolution, ModelError> {
        not_negative("the think time", delay)?;
        positive("the number of users", users)?;
        let below = users.floor();
        let share = users - below;
        if share <= 0.0 {
            return Ok(self.whole(delay, truncate_usize(below)));
        }
        let above = self.whole(delay, truncate_usize(below) + 1);
        if below < 1.0 {
            // A user who is there for a part of the time.
            return Ok(FlowSolution {
                x: above.x * share,
                ..above
            });
        }
        let low = self.whole(delay, truncate_usize(below));
        let mix = |low: f64, high: f64| low + share * (high - low);
        Ok(FlowSolution {
            x: mix(low.x, above.x),
            time: mix(low.time, above.time),
            deviation: mix(low.deviation, above.deviation),
            dropped: 0.0,
        })
    }

    fn whole(&self, delay: f64, users: usize) -> FlowSolution {
        let inside = self.inside(delay, users);
        let count = inside.mean();
        let x = inside.over(|j| if j == 0 { 0.0 } else { self.rate(j) });
        // The arrival theorem: an arrival finds the network of one user less.
        let found = self.inside(delay, users - 1);
        FlowSolution {
            x,
            time: count / x,
            deviation: self.deviation(&found),
            dropped: 0.0,
        }
    }

    /// Arrivals at `rate` per second, 1/s, > 0, that do not wait for answers; those that find
    /// `room` inside are dropped.
    ///
    /// # Errors
    /// When the rate is not above 0.
    pub fn open(&self, rate: f64, room: u32) -> Result<FlowSolution, ModelError> {
        positive("the arrival rate", rate)?;
        let chain = self.chain(room as usize, |j| rate / self.rate(j));
        let dropped = chain.over(|j| f64::from(u8::from(j == room as usize)));
        let x = rate * (1.0 - dropped);
        let count = chain.mean();
        Ok(FlowSolution {
            x,
            time: count / x,
            deviation: self.deviation(&chain),
            dropped,
        })
    }

    /// How many of `users` are inside.
    fn inside(&self, delay: f64, users: usize) -> Chain {
        if delay <= 0.0 || users == 0 {
            return Chain {
                first: users,
                shares: vec![1.0],
            };
        }
        self.chain(users, |j| (users - j + 1) as f64 / (delay * self.rate(j)))
    }

    /// Shares of time with 0 to `most` present, where p(j)/p(j-1) = `ratio(j)`.
    fn chain(&self, most: usize, ratio: impl Fn(usize) -> f64) -> Chain {
        if self.rising {
            Chain::around_mode(most, ratio)
        } else {
            Chain::in_logarithms(most, ratio)
        }
    }

    fn deviation(&self, found: &Chain) -> f64 {
        let time = |j: usize| (j + 1) as f64 / self.rate(j + 1);
        let mean = found.over(time);
        let square = found.over(|j| time(j).powi(2) * (1.0 + 1.0 / (j + 1) as f64));
        (square - mean * mean).max(0.0).sqrt()
    }
}

/// Shares of time with so many present.
#[derive(Debug)]
struct Chain {
    /// Fewer are as good as never there.
    first: usize,
    shares: Vec<f64>,
}

impl Chain {
    /// The mean of a function of the number present.
    fn over(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.shares
            .iter()
            .zip(self.first..)
            .map(|(p, j)| p * value(j))
            .sum()
    }

    fn mean(&self) -> f64 {
        self.over(|j| j as f64)
    }

    /// Summed from the mode outwards, for ratios that fall: nothing overflows, and terms that do
    /// not count are left out.
    fn around_mode(most: usize, ratio: impl Fn(usize) -> f64) -> Self {
        const LEAST: f64 = 1e-18;
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if ratio(middle) >= 1.0 {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let (mut below, mut p, mut j) = (Vec::new(), 1.0, low);
        while j > 0 && p > LEAST {
            p /= ratio(j);
            below.push(p);
            j -= 1;
        }
        let first = j;
        let mut shares: Vec<f64> = below.into_iter().rev().collect();
        shares.push(1.0);
        (p, j) = (1.0, low);
        while j < most && p > LEAST {
            j += 1;
            p *= ratio(j);
            shares.push(p);
        }
        Self { first, shares }.normalised()
    }

    fn in_logarithms(most: usize, ratio: impl Fn(usize) -> f64) -> Self {
        let mut logs = Vec::with_capacity(most + 1);
        logs.push(0.0);
        for j in 1..=most {
            logs.push(logs[j - 1] + ratio(j).ln());
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares = logs.iter().map(|log| (log - largest).exp()).collect();
        Self { first: 0, shares }.normalised()
    }

    fn normalised(mut self) -> Self {
        let mass: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|p| *p /= mass);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Multiserver, repairman_quantile, solve};

    #[test]
    fn one_convolution_answers_as_the_exact_solution() {
        let stations = [Station::servers(0.4, 4), Station::queue(0.05)];
        let flow = Flow::solve(&stations, 40).expect("valid");
        for users in [1_u32, 7, 20, 40] {
            let exact = solve(&stations, 1.0, users).expect("valid");
            let found = flow.closed(1.0, f64::from(users)).expect("valid");
            assert!(
                (found.x - exact.x).abs() < 1e-9 && (found.time - exact.response_time).abs() < 1e-9,
                "{users}"
            );
        }
        let half = flow.closed(1.0, 7.5).expect("valid").x;
        assert!(
            flow.closed(1.0, 7.0).expect("valid").x < half
                && half < flow.closed(1.0, 8.0).expect("valid").x
        );
        assert!(
            (flow.closed(1.0, 0.5).expect("valid").x * 2.0
                - flow.closed(1.0, 1.0).expect("valid").x)
                .abs()
                < 1e-12
        );
    }

    #[test]
    fn an_open_station_with_room_is_a_queue_of_erlang() {
        let flow = Flow::solve(&[Station::servers(0.1, 4)], 400).expect("valid");
        let (found, erlang) = (
            flow.open(30.0, 400).expect("valid"),
            Multiserver::new(30.0, 0.1, 4).expect("valid"),
        );
        assert!(
            (found.time - erlang.response_time()).abs() < 1e-9 && found.dropped < 1e-12,
            "{found:?}"
        );
        let overloaded = flow.open(80.0, 400).expect("valid");
        assert!(
            (overloaded.x - 40.0).abs() < 1e-6 && (overloaded.dropped - 0.5).abs() < 1e-6,
            "{overloaded:?}"
        );
    }

    #[test]
    fn the_deviation_is_that_of_one_station() {
        // Mean and 95 % of the exact mixture agree with a gamma distribution of these moments.
        let found = Flow::solve(&[Station::queue(0.1)], 30)
            .expect("valid")
            .closed(2.5, 30.0)
            .expect("valid");
        let exact = repairman_quantile(0.1, 2.5, 30, 0.95).expect("valid");
        let gamma = crate::queue::ResponseTimes {
            mean: found.time,
            deviation: found.deviation,
        };
        assert!(
            (gamma.quantile(0.95) / exact - 1.0).abs() < 0.03,
            "{found:?} {exact}"
        );
    }

    #[test]
    fn both_ways_to_sum_agree() {
        for (users, delay, service) in [
            (1_usize, 1.0, 0.1),
            (40, 2.0, 0.1),
            (400, 0.5, 0.01),
            (30, 100.0, 0.1),
        ] {
            let ratio = |j: usize| (users - j + 1) as f64 / (delay / service);
            let (near, whole) = (
                Chain::around_mode(users, ratio),
                Chain::in_logarithms(users, ratio),
            );
            assert!(
                (near.mean() - whole.mean()).abs() < 1e-9 * (1.0 + whole.mean()),
                "{users}"
            );
        }
        let slower = Station {
            demand: 0.1,
            capacity: Capacity::Measured(vec![1.0, 1.8, 1.2]),
        };
        let (flow, exact) = (
            Flow::solve(std::slice::from_ref(&slower), 30),
            solve(&[slower], 1.0, 30),
        );
        let x = flow
            .and_then(|flow| flow.closed(1.0, 30.0))
            .expect("valid")
            .x;
        assert!((x - exact.expect("valid").x).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Flow::solve(&[Station::delay(1.0)], 3).is_err());
        assert!(Flow::solve(&[], 3).is_err());
        let flow = Flow::solve(&[Station::queue(1.0)], 3)
            .expect("valid")
            .limited(0.5);
        assert_eq!(flow.rates(), [0.5, 0.5, 0.5]);
        assert!(
            flow.closed(1.0, 0.0).is_err()
                && flow.closed(-1.0, 2.0).is_err()
                && flow.open(0.0, 3).is_err()
        );
    }
}
