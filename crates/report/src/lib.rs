//! The HTML paper and the terminal tables, both from the store of a run alone.
//!
//! [`html`] gives one self-contained file, [`terminal`] a plain summary. Both print what [`Analysis`] computed, so they
//! agree on every number.

mod analysis;
mod answer;
mod arrivals;
mod capacity;
mod ceiling;
mod compare;
mod draw;
mod effects;
mod evidence;
mod figure;
mod figures;
mod fit_figure;
#[cfg(test)]
mod fixture;
mod forest;
mod format;
mod interval;
mod layers;
mod loop_type;
mod orderentry;
mod page;
mod scaling;
mod scaling_figure;
mod search_figures;
mod search_tables;
mod searches;
mod settings;
mod shop;
mod sweep;
mod tables;
mod terminal;
#[cfg(test)]
mod tests;
mod timeline;
mod trust;
mod words;

use rookery_store::{Store, StoreError};

pub use analysis::{Analysis, OperationSummary, PERCENTILES, PointSummary, QosCount};
pub use ceiling::{Ceiling, CeilingPoint};
pub use compare::{compare_html, compare_terminal};
pub use effects::{Compared, Effects, Interaction, Metric, Worth};
pub use fit_figure::{CurvePoint, FitCurve, FitFigure, FitPanel, FitPoint, fit_html};
pub use interval::{Basis, Estimate, Quantile};
pub use rookery_judge::{Run, TrialData};
pub use scaling::{Grows, Scaling, Step};
pub use searches::Searched;
pub use trust::Trust;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The run could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The page could not be put together: a fault of ours.
    #[error(
        "the page could not be put together: {0}\n  mend: this is a fault of rookery, please report it"
    )]
    Page(#[from] minijinja::Error),
}

/// The whole report as one HTML file that needs nothing else.
///
/// # Errors
/// When the store is damaged.
pub fn html(store: &Store) -> Result<String, ReportError> {
    html_with(store, &[])
}

/// The same, with ceilings of the run's storage drawn beside the I/O of its guests.
///
/// # Errors
/// When the store is damaged.
pub fn html_with(store: &Store, ceilings: &[Ceiling]) -> Result<String, ReportError> {
    let run = Run::read(store)?;
    page::render(&run, &Analysis::of(&run), ceilings)
}

/// The summary as plain text for a terminal.
///
/// # Errors
/// When the store is damaged.
pub fn terminal(store: &Store) -> Result<String, ReportError> {
    let run = Run::read(store)?;
    Ok(terminal::render(&run, &Analysis::of(&run)))
}
