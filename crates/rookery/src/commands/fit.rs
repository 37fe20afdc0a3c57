//! `rookery fit`: scaling laws for anybody's measurements.

mod csv;
mod decimal;
mod numbers;
mod rivals;
mod text;

use std::{fs, path::Path};

use rookery_model::fit::{
    Bootstrap, Exclusion, Fitted, Judgement, Observations, Options, Weights, judge,
};
use rookery_report::{CurvePoint, FitCurve, FitFigure, FitPanel, FitPoint};

use crate::{
    cli::{DecimalArg, FitArgs, WeightsArg},
    exit::{Code, Failure},
    output,
};

/// Files above this size are no lists of runs.
const MAX_BYTES: u64 = 16 << 20;
/// Runs above this number would only cost time.
const MAX_RUNS: usize = 20_000;
/// Largest load that the closed model is asked for.
const MAX_LOAD: f64 = 1e6;
/// Points of a drawn curve.
const CURVE_POINTS: usize = 160;

pub(crate) fn run(args: &FitArgs) -> Result<Code, Failure> {
    if !args.z.is_finite() || args.z < 0.0 {
        return Err(
            Failure::new(Code::Usage, format!("--z {} is no think time", args.z))
                .help("seconds, 0 or more"),
        );
    }
    let (observations, names) = observations(args)?;
    let args = &FitArgs {
        n: names.0,
        x: names.1,
        ..args.clone()
    };
    let options = Options {
        weights: match args.weights {
            WeightsArg::Equal => Weights::Equal,
            WeightsArg::Relative => Weights::Relative,
            WeightsArg::Variance => Weights::Variance,
        },
        two_parameter: args.two_parameter,
        think: args.z,
        ..Options::default()
    };
    check_options(args, &observations)?;
    let judgement = judge(&observations, &options);
    let bootstrap = match judgement.choice().and_then(|choice| choice.fitted.as_ref()) {
        Some(Fitted::Law(fit)) => {
            Bootstrap::resample(fit, &observations, args.draws as usize, args.seed)
        }
        _ => None,
    };
    let numbers = text::render(args, &observations, &judgement, bootstrap.as_ref());
    output::text(&numbers);
    if let Some(path) = &args.html {
        let page = rookery_report::fit_html(&figure(args, &observations, &judgement, numbers))?;
        fs::write(path, page).map_err(|error| {
            Failure::new(
                Code::Store,
                format!("cannot write {}: {error}", path.display()),
            )
            .help("name a file in a directory that exists and may be written")
        })?;
        output::text(format!("\nFigure: {}", path.display()));
    }
    Ok(match judgement.choice() {
        Some(_) => Code::Done,
        None => Code::Nothing,
    })
}

fn check_options(args: &FitArgs, observations: &Observations) -> Result<(), Failure> {
    let usage = |what: String, help: &str| Err(Failure::new(Code::Usage, what).help(help));
    if args.two_parameter && observations.smallest() != 1.0 {
        return usage(
            format!(
                "--two-parameter needs runs at load 1; the smallest is {}",
                observations.smallest()
            ),
            "measure load 1, or leave the option out",
        );
    }
    if args.weights == WeightsArg::Variance && !observations.repeated() {
        return usage(
            "--weights variance needs three runs at every load".to_owned(),
            "use --weights relative, or add runs",
        );
    }
    if let Some(n) = args.at.iter().find(|n| !n.is_finite() || **n <= 0.0) {
        return usage(format!("--at {n} is no load"), "write a number above 0");
    }
    Ok(())
}

/// The runs, and what the file calls load and throughput.
fn observations(args: &FitArgs) -> Result<(Observations, (String, String)), Failure> {
    let shown = args.file.display();
    let refuse = |reason: String| Failure::new(Code::Usage, reason);
    let columns = csv::Columns {
        n: &args.n,
        x: &args.x,
        exclude: args.exclude.as_deref(),
        decimal: args.decimal.map(|mark| match mark {
            DecimalArg::Point => decimal::Mark::Point,
            DecimalArg::Comma => decimal::Mark::Comma,
        }),
    };
    let csv::Table { n, x, rows } =
        csv::read(&contents(&args.file)?, &columns).map_err(|error| error.in_file(&args.file))?;
    if rows.len() > MAX_RUNS {
        let what = format!("{shown} has {} runs, more than {MAX_RUNS}", rows.len());
        return Err(refuse(what).help("write one line per run, not per request"));
    }
    if let Some(row) = rows.iter().find(|row| row.run.n > MAX_LOAD) {
        return Err(
            refuse(format!("a load of {} is beyond {MAX_LOAD}", row.run.n))
                .at(format!("{shown}:{}", row.line))
                .help(format!("check whether `{}` is the load", args.n)),
        );
    }
    let (excluded, counted): (Vec<csv::Row>, Vec<csv::Row>) =
        rows.into_iter().partition(|row| row.excluded.is_some());
    if counted.is_empty() {
        return Err(refuse(format!(
            "{shown}: the column `{}` leaves no run",
            args.exclude.as_deref().unwrap_or_default()
        ))
        .help("runs that count have nothing, 0, no, ok or done there"));
    }
    let excluded = excluded.into_iter().filter_map(|row| {
        let (run, reason) = (row.run, row.excluded?);
        Some(Exclusion { run, reason })
    });
    let observations = Observations::new(counted.iter().map(|row| row.run).collect())
        .map_err(|error| refuse(format!("{shown}: {error}")))?;
    Ok((observations.with_excluded(excluded.collect()), (n, x)))
}

fn contents(path: &Path) -> Result<String, Failure> {
    let fail = |reason: String| {
        Failure::new(
            Code::Usage,
            format!("cannot read {}: {reason}", path.display()),
        )
        .help("name a text file with one line per run")
    };
    let about = fs::metadata(path).map_err(|error| fail(error.to_string()))?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err(fail("it is no file, or larger than 16 MiB".to_owned()));
    }
    let bytes = fs::read(path).map_err(|error| fail(error.to_string()))?;
    decode(bytes)
        .ok_or_else(|| fail("it is not UTF-8 text".to_owned()).help("save it as text in UTF-8"))
}

/// UTF-8, or UTF-16 that says so, as spreadsheets write it.
fn decode(bytes: Vec<u8>) -> Option<String> {
    let wide: fn([u8; 2]) -> u16 = match bytes.get(..2) {
        Some([0xff, 0xfe]) => u16::from_le_bytes,
        Some([0xfe, 0xff]) => u16::from_be_bytes,
        _ => return String::from_utf8(bytes).ok(),
    };
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| wide([pair[0], pair[1]]))
        .collect();
    String::from_utf16(&units).ok()
}

/// Points, curves that were not refused, and the band of the chosen one.
fn figure(
    args: &FitArgs,
    observations: &Observations,
    judgement: &Judgement,
    numbers: String,
) -> FitFigure {
    let end = judgement.largest * 1.5;
    let mut places: Vec<f64> = (1..=CURVE_POINTS)
        .map(|i| end * i as f64 / CURVE_POINTS as f64)
        .collect();
    // Where the answer turns from solid to dashed.
    places.push(judgement.largest);
    places.sort_by(f64::total_cmp);
    places.dedup();
    let curves = judgement
        .candidates
        .iter()
        .enumerate()
        .filter_map(|(place, candidate)| {
            let fitted = candidate.fitted.as_ref().filter(|_| !candidate.refused())?;
            let chosen = judgement.chosen == Some(place);
            let point = |n: &f64| CurvePoint {
                n: *n,
                x: fitted.throughput(*n),
                run: band(fitted, *n, observations).filter(|_| chosen),
            };
            Some(FitCurve {
                name: format!(
                    "{}{}",
                    candidate.model.name(),
                    if chosen { " (chosen)" } else { "" }
                ),
                points: places.iter().map(point).collect(),
                chosen,
            })
        });
    FitFigure {
        kicker: "Fitted laws",
        numbers,
        title: format!("Throughput against {}: {}", args.n, args.file.display()),
        x_title: args.n.clone(),
        y_title: args.x.clone(),
        panels: vec![FitPanel {
            label: String::new(),
            points: observations
                .runs()
                .iter()
                .map(|run| FitPoint { n: run.n, x: run.x })
                .collect(),
            curves: curves.collect(),
        }],
    }
}

/// The 95 % interval of a single run; a throughput is never below 0.
fn band(fitted: &Fitted, n: f64, observations: &Observations) -> Option<(f64, f64)> {
    let run = fitted.predict(n, observations)?.run;
    Some((run.low.max(0.0), run.high))
}
