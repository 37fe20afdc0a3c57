//! What `rookery host storage` can be told.

use std::path::PathBuf;

use clap::Args;

use super::Places;

#[derive(Debug, Args)]
pub(crate) struct HostStorageArgs {
    /// Directory to measure; a file is made in it and removed [default: the working directory]
    #[arg(value_name = "DIR", conflicts_with_all = ["study", "run"])]
    pub(crate) directory: Option<PathBuf>,
    /// Measure the storage of this study: volumes with its options, under its limits
    #[arg(long, value_name = "STUDY", conflicts_with = "run")]
    pub(crate) study: Option<PathBuf>,
    /// The study in one of the scales of its file
    #[arg(long, value_name = "NAME", requires = "study")]
    pub(crate) scale: Option<String>,
    /// Measure the storage of a stored run, and keep the result beside it for its report
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Seconds at each point: reads and writes of two sizes at each depth
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
    /// Queue depths, separated by commas
    #[arg(long, value_name = "N,...", value_delimiter = ',', num_args = 1..=32, default_values_t = rookery_host::fio::DEPTHS,
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) depths: Vec<u32>,
    /// Size of the file that is read and written, MiB
    #[arg(long, default_value_t = 128, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) size: u64,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}
