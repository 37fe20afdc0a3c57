//! The command line of `data`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// DVD Store 2.1 load files
    Dvdstore(DataDvdstoreArgs),
    /// Order-entry files for the bulk loaders of databases
    Orderentry(DataOrderentryArgs),
}

/// Word lists of titles and actors; Rookery's own by default.
#[derive(Debug, Args)]
pub(crate) struct WordArgs {
    /// File of 1000 title words, one a line
    #[arg(
        long,
        value_name = "FILE",
        requires = "first_names",
        requires = "last_names"
    )]
    pub(crate) title_words: Option<PathBuf>,
    /// File of 200 first names
    #[arg(long, value_name = "FILE", requires = "title_words")]
    pub(crate) first_names: Option<PathBuf>,
    /// File of 200 last names
    #[arg(long, value_name = "FILE", requires = "title_words")]
    pub(crate) last_names: Option<PathBuf>,
    /// Learn the three lists from a product file of another DVD Store
    #[arg(long, value_name = "PROD_CSV", conflicts_with = "title_words")]
    pub(crate) learn_words: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CustomerRandom {
    /// As the published files were made
    Newlib,
    /// As the generator makes them on Linux
    Gnu,
}

#[derive(Debug, Args)]
pub(crate) struct DataDvdstoreArgs {
    /// S, M, L, or a whole number with MB or GB
    #[arg(long, default_value = "10MB")]
    pub(crate) size: String,
    /// Directory to write to; it is made if it does not exist [default: dvdstore-SIZE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Random generator of the customers
    #[arg(long, value_enum, default_value_t = CustomerRandom::Newlib)]
    pub(crate) customers: CustomerRandom,
    /// End lines with CR LF
    #[arg(long)]
    pub(crate) crlf: bool,
    /// Threads [default: all CPUs]
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print SHA-256 digests of the files; up to 100MB they are printed anyway
    #[arg(long)]
    pub(crate) digests: bool,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) words: WordArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderentryFormat {
    /// Comma separated, for any database
    Csv,
    /// For COPY of PostgreSQL
    Copy,
    /// For LOAD DATA of MariaDB and MySQL
    LoadData,
}

#[derive(Debug, Args)]
pub(crate) struct DataOrderentryArgs {
    /// Number of warehouses, about 75 MB each
    #[arg(long, default_value_t = 1)]
    pub(crate) warehouses: u32,
    /// Directory to write to; it is made if it does not exist [default: orderentry-WAREHOUSES]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// For which bulk loader
    #[arg(long, value_enum, default_value_t = OrderentryFormat::Csv)]
    pub(crate) format: OrderentryFormat,
    /// Seed; the same seed gives the same bytes
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,
    /// Divide the rows of each warehouse for a test database: 2, 4, 5, 10, 20, 25, 50 or 100
    #[arg(long, default_value_t = 1)]
    pub(crate) divisor: u32,
    /// Time of the load in the rows [default: 2000-01-01 00:00:00]
    #[arg(long, value_name = "TIME")]
    pub(crate) loaded_at: Option<String>,
    /// Threads [default: all CPUs]
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Say in JSON what was written
    #[arg(long)]
    pub(crate) json: bool,
}
