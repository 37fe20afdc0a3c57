//! `rookery fit`: scaling laws for anybody's measurements.

mod csv;
mod text;

use std::{fs, path::Path};

use rookery_model::fit::{Bootstrap, Fitted, Judgement, Observations, Options, Weights, judge};
use rookery_report::{FitCurve, FitFigure, FitPoint};

use crate::{
    cli::{FitArgs, WeightsArg},
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
        return Err(Failure::new(
            Code::Usage,
            format!("--z {} is no think time\n  mend: seconds, 0 or more", args.z),
        ));
    }
    let observations = observations(args)?;
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
        Some(Fitted::Law(fit)) => Bootstrap::of(fit, &observations, args.draws as usize, args.seed),
        _ => None,
    };
    output::result(text::render(args, &observations, &judgement, bootstrap.as_ref()));
    if let Some(path) = &args.html {
        let page = rookery_report::fit_html(&figure(args, &observations, &judgement));
        fs::write(path, page).map_err(|error| {
            let mend = "name a file in a directory that exists and may be written";
            Failure::new(Code::Store, format!("cannot write {}: {error}\n  mend: {mend}", path.display()))
        })?;
        output::result(format!("\nFigure: {}", path.display()));
    }
    Ok(Code::Done)
}

fn check_options(args: &FitArgs, observations: &Observations) -> Result<(), Failure> {
    let usage = |what: String| Err(Failure::new(Code::Usage, what));
    if args.two_parameter && observations.smallest() != 1.0 {
        return usage(format!(
            "--two-parameter needs runs at load 1; the smallest is {}\n  mend: measure load 1, or leave the option out",
            observations.smallest()
        ));
    }
    if args.weights == WeightsArg::Variance && !observations.repeated() {
        return usage("--weights variance needs three runs at every load\n  mend: use --weights relative, or add runs".to_owned());
    }
    if let Some(n) = args.at.iter().find(|n| !n.is_finite() || **n <= 0.0) {
        return usage(format!("--at {n} is no load\n  mend: a number above 0"));
    }
    Ok(())
}

fn observations(args: &FitArgs) -> Result<Observations, Failure> {
    let shown = args.file.display();
    let refuse = |reason: String| Failure::new(Code::Usage, reason);
    let rows = csv::read(&contents(&args.file)?, &args.n, &args.x).map_err(|error| refuse(format!("{shown}:{error}")))?;
    if rows.len() > MAX_RUNS {
        return Err(refuse(format!(
            "{shown} has {} runs, more than {MAX_RUNS}\n  mend: one line per run, not per request",
            rows.len()
        )));
    }
    if let Some((line, row)) = rows.iter().find(|(_, row)| row.n > MAX_LOAD) {
        return Err(refuse(format!(
            "{shown}:{line}: a load of {} is beyond {MAX_LOAD}\n  mend: is `{}` the load?",
            row.n, args.n
        )));
    }
    Observations::new(rows.into_iter().map(|(_, row)| row).collect()).map_err(|error| refuse(format!("{shown}: {error}")))
}

fn contents(path: &Path) -> Result<String, Failure> {
    let fail = |reason: String| Failure::new(Code::Usage, format!("cannot read {}: {reason}", path.display()));
    let mend = "\n  mend: name a text file with one line per run";
    let about = fs::metadata(path).map_err(|error| fail(format!("{error}{mend}")))?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err(fail(format!("it is no file, or larger than 16 MiB{mend}")));
    }
    let bytes = fs::read(path).map_err(|error| fail(format!("{error}{mend}")))?;
    String::from_utf8(bytes).map_err(|_| fail(format!("it is not UTF-8 text{mend}")))
}

/// Points, curves that were not refused, and the band of the chosen one.
fn figure(args: &FitArgs, observations: &Observations, judgement: &Judgement) -> FitFigure {
    let end = judgement.largest * 1.5;
    let places: Vec<f64> = (1..=CURVE_POINTS).map(|i| end * i as f64 / CURVE_POINTS as f64).collect();
    let mut curves = Vec::new();
    for (place, candidate) in judgement.candidates.iter().enumerate() {
        let Some(fitted) = candidate.fitted.as_ref().filter(|_| !candidate.refused()) else {
            continue;
        };
        let chosen = judgement.chosen == Some(place);
        let along = |value: &dyn Fn(f64) -> Option<f64>| places.iter().filter_map(|n| Some((*n, value(*n)?))).collect();
        curves.push(FitCurve {
            name: format!("{}{}", candidate.model.name(), if chosen { " (chosen)" } else { "" }),
            points: along(&|n| Some(fitted.throughput(n))),
            chosen,
        });
        if let (true, Fitted::Law(fit)) = (chosen, fitted) {
            for name in ["95 % of a run, low", "95 % of a run, high"] {
                let points = along(&|n| {
                    fit.predict(n, observations)
                        .map(|found| if name.ends_with("low") { found.run.low } else { found.run.high })
                });
                curves.push(FitCurve {
                    name: name.to_owned(),
                    points,
                    chosen: false,
                });
            }
        }
    }
    FitFigure {
        title: format!("Throughput against {}: {}", args.n, args.file.display()),
        x_title: args.n.clone(),
        y_title: args.x.clone(),
        points: observations.runs().iter().map(|run| FitPoint { n: run.n, x: run.x }).collect(),
        curves,
        largest: judgement.largest,
    }
}
