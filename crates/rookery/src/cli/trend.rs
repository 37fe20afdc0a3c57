//! The command line of `trend`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct TrendArgs {
    /// The study: its file or the name of that, or @NAME of a built-in study
    #[arg(value_name = "STUDY")]
    pub(crate) study: PathBuf,
    /// How many runs are listed at most; all are looked at
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    pub(crate) most: usize,
    /// Directory that holds the runs
    #[arg(
        long,
        value_name = "DIR",
        default_value = "rookery-runs",
        env = "ROOKERY_RUNS"
    )]
    pub(crate) runs: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
