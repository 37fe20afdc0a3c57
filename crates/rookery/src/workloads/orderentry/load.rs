//! `rookery load orderentry`: fill a database.

use std::thread::available_parallelism;

use clap::Args;
use rookery_diagnosis::Diagnosis;
use rookery_oltp::LoadOptions;
use rookery_workload::orderentry::{
    ParseTimestampError, Population, Scale, SchemaOptions, Timestamp,
};
use serde::Serialize;

use super::{TargetArgs, inconsistent, table};
use crate::{
    exit::{Code, Failure},
    output,
    progress::bar,
    signals,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct LoadOrderentryArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Number of warehouses, 80 to 100 MiB each in the database
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
    /// Seed; the same seed gives the same rows
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Divide the rows of each warehouse for a test database: 2, 4, 5, 10, 20, 25, 50 or 100
    #[arg(long, default_value_t = 1)]
    divisor: u32,
    /// Time of the load in the rows [default: 2000-01-01 00:00:00]
    #[arg(long, value_name = "TIME")]
    loaded_at: Option<String>,
    /// Connections that load at once [default: all CPUs, 8 at most]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    connections: Option<u16>,
    /// Declare the ten references
    #[arg(long)]
    foreign_keys: bool,
    /// Payments without a key
    #[arg(long)]
    no_history_key: bool,
    /// Drop the tables of the workload first if they exist
    #[arg(long)]
    overwrite: bool,
    /// Neither count rows nor check conditions at the end
    #[arg(long)]
    skip_verify: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
    /// Say in JSON what was loaded
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    server: &'a str,
    warehouses: u32,
    divisor: u32,
    seed: u64,
    rows: u64,
    bytes: u64,
    rows_seconds: f64,
    index_seconds: f64,
    verify_seconds: Option<f64>,
}

pub(crate) fn run(args: &LoadOrderentryArgs) -> Result<Code, Failure> {
    let usage = |error: &dyn Diagnosis| Failure::from_error(Code::Usage, error);
    let target = args.target.target()?;
    let scale = Scale::new(args.warehouses, args.divisor).map_err(|error| usage(&error))?;
    let loaded_at = args
        .loaded_at
        .as_deref()
        .map_or(Ok(Timestamp::DEFAULT_LOAD), str::parse);
    let population = Population {
        loaded_at: loaded_at.map_err(|error: ParseTimestampError| usage(&error))?,
        ..Population::new(scale, args.seed)
    };
    let cpus = available_parallelism().map_or(1, usize::from).min(8);
    let options = LoadOptions {
        population,
        schema: SchemaOptions {
            foreign_keys: args.foreign_keys,
            history_key: !args.no_history_key,
        },
        connections: args.connections.map_or(cpus, usize::from),
        overwrite: args.overwrite,
        check: !args.skip_verify,
    };
    let stop = signals::stop_flag()?;
    let bar = bar(
        args.quiet || args.json,
        "  {bar:30} {human_pos}/{human_len} rows  {eta} left",
    );
    bar.set_length(scale.all_rows());
    let loaded = rookery_oltp::load(&target, &options, &stop, &|step| bar.inc(step.rows));
    bar.finish_and_clear();
    let loaded = loaded?;
    let (rows_seconds, index_seconds) = (
        loaded.streaming.as_secs_f64(),
        loaded.indexing.as_secs_f64(),
    );
    if args.json {
        output::json(&Report {
            server: &loaded.version,
            warehouses: scale.warehouses(),
            divisor: scale.divisor(),
            seed: args.seed,
            rows: loaded.rows,
            bytes: loaded.bytes,
            rows_seconds,
            index_seconds,
            verify_seconds: loaded.checking.map(|checking| checking.as_secs_f64()),
        })?;
    } else {
        let megabytes = loaded.bytes as f64 / 1e6;
        let speed = megabytes / rows_seconds.max(1e-9);
        let verified = match loaded.checking {
            Some(checking) => format!("verified in {:.2} s", checking.as_secs_f64()),
            None => "not verified".to_owned(),
        };
        output::text(format!(
            "{target}: {}, {} warehouses\n{} rows, {megabytes:.1} MB sent in {rows_seconds:.2} s \
             ({speed:.0} MB/s); keys, indexes and statistics in {index_seconds:.2} s; {verified}",
            loaded.version,
            scale.warehouses(),
            loaded.rows
        ));
    }
    if loaded.broken.is_empty() {
        return Ok(Code::Done);
    }
    output::remark(table(&loaded.broken));
    Err(inconsistent(&target, loaded.broken.len()))
}
