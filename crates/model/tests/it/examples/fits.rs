//! Fits, their intervals, tests and bootstrap.

use rookery_model::fit::{
    Bootstrap, Family, Fitted, Goodness, Model, Observation, Observations, Options,
    PredictionError, UslFit, Weights, fit_closed, fit_usl, judge, nested_f_test,
};
use serde_json::Value;

use super::{CLOSED, ITERATED, all_close, close, example, list, number, rows};

fn observations(e: &Value) -> Observations {
    let pairs = list(&e["n"]).into_iter().zip(list(&e["x"]));
    Observations::new(pairs.map(|(n, x)| Observation { n, x }).collect()).expect("valid")
}

fn usl(data: &Observations) -> UslFit {
    fit_usl(data, Family::Usl, Weights::Equal, None).expect("fits")
}

fn goodness(data: &Observations, model: Model) -> (Goodness, Fitted) {
    let judgement = judge(data, &Options::default());
    let candidate = judgement
        .candidates
        .into_iter()
        .find(|candidate| candidate.model == model)
        .expect("a candidate");
    (
        candidate.goodness.expect("fitted"),
        candidate.fitted.expect("fitted"),
    )
}

#[test]
pub(crate) fn usl_fit() {
    let e = example("usl_fit");
    let data = observations(&e);
    let fit = usl(&data);
    all_close(
        "law",
        &[fit.law.lambda, fit.law.sigma, fit.law.kappa],
        &["lam", "sigma", "kappa"].map(|key| number(&e[key])),
        ITERATED,
    );
    all_close(
        "rss",
        &[fit.rss, fit.rse().expect("df"), fit.condition],
        &["rss", "rse", "cond"].map(|key| number(&e[key])),
        ITERATED,
    );
    assert_eq!(fit.df, 5);
    all_close(
        "se",
        &fit.standard_errors().expect("df"),
        &list(&e["se"]),
        ITERATED,
    );
    for (place, interval) in rows(&e["ci"]).iter().enumerate() {
        let found = fit.interval(place).expect("free");
        all_close("interval", &[found.low, found.high], interval, ITERATED);
    }
    let peak = fit.law.peak().expect("a peak");
    all_close(
        "peak",
        &[peak.n, peak.x],
        &["n_star", "x_max"].map(|key| number(&e[key])),
        ITERATED,
    );
}

#[test]
pub(crate) fn usl_fit_goodness_and_rivals() {
    let e = example("usl_fit");
    let data = observations(&e);
    let (measures, _) = goodness(&data, Model::Usl);
    all_close(
        "measures",
        &[
            measures.rss,
            measures.r2,
            measures.mape * 100.0,
            measures.aicc,
        ],
        &["rss", "r2", "mape", "aicc"].map(|key| number(&e[key])),
        ITERATED,
    );
    for (found, expected) in measures.residuals.iter().zip(list(&e["residuals"])) {
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }
    for (model, key) in [(Model::Amdahl, "amdahl"), (Model::Linear, "linear")] {
        let (measures, fitted) = goodness(&data, model);
        let Fitted::Law(fit) = fitted else {
            panic!("a law")
        };
        all_close(
            key,
            &[fit.law.lambda, measures.rss, measures.aicc],
            &["lam", "rss", "aicc"].map(|name| number(&e[key][name])),
            ITERATED,
        );
        close(
            "sigma",
            fit.law.sigma,
            e[key]["sigma"].as_f64().unwrap_or(0.0),
            ITERATED,
        );
    }
}

#[test]
pub(crate) fn usl_f_test() {
    let (e, fit) = (example("usl_F_test"), example("usl_fit"));
    let data = observations(&fit);
    let (small, big) = (
        goodness(&data, Model::Amdahl).0,
        goodness(&data, Model::Usl).0,
    );
    let test = nested_f_test((small.rss, 2), (big.rss, 3), 8).expect("df");
    all_close(
        "test",
        &[test.f, test.p],
        &[number(&e["F"]), number(&e["p"])],
        ITERATED,
    );
}

#[test]
pub(crate) fn usl_nstar_delta_and_predictions() {
    let e = example("usl_nstar_delta");
    let data = observations(&example("usl_fit"));
    let fit = usl(&data);
    for (row, expected) in fit.covariance.expect("df").iter().zip(rows(&e["cov"])) {
        all_close("covariance", row, &expected, 1e-5);
    }
    let (se, interval) = fit.peak_interval().expect("a peak");
    close("se", se, number(&e["se_n_star"]), ITERATED);
    all_close(
        "interval",
        &[interval.low, interval.high],
        &list(&e["ci"]),
        ITERATED,
    );
    for n in [48.0, 64.0] {
        let e = example(&format!("usl_predict_{n}"));
        let found = fit.predict(n, &data).expect("df");
        all_close(
            "X",
            &[found.x, found.se_mean],
            &[number(&e["X"]), number(&e["se_mean"])],
            ITERATED,
        );
        all_close(
            "mean",
            &[found.mean.low, found.mean.high],
            &list(&e["ci"]),
            ITERATED,
        );
        all_close(
            "run",
            &[found.run.low, found.run.high],
            &list(&e["pi"]),
            ITERATED,
        );
    }
}

#[test]
pub(crate) fn usl_bootstrap() {
    let e = example("usl_bootstrap");
    let data = observations(&example("usl_fit"));
    let found = Bootstrap::resample(&usl(&data), &data, 4000, 1).expect("draws");
    let pairs = [
        ("ci_lambda", found.lambda),
        ("ci_sigma", found.sigma),
        ("ci_kappa", found.kappa),
        ("ci_nstar", found.peak.expect("a peak")),
    ];
    for (key, interval) in pairs {
        let expected = list(&e[key]);
        let (width, known) = (interval.high - interval.low, expected[1] - expected[0]);
        assert!(
            (width / known - 1.0).abs() < 0.15,
            "{key}: {interval:?} {expected:?}"
        );
        assert!(
            (interval.low - expected[0]).abs() < 0.15 * known,
            "{key}: {interval:?} {expected:?}"
        );
    }
    assert_eq!(
        Some(found),
        Bootstrap::resample(&usl(&data), &data, 4000, 1),
        "same seed, same draws"
    );
}

#[test]
pub(crate) fn usl_fit_bound() {
    let e = example("usl_fit_bound");
    let data = observations(&e);
    let fit = usl(&data);
    assert_eq!((fit.free, fit.law.kappa), ([true, true, false], 0.0));
    all_close(
        "fit",
        &[fit.law.lambda, fit.law.sigma, fit.rss],
        &["lam", "sigma", "rss"].map(|key| number(&e[key])),
        ITERATED,
    );
    all_close(
        "se",
        &fit.standard_errors().expect("df")[..2],
        &list(&e["se_with_kappa_fixed"]),
        ITERATED,
    );
    // The unbounded minimum is tested beside the code, where it can be seen.
}

#[test]
pub(crate) fn usl_fit_relative() {
    let e = example("usl_fit_relative");
    let fit = fit_usl(
        &observations(&example("usl_fit")),
        Family::Usl,
        Weights::Relative,
        None,
    )
    .expect("fits");
    all_close(
        "law",
        &[fit.law.lambda, fit.law.sigma, fit.law.kappa],
        &list(&e["params"]),
        ITERATED,
    );
}

#[test]
pub(crate) fn closed_bottleneck_fit() {
    let e = example("closed_bottleneck_fit");
    let data = observations(&e);
    let fit = fit_closed(&data, 0.0, 16).expect("fits");
    assert_eq!(u64::from(fit.model.servers), e["m"].as_u64().expect("m"));
    all_close(
        "parameters",
        &[fit.model.demand, fit.model.think],
        &["D", "Z"].map(|key| number(&e[key])),
        1e-5,
    );
    let predicted: Vec<f64> = list(&e["n"])
        .iter()
        .map(|n| fit.model.throughput(*n))
        .collect();
    all_close("predicted", &predicted, &list(&e["predicted"]), ITERATED);
    close(
        "X(128)",
        fit.model.throughput(128.0),
        number(&e["X128"]),
        ITERATED,
    );
    let errors =
        PredictionError::from_pairs(&list(&e["x"]).into_iter().zip(predicted).collect::<Vec<_>>())
            .expect("pairs");
    close("mape", errors.mape * 100.0, number(&e["mape"]), 1e-5);
    let rival = usl(&data);
    let known = &e["usl"];
    all_close(
        "usl",
        &[rival.law.lambda, rival.law.sigma, rival.law.kappa],
        &["lam", "sigma", "kappa"].map(|key| number(&known[key])),
        ITERATED,
    );
    close(
        "usl X(128)",
        rival.law.throughput(128.0),
        number(&known["X128"]),
        ITERATED,
    );
}

#[test]
pub(crate) fn the_published_examples_are_judged_right() {
    let chosen = |key: &str| {
        judge(&observations(&example(key)), &Options::default())
            .choice()
            .map(|choice| choice.model)
    };
    assert_eq!(chosen("usl_fit"), Some(Model::Usl));
    assert_eq!(chosen("usl_fit_bound"), Some(Model::Amdahl));
    assert_eq!(chosen("closed_bottleneck_fit"), Some(Model::Closed));
}

#[test]
pub(crate) fn mape() {
    let e = example("mape");
    let pairs: Vec<(f64, f64)> = list(&e["measured"])
        .into_iter()
        .zip(list(&e["predicted"]))
        .collect();
    let found = PredictionError::from_pairs(&pairs).expect("pairs");
    all_close(
        "errors",
        &[
            found.mape * 100.0,
            found.smape * 100.0,
            found.largest * 100.0,
            found.bias * 100.0,
            found.rmse,
        ],
        &["mape", "smape", "max_ape", "bias", "rmse"].map(|key| number(&e[key])),
        CLOSED,
    );
}
