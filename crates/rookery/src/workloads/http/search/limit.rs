//! Limits of a search, as they are typed.

use rookery_stats::qos::{PercentileLimit, Qos};
use rookery_study::parse_duration;

/// Failures that are allowed where nothing is said of them.
const ERRORS: f64 = 0.01;
/// Fewest operations that a percentile is judged by.
const FEWEST: u64 = 30;

/// One limit.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Limit {
    /// Of a percentile, of one operation or of each.
    Percentile(PercentileLimit),
    /// Of the share of failures, 0 to 1.
    Errors(f64),
}

/// Reads `p95=200ms`, `search.p99=1s` or `errors=1%`.
pub(super) fn parse(text: &str) -> Result<Limit, String> {
    let (what, limit) = text
        .split_once('=')
        .ok_or("write for instance p95=200ms, search.p99=1s or errors=1%")?;
    if what == "errors" {
        return share(limit)
            .map(Limit::Errors)
            .ok_or_else(|| format!("`{limit}` is no share: write 1% or 0.01"));
    }
    let (operation, percentile) = match what.rsplit_once(".p") {
        Some((operation, digits)) => (Some(operation.to_owned()), digits),
        None => (None, what.strip_prefix('p').unwrap_or_default()),
    };
    let percentile: f64 = percentile
        .parse()
        .ok()
        .filter(|percentile: &f64| *percentile > 0.0 && *percentile < 100.0)
        .ok_or_else(|| {
            format!("`{what}` is no percentile: write for instance p95 or search.p99")
        })?;
    let limit = parse_duration(limit).map_err(|error| error.to_string())?;
    if limit.is_zero() {
        return Err("no operation takes no time at all".to_owned());
    }
    Ok(Limit::Percentile(PercentileLimit {
        operation,
        percentile,
        limit_us: rookery_cast::micros(limit),
    }))
}

fn share(text: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent)? / 100.0,
        None => number(text)?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// All limits together; without one of failures, one of a hundred is allowed.
pub(super) fn qos(limits: &[Limit]) -> Qos {
    let mut qos = Qos {
        percentiles: Vec::new(),
        error_ratio: Some(ERRORS),
        min_operations: FEWEST,
    };
    for limit in limits {
        match limit {
            Limit::Percentile(limit) => qos.percentiles.push(limit.clone()),
            Limit::Errors(share) => qos.error_ratio = Some(*share),
        }
    }
    qos
}

/// The limits in words.
pub(super) fn words(qos: &Qos) -> Vec<String> {
    let mut words: Vec<String> = qos
        .percentiles
        .iter()
        .map(|limit| {
            let operation = match &limit.operation {
                Some(operation) => format!("{operation} "),
                None => String::new(),
            };
            let ms = limit.limit_us as f64 / 1e3;
            format!("{operation}p{} <= {ms} ms", limit.percentile)
        })
        .collect();
    words.extend(
        qos.error_ratio
            .map(|share| format!("errors <= {} %", (1e6 * share).round() / 1e4)),
    );
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_typed() {
        let percentile = |operation: Option<&str>, percentile, limit_us| {
            Ok(Limit::Percentile(PercentileLimit {
                operation: operation.map(str::to_owned),
                percentile,
                limit_us,
            }))
        };
        assert_eq!(parse("p95=200ms"), percentile(None, 95.0, 200_000));
        assert_eq!(
            parse("search.p99.9=1s"),
            percentile(Some("search"), 99.9, 1_000_000)
        );
        assert_eq!(parse("errors=1%"), Ok(Limit::Errors(0.01)));
        assert_eq!(parse("errors=0.05"), Ok(Limit::Errors(0.05)));
        for wrong in [
            "", "p95", "p95=", "p0=1s", "p100=1s", "fast=1s", "p95=0s", "errors=2", "p95=5",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let all = [parse("p95=200ms"), parse("errors=5%")].map(|limit| limit.expect("right"));
        assert_eq!(words(&qos(&all)), ["p95 <= 200 ms", "errors <= 5 %"]);
        assert_eq!(words(&qos(&all[..1])), ["p95 <= 200 ms", "errors <= 1 %"]);
    }
}
