//! `rookery drive orderentry`: terminals on a database that already runs.

use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use rookery_cast::micros;
use rookery_oltp::{DriveOptions, Latencies, Report, SessionOptions, Target, trial::Progress};
use rookery_stats::ArrivalCounts;
use rookery_workload::orderentry::DeferredDeliveries;
use rookery_workload::orderentry::{
    DeliveryMode, Isolation, Kind, Moment, PerKind, Profile, Settings, over_limit,
    sql::Style,
    terminal::{Binding, Pacing},
    transaction::Cause,
};
use serde::Serialize;

use super::{TargetArgs, inconsistent, table};
use crate::{
    exit::{Code, Failure},
    output,
    progress::load_bar,
    signals,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct DriveOrderentryArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Preset of all settings: `spec`, `nothink`, `seed001`, `seed003` or `mini`
    #[arg(long, default_value = "nothink")]
    profile: Profile,
    /// Number of terminals [default: the profile's, for one vCPU]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    terminals: Option<u32>,
    /// Threads that carry the terminals
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// `plain`, `batched`, `pipelined` or `procs` [default: the profile's]
    #[arg(long)]
    statements: Option<Style>,
    /// `default`, `read_committed`, `repeatable_read` or `serializable`
    #[arg(long)]
    isolation: Option<Isolation>,
    /// Warehouses of a terminal: `fixed`, `uniform` or `slice` [default: the profile's]
    #[arg(long, value_parser = binding)]
    binding: Option<Binding>,
    /// `none`, `spec`, `scaled=FACTOR` or `rate=PER_SECOND` [default: the profile's]
    #[arg(long, value_parser = pacing)]
    pacing: Option<Pacing>,
    /// Who executes deliveries: `inline`, the terminal, or `deferred`, one worker behind a queue
    /// [default: the profile's]
    #[arg(long, value_parser = delivery)]
    delivery: Option<DeliveryMode>,
    /// Time before the steady window
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = rookery_study::parse_duration)]
    ramp_up: Duration,
    /// Length of the steady window
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = rookery_study::parse_duration)]
    steady: Duration,
    /// Retries of a transaction at most [default: the profile's]
    #[arg(long)]
    max_retries: Option<u32>,
    /// How long a terminal tries to connect again
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = rookery_study::parse_duration)]
    patience: Duration,
    /// Seed of all choices
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Check the conditions of the database behind the run
    #[arg(long)]
    verify: bool,
    /// No progress
    #[arg(long)]
    quiet: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn binding(text: &str) -> Result<Binding, String> {
    match text {
        "fixed" => Ok(Binding::Fixed),
        "uniform" => Ok(Binding::Uniform),
        "slice" => Ok(Binding::Slice),
        _ => Err("use fixed, uniform or slice".to_owned()),
    }
}

fn delivery(text: &str) -> Result<DeliveryMode, String> {
    match text {
        "inline" => Ok(DeliveryMode::Inline),
        "deferred" => Ok(DeliveryMode::Deferred),
        _ => Err("use inline or deferred".to_owned()),
    }
}

fn pacing(text: &str) -> Result<Pacing, String> {
    let number = |text: &str| text.parse::<f64>().map_err(|error| error.to_string());
    let pacing = match text.split_once('=') {
        None if text == "none" => Pacing::None,
        None if text == "spec" => Pacing::Spec,
        Some(("scaled", factor)) => Pacing::Scaled(number(factor)?),
        Some(("rate", rate)) => Pacing::Rate(number(rate)?),
        _ => return Err("use none, spec, scaled=FACTOR or rate=PER_SECOND".to_owned()),
    };
    pacing.checked().map_err(|error| error.to_string())
}

fn options(
    args: &DriveOrderentryArgs,
    settings: &Settings,
    target: &Target,
) -> Result<DriveOptions, Failure> {
    let terminals = match args.terminals {
        Some(terminals) => terminals,
        // A profile may ask for so many per warehouse, of which only the database knows the number.
        None => settings
            .clients
            .count(1, rookery_oltp::loaded(target)?.scale.warehouses()),
    };
    Ok(DriveOptions {
        terminals,
        threads: args.threads.into(),
        session: SessionOptions {
            style: args.statements.unwrap_or(settings.statements),
            isolation: args.isolation.unwrap_or(settings.isolation),
        },
        binding: args.binding.unwrap_or(settings.binding),
        mix: settings.mix,
        pacing: args.pacing.unwrap_or(settings.pacing),
        delivery: args.delivery.unwrap_or(settings.delivery),
        max_retries: args.max_retries.unwrap_or(settings.max_retries),
        seed: args.seed,
        ramp_up: args.ramp_up,
        steady: args.steady,
        patience: args.patience,
    })
}

pub(crate) fn run(args: &DriveOrderentryArgs) -> Result<Code, Failure> {
    let target = args.target.target()?;
    let settings = args.profile.settings();
    let options = options(args, &settings, &target)?;
    let stop = signals::stop_flag()?;
    let bar = load_bar(args.quiet, options.ramp_up + options.steady);
    let report =
        rookery_oltp::drive_and_tell(&target, &options, &stop, &|progress| tell(&bar, &progress));
    bar.finish_and_clear();
    let report = report?;
    let remarks = remarks(&report, &options, &settings);
    if args.json {
        output::json(&Json::of(&report, &options, &remarks))?;
    } else {
        output::text(format!("{target}: {}", text(&report, &options, &remarks)));
    }
    if !report.ledger_holds() {
        return Err(Failure::new(
            Code::Inconsistent,
            format!("{target} does not hold what terminals were told was committed"),
        )
        .help("see whether others write to it; if not, its commits are not durable"));
    }
    if report.counts.completed() == 0 && !signals::came(&stop) {
        return Err(Failure::new(
            Code::Guest,
            format!("{target} completed no transaction in the measured window"),
        )
        .help("see the remarks and failures above; measure for longer, or pace less"));
    }
    if args.verify {
        let found = rookery_oltp::verify(&target, Moment::AnyTime, &stop)?;
        let broken = found
            .checks
            .iter()
            .filter(|check| !check.offenders.is_empty())
            .count();
        if broken > 0 {
            output::remark(table(&found.checks));
            return Err(inconsistent(&target, broken));
        }
    }
    Ok(if signals::came(&stop) {
        Code::Interrupted
    } else {
        Code::Done
    })
}

fn tell(bar: &ProgressBar, progress: &Progress) {
    bar.set_position(progress.elapsed.as_secs());
    bar.set_message(format!(
        "{}: {:.0} transactions/s, {:.0} errors/s",
        progress.phase, progress.requests_per_s, progress.errors_per_s
    ));
}

fn remarks(report: &Report, options: &DriveOptions, settings: &Settings) -> Vec<String> {
    let mut remarks: Vec<String> = report
        .counts
        .remarks(options.mix, rookery_workload::orderentry::MAX_FAILED_SHARE)
        .iter()
        .map(|remark| {
            format!(
                "{}{remark}",
                if remark.is_fatal() { "not valid: " } else { "" }
            )
        })
        .collect();
    if let Some(arrivals) = report
        .measurement
        .driver
        .arrivals
        .as_ref()
        .filter(|arrivals| arrivals.dropped > 0)
    {
        remarks.push(format!(
            "{} of {} arrivals found too many others waiting and were turned away: the rate is \
             above what the database can do",
            arrivals.dropped, arrivals.drawn
        ));
    }
    if report.population.scale.is_mini() {
        remarks.push("a test database: its figures mean nothing".to_owned());
    }
    let p90_us = PerKind(report.latencies.0.map(|latencies| micros(latencies.p90)));
    remarks.extend(over_limit(p90_us, settings.qos_p90_ms).map(|kind| {
        format!(
            "the 90th percentile of {} is above its limit of {} ms",
            kind.name(),
            settings.qos_p90_ms[kind]
        )
    }));
    remarks
}

fn deferred(report: &Report) -> Option<DeferredDeliveries> {
    report
        .measurement
        .guests
        .first()?
        .counters
        .orderentry()?
        .deferred
}

fn text(report: &Report, options: &DriveOptions, remarks: &[String]) -> String {
    let counts = &report.counts;
    let window = report.window.max(Duration::from_millis(1));
    let mut text = format!(
        "{}, {} warehouses, {} terminals, statements {}, isolation {}\n{:.0} nopm, {:.0} tpm over \
         {:.1} s\n\n",
        report.version,
        report.population.scale.warehouses(),
        options.terminals,
        options.session.style.name(),
        report.isolation.as_deref().unwrap_or("not known"),
        counts.nopm(window),
        counts.tpm(window),
        report.window.as_secs_f64(),
    );
    text += "  transaction       count   share   mean ms    p50 ms    p90 ms    p95 ms    p99 \
             ms    max ms\n";
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    for kind in Kind::ALL {
        let Latencies {
            count,
            mean,
            p50,
            p90,
            p95,
            p99,
            max,
        } = report.latencies[kind];
        text += &format!(
            "  {:<12} {count:>10} {:>5.1} %",
            kind.name(),
            100.0 * counts.share(kind)
        );
        for duration in [mean, p50, p90, p95, p99, max] {
            text += &format!(" {:>9.2}", ms(duration));
        }
        text += "\n";
    }
    text += &format!(
        "\n  {} new orders were rolled back as they must be, {} transactions failed, {} have an \
         unknown outcome\n",
        counts.rolled_back, counts.failed, counts.unknown
    );
    let retries: Vec<String> = Cause::ALL
        .iter()
        .zip(report.retries)
        .filter(|(_, count)| *count > 0)
        .map(|(cause, count)| format!("{count} for {}", cause.name()))
        .collect();
    let retries = if retries.is_empty() {
        "none".to_owned()
    } else {
        retries.join(", ")
    };
    text += &format!(
        "  retries: {retries}; connections made again: {}\n",
        report.reconnections
    );
    if let Some(deferred) = deferred(report) {
        text += &format!(
            "  deferred deliveries: {} queued, {} executed, {} of them within 80 s\n",
            deferred.queued, deferred.executed, deferred.in_time
        );
    }
    let (told, found) = (report.told, report.found);
    text += &format!(
        "  ledger {}: told {} new orders, {} payments, {} deliveries; the database has {}, {}, \
         {}\n",
        if report.ledger_holds() {
            "holds"
        } else {
            "DOES NOT HOLD"
        },
        told.new_orders,
        told.payments,
        told.delivered,
        found.new_orders,
        found.payments,
        found.delivered
    );
    for remark in remarks {
        text += &format!("  remark: {remark}\n");
    }
    text
}

#[derive(Debug, Serialize)]
struct KindJson {
    transaction: Kind,
    count: u64,
    share: f64,
    mean_ms: f64,
    p50_ms: f64,
    p90_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

#[derive(Debug, Serialize)]
struct Json<'a> {
    server: &'a str,
    warehouses: u32,
    divisor: u32,
    terminals: u32,
    statements: Style,
    isolation: Option<&'a str>,
    seed: u64,
    window_s: f64,
    nopm: f64,
    tpm: f64,
    transactions: Vec<KindJson>,
    rolled_back: u64,
    failed: u64,
    unknown: u64,
    retries: std::collections::BTreeMap<&'static str, u64>,
    reconnections: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    deferred: Option<DeferredDeliveries>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arrivals: Option<&'a ArrivalCounts>,
    /// New orders, payments, deliveries.
    told: [i64; 3],
    found: [i64; 3],
    ledger_holds: bool,
    remarks: &'a [String],
}

impl<'a> Json<'a> {
    fn of(report: &'a Report, options: &DriveOptions, remarks: &'a [String]) -> Self {
        let window = report.window.max(Duration::from_millis(1));
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let kind = |kind: Kind| {
            let latencies = report.latencies[kind];
            KindJson {
                transaction: kind,
                count: latencies.count,
                share: report.counts.share(kind),
                mean_ms: ms(latencies.mean),
                p50_ms: ms(latencies.p50),
                p90_ms: ms(latencies.p90),
                p95_ms: ms(latencies.p95),
                p99_ms: ms(latencies.p99),
                max_ms: ms(latencies.max),
            }
        };
        let (told, found) = (report.told, report.found);
        Self {
            server: &report.version,
            warehouses: report.population.scale.warehouses(),
            divisor: report.population.scale.divisor(),
            terminals: options.terminals,
            statements: options.session.style,
            isolation: report.isolation.as_deref(),
            seed: options.seed,
            window_s: report.window.as_secs_f64(),
            nopm: report.counts.nopm(window),
            tpm: report.counts.tpm(window),
            transactions: Kind::ALL.into_iter().map(kind).collect(),
            rolled_back: report.counts.rolled_back,
            failed: report.counts.failed,
            unknown: report.counts.unknown,
            retries: Cause::ALL
                .iter()
                .map(|cause| cause.name())
                .zip(report.retries)
                .collect(),
            reconnections: report.reconnections,
            deferred: deferred(report),
            arrivals: report.measurement.driver.arrivals.as_ref(),
            told: [told.new_orders, told.payments, told.delivered],
            found: [found.new_orders, found.payments, found.delivered],
            ledger_holds: report.ledger_holds(),
            remarks,
        }
    }
}
