//! Clients that are measured in rounds, and compared within each.

use std::iter::once;

use rookery_cast::index;
use rookery_stats::RankBounds;

use super::Sample;
use crate::bench::{
    driver::quartiles,
    lamp::{median, say, shuffle},
};

/// A client and its measurement.
pub(super) struct Client<'a> {
    pub(super) name: &'static str,
    measure: Box<dyn Fn() -> Result<Sample, String> + 'a>,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        name: &'static str,
        measure: impl Fn() -> Result<Sample, String> + 'a,
    ) -> Self {
        Self {
            name,
            measure: Box::new(measure),
        }
    }
}

/// What samples are told in.
pub(super) struct Units {
    /// The unit of rates, and by what they are multiplied for it.
    pub(super) rate: (&'static str, f64),
    pub(super) cost: &'static str,
}

/// Measure rounds of all clients, and tell what each did and how `own` compares with each peer.
pub(super) fn compare(
    title: &str,
    units: &Units,
    rounds: u32,
    own: &Client<'_>,
    peers: &[Client<'_>],
) -> Result<(), String> {
    let clients: Vec<&Client<'_>> = once(own).chain(peers).collect();
    let mut samples: Vec<Vec<Sample>> = clients.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..clients.len()).collect();
        shuffle(&mut order);
        for client in order {
            samples[client].push((clients[client].measure)()?);
        }
    }
    for (client, samples) in clients.iter().zip(&samples) {
        tell(title, units, client.name, samples)?;
    }
    let (own, of_peers) = samples.split_first().ok_or("no client")?;
    for (peer, of_peer) in peers.iter().zip(of_peers) {
        let ratio = |of: fn(&Sample) -> f64| {
            let pairs = own.iter().zip(of_peer);
            median_with_interval(pairs.map(|(own, peer)| of(own) / of(peer)).collect())
        };
        say(&format!(
            "{title:<12} rookery / {:<9} {}, of CPU time {} (median of {rounds} pairs)",
            peer.name,
            ratio(|sample| sample.rate),
            ratio(|sample| sample.cost),
        ))?;
    }
    Ok(())
}

/// Say what one client did.
fn tell(title: &str, units: &Units, name: &str, samples: &[Sample]) -> Result<(), String> {
    let (unit, scale) = units.rate;
    let mut rates: Vec<f64> = samples.iter().map(|sample| sample.rate * scale).collect();
    let mut costs: Vec<f64> = samples.iter().map(|sample| sample.cost).collect();
    let ([low, middle, high], costs) = (quartiles(&mut rates), quartiles(&mut costs));
    say(&format!(
        "{title:<12} {name:<9} {middle:9.0} {unit} (quartiles {low:.0} to {high:.0}), {:7.3} {} \
         ({:.3} to {:.3})",
        costs[1], units.cost, costs[0], costs[2]
    ))
}

/// The median, and where that of all such values is with at least 95 %: `0.970 (0.950 to 0.990)`.
fn median_with_interval(mut values: Vec<f64>) -> String {
    let middle = median(&values);
    values.sort_by(f64::total_cmp);
    let bounds = RankBounds::exact(values.len() as u64, 0.5);
    // Ranks count from 1.
    let [low, high] = [bounds.low, bounds.high].map(|rank| values.get(index(rank?) - 1));
    match (low, high) {
        (Some(low), Some(high)) => format!("{middle:.3} ({low:.3} to {high:.3})"),
        _ => format!("{middle:.3} (too few for an interval)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_told_of_enough_values() {
        let values = (1..=9).map(f64::from).collect();
        assert_eq!(median_with_interval(values), "5.000 (2.000 to 8.000)");
        assert_eq!(
            median_with_interval(vec![1.0, 2.0]),
            "1.500 (too few for an interval)"
        );
    }
}
