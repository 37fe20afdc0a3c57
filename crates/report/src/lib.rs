//! The HTML paper and the terminal tables, both from the store of a run alone.
//!
//! [`html`] gives one self-contained file, [`terminal`] a plain summary. Both print what
//! [`Analysis`] computed, so they agree on every number.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

mod answer;
mod draw;
mod figures;
mod page;
mod prose;
mod tables;
mod terminal;
#[cfg(test)]
mod tests;
mod workloads;

use rookery_analysis::{Analysis, Run, storage::Ceiling};
use rookery_diagnosis::Diagnosis;
use rookery_store::{Store, StoreError};
use rookery_text::Zone;

pub use page::{
    CurvePoint, FitCurve, FitFigure, FitPanel, FitPoint, STYLE, compare_html, fit_html, policy,
};
pub use prose::trend::trend_sentences;
pub use terminal::{compare_terminal, trend_terminal};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The run could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The page could not be put together: a fault of ours.
    #[error("the page could not be put together: {0}")]
    Page(#[from] minijinja::Error),
}

impl Diagnosis for ReportError {
    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Page(_) => "report::page",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.place(),
            Self::Page(_) => None,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.help(),
            Self::Page(_) => Some("this is a fault of Rookery, please report it".to_owned()),
        }
    }
}

/// The whole report as one HTML file that needs nothing else, with its times in `zone` and with the
/// ceilings of the run's storage drawn beside the I/O of its guests.
///
/// # Errors
/// When the store is damaged.
pub fn html(store: &Store, ceilings: &[Ceiling], zone: &Zone) -> Result<String, ReportError> {
    let run = Run::read(store)?;
    page::render(&run, &Analysis::from_run(&run), ceilings, zone)
}

/// The tables and sentences of a run as plain text for a terminal, in lines of `width`, with times
/// in `zone`.
///
/// # Errors
/// When the store is damaged.
pub fn terminal(store: &Store, width: usize, zone: &Zone) -> Result<String, ReportError> {
    let run = Run::read(store)?;
    let analysis = Analysis::from_run(&run);
    Ok(terminal::render(&run, &analysis, width, zone))
}

/// What a run found in a few lines of `width`: title, answer, limits, trust, caveats,
/// with times of `zone`.
///
/// # Errors
/// When the store is damaged.
pub fn brief(store: &Store, width: usize, zone: &Zone) -> Result<String, ReportError> {
    let run = Run::read(store)?;
    let analysis = Analysis::from_run(&run);
    Ok(terminal::brief(&run, &analysis, width, zone))
}

/// The answer of a run, its first sentence.
///
/// # Errors
/// When the store is damaged.
pub fn answer(store: &Store) -> Result<String, ReportError> {
    let run = Run::read(store)?;
    Ok(terminal::first_answer(&run, &Analysis::from_run(&run)))
}
