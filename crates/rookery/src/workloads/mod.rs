//! The workloads' own commands: the one place of this crate that names all of them.

mod arrivals;
mod cms;
mod dvdstore;
mod file;
mod http;
mod measured;
mod netstream;
mod orderentry;
mod phases;
mod sample;
mod sql;
mod web;
mod web2005;

use clap::Subcommand;
use rookery_study::{Document, Variant, Workload};

pub(crate) use self::http::try_out::{Tried, TryArgs};
use crate::exit::{Code, Failure};

/// A workload on a stack, as `rookery new` puts it into a study: lines of its sections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starter {
    /// What is typed for it.
    pub(crate) name: &'static str,
    /// What it is and needs.
    pub(crate) what: &'static str,
    /// Of `[workload]`.
    pub(crate) workload: &'static str,
    /// Of `[stack]`.
    pub(crate) stack: &'static str,
    /// Of `[guest]`.
    pub(crate) guest: &'static str,
    /// How long it runs before it is measured.
    pub(crate) settle: &'static str,
    /// Who loads it.
    pub(crate) unit: Unit,
    /// Of `[qos]`.
    pub(crate) limit: &'static str,
    /// Two tunings to compare, if it has any.
    pub(crate) tunings: Option<[&'static str; 2]>,
}

/// Who loads a guest, and how many of them are a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// `users`.
    pub(crate) plural: &'static str,
    /// A light load for one vCPU.
    pub(crate) low: u32,
    /// One that is near what a vCPU carries.
    pub(crate) high: u32,
    /// More than it carries.
    pub(crate) most: u32,
}

/// Everything that `rookery new` may begin with.
pub(crate) fn starters() -> impl Iterator<Item = &'static Starter> {
    dvdstore::STARTERS.iter().chain(&orderentry::STARTERS)
}

/// `rookery data`.
#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// DVD Store 2.1 load files
    Dvdstore(dvdstore::data::DataDvdstoreArgs),
    /// Order-entry files for the bulk loaders of databases
    Orderentry(orderentry::data::DataOrderentryArgs),
    /// File sets of banking, e-commerce and support
    Web2005(web2005::data::DataWeb2005Args),
    /// Users and nodes of a content-management site for the bulk loaders of databases
    Cms(cms::data::DataCmsArgs),
}

impl DataCommand {
    /// Run the command that was typed.
    pub(crate) fn run(&self) -> Result<Code, Failure> {
        match self {
            Self::Dvdstore(args) => dvdstore::data::run(args),
            Self::Orderentry(args) => orderentry::data::run(args),
            Self::Web2005(args) => web2005::data::run(args),
            Self::Cms(args) => cms::data::run(args),
        }
    }
}

/// `rookery app`.
#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// The DVD Store pages from one SQLite file
    Dvdstore(dvdstore::app::AppDvdstoreArgs),
    /// The order-entry database: SQLite behind a small server
    Orderentry(orderentry::app::AppOrderentryArgs),
    /// Answers of any size, to load a network
    Netstream(netstream::app::AppNetstreamArgs),
    /// Records of the sample workload, which is an example and for tests
    Sample(sample::app::AppSampleArgs),
    /// The pages of banking, e-commerce or support
    Web2005(web2005::app::AppWeb2005Args),
    /// The back-end behind those pages
    Besim(web2005::besim::AppBesimArgs),
    /// The pages of a small content-management site from one SQLite file
    Cms(cms::app::AppCmsArgs),
}

impl AppCommand {
    /// Run the command that was typed.
    pub(crate) fn run(&self) -> Result<Code, Failure> {
        match self {
            Self::Dvdstore(args) => dvdstore::app::run(args),
            Self::Orderentry(args) => orderentry::app::run(args),
            Self::Netstream(args) => netstream::app::run(args),
            Self::Sample(args) => sample::app::run(args),
            Self::Web2005(args) => web2005::app::run(args),
            Self::Besim(args) => web2005::besim::run(args),
            Self::Cms(args) => cms::app::run(args),
        }
    }
}

/// `rookery drive`.
#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Emulated DVD Store users
    Dvdstore(Box<dvdstore::drive::DriveDvdstoreArgs>),
    /// Terminals of the order-entry workload on a database
    Orderentry(Box<orderentry::drive::DriveOrderentryArgs>),
    /// Users of a web workload that a file describes
    Http(Box<http::drive::DriveHttpArgs>),
    /// Users of a database workload that a file describes
    Sql(Box<sql::drive::DriveSqlArgs>),
    /// Users of banking, e-commerce or support
    Web2005(Box<web2005::drive::DriveWeb2005Args>),
    /// Users of a content-management site
    Cms(Box<cms::drive::DriveCmsArgs>),
}

impl DriveCommand {
    /// Run the command that was typed.
    pub(crate) fn run(&self) -> Result<Code, Failure> {
        match self {
            Self::Dvdstore(args) => dvdstore::drive::run(args),
            Self::Orderentry(args) => orderentry::drive::run(args),
            Self::Http(args) => http::drive::run(args),
            Self::Sql(args) => sql::drive::run(args),
            Self::Web2005(args) => web2005::drive::run(args),
            Self::Cms(args) => cms::drive::run(args),
        }
    }
}

/// `rookery load`.
#[derive(Debug, Subcommand)]
pub(crate) enum LoadCommand {
    /// The order-entry workload
    Orderentry(orderentry::load::LoadOrderentryArgs),
}

impl LoadCommand {
    /// Run the command that was typed.
    pub(crate) fn run(&self) -> Result<Code, Failure> {
        match self {
            Self::Orderentry(args) => orderentry::load::run(args),
        }
    }
}

/// `rookery verify`.
#[derive(Debug, Subcommand)]
pub(crate) enum VerifyCommand {
    /// The order-entry workload
    Orderentry(orderentry::verify::VerifyOrderentryArgs),
}

impl VerifyCommand {
    /// Run the command that was typed.
    pub(crate) fn run(&self) -> Result<Code, Failure> {
        match self {
            Self::Orderentry(args) => orderentry::verify::run(args),
        }
    }
}

/// `rookery workload`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadCommand {
    /// Check a web workload's file, and with --try what a site answers to it
    Check(Box<http::check::CheckWorkloadArgs>),
    /// Derive a first draft of a web workload's file from a browser's HAR, secrets removed
    FromHar(http::from_har::FromHarArgs),
}

impl WorkloadCommand {
    /// Run the command that was typed.
    pub(crate) fn run(&self) -> Result<Code, Failure> {
        match self {
            Self::Check(args) => http::check::run(args),
            Self::FromHar(args) => http::from_har::run(args),
        }
    }
}

/// Tries the workloads of a study that are data, if that was asked for: each that differs in more
/// than its pauses once.
pub(crate) fn try_study(document: &Document, at: &TryArgs) -> Result<Vec<Tried>, Failure> {
    if !at.is_asked() {
        return Ok(Vec::new());
    }
    let mut known = Vec::new();
    for study in document.variants().iter().flat_map(Variant::studies) {
        if let Workload::Http(wanted) = &study.workload {
            let mut workload = wanted.workload.clone();
            for operation in &mut workload.operations {
                operation.delay = rookery_workload::RandomDelay::default();
            }
            if !known.contains(&workload) {
                known.push(workload);
            }
        }
    }
    if known.is_empty() {
        return Err(Failure::new(
            Code::Usage,
            "--try: the study has no web workload whose operations are written down",
        )
        .help("`rookery drive` loads a site with one of the built-in workloads"));
    }
    let tried: Result<Vec<Option<Tried>>, Failure> =
        known.iter().map(|workload| at.run(workload)).collect();
    Ok(tried?.into_iter().flatten().collect())
}
