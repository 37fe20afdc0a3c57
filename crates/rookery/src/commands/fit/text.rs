//! The judgement in words and tables.

use rookery_model::fit::{
    Bootstrap, Candidate, ClosedFit, Fitted, Interval, Judgement, Model, Observations, Rule,
    Severity, UslFit,
};

use super::{
    numbers::{ends, line, number},
    rivals,
};
use crate::cli::FitArgs;

/// Everything that is printed.
pub(super) fn render(
    args: &FitArgs,
    observations: &Observations,
    judgement: &Judgement,
    bootstrap: Option<&Bootstrap>,
) -> String {
    let mut out = format!(
        "{} at {}, {} from {} to {}\n",
        counted(observations.runs().len(), "run"),
        counted(observations.loads().len(), "load"),
        args.n,
        number(observations.smallest()),
        number(observations.largest())
    );
    match judgement.choice() {
        None => out.push_str("\nNo law: the data carry none, for the reasons below.\n"),
        Some(choice) => chosen(&mut out, args, observations, judgement, choice, bootstrap),
    }
    comparison(&mut out, judgement);
    rivals::render(&mut out, judgement);
    rivals::published(&mut out, args, observations, judgement);
    findings(&mut out, judgement);
    predictions(&mut out, args, observations, judgement);
    out
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn chosen(
    out: &mut String,
    args: &FitArgs,
    observations: &Observations,
    judgement: &Judgement,
    choice: &Candidate,
    bootstrap: Option<&Bootstrap>,
) {
    let formula = match choice.model {
        Model::Linear => "X(N) = lambda N",
        Model::Amdahl => "X(N) = lambda N / (1 + sigma (N-1))",
        Model::Usl => "X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1))",
        Model::Closed => "N users, a delay Z0, one station with demand D and m servers",
    };
    line(
        out,
        &format!("\nChosen: {}: {formula}", choice.model.name()),
    );
    match &choice.fitted {
        Some(Fitted::Law(fit)) => law(out, args, observations, choice, fit, bootstrap),
        Some(Fitted::Closed(fit)) => closed(out, fit),
        None => {}
    }
    if choice.model != Model::Closed
        && let Some(Fitted::Closed(fit)) = judgement
            .candidates
            .iter()
            .find(|other| other.model == Model::Closed && !other.refused() && !misses(other))
            .and_then(|other| other.fitted.as_ref())
    {
        line(
            out,
            &format!(
                "  knee     {}{}, by the closed queue: queueing sets in here",
                number(fit.model.knee()),
                ends(fit.knee)
            ),
        );
    }
    if let Some(goodness) = &choice.goodness {
        line(
            out,
            &format!(
                "  fit      mean error {}, largest {}, R2 {:.5}, AICc {:.1}",
                percent(goodness.mape),
                percent(goodness.largest),
                goodness.r2,
                goodness.aicc
            ),
        );
        let shown: Vec<String> = goodness
            .residuals
            .iter()
            .take(24)
            .map(|residual| number(*residual))
            .collect();
        let more = goodness.residuals.len().saturating_sub(shown.len());
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        line(
            out,
            &format!("  residuals in order of load: {}{more}", shown.join(" ")),
        );
    }
}

/// Whether the curve does not meet the runs.
fn misses(candidate: &Candidate) -> bool {
    candidate
        .findings
        .iter()
        .any(|finding| finding.rule == Rule::LackOfFit)
}

fn law(
    out: &mut String,
    args: &FitArgs,
    observations: &Observations,
    choice: &Candidate,
    fit: &UslFit,
    bootstrap: Option<&Bootstrap>,
) {
    let drawn = |of: fn(&Bootstrap) -> Interval| bootstrap.map(of);
    let rows = [
        ("lambda", fit.law.lambda, drawn(|b| b.lambda)),
        ("sigma", fit.law.sigma, drawn(|b| b.sigma)),
        ("kappa", fit.law.kappa, drawn(|b| b.kappa)),
    ];
    for (place, (name, value, drawn)) in rows.into_iter().enumerate().take(fit.family.parameters())
    {
        if fit.free[place] {
            let drawn = drawn.map_or_else(String::new, |interval| {
                format!("; bootstrap{}", ends(Some(interval)))
            });
            line(
                out,
                &format!(
                    "  {name:<8} {}{}{drawn}",
                    number(value),
                    ends(fit.interval(place))
                ),
            );
        } else if place == 0 {
            line(
                out,
                &format!(
                    "  {name:<8} {} held: the throughput of load 1",
                    number(value)
                ),
            );
        } else {
            let bound = fit
                .upper_bound(place, observations)
                .map_or_else(String::new, |bound| {
                    format!(", below {} with 95 %", number(bound))
                });
            line(out, &format!("  {name:<8} at its bound 0{bound}"));
        }
    }
    if let Some(bootstrap) = bootstrap {
        let of = if bootstrap.by_runs {
            "runs within their loads"
        } else {
            "residuals"
        };
        let narrow = if observations.runs().len() < 8 {
            "; with fewer than 8 runs these intervals are too narrow"
        } else {
            ""
        };
        line(
            out,
            &format!(
                "           bootstrap of {of}, {} draws, seed {}{narrow}",
                bootstrap.draws, bootstrap.seed
            ),
        );
    }
    peak(out, args, choice, fit, bootstrap);
    if let Some(limit) = fit.law.limit() {
        line(
            out,
            &format!(
                "  limit    {} {}: no number of {} gets beyond it under this law",
                number(limit),
                args.x,
                args.n
            ),
        );
    }
}

fn peak(
    out: &mut String,
    args: &FitArgs,
    choice: &Candidate,
    fit: &UslFit,
    bootstrap: Option<&Bootstrap>,
) {
    let Some(peak) = fit.law.peak() else { return };
    if choice
        .findings
        .iter()
        .any(|finding| finding.rule == Rule::PeakFar)
    {
        line(
            out,
            "  peak     too far beyond the measured loads to be named",
        );
        return;
    }
    let drawn = bootstrap
        .and_then(|b| b.peak)
        .map_or_else(String::new, |interval| {
            format!("; bootstrap{}", ends(Some(interval)))
        });
    let interval = fit.peak_interval().map(|(_, interval)| interval);
    line(
        out,
        &format!(
            "  peak     at {} {}{}{drawn}: {} {}",
            number(peak.n),
            args.n,
            ends(interval),
            number(peak.x),
            args.x
        ),
    );
    if args.z == 0.0 {
        line(
            out,
            &format!(
                "           time per unit of work there {} s, alone {} s",
                number(fit.law.response_time(peak.n)),
                number(fit.law.response_time(1.0))
            ),
        );
    } else {
        line(
            out,
            &format!(
                "           response time there {} s (N/X - {} s of thinking)",
                number(peak.n / peak.x - args.z),
                args.z
            ),
        );
    }
}

fn closed(out: &mut String, fit: &ClosedFit) {
    let model = &fit.model;
    line(
        out,
        &format!("  D        {} s{}", number(model.demand), ends(fit.demand)),
    );
    line(out, &format!("  m        {}", model.servers));
    line(
        out,
        &format!(
            "  Z0       {} s{}: everything that does not queue, thinking included",
            number(model.think),
            ends(fit.delay)
        ),
    );
    line(
        out,
        &format!(
            "  ceiling  {}{}",
            number(model.ceiling()),
            ends(fit.ceiling)
        ),
    );
    line(
        out,
        &format!(
            "  knee     {}{}: queueing sets in here",
            number(model.knee()),
            ends(fit.knee)
        ),
    );
}

/// All candidates and naive answers, side by side.
fn comparison(out: &mut String, judgement: &Judgement) {
    match &judgement.held_out {
        Some(held) => {
            let loads: Vec<String> = held
                .loads
                .iter()
                .take(12)
                .map(|load| number(*load))
                .collect();
            let noise = held.variation.map_or_else(String::new, |variation| {
                format!("; repeats there scatter by {}", percent(variation))
            });
            line(
                out,
                &format!(
                    "\nPrediction of the largest loads ({}) from the others{noise}",
                    loads.join(", ")
                ),
            );
        }
        None => line(
            out,
            "\nToo few loads to hold any out: the laws are told apart by AICc alone",
        ),
    }
    line(
        out,
        &format!(
            "  {:<14}{:>9}{:>9}{:>9}{:>10}{:>10}  {}",
            "law", "error", "largest", "bias", "in 95 %", "AICc", ""
        ),
    );
    for (place, candidate) in judgement.candidates.iter().enumerate() {
        let verdict = if judgement.chosen == Some(place) {
            "chosen".to_owned()
        } else if candidate.refused() {
            let rules: Vec<&str> = candidate
                .findings
                .iter()
                .filter(|f| f.severity == Severity::Refuse)
                .map(|f| f.rule.id())
                .collect();
            format!("refused {}", rules.join(" "))
        } else {
            lost(candidate, judgement)
        };
        let inside = candidate.inside.map_or_else(|| "-".to_owned(), percent);
        let aicc = candidate.goodness.as_ref().map_or_else(
            || "-".to_owned(),
            |goodness| format!("{:.1}", goodness.aicc),
        );
        let errors = errors(
            candidate
                .held_out
                .map(|error| (error.mape, error.largest, error.bias)),
        );
        line(
            out,
            &format!(
                "  {:<14}{errors}{inside:>10}{aicc:>10}  {verdict}",
                candidate.model.name()
            ),
        );
    }
    if let Some(held) = &judgement.held_out {
        for (name, error) in [
            ("last value", held.baselines.last),
            ("in proportion", held.baselines.linear),
        ] {
            let errors = errors(Some((error.mape, error.largest, error.bias)));
            line(
                out,
                &format!("  {name:<14}{errors}{:>10}{:>10}  naive", "-", "-"),
            );
        }
    }
    if judgement.worse_than_naive() {
        line(
            out,
            "  The chosen law predicts no better than the last measured value: it has no \
             predictive value beyond the measured loads.",
        );
    }
}

fn lost(candidate: &Candidate, judgement: &Judgement) -> String {
    let worse = judgement
        .choice()
        .and_then(|choice| Some(candidate.held_out?.mape > choice.held_out?.mape));
    match worse {
        Some(true) => "lost: larger error on the held-out loads".to_owned(),
        Some(false) => "lost: held-out error not distinguishable, AICc worse".to_owned(),
        None => "lost: AICc worse, or nothing to predict from".to_owned(),
    }
}

fn errors(values: Option<(f64, f64, f64)>) -> String {
    values.map_or_else(
        || format!("{:>9}{:>9}{:>9}", "-", "-", "-"),
        |(mape, largest, bias)| {
            format!(
                "{:>9}{:>9}{:>9}",
                percent(mape),
                percent(largest),
                format!("{:+.1} %", bias * 100.0)
            )
        },
    )
}

fn findings(out: &mut String, judgement: &Judgement) {
    let mut rows: Vec<String> = judgement
        .findings
        .iter()
        .map(|f| format!("  {:<4} data: {}", f.rule.id(), f.text))
        .collect();
    for (place, candidate) in judgement.candidates.iter().enumerate() {
        for finding in &candidate.findings {
            // Warnings on a refused law, or on one that lost, help nobody.
            if finding.severity == Severity::Refuse || judgement.chosen == Some(place) {
                let what = if finding.severity == Severity::Refuse {
                    " refused"
                } else {
                    ""
                };
                rows.push(format!(
                    "  {:<4} {}{what}: {}",
                    finding.rule.id(),
                    candidate.model.name(),
                    finding.text
                ));
            }
        }
    }
    if !rows.is_empty() {
        line(out, "\nHow far to trust this");
        rows.iter().for_each(|row| line(out, row));
    }
}

fn predictions(
    out: &mut String,
    args: &FitArgs,
    observations: &Observations,
    judgement: &Judgement,
) {
    let Some(fitted) = judgement.choice().and_then(|choice| choice.fitted.as_ref()) else {
        return;
    };
    if !args.at.is_empty() {
        line(out, "\nPredictions");
    }
    for n in &args.at {
        if let Some(finding) = judgement.refuse_prediction(*n) {
            line(
                out,
                &format!(
                    "  {:<4} at {}: refused, {}",
                    finding.rule.id(),
                    number(*n),
                    finding.text
                ),
            );
            continue;
        }
        let run = fitted.predict(*n, observations).map(|found| found.run);
        line(
            out,
            &format!(
                "  at {}: {} {}{}",
                number(*n),
                number(fitted.throughput(*n)),
                args.x,
                ends(run)
            ),
        );
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
