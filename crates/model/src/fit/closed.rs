//! The fit of the closed single-bottleneck model: the law of plateaus.

use rookery_stats::t_975;

use crate::{
    fit::{
        data::Observations,
        levenberg::{Minimum, Problem, minimise},
        usl::Interval,
    },
    linalg::{Rows, gram, gram_inverse},
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
    /// Runs less parameters (demand, delay unless at its bound, and servers when several numbers were tried).
    pub df: usize,
    /// Parameters that were estimated.
    pub parameters: usize,
    /// 95 % interval of the demand, s; `None` without degrees of freedom.
    pub demand: Option<Interval>,
    /// 95 % interval of the knee, users; `None` without degrees of freedom.
    pub knee: Option<Interval>,
}

/// Relative residuals over ln D and, unless the delay is held at the known think time, ln(Z0 - think).
struct Curve<'a> {
    observations: &'a Observations,
    servers: u32,
    think: f64,
}

impl Curve<'_> {
    fn model(&self, parameters: &[f64]) -> Repairman {
        Repairman {
            demand: parameters[0].exp(),
            servers: self.servers,
            think: self.think + parameters.get(1).map_or(0.0, |log| log.exp()),
        }
    }
}

impl Problem for Curve<'_> {
    fn residuals(&self, parameters: &[f64], into: &mut Vec<f64>) -> bool {
        let model = self.model(parameters);
        into.clear();
        into.extend(self.observations.runs().iter().map(|run| model.throughput(run.n) / run.x - 1.0));
        parameters.iter().all(|log| log.abs() < 100.0) && into.iter().all(|residual| residual.is_finite())
    }

    fn jacobian(&self, parameters: &[f64], into: &mut Rows) {
        const STEP: f64 = 1e-5;
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

/// Fit demand and delay for every number of servers up to `max_servers`, and keep the best. `think` is the known think time, s: the delay is at least that.
///
/// Returns `None` with fewer runs than parameters.
#[must_use]
pub fn fit_closed(observations: &Observations, think: f64, max_servers: u32) -> Option<ClosedFit> {
    let tried: Vec<u32> = SERVERS
        .into_iter()
        .filter(|m| *m == 1 || *m <= max_servers && f64::from(*m) <= observations.largest())
        .collect();
    let mut best: Option<(Curve, Minimum)> = None;
    for &servers in &tried {
        let curve = Curve {
            observations,
            servers,
            think,
        };
        for minimum in minima(&curve) {
            if best
                .as_ref()
                .is_none_or(|(_, known)| minimum.squares < known.squares * (1.0 - 1e-9))
            {
                let curve = Curve {
                    observations,
                    servers,
                    think,
                };
                best = Some((curve, minimum));
            }
        }
    }
    let (curve, minimum) = best?;
    let parameters = minimum.parameters.len() + usize::from(tried.len() > 1);
    let df = observations.runs().len().checked_sub(parameters)?;
    let model = curve.model(&minimum.parameters);
    let spread = spreads(&curve, &minimum, df);
    let t = t_975(u32::try_from(df).unwrap_or(u32::MAX));
    let interval = |value: f64, relative: f64| {
        t.map(|t| Interval {
            low: value * (-t * relative).exp(),
            high: value * (t * relative).exp(),
        })
    };
    Some(ClosedFit {
        rss: minimum.squares,
        df,
        parameters,
        demand: spread.and_then(|(demand, _)| interval(model.demand, demand)),
        knee: spread.and_then(|(_, knee)| interval(model.knee(), knee)),
        model,
    })
}

/// Minima with the delay free, from several starts, and with the delay at its bound.
fn minima(curve: &Curve) -> Vec<Minimum> {
    let runs = curve.observations.runs();
    let most = runs.iter().map(|run| run.x).fold(0.0, f64::max);
    let demand = f64::from(curve.servers) / most;
    let cycle = runs[0].n / runs[0].x;
    let spare = (cycle - demand - curve.think).max(cycle * 0.01);
    let starts = [(demand, spare), (demand * 0.7, spare), (demand, spare * 0.1), (demand * 0.7, cycle)];
    let mut found: Vec<Minimum> = starts.iter().filter_map(|(d, z)| minimise(curve, &[d.ln(), z.ln()])).collect();
    found.extend(minimise(curve, &[demand.ln()]));
    found
}

/// Relative standard errors of the demand and of the knee, by the delta method.
fn spreads(curve: &Curve, minimum: &Minimum, df: usize) -> Option<(f64, f64)> {
    if df == 0 {
        return None;
    }
    let mut rows = Rows::new();
    curve.jacobian(&minimum.parameters, &mut rows);
    let covariance = gram_inverse(&gram(&rows, minimum.parameters.len()))?;
    let variance = minimum.squares / df as f64;
    let model = curve.model(&minimum.parameters);
    // ln knee = ln m + ln(D + Z) - ln D.
    let cycle = model.demand + model.think;
    let mut gradient = vec![model.demand / cycle - 1.0];
    if minimum.parameters.len() > 1 {
        gradient.push((model.think - curve.think) / cycle);
    }
    let knee: f64 = gradient
        .iter()
        .zip(&covariance)
        .map(|(a, row)| a * gradient.iter().zip(row).map(|(b, cell)| b * cell).sum::<f64>())
        .sum();
    Some(((variance * covariance[0][0]).sqrt(), (variance * knee.max(0.0)).sqrt()))
}
