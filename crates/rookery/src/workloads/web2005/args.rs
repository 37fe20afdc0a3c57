//! What all commands of these workloads share: the file set as it is typed, and the end.

use clap::{Args, ValueEnum};
use rookery_stack::StopSignal;
use rookery_workload::web2005::{Model, ModernBrowser, Profile, files::Shape};

use crate::exit::{Code, Failure};

/// A workload as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ModelName {
    /// Accounts, payments, transfers
    Banking,
    /// Products and a cart
    Ecommerce,
    /// Searches and downloads
    Support,
}

/// How browsers behave, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ProfileName {
    /// As in 2005
    Classic2005,
    /// As of today: a cache, compressed pages, resumed sessions of TLS
    Modern,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Classic2005 => Self::Classic2005,
            ProfileName::Modern => Self::Modern(ModernBrowser::default()),
        }
    }
}

/// A file set as it is typed.
#[derive(Debug, Args)]
pub(super) struct ShapeArgs {
    /// Workload
    #[arg(long, value_enum)]
    model: ModelName,
    /// Simultaneous sessions that the file set is for
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    sessions: u32,
    /// Part of the users, product lines or directories for each session, more than 0 and at most 1
    #[arg(long, value_name = "PART", default_value_t = 1.0)]
    scale: f64,
    /// Seed of every byte and value
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl ShapeArgs {
    /// The file set.
    pub(super) fn shape(&self) -> Result<Shape, Failure> {
        let model = match self.model {
            ModelName::Banking => Model::Banking,
            ModelName::Ecommerce => Model::Ecommerce,
            ModelName::Support => Model::Support,
        };
        Shape::new(model, self.sessions, self.scale, self.seed)
            .map_err(|error| Failure::new(Code::Usage, error.to_string()))
    }
}

/// Raised by SIGTERM and SIGINT.
pub(super) fn stop_signal() -> Result<StopSignal, Failure> {
    StopSignal::on_termination().map_err(|error| {
        Failure::new(
            Code::Internal,
            format!("cannot listen for signals: {error}"),
        )
    })
}
