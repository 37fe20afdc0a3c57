//! `rookery predict`: what layouts and loads that were not run would do, from the store of a run
//! alone.

mod figure;
mod text;

use std::path::Path;

use rookery_analysis::{
    Run,
    predict::{
        Calibration, Forecast, Forecaster, Holdout, Host, Offer, Packing, PredictError, Readings,
        Shape, confirming_study, pack, shape,
    },
};
use rookery_cast::truncate_u32;
use serde::Serialize;

use crate::{
    cli::PredictArgs,
    commands::report,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &PredictArgs) -> Result<Code, Failure> {
    let directory = rookery_lab::find(&args.places.runs, &args.run)?;
    let store = report::open(&directory)?;
    let run = Run::read(&store)?;
    let variants = variants(&run, args)?;
    if args.holdout {
        return holdout(&run, variants, args);
    }
    let mut all = Vec::new();
    for readings in variants {
        all.push(forecasts(&run, readings, args)?);
    }
    if let Some(path) = &args.html {
        let page = figure::page(&run, &all, text::forecasts(&run, &all, args))?;
        write(path, page.as_bytes(), "the figure")?;
    }
    if let Some(path) = &args.study {
        write(
            path,
            confirmation(&run, &all, args)?.as_bytes(),
            "the study",
        )?;
    }
    if args.json {
        return output::json(&Output {
            run: &run.header.run_id,
            title: &run.header.title,
            variants: &all,
        });
    }
    output::text(text::forecasts(&run, &all, args));
    Ok(Code::Done)
}

/// The trials of the variants that are asked for.
fn variants(run: &Run, args: &PredictArgs) -> Result<Vec<Readings>, Failure> {
    let all = Readings::from_run(run);
    let count = all.len();
    let wanted: Vec<Readings> = all
        .into_iter()
        .filter(|readings| {
            args.variant
                .is_none_or(|variant| readings.variant == variant)
        })
        .collect();
    if wanted.is_empty() {
        let help = format!("write --variant 1 to {count}, or leave it out for all");
        return Err(Failure::new(Code::Usage, "the run has no such variant").help(help));
    }
    if wanted.iter().all(|readings| readings.all.is_empty()) {
        let message = "the run has no good trial to predict from";
        return Err(Failure::new(Code::Store, message)
            .help("`rookery report` says why its trials are void or failed"));
    }
    for readings in &wanted {
        let (asked, other) = match readings.offer {
            Offer::Closed { .. } => (&args.rate, "users: use --users"),
            Offer::Open { .. } => (&args.users, "arrivals per second: use --rate"),
        };
        if !asked.is_empty() {
            return Err(Failure::new(
                Code::Usage,
                format!("the load of this run is counted in {other}"),
            )
            .help(other));
        }
    }
    Ok(wanted)
}

/// What is said of one variant.
#[derive(Debug, Serialize)]
pub(crate) struct VariantForecast {
    variant: u32,
    levels: String,
    unit: &'static str,
    trials: usize,
    left_out: Vec<String>,
    /// Why there is nothing more.
    refused: Option<String>,
    calibration: Option<Calibration>,
    residual_s: Option<f64>,
    hidden_s: Option<f64>,
    model: Option<&'static str>,
    reason: Option<String>,
    held_out_error: Option<f64>,
    forecasts: Vec<Forecast>,
    /// Layouts that do not fit on the host, and why.
    refused_layouts: Vec<(String, String)>,
    packing: Option<Packing>,
    #[serde(skip)]
    forecaster: Option<Forecaster>,
}

#[derive(Serialize)]
struct Output<'a> {
    run: &'a str,
    title: &'a str,
    variants: &'a [VariantForecast],
}

fn forecasts(
    run: &Run,
    readings: Readings,
    args: &PredictArgs,
) -> Result<VariantForecast, Failure> {
    let mut said = VariantForecast {
        variant: readings.variant,
        levels: readings.levels.clone(),
        unit: readings.offer.unit(),
        trials: readings.all.len(),
        left_out: readings.left_out.clone(),
        refused: None,
        calibration: Calibration::fit(&readings.all).ok(),
        residual_s: None,
        hidden_s: None,
        model: None,
        reason: None,
        held_out_error: None,
        forecasts: Vec::new(),
        refused_layouts: Vec::new(),
        packing: None,
        forecaster: None,
    };
    let held_out = Holdout::of_loads(
        &readings,
        rookery_analysis::predict::HELD_SHARE,
        0,
        args.seed,
    );
    said.held_out_error = held_out
        .ok()
        .and_then(|holdout| holdout.error())
        .map(|error| error.mape);
    let forecaster = match Forecaster::fit(readings, args.draws as usize, args.seed) {
        Ok(forecaster) => forecaster.with_disk_speed(args.disk_speed.unwrap_or(1.0)),
        Err(reason) => {
            said.refused = Some(reason.to_string());
            return Ok(said);
        }
    };
    said.residual_s = forecaster.structure().map(|structure| structure.residual_s);
    said.hidden_s = forecaster
        .structure()
        .map(|structure| structure.hidden_s)
        .filter(|hidden| *hidden > 0.0);
    said.model = Some(forecaster.choice.method.name());
    said.reason = Some(forecaster.choice.reason.clone());
    let host = Host {
        cpus: args.host_cpus,
        memory_mib: args.host_memory,
    };
    if args.pack {
        let loads = asked_loads(args);
        if loads.len() > 1 {
            return Err(Failure::new(Code::Usage, "--pack takes one load")
                .help("give one number, or none to find the most that each layout carries"));
        }
        said.packing = Some(pack(run, &forecaster, host, loads.first().copied()));
    } else {
        for (label, found) in shapes(run, &forecaster, host, args) {
            match found {
                Ok(shape) => {
                    let loads = loads(&forecaster, &shape, args);
                    said.forecasts.extend(
                        loads
                            .into_iter()
                            .map(|load| forecaster.forecast(&shape, load)),
                    );
                }
                Err(reason) => said.refused_layouts.push((label, reason.to_string())),
            }
        }
    }
    said.forecaster = Some(forecaster);
    Ok(said)
}

fn asked_loads(args: &PredictArgs) -> &[f64] {
    if args.users.is_empty() {
        &args.rate
    } else {
        &args.users
    }
}

/// The layouts that are asked for, or those of the run.
fn shapes(
    run: &Run,
    forecaster: &Forecaster,
    host: Host,
    args: &PredictArgs,
) -> Vec<(String, Result<Shape, PredictError>)> {
    let variant = forecaster.readings.variant;
    let of = |guests, vcpus: rookery_study::Vcpus| {
        (
            format!("{guests} x {vcpus} vCPU"),
            shape(run, variant, guests, vcpus, host),
        )
    };
    if !args.layout.is_empty() {
        return args
            .layout
            .iter()
            .map(|layout| of(layout.guests, layout.vcpus))
            .collect();
    }
    let measured = forecaster.readings.shapes();
    if host == Host::default() {
        return measured
            .into_iter()
            .map(|shape| (shape.label(), Ok(shape)))
            .collect();
    }
    let vcpus = |shape: &Shape| rookery_study::Vcpus(truncate_u32((shape.vcpus * 1000.0).round()));
    measured
        .iter()
        .map(|shape| of(shape.guests, vcpus(shape)))
        .collect()
}

/// The loads that are asked for; or the measured ones of the layout and some beyond, as far as
/// numbers may be given.
fn loads(forecaster: &Forecaster, shape: &Shape, args: &PredictArgs) -> Vec<f64> {
    let asked = asked_loads(args);
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let mut loads: Vec<f64> = forecaster
        .readings
        .of_shape(shape)
        .map(|reading| reading.load)
        .collect();
    let beyond: &[f64] = if loads.is_empty() {
        &[0.25, 0.5, 0.75, 1.0, 1.5, 2.0]
    } else {
        &[1.25, 1.5, 2.0]
    };
    let per_core = forecaster
        .readings
        .all
        .iter()
        .map(|reading| reading.load_per_core())
        .fold(0.0, f64::max);
    let largest = loads
        .iter()
        .copied()
        .reduce(f64::max)
        .unwrap_or(per_core * shape.capacity());
    // Users are whole; of arrivals there may be less than one a second.
    let whole = matches!(forecaster.readings.offer, Offer::Closed { .. });
    let loads_beyond = beyond.iter().map(|factor| factor * largest);
    loads.extend(loads_beyond.map(|load| if whole { load.floor().max(1.0) } else { load }));
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    loads
}

fn holdout(run: &Run, variants: Vec<Readings>, args: &PredictArgs) -> Result<Code, Failure> {
    let (draws, seed) = (args.draws as usize, args.seed);
    let mut all: Vec<text::HoldoutResult> = Vec::new();
    for readings in variants {
        let (variant, levels) = (readings.variant, readings.levels.clone());
        let result =
            |what: &'static str, result: Result<Holdout, PredictError>| text::HoldoutResult {
                variant,
                levels: levels.clone(),
                what,
                refused: result.as_ref().err().map(ToString::to_string),
                holdout: result.ok(),
            };
        all.push(result(
            "loads",
            Holdout::of_loads(&readings, args.holdout_share, draws, seed),
        ));
        all.push(result("guests", Holdout::of_guests(&readings, draws, seed)));
    }
    if args.json {
        return output::json(&all);
    }
    output::text(text::holdouts(run, &all));
    Ok(Code::Done)
}

fn confirmation(run: &Run, all: &[VariantForecast], args: &PredictArgs) -> Result<String, Failure> {
    let found = all
        .iter()
        .find_map(|said| Some((said.forecaster.as_ref()?, said.packing.as_ref()?)));
    let found = found.filter(|(_, packing)| !packing.layouts.is_empty());
    let Some((forecaster, packing)) = found else {
        let message = "no layout was found that could be confirmed";
        return Err(Failure::new(Code::Store, message)
            .help("`rookery predict --pack` without --study says why"));
    };
    Ok(confirming_study(run, forecaster, packing, args.confirm as usize).to_toml())
}

fn write(path: &Path, bytes: &[u8], what: &str) -> Result<(), Failure> {
    rookery_lab::write_whole(path, bytes).map_err(|error| {
        Failure::new(
            Code::Store,
            format!("cannot write {what} {}: {error}", path.display()),
        )
        .help("name a file in a directory that exists and may be written")
    })
}
