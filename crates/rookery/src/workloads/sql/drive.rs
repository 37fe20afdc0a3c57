//! `rookery drive sql`: only the driver, against a database that already runs.

use std::{net::IpAddr, path::PathBuf, sync::atomic::AtomicBool, time::Duration};

use clap::Args;
use rookery_driver::Load;
use rookery_oltp::{
    StatementsConfig, StatementsGuest, Target, count_records, run_statements, set_up,
    trial::Threads,
};
use rookery_stats::{GuestMeasurement, Measurement, faults};
use rookery_study::SqlUse;
use rookery_workload::sql::RowAudit;
use serde::Serialize;

use crate::{
    exit::{Code, Failure},
    output,
    progress::load_bar,
    signals,
    workloads::{
        arrivals::{self, OpenArgs},
        file, measured,
        phases::PhaseArgs,
    },
};

/// How long making and filling the tables may take.
const SETUP_LIMIT: Duration = Duration::from_secs(30 * 60);
/// How long counting may take.
const AUDIT_LIMIT: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Args)]
pub(crate) struct DriveSqlArgs {
    /// Workload file: statements, data, mix and pauses
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    /// Database: `mysql://USER:PASSWORD@127.0.0.1:3306/DATABASE` or `postgresql://...`; over a
    /// socket `mysql://USER@/DATABASE?socket=/PATH` or
    /// `postgresql://USER@/DATABASE?host=/DIRECTORY`. In the environment a password stays out of
    /// process lists
    #[arg(
        long,
        value_name = "URL",
        env = "ROOKERY_TARGET",
        hide_env_values = true
    )]
    target: String,
    /// Confirm that you may load this address, which is not on this machine
    #[arg(long, value_name = "ADDRESS")]
    confirm_target: Vec<IpAddr>,
    /// Execute the `setup` of the workload file first: it makes and fills the tables
    #[arg(long)]
    setup: bool,
    /// Users, each with a connection
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    users: u32,
    #[command(flatten)]
    load: OpenArgs,
    /// With --open: connections that serve the arrivals; an arrival that finds none free waits, and
    /// its response time counts from when it arrived
    #[arg(
        long,
        requires = "open",
        default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    connections: u32,
    #[command(flatten)]
    phases: PhaseArgs,
    /// CPUs of the driver, such as 1 or 2-3 [default: the last CPU]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &DriveSqlArgs) -> Result<Code, Failure> {
    let wanted = file::load(&args.workload, SqlUse::parse_file)?;
    let target: Target = args.target.parse()?;
    target.refuse_foreign(&args.confirm_target)?;
    let config = config(args, &wanted, &target)?;
    let stop = signals::stop_flag()?;
    if args.setup {
        let statements = &wanted.workload.setup;
        set_up(&target, statements, SETUP_LIMIT, &stop, &|_| ())?;
    }
    let audits = before_the_load(&target, &wanted.workload.audits)?;
    let bar = load_bar(args.quiet, config.phases.load_end());
    let measured = run_statements(&config, &measured::start, &stop, &|progress| {
        measured::tell(&bar, &progress);
    });
    bar.finish_and_clear();
    let measurement = measured?;
    let counted = counted(&target, &audits, &measurement)?;
    let faults: Vec<String> = faults::faults(&measurement)
        .into_iter()
        .map(|fault| fault.text)
        .collect();
    if args.json {
        let mut value = measured::with_percentiles(&measurement, &faults)?;
        value["audits"] = serde_json::json!(counted);
        output::json(&value).map(drop)?;
    } else {
        print(&measurement, &counted, &faults);
    }
    verdict(&measurement, &counted, &faults, &stop)
}

fn config(
    args: &DriveSqlArgs,
    wanted: &SqlUse,
    target: &Target,
) -> Result<StatementsConfig, Failure> {
    let load = arrivals::load(&args.load)?;
    Ok(StatementsConfig {
        guests: vec![StatementsGuest {
            // Without the password.
            name: target.to_string(),
            target: target.clone(),
            users: if load == Load::Closed {
                args.users
            } else {
                args.connections
            },
        }],
        threads: Threads::Pinned(measured::driver_cpus(args.cpus.as_deref())?),
        network: None,
        load,
        phases: args.phases.phases(),
        workload: wanted.workload.clone(),
        pacing: wanted.pacing,
        timeout: args.phases.timeout,
        seed: args.seed,
        confirmed: args.confirm_target.clone(),
    })
}

/// The audits with what they find before the load: a database that already runs may hold anything.
fn before_the_load(target: &Target, audits: &[RowAudit]) -> Result<Vec<RowAudit>, Failure> {
    let from_zero: Vec<RowAudit> = audits
        .iter()
        .map(|audit| RowAudit {
            initial: 0,
            ..audit.clone()
        })
        .collect();
    if audits.is_empty() {
        return Ok(from_zero);
    }
    let found = count_records(target, &from_zero, AUDIT_LIMIT)?;
    let audits = from_zero.into_iter().zip(found);
    Ok(audits
        .map(|(audit, before)| RowAudit {
            initial: before.found,
            ..audit
        })
        .collect())
}

/// What one audit found, beside what users were told.
#[derive(Debug, Serialize)]
struct Counted {
    what: String,
    /// More than there were before the load.
    found: u64,
    acknowledged: u64,
    unanswered: u64,
    consistent: bool,
}

fn counted(
    target: &Target,
    audits: &[RowAudit],
    measurement: &Measurement,
) -> Result<Vec<Counted>, Failure> {
    if audits.is_empty() {
        return Ok(Vec::new());
    }
    let found = count_records(target, audits, AUDIT_LIMIT)?;
    let guests = measurement.guests.iter();
    let told = guests.flat_map(|guest| guest.counters.proof().rows);
    let rows = told.map(|row| {
        let found = found.iter().find(|found| found.what == row.what);
        let found = found.map_or(0, |found| found.found);
        let most = row.acknowledged.saturating_add(row.unanswered);
        Counted {
            found,
            consistent: (row.acknowledged..=most).contains(&found),
            what: row.what,
            acknowledged: row.acknowledged,
            unanswered: row.unanswered,
        }
    });
    Ok(rows.collect())
}

fn print(measurement: &Measurement, counted: &[Counted], faults: &[String]) {
    measured::print(measurement, faults, &|guest| {
        let completed = measured::completed(guest, |_| true);
        let minutes = measurement.window.seconds() / 60.0;
        output::text(format!(
            "{:.0} {}",
            completed as f64 / minutes.max(f64::MIN_POSITIVE),
            guest.info().unit.rate
        ));
        for row in counted {
            output::text(format!(
                "{}: {} acknowledged, {} without an answer, {} found",
                row.what, row.acknowledged, row.unanswered, row.found
            ));
        }
    });
}

fn verdict(
    measurement: &Measurement,
    counted: &[Counted],
    faults: &[String],
    stop: &AtomicBool,
) -> Result<Code, Failure> {
    if let Some(row) = counted.iter().find(|row| !row.consistent) {
        return Err(Failure::new(
            Code::Inconsistent,
            format!(
                "the database has {} new {}, and users were told of {}",
                row.found, row.what, row.acknowledged
            ),
        )
        .help("see whether others write to it; if not, its commits are not durable"));
    }
    if signals::came(stop) {
        return Ok(Code::Interrupted);
    }
    let silent = |guest: &&GuestMeasurement| measured::completed(guest, |_| true) == 0;
    if let Some(guest) = measurement.guests.iter().find(silent) {
        return Err(Failure::new(
            Code::Guest,
            format!(
                "{} completed no operation in the measured window: {}",
                guest.guest,
                measured::first_failure(guest)
            ),
        )
        .help("see whether the tables are there (--setup makes them), and measure for longer"));
    }
    Ok(if faults.is_empty() {
        Code::Done
    } else {
        Code::Driver
    })
}
