//! What single workloads add to a report: the registry of their rooms.

mod cms;
mod dvdstore;
mod netstream;
mod orderentry;
mod web2005;
mod windows;

use rookery_analysis::{Analysis, Run};
use rookery_study::WorkloadKind;
use serde::Serialize;

use crate::{figures::data::Figure, tables::Table};

/// A section of the page that only one workload has.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    /// Anchor in the page.
    pub(crate) id: &'static str,
    /// Name in the navigation.
    pub(crate) name: &'static str,
    /// Title.
    pub(crate) title: &'static str,
    /// What it shows and under which conditions.
    pub(crate) caption: String,
    /// Its tables.
    pub(crate) parts: Vec<Part>,
}

/// One table of a section.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    /// Its title; empty where the section has only one.
    pub(crate) heading: &'static str,
    /// What it shows; may be empty.
    pub(crate) caption: &'static str,
    /// With more rows than this it is closed at first.
    pub(crate) fold_beyond: usize,
    /// What its rows are, in the plural.
    pub(crate) rows: &'static str,
    /// The table.
    pub(crate) table: Table,
}

/// What only one workload has to say on a terminal.
#[derive(Debug, Default)]
pub(crate) struct Brief {
    /// Its tables.
    pub(crate) tables: Vec<Table>,
    /// Sentences beneath them.
    pub(crate) remarks: Vec<String>,
}

/// What only the run's workload answers: sentences that come before those that all have.
pub(crate) fn answer(run: &Run, analysis: &Analysis) -> Vec<String> {
    match run.header.study.workload.kind() {
        WorkloadKind::Netstream => netstream::answer(analysis),
        WorkloadKind::Dvdstore
        | WorkloadKind::Orderentry
        | WorkloadKind::Http
        | WorkloadKind::Sql
        | WorkloadKind::WebBanking
        | WorkloadKind::WebEcommerce
        | WorkloadKind::WebSupport
        | WorkloadKind::Cms
        | WorkloadKind::Sample => Vec::new(),
    }
}

/// The section of the run's workload, if it has one.
pub(crate) fn section(run: &Run, analysis: &Analysis) -> Option<Section> {
    match run.header.study.workload.kind() {
        WorkloadKind::Dvdstore => Some(dvdstore::section(run)),
        WorkloadKind::Orderentry => orderentry::section(run, analysis),
        WorkloadKind::WebBanking | WorkloadKind::WebEcommerce | WorkloadKind::WebSupport => {
            web2005::section(run)
        }
        WorkloadKind::Cms => cms::section(run),
        WorkloadKind::Http | WorkloadKind::Sql | WorkloadKind::Netstream | WorkloadKind::Sample => {
            None
        }
    }
}

/// The figure of the run's workload, if it has one.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    match run.header.study.workload.kind() {
        WorkloadKind::Netstream => netstream::figure(analysis),
        WorkloadKind::Dvdstore
        | WorkloadKind::Orderentry
        | WorkloadKind::Http
        | WorkloadKind::Sql
        | WorkloadKind::WebBanking
        | WorkloadKind::WebEcommerce
        | WorkloadKind::WebSupport
        | WorkloadKind::Cms
        | WorkloadKind::Sample => None,
    }
}

/// What only the run's workload has to say on a terminal.
pub(crate) fn brief(run: &Run, analysis: &Analysis) -> Brief {
    match run.header.study.workload.kind() {
        WorkloadKind::Dvdstore | WorkloadKind::Http | WorkloadKind::Sql | WorkloadKind::Sample => {
            Brief::default()
        }
        WorkloadKind::Netstream => netstream::brief(analysis),
        WorkloadKind::WebBanking | WorkloadKind::WebEcommerce | WorkloadKind::WebSupport => {
            web2005::brief(run)
        }
        WorkloadKind::Cms => cms::brief(run),
        WorkloadKind::Orderentry => orderentry::brief(run, analysis),
    }
}
