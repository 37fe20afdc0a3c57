//! `rookery drive http`: only the driver, against a site that already runs.

use std::path::PathBuf;

use clap::Args;
use rookery_stats::{GuestMeasurement, Measurement};
use rookery_study::HttpUse;
use rookery_web::{Config, Script, workloads::http::HttpScript};

use super::search::{self, SearchArgs};
use crate::{
    exit::{Code, Failure},
    output, signals,
    workloads::{
        arrivals::{self, OpenArgs},
        file, measured,
        phases::PhaseArgs,
        web::{SiteArgs, WebLoad, nothing_completed, print_proof},
    },
};

#[derive(Debug, Args)]
pub(crate) struct DriveHttpArgs {
    /// Workload file: operations, data, mix and pauses
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    #[command(flatten)]
    site: SiteArgs,
    /// Users per target [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    users: Option<u32>,
    #[command(flatten)]
    load: OpenArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    phases: PhaseArgs,
}

pub(crate) fn run(args: &DriveHttpArgs) -> Result<Code, Failure> {
    let config = config(args)?;
    if args.search.is_asked() {
        let begin = search::Begin::new(&config, args.users)?;
        let stop = signals::stop_flag()?;
        let quietly = (args.site.json, args.site.quiet);
        return search::run(&args.search, &config, begin, quietly, &stop);
    }
    args.site.drive(&config, &print, &nothing_answered)
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
        print_proof(guest);
    });
}

/// A load without a single good answer measured nothing.
fn nothing_answered(target: &GuestMeasurement) -> Failure {
    nothing_completed(
        target,
        "operation",
        "check that the site runs, --target, and what the workload file expects of answers",
    )
}

fn config(args: &DriveHttpArgs) -> Result<Config, Failure> {
    let mut wanted = file::load(&args.workload, HttpUse::parse_file)?;
    wanted.workload.tls = args.site.trusted(wanted.workload.tls)?;
    let load = WebLoad {
        users: args.users.unwrap_or(1),
        load: arrivals::load(&args.load)?,
        phases: args.phases.phases(),
        pacing: wanted.pacing,
        think_time: wanted.workload.mean_delay(),
        timeout: args.phases.timeout,
    };
    args.site.config(load, |target| {
        Script::Http(Box::new(HttpScript {
            workload: wanted.workload.clone(),
            site: target.site.clone(),
        }))
    })
}
