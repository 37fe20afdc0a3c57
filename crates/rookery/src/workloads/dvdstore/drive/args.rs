//! The command line of `rookery drive dvdstore`.

use std::{net::IpAddr, path::PathBuf};

use clap::{Args, ValueEnum};
use rookery_stats::Pacing;
use rookery_study::Named;

use crate::{
    one_of::one_of,
    workloads::{arrivals::OpenArgs, dvdstore::words::WordArgs},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DriveFormat {
    /// Tables for people, at the end
    Text,
    /// The measurement as JSON, at the end
    Json,
    /// The lines of the original driver: one every 10 s, and the final ones
    Original,
}

#[derive(Debug, Args)]
pub(crate) struct DriveDvdstoreArgs {
    /// System to drive; several are driven alike
    #[arg(
        long,
        required_unless_present = "config_file",
        value_name = "http://HOST[:PORT][/DIRECTORY]"
    )]
    pub(super) target: Vec<String>,
    /// Confirm that you may load this address, which is not on this machine
    #[arg(long, value_name = "ADDRESS")]
    pub(super) confirm_target: Vec<IpAddr>,
    /// Parameter file of the original driver, lines of name=value; what is given here too, wins
    /// over it
    #[arg(long, value_name = "FILE")]
    pub(super) config_file: Option<PathBuf>,
    /// Users per target [default: 1]
    #[arg(long)]
    pub(super) users: Option<u32>,
    #[command(flatten)]
    pub(super) load: OpenArgs,
    /// Size of the loaded database [default: 10MB]
    #[arg(long)]
    pub(super) size: Option<String>,
    /// Mean think time between orders, such as 250ms; with --pacing cycle the cycle time [default:
    /// 0s]
    #[arg(long)]
    pub(super) think_time: Option<String>,
    /// What the think time is counted from
    #[arg(long, value_parser = one_of(Pacing::NAMES), default_value = "think")]
    pub(super) pacing: Pacing,
    /// Users start evenly over this time [default: 2s]
    #[arg(long)]
    pub(super) ramp_up: Option<String>,
    /// Time from the end of ramp-up to the measured window [default: 3s]
    #[arg(long, visible_alias = "warm-up")]
    pub(super) settle: Option<String>,
    /// The measured window [default: 30s]
    #[arg(long, visible_alias = "run-time")]
    pub(super) steady: Option<String>,
    /// How long orders under way are awaited at the end
    #[arg(long, default_value = "5s")]
    pub(super) drain: String,
    /// Limit on one request
    #[arg(long, default_value = "10s")]
    pub(super) timeout: String,
    /// Share of orders that start with a new customer [default: 0.2]
    #[arg(long)]
    pub(super) new_customers: Option<f64>,
    /// Mean searches per order [default: 3]
    #[arg(long)]
    pub(super) searches: Option<u32>,
    /// Mean rows asked for per search [default: 5]
    #[arg(long)]
    pub(super) search_batch: Option<u32>,
    /// Mean items per order [default: 5]
    #[arg(long)]
    pub(super) line_items: Option<u32>,
    /// Page suffix [default: php]
    #[arg(long)]
    pub(super) page_type: Option<String>,
    /// CPUs of the driver, such as 1 or 2-3 [default: the last CPU]
    #[arg(long, value_name = "LIST")]
    pub(super) cpus: Option<String>,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// What is printed
    #[arg(long, value_enum, default_value_t = DriveFormat::Text)]
    pub(super) format: DriveFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(super) json: bool,
    /// With --format original: lines of each target too, every 10 s
    #[arg(long)]
    pub(super) detailed: bool,
    /// No progress
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) words: WordArgs,
    /// Learn the words to search for from the first target's own pages, by at most 400 searches
    /// before the load
    #[arg(long, conflicts_with_all = ["learn_words", "title_words"])]
    pub(super) learn_from_pages: bool,
}
