//! `rookery drive http`: only the driver, against a site that already runs.

use std::{net::IpAddr, path::PathBuf};

use clap::Args;
use rookery_stats::{GuestMeasurement, Measurement};
use rookery_study::HttpUse;
use rookery_web::{Assignment, Config, Limits, Script, workloads::http::HttpScript};
use rookery_workload::DelayDistribution;

use super::{
    search::{self, SearchArgs},
    target::{Target, TrustArgs},
};
use crate::{
    exit::{Code, Failure},
    output, signals,
    workloads::{
        arrivals::{self, OpenArgs},
        file,
        measured::{self, WebReport},
        phases::PhaseArgs,
    },
};

#[derive(Debug, Args)]
pub(crate) struct DriveHttpArgs {
    /// Workload file: operations, data, mix and pauses
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    #[arg(
        long,
        required = true,
        value_name = "URL",
        // No comment of documentation: brackets would be links there.
        help = "Site to drive, http[s]://HOST[:PORT][/BASE]; several are driven alike"
    )]
    target: Vec<String>,
    /// Confirm that you may load this address, which is not on this machine
    #[arg(long, value_name = "ADDRESS")]
    confirm_target: Vec<IpAddr>,
    /// Users per target [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    users: Option<u32>,
    #[command(flatten)]
    load: OpenArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    phases: PhaseArgs,
    #[command(flatten)]
    trust: TrustArgs,
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

pub(crate) fn run(args: &DriveHttpArgs) -> Result<Code, Failure> {
    let config = config(args)?;
    let stop = signals::stop_flag()?;
    if args.search.is_asked() {
        let begin = search::Begin::new(&config, args.users)?;
        return search::run(&args.search, &config, begin, (args.json, args.quiet), &stop);
    }
    let report = WebReport {
        json: args.json,
        quiet: args.quiet,
        print: &print,
        nothing_answered: &nothing_answered,
    };
    measured::drive(&config, &stop, &report)
}

fn print(measurement: &Measurement, faults: &[String]) {
    let minutes = measurement.window.seconds() / 60.0;
    measured::print(measurement, faults, &|guest| {
        let completed = measured::completed(guest, |name| name == guest.main_operation());
        output::text(format!(
            "{:.0} {}",
            completed as f64 / minutes.max(f64::MIN_POSITIVE),
            guest.info().unit.rate
        ));
        for row in guest.counters.proof().rows {
            output::text(format!(
                "{}: {} acknowledged, {} without an answer",
                row.what, row.acknowledged, row.unanswered
            ));
        }
    });
}

/// A load without a single good answer measured nothing.
fn nothing_answered(target: &GuestMeasurement) -> Failure {
    Failure::new(
        Code::Guest,
        format!(
            "{} completed no operation in the measured window: {}",
            target.guest,
            measured::first_failure(target)
        ),
    )
    .help("check that the site runs, --target, and what the workload file expects of answers")
}

fn config(args: &DriveHttpArgs) -> Result<Config, Failure> {
    let mut wanted = file::load(&args.workload, HttpUse::parse_file)?;
    args.trust.put_into(&mut wanted.workload.tls)?;
    let targets: Vec<Target> = args
        .target
        .iter()
        .map(|url| Target::parse("--target", url))
        .collect::<Result<_, _>>()?;
    let assignment = |(target, url): (&Target, &String)| Assignment {
        guest: url.clone(),
        target: target.address,
        users: args.users.unwrap_or(1),
        script: Script::Http(Box::new(HttpScript {
            workload: wanted.workload.clone(),
            site: target.site.clone(),
        })),
    };
    Ok(Config {
        assignments: targets.iter().zip(&args.target).map(assignment).collect(),
        network: None,
        cpus: measured::driver_cpus(args.cpus.as_deref())?,
        phases: args.phases.phases(),
        load: arrivals::load(&args.load)?,
        pacing: wanted.pacing,
        think_time: wanted.workload.mean_delay(),
        // Each operation has a pause of its own.
        think_distribution: DelayDistribution::Constant,
        timeout: args.phases.timeout,
        limits: Limits::default(),
        seed: args.seed,
        confirmed_targets: targets
            .iter()
            .map(|target| target.address)
            .filter(|address| args.confirm_target.contains(&address.ip()))
            .collect(),
    })
}
