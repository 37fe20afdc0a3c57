//! The laws that lost, and what other methods make of the same data: for whoever knows published
//! parameters.

use rookery_model::{
    Usl,
    fit::{
        Family, Fitted, Interval, Judgement, Model, Observations, Weights, fit_transform, fit_usl,
    },
};

use super::numbers::{ends, line, number};
use crate::cli::FitArgs;

/// Parameters of the laws that lost without being refused.
pub(super) fn render(out: &mut String, judgement: &Judgement) {
    let mut rows = Vec::new();
    for (place, candidate) in judgement.candidates.iter().enumerate() {
        let lost = judgement.chosen != Some(place) && !candidate.refused();
        let Some(fitted) = candidate.fitted.as_ref().filter(|_| lost) else {
            continue;
        };
        rows.push(format!(
            "  {:<14}{}",
            candidate.model.name(),
            parameters(fitted)
        ));
    }
    if !rows.is_empty() {
        line(out, "\nLaws that lost, on all runs");
        rows.iter().for_each(|row| line(out, row));
    }
}

fn parameters(fitted: &Fitted) -> String {
    let named = |name: &str, value: f64, interval: Option<Interval>| {
        format!("{name} {}{}", number(value), ends(interval))
    };
    let parts: Vec<String> = match fitted {
        Fitted::Law(fit) => [
            ("lambda", fit.law.lambda),
            ("sigma", fit.law.sigma),
            ("kappa", fit.law.kappa),
        ]
        .into_iter()
        .enumerate()
        .take(fit.family.parameters())
        .map(|(place, (name, value))| named(name, value, fit.interval(place)))
        .collect(),
        Fitted::Closed(fit) => vec![
            named("D", fit.model.demand, fit.demand),
            format!("m {}", fit.model.servers),
            named("Z0", fit.model.think, fit.delay),
        ],
    };
    parts.join(", ")
}

/// The universal law by the methods that published fits use. Of a refused law only on demand: its
/// parameters mean nothing.
pub(super) fn published(
    out: &mut String,
    args: &FitArgs,
    observations: &Observations,
    judgement: &Judgement,
) {
    let usl = judgement
        .candidates
        .iter()
        .find(|candidate| candidate.model == Model::Usl);
    let refused = usl.is_none_or(|candidate| candidate.refused());
    let first = &observations.loads()[0];
    if !args.published && (refused || first.n != 1.0) {
        return;
    }
    let at_one = (first.n == 1.0).then(|| first.mean());
    let mut rows = Vec::new();
    if let Some(fit) = fit_usl(observations, Family::Usl, Weights::Equal, None) {
        rows.push(row(
            "least squares, lambda free",
            fit.law,
            fit.standard_errors()
                .map(|[_, sigma, kappa]| [sigma, kappa]),
        ));
    }
    if let Some(fit) =
        at_one.and_then(|_| fit_usl(observations, Family::Usl, Weights::Equal, at_one))
    {
        rows.push(row(
            "least squares, lambda = X(1)",
            fit.law,
            fit.standard_errors()
                .map(|[_, sigma, kappa]| [sigma, kappa]),
        ));
    }
    if let Some(fit) = fit_transform(observations) {
        rows.push(row(
            "Gunther's transform, lambda = X(1)",
            fit.law,
            fit.standard_errors,
        ));
    }
    line(
        out,
        "\nUSL by the methods of published fits (standard errors in brackets)",
    );
    line(
        out,
        &format!(
            "  {:<36}{:>10}{:>24}{:>26}{:>9}",
            "method", "lambda", "sigma", "kappa", "peak"
        ),
    );
    rows.iter().for_each(|row| line(out, row));
    if at_one.is_none() {
        line(
            out,
            "  Nothing was run at load 1, so that lambda cannot be held at X(1).",
        );
    }
    if refused {
        line(
            out,
            "  USL is refused below: these numbers serve to compare with others, not to predict.",
        );
    }
}

fn row(method: &str, law: Usl, errors: Option<[f64; 2]>) -> String {
    let [sigma, kappa] = [(law.sigma, 0), (law.kappa, 1)].map(|(value, place)| {
        // A parameter at its bound has no error.
        let error = errors
            .map(|errors| errors[place])
            .filter(|error| *error > 0.0);
        let error = error.map_or_else(String::new, |error| format!(" ({})", number(error)));
        format!("{}{error}", number(value))
    });
    let peak = law
        .peak()
        .map_or_else(|| "none".to_owned(), |peak| number(peak.n));
    format!(
        "  {method:<36}{:>10}{sigma:>24}{kappa:>26}{peak:>9}",
        number(law.lambda)
    )
}
