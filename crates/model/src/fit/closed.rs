//! The fit of the closed single-bottleneck model: the law of plateaus.

use rookery_stats::t_975;

use crate::{
    fit::{
        data::Observations,
        levenberg::{Minimum, Problem, minimise},
        usl::{Interval, Prediction},
    },
    linalg::{Rows, dot, gram, gram_inverse},
    queue::Repairman,
};

/// Candidates for the number of servers.
const SERVERS: [u32; 16] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];

/// A fitted closed model, by relative least squares.
#[derive(Clone, Debug)]
pub struct ClosedFit {
    /// The model; its think time includes everything that does not queue.
    pub model: Repairman,
    /// Sum of squared relative residuals.
    pub rss: f64,
    /// Runs less parameters (demand, delay unless at its bound, and servers when several numbers
    /// were tried).
    pub df: usize,
    /// Parameters that were estimated.
    pub parameters: usize,
    /// 95 % interval of the demand, s; `None` without degrees of freedom.
    pub demand: Option<Interval>,
    /// 95 % interval of the delay, s; `None` at its bound or without degrees of freedom.
    pub delay: Option<Interval>,
    /// 95 % interval of the ceiling, 1/s; `None` without degrees of freedom.
    pub ceiling: Option<Interval>,
    /// 95 % interval of the knee, users; `None` without degrees of freedom.
    pub knee: Option<Interval>,
    spread: Option<Spread>,
    /// Fits with other numbers of servers that do nearly as well, and this one, with their weights;
    /// empty without degrees of freedom.
    alike: Vec<Weighed>,
    /// The known think time, s.
    known: f64,
}

/// A fit with one number of servers among several.
#[derive(Clone, Debug)]
struct Weighed {
    weight: f64,
    model: Repairman,
    spread: Spread,
}

/// How sure the parameters are.
#[derive(Clone, Debug)]
struct Spread {
    /// Covariance of ln D and, unless the delay is at its bound, ln(Z0 - known think time).
    covariance: Rows,
    /// Standard deviation of a run relative to the curve.
    noise: f64,
    /// t(0.975, df).
    t: f64,
}

impl Spread {
    /// Standard error of a function of the parameters with this gradient.
    fn along(&self, gradient: &[f64]) -> f64 {
        let rows = gradient.iter().zip(&self.covariance);
        let variance: f64 = rows.map(|(a, row)| a * dot(gradient, row)).sum();
        variance.max(0.0).sqrt()
    }

    /// An interval of a value above 0 from the standard error of its logarithm.
    fn around(&self, value: f64, relative: f64) -> Interval {
        let factor = (self.t * relative).exp();
        Interval {
            low: value / factor,
            high: value * factor,
        }
    }
}

impl ClosedFit {
    /// Expected throughput at `n` with 95 % intervals of the mean and of a new run; `None` without
    /// degrees of freedom.
    ///
    /// By the delta method; how far fits with other numbers of servers differ there counts as
    /// variance, by how well they meet the runs: Buckland, Burnham, Augustin, Biometrics 53 (1997)
    /// 603.
    #[must_use]
    pub fn predict(&self, n: f64) -> Option<Prediction> {
        let spread = self.spread.as_ref()?;
        let x = self.model.throughput(n);
        let variance = |one: &Weighed| {
            let logs = [one.model.demand.ln(), (one.model.think - self.known).ln()];
            let logs = &logs[..one.spread.covariance.len()];
            let there = one.model.throughput(n);
            let at = |logs: &[f64]| model(logs, one.model.servers, self.known).throughput(n);
            let gradient: Vec<f64> = (0..logs.len())
                .map(|place| slope(logs, place, at) / there)
                .collect();
            one.weight * (one.spread.along(&gradient).powi(2) + (there / x).ln().powi(2))
        };
        let mean = self.alike.iter().map(variance).sum::<f64>().sqrt();
        let run = (mean * mean + spread.noise * spread.noise).sqrt();
        Some(Prediction {
            x,
            se_mean: x * mean,
            mean: spread.around(x, mean),
            run: spread.around(x, run),
        })
    }
}

fn model(logs: &[f64], servers: u32, known: f64) -> Repairman {
    Repairman {
        demand: logs[0].exp(),
        servers,
        think: known + logs.get(1).map_or(0.0, |log| log.exp()),
    }
}

/// Step of numerical derivatives over logarithms.
const STEP: f64 = 1e-5;

/// Derivative of a function of logarithms along one of them.
fn slope(logs: &[f64], place: usize, of: impl Fn(&[f64]) -> f64) -> f64 {
    let mut moved = logs.to_vec();
    moved[place] += STEP;
    let above = of(&moved);
    moved[place] -= 2.0 * STEP;
    (above - of(&moved)) / (2.0 * STEP)
}

/// Relative residuals over ln D and, unless the delay is held at the known think time, ln(Z0 -
/// think).
struct Curve<'a> {
    observations: &'a Observations,
    servers: u32,
    think: f64,
}

impl Curve<'_> {
    fn model(&self, parameters: &[f64]) -> Repairman {
        model(parameters, self.servers, self.think)
    }
}

impl Problem for Curve<'_> {
    fn residuals(&self, parameters: &[f64], into: &mut Vec<f64>) -> bool {
        let model = self.model(parameters);
        into.clear();
        // Runs are in order of their loads: the repeats of one share its throughput, which is the
        // dear part.
        for repeats in self.observations.runs().chunk_by(|a, b| a.n == b.n) {
            let expected = model.throughput(repeats[0].n);
            into.extend(repeats.iter().map(|run| expected / run.x - 1.0));
        }
        parameters.iter().all(|log| log.abs() < 100.0)
            && into.iter().all(|residual| residual.is_finite())
    }

    fn jacobian(&self, parameters: &[f64], into: &mut Rows) {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        into.clear();
        into.resize(self.observations.runs().len(), vec![0.0; parameters.len()]);
        for place in 0..parameters.len() {
            let mut moved = parameters.to_vec();
            moved[place] += STEP;
            self.residuals(&moved, &mut above);
            moved[place] -= 2.0 * STEP;
            self.residuals(&moved, &mut below);
            for (row, (high, low)) in into.iter_mut().zip(above.iter().zip(&below)) {
                row[place] = (high - low) / (2.0 * STEP);
            }
        }
    }
}

/// Fit demand and delay for every number of servers up to `max_servers`, and keep the best. `think`
/// is the known think time, s: the delay is at least that.
///
/// Returns `None` with fewer runs than parameters.
#[must_use]
pub fn fit_closed(observations: &Observations, think: f64, max_servers: u32) -> Option<ClosedFit> {
    let tried: Vec<u32> = SERVERS
        .into_iter()
        .filter(|m| *m == 1 || *m <= max_servers && f64::from(*m) <= observations.largest())
        .collect();
    let found = by_servers(observations, think, &tried);
    // Of equals, the fewest servers.
    let (curve, minimum) = found.iter().reduce(|best, next| {
        if next.1.squares < best.1.squares * (1.0 - 1e-9) {
            next
        } else {
            best
        }
    })?;
    let parameters = minimum.parameters.len() + usize::from(tried.len() > 1);
    let df = observations.runs().len().checked_sub(parameters)?;
    let model = curve.model(&minimum.parameters);
    let spread = spread(curve, minimum, df);
    let interval = |value: f64, gradient: &[f64]| {
        let spread = spread.as_ref()?;
        Some(spread.around(value, spread.along(&gradient[..minimum.parameters.len()])))
    };
    // ln knee = ln m + ln(D + Z) - ln D; ln Z0 moves with ln(Z0 - think) as its share in Z0.
    let cycle = model.demand + model.think;
    let free = minimum.parameters.len() > 1;
    Some(ClosedFit {
        rss: minimum.squares,
        df,
        parameters,
        demand: interval(model.demand, &[1.0, 0.0]),
        delay: interval(model.think, &[0.0, (model.think - think) / model.think]).filter(|_| free),
        ceiling: interval(model.ceiling(), &[-1.0, 0.0]),
        knee: interval(
            model.knee(),
            &[model.demand / cycle - 1.0, (model.think - think) / cycle],
        ),
        alike: alike(&found, minimum.squares, df),
        model,
        spread,
        known: think,
    })
}

/// Of many loads so few are enough to tell how many servers there may be, and where to start.
const SCOUTS: usize = 24;
/// Numbers of servers whose sum of squares over the scouts is so many times the least are not
/// looked at further.
const SCOUT_SLACK: f64 = 4.0;

/// The best fit with each number of servers that comes into question. Every evaluation costs a
/// queue for each load, so that of many loads a few are asked first.
fn by_servers<'a>(
    observations: &'a Observations,
    think: f64,
    tried: &[u32],
) -> Vec<(Curve<'a>, Minimum)> {
    let curve = |servers| Curve {
        observations,
        servers,
        think,
    };
    let Some(few) = observations.thinned(SCOUTS) else {
        return tried
            .iter()
            .filter_map(|m| Some((curve(*m), best(&curve(*m))?)))
            .collect();
    };
    let scout = |servers| Curve {
        observations: &few,
        servers,
        think,
    };
    let scouted: Vec<(u32, Minimum)> = tried
        .iter()
        .filter_map(|m| Some((*m, best(&scout(*m))?)))
        .collect();
    let least = scouted
        .iter()
        .map(|(_, minimum)| minimum.squares)
        .fold(f64::INFINITY, f64::min);
    let near = scouted
        .into_iter()
        .filter(|(_, minimum)| minimum.squares <= SCOUT_SLACK * least);
    near.filter_map(|(m, minimum)| Some((curve(m), minimise(&curve(m), &minimum.parameters)?)))
        .collect()
}

fn best(curve: &Curve) -> Option<Minimum> {
    minima(curve)
        .into_iter()
        .min_by(|a, b| a.squares.total_cmp(&b.squares))
}

/// Fits by number of servers, weighed by exp(-AIC/2): those that do much worse do not count.
fn alike(found: &[(Curve, Minimum)], least: f64, df: usize) -> Vec<Weighed> {
    let runs = found
        .first()
        .map_or(0, |(curve, _)| curve.observations.runs().len());
    let weight = |squares: f64| (least / squares).powf(runs as f64 / 2.0);
    let mut alike: Vec<Weighed> = found
        .iter()
        // An exact fit has no rivals but those as exact.
        .map(|(curve, minimum)| {
            (
                curve,
                minimum,
                if minimum.squares <= least {
                    1.0
                } else {
                    weight(minimum.squares)
                },
            )
        })
        .filter(|(_, _, weight)| *weight > 0.01)
        .filter_map(|(curve, minimum, weight)| {
            Some(Weighed {
                weight,
                model: curve.model(&minimum.parameters),
                spread: spread(curve, minimum, df)?,
            })
        })
        .collect();
    let sum: f64 = alike.iter().map(|one| one.weight).sum();
    alike.iter_mut().for_each(|one| one.weight /= sum);
    alike
}

/// Minima with the delay free, from several starts, and with the delay at its bound.
fn minima(curve: &Curve) -> Vec<Minimum> {
    let runs = curve.observations.runs();
    let most = runs.iter().map(|run| run.x).fold(0.0, f64::max);
    let demand = f64::from(curve.servers) / most;
    let cycle = runs[0].n / runs[0].x;
    let spare = (cycle - demand - curve.think).max(cycle * 0.01);
    let starts = [
        (demand, spare),
        (demand * 0.7, spare),
        (demand, spare * 0.1),
        (demand * 0.7, cycle),
    ];
    let mut found: Vec<Minimum> = starts
        .iter()
        .filter_map(|(d, z)| minimise(curve, &[d.ln(), z.ln()]))
        .collect();
    found.extend(minimise(curve, &[demand.ln()]));
    found
}

fn spread(curve: &Curve, minimum: &Minimum, df: usize) -> Option<Spread> {
    let t = t_975(u32::try_from(df).unwrap_or(u32::MAX))?;
    let mut rows = Rows::new();
    curve.jacobian(&minimum.parameters, &mut rows);
    let variance = minimum.squares / df as f64;
    let mut covariance = gram_inverse(&gram(&rows, minimum.parameters.len()))?;
    covariance
        .iter_mut()
        .flatten()
        .for_each(|cell| *cell *= variance);
    Some(Spread {
        covariance,
        noise: variance.sqrt(),
        t,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Observation;

    #[test]
    fn scouts_lead_to_the_fit_that_all_loads_lead_to() {
        let truth = model(&[0.04_f64.ln(), 1.0_f64.ln()], 4, 0.0);
        let wave = |n: u32| 1.0 + 0.01 * f64::from(n * 7919 % 101) / 50.0 - 0.01;
        let run = |n: u32| Observation {
            n: f64::from(n),
            x: truth.throughput(f64::from(n)) * wave(n),
        };
        let observations =
            Observations::new((1..=60).map(|k| run(5 * k)).collect()).expect("good runs");
        let every = SERVERS.into_iter().filter_map(|servers| {
            best(&Curve {
                observations: &observations,
                servers,
                think: 0.0,
            })
        });
        let least = every
            .map(|minimum| minimum.squares)
            .fold(f64::INFINITY, f64::min);
        let fit = fit_closed(&observations, 0.0, 64).expect("a fit");
        assert!(
            observations.thinned(SCOUTS).is_some(),
            "so many loads are scouted"
        );
        assert!(
            (fit.rss / least - 1.0).abs() < 1e-6,
            "{} instead of {least}",
            fit.rss
        );
    }
}
