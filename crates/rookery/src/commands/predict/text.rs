//! Forecasts as text for people.

use std::fmt::Write as _;

use rookery_analysis::{
    Run,
    predict::{Calibration, Forecast, Holdout, Kept, Numbers, Packing, Ranged},
};
use rookery_cast::truncate_i32;
use rookery_text::Table;
use rookery_workload::UnitOfWork;
use serde::Serialize;

use crate::{
    cli::PredictArgs,
    commands::predict::VariantForecast,
    output::{self, printable},
};

/// One hold-out, or why there is none.
#[derive(Debug, Serialize)]
pub(crate) struct HoldoutResult {
    pub(crate) variant: u32,
    pub(crate) levels: String,
    /// `loads` or `guests`.
    pub(crate) what: &'static str,
    pub(crate) refused: Option<String>,
    pub(crate) holdout: Option<Holdout>,
}

/// What every forecast leaves out.
const NOT_MODELLED: &str = "Not modelled: shared caches and memory bandwidth beyond the measured \
                            growth, hardware threads, turbo, remote memory, \
     overcommitted memory, and another mix of requests.";

pub(crate) fn forecasts(run: &Run, all: &[VariantForecast], args: &PredictArgs) -> String {
    let work = unit_of(run);
    let mut out = head(run);
    for said in all {
        if !said.levels.is_empty() {
            let _ = writeln!(
                out,
                "\nVariant {}: {}",
                said.variant,
                printable(&said.levels)
            );
        }
        model(&mut out, said, &work);
        if let Some(packing) = &said.packing {
            pack(&mut out, packing, (said.unit, &work), args);
        } else if said.refused.is_none() {
            table_of_forecasts(&mut out, &said.forecasts, (said.unit, &work));
        }
        for (layout, reason) in &said.refused_layouts {
            let _ = writeln!(out, "{layout}: no forecast; {}", printable(reason));
        }
    }
    if args.disk_speed.is_some() {
        out += "\nNo counter says which part of the delay is storage: with another disk, intervals \
                reach from none of it to all of it.\n";
    }
    let _ = writeln!(out, "\n{NOT_MODELLED}");
    if let Some(path) = &args.study {
        let _ = writeln!(
            out,
            "Study: {0}; confirm with `rookery run {0}`",
            path.display()
        );
    }
    if let Some(path) = &args.html {
        let _ = writeln!(out, "Figure: {}", path.display());
    }
    out
}

/// What throughput counts, in the words of the run's workload.
fn unit_of(run: &Run) -> UnitOfWork {
    run.header.study.workload.kind().info().unit
}

fn head(run: &Run) -> String {
    format!(
        "{}\nrun {}\n",
        printable(&run.header.title),
        printable(&run.header.run_id)
    )
}

fn model(out: &mut String, said: &VariantForecast, work: &UnitOfWork) {
    let _ = writeln!(out, "\nFrom {} good trials", said.trials);
    if let Some(calibration) = &said.calibration {
        demands(out, calibration, work);
    } else {
        out.push_str(
            "  no demand: no trial counted the busy cores of its guests, or they do not \
                      grow with throughput\n",
        );
    }
    if let Some(residual) = said.residual_s {
        let _ = writeln!(
            out,
            "  beyond the demands, the time of one {} is {} at the lowest load",
            work.singular,
            time(residual)
        );
    }
    if let Some(hidden) = said.hidden_s {
        let _ = writeln!(
            out,
            "  a queue without counter in each guest: {} of each {}",
            time(hidden),
            work.singular
        );
    }
    if let (Some(model), Some(reason)) = (said.model, &said.reason) {
        let _ = writeln!(out, "Model: {model}; {reason}");
    }
    match said.held_out_error {
        Some(error) => {
            let _ = writeln!(
                out,
                "Fitted to the lower half of the loads, it misses the upper half by {} on average",
                percent(error)
            );
        }
        None => out.push_str(
            "No error of prediction is known: too few loads to hold the upper half out\n",
        ),
    }
    if let Some(reason) = &said.refused {
        let _ = writeln!(out, "No forecast: {reason}");
    }
    for trial in &said.left_out {
        let _ = writeln!(out, "  left out: {trial}");
    }
}

fn demands(out: &mut String, calibration: &Calibration, work: &UnitOfWork) {
    for demand in &calibration.demands {
        let guests = if demand.guests == 1 {
            "1 guest".to_owned()
        } else {
            format!("{} guests", demand.guests)
        };
        let few = if demand.background_cores.is_none() {
            ", from one load"
        } else {
            ""
        };
        let ends = demand.interval_s.map_or_else(
            || few.to_owned(),
            |(low, high)| format!(" ({} to {})", number(low * 1e3), number(high * 1e3)),
        );
        let changes = demand.changes_by.map_or_else(String::new, |change| {
            format!(
                "; it changes by {:+.0} % from the smallest to the largest load, that of the \
                 largest is used",
                100.0 * change
            )
        });
        let _ = writeln!(
            out,
            "  one {} takes {} ms of CPU{ends} with {guests}{changes}",
            work.singular,
            number(demand.demand_s * 1e3)
        );
        if demand.wakeup_s > 0.0 {
            let _ = writeln!(
                out,
                "    at busy cores; at idle ones {} ms more, for waking up: busy cores grow ever \
                 more slowly with throughput",
                number(demand.wakeup_s * 1e3)
            );
        }
        if demand.condition.is_some_and(|condition| condition > 30.0) {
            out.push_str("  the loads are too alike to tell demand and background apart\n");
        }
    }
    if calibration.background_cores > 0.0 {
        let _ = writeln!(
            out,
            "  each guest uses {} cores without load",
            number(calibration.background_cores)
        );
    }
    let growth = calibration.growth;
    let per_guest = format!("{:+.1} %", 100.0 * growth.per_guest);
    let _ = match growth.numbers {
        1 => writeln!(
            out,
            "  how it grows with guests is not known: one number of guests was measured"
        ),
        2 => writeln!(
            out,
            "  it grows by {per_guest} for each further guest: a line through two numbers of \
             guests, nothing more"
        ),
        numbers => writeln!(
            out,
            "  it grows by {per_guest} for each further guest, fitted to {numbers} numbers of \
             guests"
        ),
    };
}

fn table_of_forecasts(out: &mut String, forecasts: &[Forecast], (unit, work): (&str, &UnitOfWork)) {
    let rate = format!("{} (95 % of a run)", work.rate);
    let mean = format!("{} mean, ms", work.singular);
    let percentiles = format!("{} p50 / p95 / p99, ms", work.singular);
    let head = [
        "layout",
        unit,
        &rate,
        &mean,
        &percentiles,
        "CPU",
        "limited by",
        "limits",
        "where",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for forecast in forecasts {
        let mut row = vec![forecast.layout(), number(forecast.load)];
        match &forecast.numbers {
            Ok(numbers) => {
                row.extend(cells(numbers));
                row.push(forecast.place.words().to_owned());
            }
            Err(reason) => row.push(format!("no number: {reason}")),
        }
        rows.push(row);
    }
    out.push('\n');
    table(out, &rows);
    nearest(out, forecasts.iter());
    sources(out, forecasts);
}

fn cells(numbers: &Numbers) -> [String; 6] {
    let quantiles: Vec<String> = numbers
        .quantiles
        .iter()
        .map(|quantile| number(quantile.seconds.value * 1e3))
        .collect();
    [
        ranged(numbers.units_per_minute),
        numbers
            .response_s
            .map_or_else(dash, |response| ranged(response.scaled(1e3))),
        if quantiles.is_empty() {
            dash()
        } else {
            quantiles.join(" / ")
        },
        numbers
            .utilisation
            .map_or_else(dash, |utilisation| format!("{:.0} %", 100.0 * utilisation)),
        numbers
            .limit
            .map_or_else(dash, |limit| limit.words().to_owned()),
        numbers.kept.words().to_owned(),
    ]
}

/// Which limit would break first, in words.
fn nearest<'a>(out: &mut String, forecasts: impl Iterator<Item = &'a Forecast>) {
    let first = forecasts.into_iter().find_map(|forecast| {
        let numbers = forecast
            .numbers
            .as_ref()
            .ok()
            .filter(|numbers| numbers.kept != Kept::Yes)?;
        let (limit, load) = (numbers.nearest_limit.as_ref()?, numbers.load_of_limit?);
        Some(format!(
            "The limit that breaks first: {limit}; with {} and a load of {} it is at {} of the \
             limit",
            forecast.layout(),
            number(forecast.load),
            ranged_percent(load)
        ))
    });
    if let Some(first) = first {
        let _ = writeln!(out, "{first}");
    }
}

fn sources(out: &mut String, forecasts: &[Forecast]) {
    let numbers: Vec<&Numbers> = forecasts
        .iter()
        .filter_map(|forecast| forecast.numbers.as_ref().ok())
        .collect();
    let mut methods: Vec<&str> = numbers
        .iter()
        .map(|numbers| numbers.method.name())
        .collect();
    methods.sort_unstable();
    methods.dedup();
    if methods.is_empty() {
        return;
    }
    let _ = writeln!(out, "Throughput by: {}", methods.join("; "));
    let quantiles = || numbers.iter().flat_map(|numbers| &numbers.quantiles);
    let by_model: Vec<String> = rookery_analysis::predict::PERCENTILES
        .into_iter()
        .filter(|p| quantiles().any(|quantile| quantile.percentile == *p && quantile.by_model))
        .map(|p| format!("p{p}"))
        .collect();
    if quantiles().any(|quantile| !quantile.by_model) {
        out.push_str("Percentiles by their measured ratio to the mean at equal pressure");
        if by_model.is_empty() {
            out.push_str(": the model's own were off by more than 20 %\n");
        } else {
            let _ = writeln!(
                out,
                "; {} by the model, within 20 % at every measured load",
                by_model.join(" and ")
            );
        }
    } else if !by_model.is_empty() {
        let _ = writeln!(
            out,
            "Percentiles by the model, within 20 % at every measured load; never beyond p99, nor \
             for heavy tails"
        );
    }
}

fn pack(
    out: &mut String,
    packing: &Packing,
    (unit, work): (&str, &UnitOfWork),
    args: &PredictArgs,
) {
    let rate = format!("{} (95 % of a run)", work.rate);
    let asked = !(args.users.is_empty() && args.rate.is_empty());
    let most = if asked {
        unit.to_owned()
    } else {
        format!("most {unit} within limits")
    };
    let head = [
        "layout",
        "cores",
        "memory, MiB",
        &most,
        &rate,
        "limits",
        "nearest limit",
        "limited by",
        "where",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for packed in &packing.layouts {
        let Ok(numbers) = &packed.forecast.numbers else {
            continue;
        };
        let load = match (asked, packed.at_border) {
            (true, _) => number(packed.most_load.value),
            (false, false) => ranged(packed.most_load),
            (false, true) => format!("{} or more", number(packed.most_load.value)),
        };
        rows.push(vec![
            packed.forecast.layout(),
            number(packed.cores),
            packed.memory_mib.to_string(),
            load,
            ranged(numbers.units_per_minute),
            numbers.kept.words().to_owned(),
            numbers.load_of_limit.map_or_else(dash, ranged_percent),
            numbers
                .limit
                .map_or_else(dash, |limit| limit.words().to_owned()),
            packed.forecast.place.words().to_owned(),
        ]);
    }
    out.push('\n');
    if packing.layouts.is_empty() {
        out.push_str("No layout of which something can be said\n");
    } else {
        table(out, &rows);
    }
    if packing.layouts.iter().any(|packed| packed.at_border) {
        out.push_str(
            "\"or more\": the limits are kept up to twice the measured load, and beyond \
                      that the model says nothing\n",
        );
    }
    for (layouts, reason) in packing.refused.iter().take(12) {
        let _ = writeln!(out, "{layouts}: left out; {}", printable(reason));
    }
}

pub(crate) fn holdouts(run: &Run, all: &[HoldoutResult]) -> String {
    let mut out = head(run);
    for result in all {
        let what = if result.what == "loads" {
            "the largest loads"
        } else {
            "the largest number of guests"
        };
        let of = if result.levels.is_empty() {
            String::new()
        } else {
            format!(
                ", variant {}: {}",
                result.variant,
                printable(&result.levels)
            )
        };
        let _ = writeln!(out, "\nHeld out: {what}{of}");
        match (&result.holdout, &result.refused) {
            (Some(holdout), _) => one_holdout(&mut out, holdout, &unit_of(run)),
            (None, Some(reason)) => {
                let _ = writeln!(out, "  none: {reason}");
            }
            (None, None) => {}
        }
    }
    out
}

fn one_holdout(out: &mut String, holdout: &Holdout, work: &UnitOfWork) {
    let measured = format!("measured, {}", work.rate);
    let means = format!("{} mean, ms: measured, predicted", work.singular);
    let loads = || holdout.fitted.iter().map(|(_, load)| *load);
    let (low, high) = (
        loads().fold(f64::INFINITY, f64::min),
        loads().fold(0.0, f64::max),
    );
    let _ = writeln!(
        out,
        "  fitted to {} layouts and loads of {} to {} {}",
        holdout.fitted.len(),
        number(low),
        number(high),
        holdout.unit
    );
    let _ = writeln!(
        out,
        "  model: {}; {}",
        holdout.method.name(),
        holdout.reason
    );
    let head = [
        "layout",
        holdout.unit,
        &measured,
        "predicted (95 % of a run)",
        "error",
        "runs inside",
        &means,
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for point in &holdout.points {
        rows.push(vec![
            point.layout.clone(),
            number(point.load),
            number(point.measured),
            ranged(point.predicted),
            percent(point.error),
            format!(
                "{:.0} of {}",
                point.inside * point.trials as f64,
                point.trials
            ),
            point.response_s.map_or_else(dash, |(measured, predicted)| {
                format!("{}, {}", number(measured * 1e3), number(predicted * 1e3))
            }),
        ]);
    }
    table(out, &rows);
    out.push('\n');
    let head = ["model", "mean error", "largest", "bias", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for method in &holdout.methods {
        let cell = |value: Option<f64>| value.map_or_else(dash, percent);
        let remark = match (&method.refused, method.chosen, method.naive) {
            (Some(reason), ..) => reason.to_string(),
            (None, true, _) => "chosen, before the held-out loads were seen".to_owned(),
            (None, false, true) => "naive".to_owned(),
            (None, false, false) => String::new(),
        };
        rows.push(vec![
            method.name.to_owned(),
            cell(method.mape),
            cell(method.largest),
            method
                .bias
                .map_or_else(dash, |bias| format!("{:+.1} %", 100.0 * bias)),
            remark,
        ]);
    }
    table(out, &rows);
    let noise = holdout.variation.map_or_else(
        || "the held-out loads were not repeated".to_owned(),
        |cv| format!("repeats there scatter by {}", percent(cv)),
    );
    if let Some(error) = holdout.error() {
        let _ = writeln!(
            out,
            "Throughput was missed by {} on average (bias {:+.1} %); {:.0} % of the runs lie \
             inside their intervals; {noise}",
            percent(error.mape),
            100.0 * error.bias,
            100.0 * holdout.inside()
        );
    }
    if !holdout.beats_last_value() {
        out.push_str(
            "The model predicts no better than the last measured value: it has no \
                      predictive value here\n",
        );
    }
}

fn table(out: &mut String, rows: &[Vec<String>]) {
    if let Some((heads, rows)) = rows.split_first() {
        *out += &Table::new(heads.clone(), rows.to_vec()).render(output::width());
    }
}

fn dash() -> String {
    "-".to_owned()
}

fn ranged(range: Ranged) -> String {
    format!(
        "{} ({} to {})",
        number(range.value),
        number(range.low),
        number(range.high)
    )
}

fn ranged_percent(range: Ranged) -> String {
    format!(
        "{:.0} % ({:.0} to {:.0})",
        100.0 * range.value,
        100.0 * range.low,
        100.0 * range.high
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn time(seconds: f64) -> String {
    format!("{} ms", number(seconds * 1e3))
}

/// Three significant digits; whole numbers in full.
fn number(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1000.0 || !value.is_finite() {
        return format!("{value:.0}");
    }
    let places = (2 - truncate_i32(value.abs().log10().floor())).clamp(0, 9);
    format!("{value:.*}", usize::try_from(places).unwrap_or(0))
}
