//! `rookery drive cms`: only the driver, against a site that already runs.

use std::time::Duration;

use clap::{Args, ValueEnum};
use rookery_driver::Load;
use rookery_stats::{GuestMeasurement, Measurement, Pacing};
use rookery_study::parse_duration;
use rookery_web::{Config, Script, workloads::cms::CmsScript};
use rookery_workload::{
    cms::{
        CmsCounters, CmsMatrix, CmsOperation, CmsPace, CmsScatter, Contract, OnError, RandomPage,
    },
    http::Tls,
};

use super::args::{DataArgs, ppm, share};
use crate::{
    exit::{Code, Failure},
    output,
    workloads::{
        measured,
        phases::PhaseArgs,
        web::{SiteArgs, WebLoad, nothing_completed, print_proof, target::Target},
    },
};

/// Pacing as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PacingName {
    /// Operations begin a cycle apart
    Cycle,
    /// The next operation begins a think time after the last
    Think,
}

/// How times scatter, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScatterName {
    /// Negative exponential, cut at the longest
    Exponential,
    /// Always the mean
    Fixed,
}

/// What becomes of a user whose operation failed, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnErrorName {
    /// It forgets its cookies and begins anew
    Restart,
    /// It goes on as the matrix says
    Continue,
}

/// What a random page is, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RandomPageName {
    /// A page of the list of promoted nodes
    Listing,
    /// A node of the kind page
    PageNode,
}

#[derive(Debug, Args)]
pub(crate) struct DriveCmsArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// Which pages the site has: smallcms, the only ones so far
    #[arg(long, value_name = "NAME", default_value = "smallcms", value_parser = contract)]
    contract: Contract,
    /// Users per target
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    users: u32,
    #[command(flatten)]
    data: DataArgs,
    /// Mean cycle time, or think time
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    think_time: Duration,
    /// The longest, as a multiple of the mean
    #[arg(long, value_name = "FACTOR", default_value_t = 5.0, value_parser = factor)]
    think_max: f64,
    /// How times scatter about their mean
    #[arg(long, value_enum, default_value_t = ScatterName::Exponential)]
    think_distribution: ScatterName,
    /// What the times are
    #[arg(long, value_enum, default_value_t = PacingName::Cycle)]
    pacing: PacingName,
    /// What becomes of a user whose operation failed
    #[arg(long, value_enum, default_value_t = OnErrorName::Restart)]
    on_error: OnErrorName,
    /// What a random page is
    #[arg(long, value_enum, default_value_t = RandomPageName::Listing)]
    random_page: RandomPageName,
    /// Users go to the first so many pages of the list [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    random_page_max: Option<u32>,
    /// Share of the logins of users that begin with a wrong password
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    wrong_logins: f64,
    /// Ask for pages as they are, not compressed
    #[arg(long)]
    no_gzip: bool,
    #[command(flatten)]
    phases: PhaseArgs,
}

fn contract(text: &str) -> Result<Contract, String> {
    Contract::of_name(text).ok_or_else(|| {
        let names = Contract::ALL.map(Contract::name);
        format!("it is one of {}", names.join(", "))
    })
}

fn factor(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|factor| (1.0..=1_000.0).contains(factor))
        .ok_or_else(|| "it is a number from 1 to 1000".to_owned())
}

pub(crate) fn run(args: &DriveCmsArgs) -> Result<Code, Failure> {
    let config = config(args)?;
    args.site.drive(&config, &print, &nothing_answered)
}

fn print(measurement: &Measurement, faults: &[String]) {
    measured::print(measurement, faults, &|guest| {
        let Some(counters) = CmsCounters::from_counters(&guest.counters) else {
            return;
        };
        print_operations(guest, counters);
        for failure in &counters.failures {
            let why = if failure.consequential {
                ", after an earlier failure"
            } else {
                ""
            };
            output::text(format!(
                "failed: {} {} at {}: {}{why}",
                failure.count,
                failure.operation.name(),
                failure.step,
                failure.class
            ));
        }
        print_proof(guest);
    });
}

fn print_operations(guest: &GuestMeasurement, counters: &CmsCounters) {
    output::text(format!(
        "{:13} {:>9} {:>8} {:>14} {:>9} {:>9}",
        "operation", "completed", "failed", "consequential", "mean ms", "p90 ms"
    ));
    for operation in CmsOperation::ALL {
        let count = counters.operation(operation);
        let mean =
            (count.completed > 0).then(|| count.response_us as f64 / 1e3 / count.completed as f64);
        let measured = guest.operation(operation.name());
        let p90 = measured
            .and_then(|one| one.service.supported_percentile_us(90.0))
            .map(|us| us as f64 / 1e3);
        let shown = |value: Option<f64>| {
            value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.1}"))
        };
        output::text(format!(
            "{:13} {:>9} {:>8} {:>14} {:>9} {:>9}",
            operation.name(),
            count.completed,
            count.primary,
            count.consequential,
            shown(mean),
            shown(p90)
        ));
    }
}

/// A load without a single good answer measured nothing.
fn nothing_answered(target: &GuestMeasurement) -> Failure {
    nothing_completed(
        target,
        "operation",
        "check that the site runs, that --contract is the one it keeps, and that --nodes, \
         --accounts and --data-seed are those of its data",
    )
}

fn config(args: &DriveCmsArgs) -> Result<Config, Failure> {
    let tls = args.site.trusted(Tls::default())?;
    let pacing = match args.pacing {
        PacingName::Cycle => Pacing::Cycle,
        PacingName::Think => Pacing::Think,
    };
    let load = WebLoad {
        users: args.users,
        load: Load::Closed,
        phases: args.phases.phases(),
        pacing,
        think_time: args.think_time,
        timeout: args.phases.timeout,
    };
    args.site.config(load, |target| {
        Script::Cms(Box::new(script(args, target, pacing, &tls)))
    })
}

/// What users do at a target.
fn script(args: &DriveCmsArgs, target: &Target, pacing: Pacing, tls: &Tls) -> CmsScript {
    CmsScript {
        data: args.data.data(),
        contract: args.contract,
        site: target.site.clone(),
        matrix: CmsMatrix::default(),
        pacing,
        pace: CmsPace {
            scatter: match args.think_distribution {
                ScatterName::Exponential => CmsScatter::Exponential,
                ScatterName::Fixed => CmsScatter::Fixed,
            },
            means: [args.think_time; CmsOperation::ALL.len()],
            longest: args.think_max,
        },
        on_error: match args.on_error {
            OnErrorName::Restart => OnError::Restart,
            OnErrorName::Continue => OnError::Continue,
        },
        random_page: match args.random_page {
            RandomPageName::Listing => RandomPage::Listing,
            RandomPageName::PageNode => RandomPage::PageNode,
        },
        random_page_max: args.random_page_max,
        wrong_login_ppm: ppm(args.wrong_logins),
        gzip: !args.no_gzip,
        keep_cookies: true,
        tls: tls.clone(),
    }
}
