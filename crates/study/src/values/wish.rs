//! For what the points of a study are repeated beyond their first trials.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// For what points are repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RepeatGoal {
    /// Half of the 95 % interval of a point's throughput, as a share of its mean; the times of its
    /// trials are those that are written.
    HalfWidth(f64),
    /// Intervals within a budget of time; what is not written of the times of trials is chosen.
    Wish(Wish),
}

/// How narrow the intervals of points are wished to be, and within what time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wish {
    /// Half of the 95 % interval of the throughput, as a share of its mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<f64>,
    /// The same of percentiles of the response time of the main operation, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<PercentileWish>,
    /// Time of all trials together; `None` = [`BUDGETS`] times that of the study without the wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Duration>,
    /// Which times are left to pilots.
    pub open: OpenTimes,
}

/// What a study with a wish may take that does not say it: so many times what it takes without.
pub const BUDGETS: u32 = 3;

/// Half of the 95 % interval of a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PercentileWish {
    /// 0 to 100.
    pub percentile: f64,
    /// As a share of its mean over the trials.
    pub share: f64,
}

/// The times of trials that the study does not say, to be chosen from pilots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTimes {
    /// How long users settle.
    pub settle: bool,
    /// The measured window.
    pub steady: bool,
}

impl OpenTimes {
    /// Whether there is anything to choose.
    #[must_use]
    pub fn any(self) -> bool {
        self.settle || self.steady
    }
}

/// What a wish is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WishedMetric {
    /// Units of work per minute.
    Throughput,
    /// A percentile of the response time of the main operation, 0 to 100.
    Percentile(f64),
}

impl fmt::Display for WishedMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Throughput => f.write_str("throughput"),
            Self::Percentile(percentile) => write!(f, "p{percentile}"),
        }
    }
}

impl Wish {
    /// All that is wished, each with its share of the mean.
    #[must_use]
    pub fn goals(&self) -> Vec<(WishedMetric, f64)> {
        let throughput = self
            .throughput
            .map(|share| (WishedMetric::Throughput, share));
        let percentile =
            |wish: &PercentileWish| (WishedMetric::Percentile(wish.percentile), wish.share);
        throughput
            .into_iter()
            .chain(self.percentiles.iter().map(percentile))
            .collect()
    }
}

/// `throughput within 2 %, p99 within 5 %`
impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (metric, share)) in self.goals().into_iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            // Without the digits that the multiplication adds.
            let percent = (share * 1e5).round() / 1e3;
            write!(f, "{comma}{metric} within {percent} %")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_stored_apart_and_a_width_alone_as_it_always_was() {
        let wish = Wish {
            throughput: Some(0.02),
            percentiles: vec![PercentileWish {
                percentile: 99.9,
                share: 0.05,
            }],
            within: Some(Duration::from_secs(1800)),
            open: OpenTimes {
                settle: true,
                steady: false,
            },
        };
        assert_eq!(wish.to_string(), "throughput within 2 %, p99.9 within 5 %");
        for goal in [RepeatGoal::HalfWidth(0.03), RepeatGoal::Wish(wish)] {
            let json = serde_json::to_string(&goal).expect("it serialises");
            let back: RepeatGoal = serde_json::from_str(&json).expect("it comes back");
            assert_eq!(back, goal, "{json}");
        }
        let width = serde_json::to_string(&RepeatGoal::HalfWidth(0.03));
        assert_eq!(width.ok().as_deref(), Some("0.03"));
    }
}
