//! `rookery drive dvdstore`: only the driver, against a system that already runs.

mod args;
mod config_file;
mod learn;
mod original;
mod settings;
mod text;

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError, atomic::AtomicBool},
};

use rookery_driver::{DriverError, Progress};
use rookery_stats::{GuestMeasurement, Measurement, faults};
use rookery_web::{
    Assignment, Config, Limits, Script,
    workloads::dvdstore::{DvdstoreScript, OrderTally, SearchWords},
};
use rookery_workload::dvdstore;

use crate::{
    exit::{Code, Failure, driver_code},
    output,
    progress::load_bar,
    signals,
    workloads::{arrivals, measured},
};

pub(crate) use self::args::DriveDvdstoreArgs;
use self::{args::DriveFormat, original::Lines, settings::Settings};
use super::words;

pub(crate) fn run(args: &DriveDvdstoreArgs) -> Result<Code, Failure> {
    let settings = Settings::of(args)?;
    settings.remarks.iter().for_each(output::remark);
    let config = config(args, &settings)?;
    let stop = signals::stop_flag()?;
    let format = if args.json {
        DriveFormat::Json
    } else {
        args.format
    };
    let measurement = if format == DriveFormat::Original {
        drive_with_lines(&config, settings.detailed, &stop)?
    } else {
        drive(args, &config, &stop)?
    };
    let faults: Vec<String> = faults::faults(&measurement)
        .into_iter()
        .map(|fault| fault.text)
        .collect();
    match format {
        DriveFormat::Json => {
            output::json(&measured::with_percentiles(&measurement, &faults)?).map(drop)?
        }
        DriveFormat::Text => text::print(&measurement, &faults),
        DriveFormat::Original => remark_failures(&measurement, &faults),
    }
    if signals::came(&stop) {
        return Ok(Code::Interrupted);
    }
    if let Some(target) = measurement.guests.iter().find(|guest| orders(guest) == 0) {
        return Err(nothing_ordered(target));
    }
    Ok(if faults.is_empty() {
        Code::Done
    } else {
        Code::Driver
    })
}

fn failure(error: DriverError) -> Failure {
    Failure::from_error(driver_code(&error), &error)
}

fn drive(
    args: &DriveDvdstoreArgs,
    config: &Config,
    stop: &AtomicBool,
) -> Result<Measurement, Failure> {
    let bar = load_bar(args.quiet, config.phases.load_end());
    let measured = rookery_web::run(config, measured::start(), stop, &|progress| {
        measured::tell(&bar, &progress)
    });
    bar.finish_and_clear();
    measured.map_err(failure)
}

/// Drive, and print the original driver's lines as they become due.
fn drive_with_lines(
    config: &Config,
    detailed: bool,
    stop: &AtomicBool,
) -> Result<Measurement, Failure> {
    let phases = &config.phases;
    let lines = Lines::new(
        phases.window_start(),
        phases.steady,
        config.assignments.len(),
        detailed,
    );
    let state = Mutex::new((lines, Vec::<OrderTally>::new()));
    let told = |progress: Progress, tallies: &[OrderTally]| {
        let (lines, last) = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.at(progress.elapsed, tallies) {
            // Who does not listen any more still gets the load that was asked for.
            let _ = output::try_result(line);
        }
        *last = tallies.to_vec();
    };
    let measurement =
        rookery_web::run_with_tallies(config, measured::start(), stop, &told).map_err(failure)?;
    let (mut lines, tallies) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let when = jiff::Timestamp::now()
        .strftime("%-m/%-d/%Y %-I:%M:%S %p")
        .to_string();
    lines
        .final_lines(&when, &measurement, &tallies)
        .iter()
        .for_each(output::result);
    Ok(measurement)
}

/// What failed and why a trial would be void, where scripts read standard output.
fn remark_failures(measurement: &Measurement, faults: &[String]) {
    for guest in &measurement.guests {
        measured::failures(guest)
            .for_each(|line| output::remark(format!("{}: {line}", guest.guest)));
    }
    faults
        .iter()
        .for_each(|fault| output::remark(format!("VOID: {fault}")));
}

/// Orders that were completed in the measured window.
fn orders(guest: &GuestMeasurement) -> u64 {
    measured::completed(guest, |name| name == dvdstore::INFO.main_operation())
}

/// A load without a single order measured nothing.
fn nothing_ordered(target: &GuestMeasurement) -> Failure {
    let answered = measured::completed(target, |_| true);
    let what = if answered == 0 {
        "did not answer like a DVD Store".to_owned()
    } else {
        format!("completed no order in the measured window, only {answered} single requests")
    };
    Failure::new(
        Code::Guest,
        format!(
            "{} {what}: {}",
            target.guest,
            measured::first_failure(target)
        ),
    )
    .help(
        "check that the target serves, address, port and directory of --target, and --page-type; \
         or measure for longer",
    )
}

fn config(args: &DriveDvdstoreArgs, settings: &Settings) -> Result<Config, Failure> {
    let words = match settings.targets.first().filter(|_| args.learn_from_pages) {
        Some(target) => {
            SearchWords::Lists(learn::lists(target, &settings.page_type, settings.timeout)?)
        }
        None => match words::lists(&args.words)? {
            Cow::Borrowed(_) => SearchWords::BuiltIn,
            Cow::Owned(lists) => SearchWords::Lists(lists),
        },
    };
    let assignment = |target: &settings::Target| Assignment {
        guest: target.url.clone(),
        target: target.address,
        users: settings.users,
        script: Script::Dvdstore(DvdstoreScript {
            directory: target.directory.clone(),
            page_type: settings.page_type.clone(),
            shopper: settings.shopper,
            words: words.clone(),
        }),
    };
    let cpus = measured::driver_cpus(args.cpus.as_deref())?;
    Ok(Config {
        assignments: settings.targets.iter().map(assignment).collect(),
        network: None,
        cpus,
        phases: settings.phases,
        load: arrivals::load(&args.load)?,
        pacing: settings.pacing,
        think_time: settings.think_time,
        // As the original draws it.
        think_distribution: rookery_workload::DelayDistribution::Uniform,
        timeout: settings.timeout,
        limits: Limits::default(),
        seed: args.seed,
        confirmed_targets: settings
            .targets
            .iter()
            .map(|target| target.address)
            .filter(|address| args.confirm_target.contains(&address.ip()))
            .collect(),
    })
}
