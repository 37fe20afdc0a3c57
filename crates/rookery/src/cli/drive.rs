//! The command line of `drive` and `app`.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};

use super::WordArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// The DVD Store pages from one SQLite file
    Dvdstore(AppDvdstoreArgs),
    /// The order-entry database: SQLite behind a small server
    Orderentry(crate::commands::app::orderentry::AppOrderentryArgs),
    /// Records of the sample workload, which is an example and for tests
    Sample(crate::workloads::sample::app::AppSampleArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PagesArg {
    /// Without the known defects of the original
    Corrected,
    /// With them
    Faithful,
}

#[derive(Debug, Args)]
pub(crate) struct AppDvdstoreArgs {
    /// Database file
    #[arg(long, value_name = "FILE")]
    pub(crate) database: PathBuf,
    /// Load a database of this size first if the file does not exist
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub(crate) listen: std::net::SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    pub(crate) workers: usize,
    /// Corrected or faithful pages
    #[arg(long, value_enum, default_value_t = PagesArg::Corrected)]
    pub(crate) pages: PagesArg,
    /// CPU time that every page burns on purpose, such as 200us: a slow-down of known size, to test
    /// measurements
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = rookery_study::parse_duration)]
    pub(crate) extra_cpu: Duration,
    /// Directory of the pages in URLs
    #[arg(long, default_value = "ds2")]
    pub(crate) directory: String,
    #[command(flatten)]
    pub(crate) words: WordArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Emulated DVD Store users
    Dvdstore(Box<DriveDvdstoreArgs>),
    /// Terminals of the order-entry workload on a database
    Orderentry(Box<crate::commands::orderentry::drive::DriveOrderentryArgs>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriveFormat {
    /// Tables for people, at the end
    Text,
    /// The measurement as JSON, at the end
    Json,
    /// The lines of the original driver: one every 10 s, and the final ones
    Original,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PacingArg {
    /// A pause after each order
    Think,
    /// From the start of one order to the start of the next
    Cycle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// Independent of each other
    Poisson,
    /// At even distances
    Uniform,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionArg {
    /// Each at its own time, to some microseconds
    Exact,
    /// Those of a millisecond together: cheaper
    Batched,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Open load: visitors arrive on a schedule that does not wait for answers, order and leave; so
    /// many per second at each target, such as 100, 10..200, 30s:100,30s:200,10s:~50 or
    /// swing:100:0.5:60s
    #[arg(long, value_name = "RATE", conflicts_with = "users")]
    pub(crate) open: Option<String>,
    /// With --open: how arrivals are spaced
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,
    /// With --open: visitors present at one target; further arrivals are dropped and counted
    #[arg(long, default_value_t = 1000)]
    pub(crate) max_in_flight: u32,
    /// With --open: how exactly arrivals are started
    #[arg(long, value_enum, default_value_t = PrecisionArg::Exact)]
    pub(crate) precision: PrecisionArg,
    /// With --open: after an order a visitor thinks and orders again with this probability (a
    /// partly open load)
    #[arg(long, value_name = "PROBABILITY", requires = "open")]
    pub(crate) go_on: Option<f64>,
    /// With --open: orders of each visitor, with think times between them (a partly open load)
    #[arg(long, requires = "open", conflicts_with = "go_on")]
    pub(crate) acts: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct DriveDvdstoreArgs {
    /// System to drive; several are driven alike
    #[arg(
        long,
        required_unless_present = "config_file",
        value_name = "http://HOST[:PORT][/DIRECTORY]"
    )]
    pub(crate) target: Vec<String>,
    /// Yes, load may be aimed at this address although it is not on this machine
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) confirm_target: Vec<IpAddr>,
    /// Parameter file of the original driver, lines of name=value; what is given here too, wins
    /// over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config_file: Option<PathBuf>,
    /// Users per target [default: 1]
    #[arg(long)]
    pub(crate) users: Option<u32>,
    #[command(flatten)]
    pub(crate) load: OpenArgs,
    /// Size of the loaded database [default: 10MB]
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Mean think time between orders, such as 250ms; with --pacing cycle the cycle time [default:
    /// 0s]
    #[arg(long)]
    pub(crate) think_time: Option<String>,
    /// What the think time is counted from
    #[arg(long, value_enum, default_value_t = PacingArg::Think)]
    pub(crate) pacing: PacingArg,
    /// Users start evenly over this time [default: 2s]
    #[arg(long)]
    pub(crate) ramp_up: Option<String>,
    /// Time from the end of ramp-up to the measured window [default: 3s]
    #[arg(long, visible_alias = "warm-up")]
    pub(crate) settle: Option<String>,
    /// The measured window [default: 30s]
    #[arg(long, visible_alias = "run-time")]
    pub(crate) steady: Option<String>,
    /// How long orders under way are awaited at the end
    #[arg(long, default_value = "5s")]
    pub(crate) drain: String,
    /// Limit on one request
    #[arg(long, default_value = "10s")]
    pub(crate) timeout: String,
    /// Share of orders that start with a new customer [default: 0.2]
    #[arg(long)]
    pub(crate) new_customers: Option<f64>,
    /// Mean searches per order [default: 3]
    #[arg(long)]
    pub(crate) searches: Option<u32>,
    /// Mean rows asked for per search [default: 5]
    #[arg(long)]
    pub(crate) search_batch: Option<u32>,
    /// Mean items per order [default: 5]
    #[arg(long)]
    pub(crate) line_items: Option<u32>,
    /// Page suffix [default: php]
    #[arg(long)]
    pub(crate) page_type: Option<String>,
    /// CPUs of the driver, such as 1 or 2-3 [default: the last CPU]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// What is printed
    #[arg(long, value_enum, default_value_t = DriveFormat::Text)]
    pub(crate) format: DriveFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// With --format original: lines of each target too, every 10 s
    #[arg(long)]
    pub(crate) detailed: bool,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) words: WordArgs,
    /// Learn the words to search for from the first target's own pages, by at most 400 searches
    /// before the load
    #[arg(long, conflicts_with_all = ["learn_words", "title_words"])]
    pub(crate) learn_from_pages: bool,
}
