//! What a window must keep.

use serde::{Deserialize, Serialize};

use super::PageRow;

/// Of which requests the shares of good and tolerable ones are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Of all page types together, as in the published results.
    #[default]
    Aggregate,
    /// Of every page type by itself.
    Page,
}

/// What a window must keep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Of which requests the shares are taken.
    pub scope: Scope,
    /// Least share of good pages, percent.
    pub good_pct: f64,
    /// Least share of good and tolerable pages, percent.
    pub tolerable_pct: f64,
    /// Largest share of pages with a validation error, percent.
    pub validation_error_pct: f64,
    /// Fewest requests of every page type.
    pub min_requests: u64,
}

impl Default for Rules {
    /// Those of the original.
    fn default() -> Self {
        Self {
            scope: Scope::Aggregate,
            good_pct: 95.0,
            tolerable_pct: 99.0,
            validation_error_pct: 0.5,
            min_requests: 100,
        }
    }
}

impl Rules {
    /// Whether a row of the table keeps the shares of good and tolerable pages. One without a
    /// request keeps nothing.
    #[must_use]
    pub fn keeps_bands(&self, row: &PageRow) -> bool {
        row.percentages().is_some_and(|[good, tolerable, _]| {
            good >= self.good_pct && tolerable >= self.tolerable_pct
        })
    }
}
