//! The command line of `fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What parts whole numbers from fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecimalArg {
    /// 1234.5
    Point,
    /// 1234,5
    Comma,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightsArg {
    /// All runs alike
    Equal,
    /// 1/X^2: the scatter grows with throughput
    Relative,
    /// 1/variance of the load's runs; three runs at every load
    Variance,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct FitArgs {
    /// CSV file: a line of column names, then one line per run; separated by comma, semicolon, tab,
    /// bar or blanks
    pub(crate) file: PathBuf,
    /// Column of the load (users, CPUs or guests), by name or number
    #[arg(long, value_name = "COLUMN")]
    pub(crate) n: String,
    /// Column of the throughput, by name or number
    #[arg(long, value_name = "COLUMN")]
    pub(crate) x: String,
    /// Column that says why a run does not count; empty, 0, no, ok or done: it counts
    #[arg(long, value_name = "COLUMN")]
    pub(crate) exclude: Option<String>,
    /// Decimal mark of the numbers [default: told from the numbers]
    #[arg(long, value_enum, value_name = "MARK")]
    pub(crate) decimal: Option<DecimalArg>,
    /// Known think time; the closed queue's delay is at least that
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pub(crate) z: f64,
    /// Predict the throughput at this load; may be given several times
    #[arg(long, value_name = "N")]
    pub(crate) at: Vec<f64>,
    /// How much each run counts
    #[arg(long, value_enum, default_value_t = WeightsArg::Equal)]
    pub(crate) weights: WeightsArg,
    /// Hold lambda at the throughput of load 1
    #[arg(long)]
    pub(crate) two_parameter: bool,
    /// Print what the methods of published fits give (lambda free or held, Gunther's transform), of
    /// a refused law too
    #[arg(long)]
    pub(crate) published: bool,
    /// Draws of the bootstrap
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) draws: u32,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write a figure as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
