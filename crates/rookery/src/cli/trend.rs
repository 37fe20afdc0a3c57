//! The command line of `trend`.

use std::path::PathBuf;

use clap::Args;

use super::RunsPlace;

#[derive(Debug, Args)]
pub(crate) struct TrendArgs {
    /// The study: its file or the name of that, or @NAME of a built-in study
    #[arg(value_name = "STUDY")]
    pub(crate) study: PathBuf,
    /// How many runs are listed at most; all are looked at
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    pub(crate) most: usize,
    #[command(flatten)]
    pub(crate) place: RunsPlace,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
