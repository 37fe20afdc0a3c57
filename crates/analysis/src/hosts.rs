//! What the hosts of a fleet differ by: the same points measured on several of them.

use std::collections::BTreeMap;

use rookery_stats::t_975;

use crate::TrialData;

/// How much more or less a host yields than the others on the same points.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEffect {
    /// The host.
    pub host: String,
    /// Its trials of points that another host measured too.
    pub trials: usize,
    /// Throughput over the mean of the hosts on the same point, geometric mean over its trials.
    pub ratio: f64,
    /// Ends of the 95 % interval; nothing of fewer than two trials.
    pub interval: Option<(f64, f64)>,
}

/// The effect of each host on throughput, by name. Only points count that two or more hosts
/// measured; the mean of a point is that of its hosts' means, so that the number of trials of each
/// does not weigh.
#[must_use]
pub fn effects(trials: &[TrialData], host_of: &BTreeMap<u32, String>) -> Vec<HostEffect> {
    let mut points: BTreeMap<u32, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for trial in trials {
        let value = trial
            .valid()
            .map(|(_, measured)| measured.units_per_minute());
        let host = host_of.get(&trial.row.trial.id);
        if let (Some(value), Some(host)) = (value.filter(|value| *value > 0.0), host) {
            let hosts = points.entry(trial.row.trial.point).or_default();
            hosts.entry(host).or_default().push(value.ln());
        }
    }
    let mut residuals: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for hosts in points.values().filter(|hosts| hosts.len() > 1) {
        let means = hosts.values().map(|values| mean(values));
        let mean_of_point = mean(&means.collect::<Vec<_>>());
        for (host, values) in hosts {
            let own = residuals.entry(host).or_default();
            own.extend(values.iter().map(|value| value - mean_of_point));
        }
    }
    residuals
        .into_iter()
        .map(|(host, values)| effect(host, &values))
        .collect()
}

fn effect(host: &str, values: &[f64]) -> HostEffect {
    HostEffect {
        host: host.to_owned(),
        trials: values.len(),
        ratio: mean(values).exp(),
        interval: interval(values),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The interval of the mean by Student's t. The trials of a host on one point share the mean that
/// they are held against, so that it is slightly too narrow for few points.
fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len();
    let freedom = u32::try_from(count.checked_sub(1)?).ok()?;
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let error = (squares / f64::from(freedom.max(1)) / count as f64).sqrt();
    let half = t_975(freedom)? * error;
    Some(((centre - half).exp(), (centre + half).exp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_held_against_the_others_on_the_same_points() {
        let values = [1.1_f64.ln(), 1.1_f64.ln(), 1.1_f64.ln()];
        let found = effect("a", &values);
        assert!((found.ratio - 1.1).abs() < 1e-9, "{found:?}");
        let (low, high) = found.interval.expect("three trials");
        assert!((low - 1.1).abs() < 1e-9 && (high - 1.1).abs() < 1e-9);
        assert_eq!(effect("a", &[0.0]).interval, None);
    }
}
