//! `rookery drive web2005`: only the driver, against a server of banking, e-commerce or support
//! that already runs.

use std::{net::SocketAddr, time::Duration};

use clap::Args;
use rookery_cast::truncate_u32;
use rookery_driver::{Load, Phases};
use rookery_stats::{GuestMeasurement, Measurement, Pacing};
use rookery_study::parse_duration;
use rookery_web::{Config, Script, workloads::web2005::Web2005Script};
use rookery_workload::{
    http::Tls,
    web2005::{Model, Profile, Rules, Web2005Counters, WebDataset, WebThink},
};

use super::args::ProfileName;
use crate::{
    exit::{Code, Failure},
    output,
    workloads::{
        measured,
        web::{SiteArgs, WebLoad, nothing_completed, print_proof, target::Target},
    },
};

/// The longest think time by its mean, as in the original.
const LONGEST_THINK: u32 = 15;

#[derive(Debug, Args)]
pub(crate) struct DriveWeb2005Args {
    /// The workload: banking, ecommerce or support
    #[arg(long, value_name = "MODEL", value_parser = model)]
    model: Model,
    #[command(flatten)]
    site: SiteArgs,
    /// Users per target, each with one session after the other
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    users: u32,
    /// Sessions that the server's file set is for [default: the users]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sessions: Option<u32>,
    /// Scale of the server's file set
    #[arg(long, default_value_t = 1.0)]
    fileset_scale: f64,
    /// Seed of the server's file set and of its back-end
    #[arg(long, default_value_t = 1)]
    data_seed: u64,
    /// How browsers behave
    #[arg(long, value_enum, default_value_t = ProfileName::Classic2005)]
    profile: ProfileName,
    /// Mean think time [default: 10s, of support 5s]
    #[arg(long, value_parser = parse_duration)]
    think_time: Option<Duration>,
    /// Connections of one user [default: 2, of modern 6]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=16))]
    connections: Option<u8>,
    /// The most that one user receives, bytes/s; 0 for no limit [default: 100000, of modern
    /// 2500000]
    #[arg(long)]
    receive_rate: Option<u64>,
    /// Users start evenly over this time
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    ramp_up: Duration,
    /// Time from the end of ramp-up to the measured window
    #[arg(long, visible_alias = "warm-up", default_value = "5s", value_parser = parse_duration)]
    settle: Duration,
    /// The measured window
    #[arg(long, visible_alias = "run-time", default_value = "30s", value_parser = parse_duration)]
    steady: Duration,
    /// How long pages under way are awaited at the end
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    drain: Duration,
    /// Limit on one page, beside the time that its bytes need at the receive rate
    #[arg(long, default_value = "60s", value_parser = parse_duration)]
    timeout: Duration,
    /// Port of each target at which pages are encrypted that the original encrypted: all of
    /// banking, of e-commerce those from the cart on; of modern all
    #[arg(long, value_name = "PORT")]
    tls_port: Option<u16>,
}

fn model(text: &str) -> Result<Model, String> {
    Model::of_name(text).ok_or_else(|| {
        let names = Model::ALL.map(Model::name);
        format!("it is one of {}", names.join(", "))
    })
}

pub(crate) fn run(args: &DriveWeb2005Args) -> Result<Code, Failure> {
    let config = config(args)?;
    args.site.drive(&config, &print, &nothing_answered)
}

fn print(measurement: &Measurement, faults: &[String]) {
    measured::print(measurement, faults, &|guest| {
        let Some(counters) = Web2005Counters::from_counters(&guest.counters) else {
            return;
        };
        print_pages(counters);
        for criterion in counters.criteria() {
            let met = if criterion.met { "met" } else { "not met" };
            output::text(format!("{}: {met}: {}", criterion.name, criterion.found));
        }
        print_proof(guest);
    });
}

/// The per-page table with the columns of the published results.
fn print_pages(counters: &Web2005Counters) {
    output::text(format!(
        "{:18} {:>9} {:>9} {:>9} {:>7} {:>7} {:>9} {:>10} {:>12}",
        "page",
        "requests",
        "good",
        "tolerable",
        "fail",
        "invalid",
        "mean s",
        "bytes/req",
        "ABR B/s"
    ));
    let table = counters.table();
    for row in table.rows.iter().chain([&table.total]) {
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.digits$}"))
        };
        output::text(format!(
            "{:18} {:>9} {:>9} {:>9} {:>7} {:>7} {:>9} {:>10} {:>12}",
            row.name,
            row.requests,
            row.good,
            row.tolerable,
            row.fail,
            row.invalid,
            shown(row.mean_response_s, 3),
            shown(row.mean_bytes, 0),
            shown(row.weighted_abr, 1)
        ));
    }
}

/// A load without a single good answer measured nothing.
fn nothing_answered(target: &GuestMeasurement) -> Failure {
    nothing_completed(
        target,
        "page",
        "check that the server runs, and that --model, --sessions, --fileset-scale and \
         --data-seed are those of its file set",
    )
}

fn config(args: &DriveWeb2005Args) -> Result<Config, Failure> {
    let tls = args.site.trusted(Tls::default())?;
    let usual = WebThink::new(args.model);
    let mean = args.think_time.unwrap_or(usual.mean);
    let load = WebLoad {
        users: args.users,
        load: Load::Closed,
        phases: Phases {
            ramp_up: args.ramp_up,
            settle: args.settle,
            steady: args.steady,
            ramp_down: Duration::ZERO,
            drain: args.drain,
        },
        pacing: Pacing::Think,
        think_time: mean,
        timeout: args.timeout,
    };
    args.site.config(load, |target| {
        Script::Web2005(Box::new(script(args, target, mean, &tls)))
    })
}

/// What users do at a target.
fn script(args: &DriveWeb2005Args, target: &Target, mean: Duration, tls: &Tls) -> Web2005Script {
    let profile = Profile::from(args.profile);
    let rate = args.receive_rate.unwrap_or(profile.rate_bytes_per_s());
    let rate = (rate > 0).then_some(rate);
    Web2005Script {
        dataset: WebDataset {
            model: args.model,
            sessions: args.sessions.unwrap_or(args.users),
            scale_ppm: truncate_u32((1e6 * args.fileset_scale).round()),
            seed: args.data_seed,
        },
        site: target.site.clone(),
        secure: args
            .tls_port
            .map(|port| SocketAddr::new(target.address.ip(), port)),
        profile,
        think: WebThink {
            mean,
            max: LONGEST_THINK * mean,
        },
        connections: args.connections.unwrap_or(profile.connections()),
        receive_rate: rate,
        bands: profile.bands(args.model, rate),
        rules: Rules {
            scope: profile.scope(),
            ..Rules::default()
        },
        tls: tls.clone(),
    }
}
