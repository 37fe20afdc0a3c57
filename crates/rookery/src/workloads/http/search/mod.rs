//! `rookery drive http --search LIMIT`: the largest load within limits, by probes of many sizes.

mod begin;
mod found;
mod limit;
mod text;

use std::{
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use clap::Args;
use rookery_analysis::search::outcome_of;
use rookery_model::search::{Probe, Search};
use rookery_stats::{
    Measurement, faults,
    qos::{self, Qos},
};
use rookery_study::parse_duration;
use rookery_web::Config;

pub(super) use self::begin::Begin;
use self::{
    found::{Found, Probed},
    limit::Limit,
};
use crate::{
    exit::{Code, Failure, driver_code},
    output, signals,
    workloads::measured,
};

#[derive(Clone, Debug, Args)]
pub(super) struct SearchArgs {
    /// Find the largest load that keeps a limit, such as p95=200ms, search.p99=1s or errors=1%
    /// (which holds unless another is given): users, or with --open arrivals per second. What
    /// --users or --open say is where it begins; repeatable
    #[arg(long, value_name = "LIMIT", value_parser = limit::parse)]
    search: Vec<Limit>,
    /// With --search: all of it takes no longer
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    search_time: Duration,
    /// With --search: the largest load that is tried
    #[arg(long, value_name = "LOAD", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    most: u32,
    /// With --search: loads that differ by less are one, as a share of the load
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    resolution: f64,
}

impl SearchArgs {
    pub(super) fn is_asked(&self) -> bool {
        !self.search.is_empty()
    }
}

/// Searches, and prints what was found.
pub(super) fn run(
    args: &SearchArgs,
    base: &Config,
    begin: Begin,
    (as_json, quiet): (bool, bool),
    stop: &AtomicBool,
) -> Result<Code, Failure> {
    let qos = limit::qos(&args.search);
    let known: Vec<&str> = operations(base);
    for limit in qos
        .percentiles
        .iter()
        .filter_map(|limit| limit.operation.as_deref())
    {
        if !known.contains(&limit) {
            return Err(Failure::new(
                Code::Usage,
                format!("--search {limit}: the workload has no such operation"),
            )
            .help(format!(
                "the operations are page, {}",
                known[1..].join(", ")
            )));
        }
    }
    let found = search(args, base, begin, &qos, quiet, stop)?;
    if as_json {
        output::json(&text::json(&found)).map(drop)?;
    } else {
        output::result(text::text(&found, output::width()));
    }
    if signals::came(stop) {
        return Ok(Code::Interrupted);
    }
    Ok(found.code())
}

/// The names of the operations; the first is any of them.
fn operations(base: &Config) -> Vec<&str> {
    let mut names = vec![rookery_workload::http::PAGE];
    for assignment in &base.assignments {
        if let rookery_web::Script::Http(script) = &assignment.script {
            let own = script.workload.operations.iter();
            names.extend(own.map(|operation| operation.name.as_str()));
        }
    }
    names
}

fn search(
    args: &SearchArgs,
    base: &Config,
    begin: Begin,
    qos: &Qos,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Found, Failure> {
    let began = Instant::now();
    let longest = base.phases.load_end() + base.phases.drain;
    let probes = args.search_time.as_secs_f64() / longest.as_secs_f64().max(0.1);
    let probes = rookery_cast::truncate_u32(probes);
    if probes < 2 {
        return Err(Failure::new(
            Code::Usage,
            format!(
                "--search-time {} s has no room for two runs of up to {} s",
                args.search_time.as_secs(),
                longest.as_secs()
            ),
        )
        .help("search for longer, or shorten --steady, --settle and --ramp-up"));
    }
    let settings = begin.settings(args.most, args.resolution, probes.min(200));
    let mut search = Search::new(settings)
        .map_err(|error| Failure::new(Code::Usage, format!("--search: {error}")))?;
    let (mut probed, mut time_over, mut rate) = (Vec::new(), false, "");
    while let Some(probe) = search.next_probe() {
        let config = begin.config(base, &probe);
        let needed = config.phases.load_end() + config.phases.drain;
        if began.elapsed() + needed > args.search_time {
            time_over = true;
            break;
        }
        let measurement = rookery_web::run(&config, measured::start(), stop, &|_| {})
            .map_err(|error| Failure::from_error(driver_code(&error), &error))?;
        if signals::came(stop) {
            break;
        }
        rate = measurement.info().map_or("", |info| info.unit.rate);
        let one = judged(&measurement, qos, probe);
        if !quiet {
            output::remark(text::progress(&one, begin, rate));
        }
        search.observe(one.outcome.clone());
        probed.push(one);
    }
    Ok(Found {
        begin,
        limits: limit::words(qos),
        rate,
        answer: search.finish(),
        probed,
        took: began.elapsed(),
        time_over,
    })
}

fn judged(measurement: &Measurement, qos: &Qos, probe: Probe) -> Probed {
    let verdict = qos::judge(qos, measurement);
    let fault = faults::faults(measurement).into_iter().next();
    let fault = fault.map(|fault| fault.text);
    let binding = verdict
        .binding_rule()
        .and_then(|rule| Some((rule.text(), rule.load()?)));
    Probed {
        outcome: outcome_of(measurement, &verdict, fault, probe.purpose.full()),
        per_minute: measurement.units_per_minute(),
        binding,
        probe,
    }
}
