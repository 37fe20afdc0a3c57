//! `rookery drive dvdstore`: only the driver, against a system that already runs.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::Path,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use rookery_driver::{Assignment, Config, DriverError, Limits, Phases, Progress, Script};
use rookery_stats::{GuestMeasurement, Latencies, Measurement, Pacing, ShopCounters, faults};
use rookery_workload::dvdstore::{
    ShopperParams,
    lines::{self, Calls, Times, Totals},
};

use crate::{
    cli::DriveDvdstoreArgs,
    exit::{Code, Failure},
    output,
    progress::load_bar,
    signals,
};

use super::words;

pub(crate) fn run(args: &DriveDvdstoreArgs) -> Result<Code, Failure> {
    let config = config(args)?;
    let stop = signals::stop_flag()?;
    let bar = load_bar(args.quiet, config.phases.load_end());
    let start = Instant::now() + Duration::from_millis(100);
    let measured = rookery_driver::run(&config, start, &stop, &|progress| tell(&bar, &progress));
    bar.finish_and_clear();
    let measurement = measured.map_err(|error| Failure::new(code_of(&error), error))?;
    let faults = faults::faults(&measurement);
    if args.json {
        output::json(&with_percentiles(&measurement, &faults)?)?;
    } else {
        print(&measurement, &faults);
    }
    if signals::came(&stop) {
        return Ok(Code::Interrupted);
    }
    if let Some(target) = measurement.guests.iter().find(|guest| answered(guest) == 0) {
        return Err(Failure::new(
            Code::Guest,
            format!(
                "{} answered nothing as a DVD Store does: {}\n  mend: check that the target serves, and address, port and directory of --target",
                target.guest,
                first_failure(target)
            ),
        ));
    }
    Ok(if faults.is_empty() { Code::Done } else { Code::Driver })
}

/// Requests of the measured window that were answered well.
fn answered(guest: &GuestMeasurement) -> u64 {
    guest.operations.iter().map(|operation| operation.completed).sum()
}

/// The first failure that was seen, in words.
fn first_failure(guest: &GuestMeasurement) -> String {
    let tally = guest.errors.first();
    tally.map_or_else(
        || "no request ended".to_owned(),
        |tally| {
            let detail = tally.examples.first().map_or("", |example| example.detail.as_str());
            format!("{}/{} {}", tally.class.name(), tally.sub_class, output::printable(detail))
                .trim_end()
                .to_owned()
        },
    )
}

/// What was typed is the caller's matter, the rest the driver's.
fn code_of(error: &DriverError) -> Code {
    match error {
        DriverError::ForeignTarget { .. } | DriverError::Config { .. } | DriverError::Descriptors { .. } | DriverError::Pin { .. } => {
            Code::Usage
        }
        DriverError::Network { .. } | DriverError::Start(_) => Code::Host,
        DriverError::Panicked => Code::Internal,
    }
}

fn config(args: &DriveDvdstoreArgs) -> Result<Config, Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::new(Code::Usage, error);
    let duration = |text: &str, option: &str| {
        rookery_study::parse_duration(text).map_err(|error| Failure::new(Code::Usage, format!("{option}: {error}")))
    };
    if !(0.0..=1.0).contains(&args.new_customers) {
        return Err(usage(&format!(
            "--new-customers {} is not a share\n  mend: write a number from 0 to 1, such as 0.2",
            args.new_customers
        )));
    }
    for (option, value) in [
        ("users", args.users),
        ("searches", args.searches),
        ("search-batch", args.search_batch),
        ("line-items", args.line_items),
    ] {
        if value == 0 {
            return Err(usage(&format!(
                "--{option} 0 does nothing\n  mend: write a whole number of at least 1"
            )));
        }
    }
    let shopper = ShopperParams {
        size: args.size.parse().map_err(|error| usage(&error))?,
        new_customers: args.new_customers,
        searches: args.searches,
        search_batch: args.search_batch,
        line_items: args.line_items,
    };
    let targets = args.target.iter().map(|url| target(url)).collect::<Result<Vec<_>, _>>()?;
    refuse_foreign(&targets, args)?;
    let assignments = targets
        .iter()
        .map(|target| Assignment {
            guest: target.url.clone(),
            target: target.address,
            users: args.users,
            script: Script::DvdStore {
                directory: target.directory.clone(),
                page_type: args.page_type.clone(),
                shopper,
            },
        })
        .collect();
    let cpus = match &args.cpus {
        Some(list) => cpu_list(list)?,
        None => rookery_lab::host_facts(Path::new("."))?.cpus.last().copied().into_iter().collect(),
    };
    Ok(Config {
        assignments,
        network: None,
        cpus,
        phases: Phases {
            ramp_up: duration(&args.ramp_up, "--ramp-up")?,
            settle: duration(&args.settle, "--settle")?,
            steady: duration(&args.steady, "--steady")?,
            ramp_down: Duration::ZERO,
            drain: Duration::from_secs(5),
        },
        pacing: Pacing::Think,
        think_time: duration(&args.think_time, "--think-time")?,
        timeout: duration(&args.timeout, "--timeout")?,
        limits: Limits::default(),
        words: words::lists(&args.words)?,
        seed: args.seed,
        confirmed_targets: targets
            .iter()
            .map(|target| target.address)
            .filter(|address| args.confirm_target.contains(&address.ip()))
            .collect(),
    })
}

/// One system under load.
struct Target {
    url: String,
    address: SocketAddr,
    directory: String,
}

fn target(url: &str) -> Result<Target, Failure> {
    let wrong = |what: &str| {
        Failure::new(
            Code::Usage,
            format!("--target {url}: {what}\n  mend: write http://HOST[:PORT][/DIRECTORY], such as http://127.0.0.1:8080/ds2"),
        )
    };
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("only http:// is driven"))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, "ds2"));
    let directory = path.trim_matches('/');
    if directory.is_empty()
        || !directory
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
    {
        return Err(wrong("the directory takes letters, digits, `.`, `_`, `-` and `/`"));
    }
    let with_port = if authority.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok()) {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let mut found = with_port
        .to_socket_addrs()
        .map_err(|error| wrong(&format!("the host has no address: {error}")))?;
    // `localhost` may be ::1 first, where few test servers listen.
    let all: Vec<SocketAddr> = found.by_ref().collect();
    let address = all
        .iter()
        .find(|address| address.is_ipv4())
        .or_else(|| all.first())
        .copied()
        .ok_or_else(|| wrong("the host has no address"))?;
    Ok(Target {
        url: url.to_owned(),
        address,
        directory: directory.to_owned(),
    })
}

fn refuse_foreign(targets: &[Target], args: &DriveDvdstoreArgs) -> Result<(), Failure> {
    for target in targets {
        let ip = target.address.ip();
        if !ip.is_loopback() && !args.confirm_target.contains(&ip) {
            return Err(Failure::new(
                Code::Usage,
                format!(
                    "{} is at {ip}, which is not this machine: load goes to foreign hosts only on your word\n  mend: if that system is yours to load, add --confirm-target {ip}",
                    target.url
                ),
            ));
        }
    }
    Ok(())
}

fn tell(bar: &ProgressBar, progress: &Progress) {
    bar.set_position(progress.elapsed.as_secs());
    bar.set_message(format!(
        "{}: {:.0} requests/s, {:.0} errors/s",
        progress.phase, progress.requests_per_s, progress.errors_per_s
    ));
}

fn print(measurement: &Measurement, faults: &[String]) {
    for guest in &measurement.guests {
        output::result(format!("{} ({} users, closed loop)", guest.guest, guest.users));
        let (totals, calls) = original_counters(&guest.shop, measurement.window.end_s - measurement.window.start_s);
        output::result(lines::final_line(None, &totals, &calls));
        output::result(lines::from_start_line(
            guest.shop.n_purchase_from_start,
            guest.shop.n_rollbacks_from_start,
        ));
        output::result(format!(
            "{:14} {:>9} {:>8} {:>10} {:>10} {:>10} {:>10}",
            "operation", "completed", "failed", "p50 ms", "p95 ms", "p99 ms", "max ms"
        ));
        for operation in &guest.operations {
            let ms = |value: Option<u64>| value.map_or("n/a".to_owned(), |us| format!("{:.2}", us as f64 / 1e3));
            let [p50, p95, p99] = percentiles(&operation.service);
            output::result(format!(
                "{:14} {:>9} {:>8} {:>10} {:>10} {:>10} {:>10}",
                operation.name,
                operation.completed,
                operation.failed + operation.unfinished,
                ms(p50),
                ms(p95),
                ms(p99),
                ms(operation.service.max_us())
            ));
        }
        for error in &guest.errors {
            let example = error
                .examples
                .first()
                .map_or_else(String::new, |example| format!(", such as: {}", output::printable(&example.detail)));
            output::result(format!("{} x {}/{}{example}", error.count, error.class.name(), error.sub_class));
        }
    }
    let driver = &measurement.driver;
    output::result(format!(
        "driver: {:.1} % of CPU {:?}, {:.1} us of CPU per request, lag p99 {} us",
        100.0 * driver.cpu_share,
        driver.cpus,
        driver.cpu_us_per_request,
        driver.lag_p99_us
    ));
    for fault in faults {
        output::result(format!("VOID: {fault}"));
    }
}

/// The 50th, 95th and 99th percentile, us.
fn percentiles(latencies: &Latencies) -> [Option<u64>; 3] {
    [50.0, 95.0, 99.0].map(|p| latencies.percentile_us(p))
}

/// The counters as the original driver's lines want them.
fn original_counters(shop: &ShopCounters, elapsed_seconds: f64) -> (Totals, Calls) {
    let times = |count: u64, mean_msec: f64| Times {
        count,
        sum_us: (mean_msec * 1e3 * count as f64) as u64,
    };
    let orders = times(shop.n_overall, shop.rt_tot_avg_msec);
    let totals = Totals {
        elapsed_seconds,
        orders,
        // The original samples its last ten seconds; over one window that is the window.
        sampled: orders,
        last_max_us: (shop.rt_tot_lastn_max_msec * 1e3) as u64,
        rollbacks: shop.n_rollbacks_overall,
    };
    let calls = Calls {
        login: times(shop.n_login_overall, shop.rt_login_avg_msec),
        new_customer: times(shop.n_newcust_overall, shop.rt_newcust_avg_msec),
        browse: times(shop.n_browse_overall, shop.rt_browse_avg_msec),
        purchase: times(shop.n_purchase_overall, shop.rt_purchase_avg_msec),
    };
    (totals, calls)
}

/// The measurement as JSON, with the percentiles that its histograms hold.
fn with_percentiles(measurement: &Measurement, faults: &[String]) -> Result<serde_json::Value, Failure> {
    let mut value = serde_json::to_value(measurement).map_err(|error| Failure::new(Code::Internal, error))?;
    for (guest_index, guest) in measurement.guests.iter().enumerate() {
        for (index, operation) in guest.operations.iter().enumerate() {
            for (name, histogram) in [("service_us", &operation.service), ("response_us", &operation.response)] {
                let [p50, p95, p99] = percentiles(histogram);
                value["guests"][guest_index]["operations"][index][name] = serde_json::json!({
                    "count": histogram.count(),
                    "mean": histogram.mean_us(),
                    "p50": p50,
                    "p95": p95,
                    "p99": p99,
                    "max": histogram.max_us(),
                });
            }
        }
    }
    value["faults"] = serde_json::json!(faults);
    Ok(value)
}

fn cpu_list(text: &str) -> Result<Vec<u32>, Failure> {
    let cpus = rookery_host::parse_cpu_list(text).filter(|cpus| !cpus.is_empty());
    cpus.map(|cpus| cpus.into_iter().collect()).ok_or_else(|| {
        Failure::new(
            Code::Usage,
            format!("--cpus {text} is no list of CPUs\n  mend: write numbers and ranges, such as 1 or 2-3,6"),
        )
    })
}
