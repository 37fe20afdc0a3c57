//! Published measurements give their published parameters, and data that carry no law get none.
//! Every set names its source.

use rookery_model::{
    Usl,
    fit::{
        Exclusion, Family, Fitted, Judgement, Model, Observation, Observations, Options, Rule,
        Weights, fit_transform, fit_usl, judge,
    },
    queue::{Repairman, Station, solve},
};

/// SPEC SDM91 on a SPARCcenter 2000 with 16 CPUs: script executions per hour against emulated
/// users. Source: SPEC, SDM91 results, October 1994; as the data set `specsdm91` of the R package
/// `usl` (S. Moeding, CRAN).
const SDM91: [(f64, f64); 7] = [
    (1.0, 64.9),
    (18.0, 995.9),
    (36.0, 1652.4),
    (72.0, 1853.2),
    (108.0, 1828.9),
    (144.0, 1775.0),
    (216.0, 1702.2),
];

/// A ray tracer on an Origin 2000: rays per second against processors. Source: Gunther, Guerrilla
/// Capacity Planning (Springer 2007), chapter 5; the data set `raytracer` of the R package `usl`.
const RAY_TRACER: [(f64, f64); 11] = [
    (1.0, 20.0),
    (4.0, 78.0),
    (8.0, 130.0),
    (12.0, 170.0),
    (16.0, 190.0),
    (20.0, 200.0),
    (24.0, 210.0),
    (28.0, 230.0),
    (32.0, 260.0),
    (48.0, 280.0),
    (64.0, 310.0),
];

/// MySQL on a Cisco server: queries per second against concurrency 1 to 32. Source: Schwartz,
/// Practical Scalability Analysis with the Universal Scalability Law (2015); also in the tests of
/// `usl4j`.
const CISCO: [f64; 32] = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
    8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
    11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
    12118.04, 12140.4, 12074.39,
];

fn data(pairs: &[(f64, f64)]) -> Observations {
    Observations::new(pairs.iter().map(|&(n, x)| Observation { n, x }).collect()).expect("valid")
}

fn cisco() -> Observations {
    let loads = (1..).map(f64::from);
    data(&loads.zip(CISCO).collect::<Vec<_>>())
}

/// To the digits that were published.
#[track_caller]
fn rounds_to(what: &str, found: f64, published: f64, half_of_last_digit: f64) {
    assert!(
        (found - published).abs() <= half_of_last_digit,
        "{what}: {found}, published {published}"
    );
}

fn of(judgement: &Judgement, model: Model) -> &rookery_model::fit::Candidate {
    judgement
        .candidates
        .iter()
        .find(|candidate| candidate.model == model)
        .expect("every model is tried")
}

fn refused_by(judgement: &Judgement, model: Model) -> Vec<Rule> {
    let candidate = of(judgement, model);
    assert!(
        candidate.refused(),
        "{model:?} is not refused: {:?}",
        candidate.findings
    );
    candidate
        .findings
        .iter()
        .map(|finding| finding.rule)
        .collect()
}

fn chosen(judgement: &Judgement) -> Option<Model> {
    judgement.choice().map(|choice| choice.model)
}

#[test]
fn sdm91_with_three_parameters() {
    let fit = fit_usl(&data(&SDM91), Family::Usl, Weights::Equal, None).expect("fits");
    let errors = fit.standard_errors().expect("four degrees of freedom");
    // R package `usl` 2.0, README: estimates, standard errors, residual standard error on 4 degrees
    // of freedom.
    rounds_to("sigma", fit.law.sigma, 0.027_728_5, 5e-8);
    rounds_to("kappa", fit.law.kappa, 0.000_104_4, 5e-8);
    rounds_to("lambda", fit.law.lambda, 89.995_233, 2e-5);
    rounds_to("se sigma", errors[1], 0.009_121_7, 5e-8);
    rounds_to("se kappa", errors[2], 0.000_019_9, 5e-8);
    rounds_to("se lambda", errors[0], 14.213_489, 1e-5);
    rounds_to("rse", fit.rse().expect("df"), 82.8, 0.05);
    assert_eq!(fit.df, 4);
    rounds_to("peak", fit.law.peak().expect("a peak").n, 96.5, 0.5);
}

#[test]
fn sdm91_by_the_transform() {
    let found = fit_transform(&data(&SDM91)).expect("load 1 was run");
    // R package `usl` 1.x, README: the method "default", scale factor 64.9.
    rounds_to("sigma", found.law.sigma, 1.704_689e-2, 5e-9);
    rounds_to("kappa", found.law.kappa, 7.892_498e-5, 5e-12);
    let errors = found.standard_errors.expect("five degrees of freedom");
    rounds_to("se sigma", errors[0], 3.318e-3, 5e-7);
    rounds_to("se kappa", errors[1], 2.492e-5, 5e-9);
    assert_eq!(found.law.lambda, 64.9);
}

#[test]
fn the_ray_tracer_has_no_peak() {
    let runs = data(&RAY_TRACER);
    let judgement = judge(&runs, &Options::default());
    // R package `usl` 2.0, tests: 0.0578, 0.0000, 21.8488, with more digits elsewhere.
    let Some(Fitted::Law(fit)) = judgement.choice().and_then(|choice| choice.fitted.as_ref())
    else {
        panic!("{judgement:?}")
    };
    assert_eq!(chosen(&judgement), Some(Model::Amdahl));
    rounds_to("sigma", fit.law.sigma, 0.057_771, 5e-7);
    rounds_to("lambda", fit.law.lambda, 21.848_843, 1e-5);
    assert_eq!(refused_by(&judgement, Model::Usl), [Rule::NoCoherency]);
    // The two-parameter fit of the book: sigma 0.0500, kappa 4.7e-6, and a peak at 449 of 64
    // processors that nobody could ever see.
    let found = fit_transform(&runs).expect("load 1 was run");
    rounds_to("sigma", found.law.sigma, 0.0500, 5e-5);
    rounds_to("kappa", found.law.kappa, 4.7e-6, 5e-8);
    rounds_to(
        "peak",
        found.law.peak().expect("kappa > 0").n.floor(),
        449.0,
        0.0,
    );
}

#[test]
fn cisco_as_in_the_book() {
    let judgement = judge(&cisco(), &Options::default());
    assert_eq!(chosen(&judgement), Some(Model::Usl));
    let Some(Fitted::Law(fit)) = judgement.choice().and_then(|choice| choice.fitted.as_ref())
    else {
        panic!("{judgement:?}")
    };
    // The book's own search ended a little earlier: its last digits are not those of the minimum.
    rounds_to("sigma", fit.law.sigma, 0.026_715_91, 1e-7);
    rounds_to("kappa", fit.law.kappa, 7.690_945e-4, 1e-9);
    rounds_to("lambda", fit.law.lambda, 995.648_6, 1e-3);
    let peak = fit.law.peak().expect("a peak");
    assert_eq!(peak.n.floor(), 35.0);
    rounds_to(
        "throughput there",
        fit.law.throughput(35.0),
        12_341.745_4,
        5e-3,
    );
    assert!(
        judgement.worse_than_naive(),
        "the last value was 0.5 % off, which the report must tell"
    );
}

#[test]
fn published_exact_laws_come_back_by_every_method() {
    // R package `usl`, tests: relative capacities of the law with 0.02, 0.02, 1, rounded to four
    // digits.
    let runs = data(&[
        (1.0, 1.0),
        (2.0, 1.8868),
        (4.0, 3.0769),
        (6.0, 3.5294),
        (8.0, 3.5398),
        (10.0, 3.3557),
    ]);
    let free = fit_usl(&runs, Family::Usl, Weights::Equal, None)
        .expect("fits")
        .law;
    let held = fit_usl(&runs, Family::Usl, Weights::Equal, Some(1.0))
        .expect("fits")
        .law;
    let transformed = fit_transform(&runs).expect("load 1").law;
    for Usl {
        lambda,
        sigma,
        kappa,
    } in [free, held, transformed]
    {
        rounds_to("sigma", sigma, 0.02, 5e-5);
        rounds_to("kappa", kappa, 0.02, 5e-5);
        rounds_to("lambda", lambda, 1.0, 5e-4);
    }
    // README of `usl4j`: a synthetic server, sigma 0.00855 and kappa 3.0e-5 from lambda 4227.
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let rates = [
        4227.0, 8382.0, 16_479.0, 31_856.0, 59_564.0, 104_462.0, 162_985.0,
    ];
    let law = fit_usl(
        &data(&loads.into_iter().zip(rates).collect::<Vec<_>>()),
        Family::Usl,
        Weights::Equal,
        None,
    )
    .expect("fits")
    .law;
    for (n, x) in loads.into_iter().zip(rates) {
        assert!((law.throughput(n) / x - 1.0).abs() < 1e-4, "{law:?} at {n}");
    }
}

/// A machine-repairman table: MVA of one server of 10 ms behind 1 s of thinking; the measured
/// ceiling is flat, and no law with a peak may win.
#[test]
fn closed_queues_beat_laws_that_fall() {
    let repairman = Repairman {
        demand: 0.01,
        servers: 1,
        think: 1.0,
    };
    let exact: Vec<(f64, f64)> = [1.0, 10.0, 25.0, 50.0, 90.0, 110.0, 150.0, 200.0]
        .map(|n| (n, repairman.throughput(n)))
        .to_vec();
    let two_stations: Vec<(f64, f64)> = [1_u32, 5, 10, 20, 40, 80, 160]
        .map(|n| {
            let network = [Station::servers(0.04, 4), Station::queue(0.004)];
            (f64::from(n), solve(&network, 0.5, n).expect("valid").x)
        })
        .to_vec();
    for pairs in [&exact, &two_stations] {
        let judgement = judge(&data(pairs), &Options::default());
        assert_eq!(chosen(&judgement), Some(Model::Closed), "{pairs:?}");
    }
    let judgement = judge(&data(&exact), &Options::default());
    let Some(Fitted::Closed(fit)) = judgement.choice().and_then(|choice| choice.fitted.as_ref())
    else {
        panic!("{judgement:?}")
    };
    assert!(
        (fit.model.demand / 0.01 - 1.0).abs() < 1e-6 && (fit.model.think - 1.0).abs() < 1e-5,
        "{fit:?}"
    );
    assert_eq!(fit.model.servers, 1);
    let found = fit.predict(400.0).expect("intervals");
    assert!(
        (found.x - 100.0).abs() < 1e-3
            && found.run.low <= found.mean.low
            && found.mean.high <= found.run.high
    );
}

#[test]
fn what_data_cannot_carry_is_refused_by_rule() {
    let judged = |pairs: &[(f64, f64)]| judge(&data(pairs), &Options::default());
    let rules = |judgement: &Judgement| -> Vec<Rule> {
        judgement
            .findings
            .iter()
            .map(|finding| finding.rule)
            .collect()
    };
    // F1: four loads carry Amdahl's law and no more; two a straight line; one nothing.
    let few = judged(&[(1.0, 100.0), (2.0, 180.0), (8.0, 500.0), (16.0, 650.0)]);
    assert!(
        refused_by(&few, Model::Usl).contains(&Rule::FewLoads)
            && !of(&few, Model::Amdahl).refused()
    );
    assert_eq!(
        chosen(&judged(&[(1.0, 100.0), (2.0, 199.0)])),
        Some(Model::Linear)
    );
    let single = judged(&[(4.0, 100.0), (4.0, 101.0)]);
    assert_eq!(
        (chosen(&single), refused_by(&single, Model::Linear)),
        (None, vec![Rule::FewLoads])
    );
    // F2: the loads lie too near together.
    let narrow = judged(&[
        (10.0, 100.0),
        (12.0, 115.0),
        (14.0, 125.0),
        (16.0, 130.0),
        (18.0, 132.0),
        (20.0, 131.0),
    ]);
    for model in [Model::Amdahl, Model::Usl, Model::Closed] {
        assert!(refused_by(&narrow, model).contains(&Rule::NarrowRange));
    }
    // F3 and F12: where the unit cannot be seen.
    assert!(rules(&narrow).contains(&Rule::NoUnit));
    let busy = [
        (0.4, 39.0),
        (0.9, 88.0),
        (2.0, 170.0),
        (4.0, 290.0),
        (8.0, 440.0),
        (12.0, 520.0),
    ];
    assert!(rules(&judged(&busy)).contains(&Rule::BelowOne));
    // F4: nothing bends.
    let straight = judged(&[
        (1.0, 10.0),
        (2.0, 20.1),
        (4.0, 39.9),
        (8.0, 80.2),
        (16.0, 159.9),
        (32.0, 320.3),
    ]);
    assert_eq!(chosen(&straight), Some(Model::Linear));
    assert!(refused_by(&straight, Model::Usl).contains(&Rule::NoCurvature));
    // F8: more than linear.
    let growing = judged(&[
        (1.0, 10.0),
        (2.0, 24.0),
        (4.0, 60.0),
        (8.0, 110.0),
        (16.0, 190.0),
        (32.0, 300.0),
    ]);
    assert!(refused_by(&growing, Model::Usl).contains(&Rule::Superlinear));
    // F9: two curves in one, as after a change of the setting in the middle.
    let broken = judged(&[
        (1.0, 100.0),
        (2.0, 40.0),
        (4.0, 390.0),
        (8.0, 150.0),
        (16.0, 1200.0),
        (32.0, 500.0),
        (64.0, 2500.0),
        (128.0, 900.0),
    ]);
    let findings = broken
        .candidates
        .iter()
        .flat_map(|candidate| &candidate.findings);
    assert!(
        findings
            .filter(|finding| finding.rule == Rule::LackOfFit)
            .count()
            >= 3,
        "{broken:?}"
    );
}

#[test]
fn peaks_beyond_the_loads_are_named_only_when_near() {
    let runs = |law: Usl, largest: f64| -> Judgement {
        let loads = [
            1.0,
            0.0625 * largest,
            0.125 * largest,
            0.25 * largest,
            0.5 * largest,
            0.75 * largest,
            largest,
        ];
        judge(
            &data(&loads.map(|n| (n, law.throughput(n)))),
            &Options::default(),
        )
    };
    // A peak at 100.
    let law = Usl {
        lambda: 50.0,
        sigma: 0.02,
        kappa: 9.8e-5,
    };
    let rules = |judgement: &Judgement| -> Vec<Rule> {
        of(judgement, Model::Usl)
            .findings
            .iter()
            .map(|finding| finding.rule)
            .collect()
    };
    assert!(!rules(&runs(law, 160.0)).contains(&Rule::PeakExtrapolated));
    assert!(rules(&runs(law, 80.0)).contains(&Rule::PeakExtrapolated));
    assert!(rules(&runs(law, 32.0)).contains(&Rule::PeakFar));
    let judgement = runs(law, 80.0);
    assert!(judgement.refuse_prediction(160.0).is_none());
    assert_eq!(
        judgement
            .refuse_prediction(161.0)
            .map(|finding| finding.rule),
        Some(Rule::Beyond)
    );
}

#[test]
fn ceilings_and_runs_that_do_not_count_are_told() {
    let flat = [
        (1.0, 50.0),
        (2.0, 98.0),
        (4.0, 180.0),
        (8.0, 250.0),
        (16.0, 252.0),
        (32.0, 249.0),
    ];
    let text = |busiest: Option<f64>| {
        let options = Options {
            busiest,
            ..Options::default()
        };
        let exclusion = |n: f64, reason: &str| Exclusion {
            run: Observation { n, x: 1.0 },
            reason: reason.to_owned(),
        };
        let runs = data(&flat).with_excluded(vec![
            exclusion(64.0, "driver bound"),
            exclusion(96.0, "driver bound"),
            exclusion(4.0, "errors"),
        ]);
        let findings: Vec<String> = judge(&runs, &options)
            .findings
            .iter()
            .map(|finding| format!("{} {}", finding.rule.id(), finding.text))
            .collect();
        findings.join("\n")
    };
    insta::assert_snapshot!(text(None), @r"
    F10 throughput is flat from 8 on: where a resource is at 90 % or more, this is a ceiling, and laws with a peak do not hold
    F11 3 runs do not count: driver bound (at 64, 96); errors (at 4)
    ");
    assert!(text(Some(0.97)).contains("a resource is at 97 %: a ceiling"));
    assert!(
        text(Some(0.4)).contains("the busiest resource is at 40 %: something unmeasured limits")
    );
}

/// F7: parameters that hang together. Loads from 1000 on show the ceiling of Amdahl's law and
/// nothing of one unit.
#[test]
fn parameters_that_hang_together_are_told() {
    let law = Usl {
        lambda: 100.0,
        sigma: 0.05,
        kappa: 0.0,
    };
    let loads = [1000.0, 1500.0, 2000.0, 3000.0, 4500.0, 6000.0];
    let judgement = judge(
        &data(&loads.map(|n| (n, law.throughput(n)))),
        &Options::default(),
    );
    let Some(Fitted::Law(fit)) = &of(&judgement, Model::Amdahl).fitted else {
        panic!("{judgement:?}")
    };
    assert!(fit.condition > 100.0, "{}", fit.condition);
    let rules: Vec<Rule> = of(&judgement, Model::Amdahl)
        .findings
        .iter()
        .map(|finding| finding.rule)
        .collect();
    assert!(rules.contains(&Rule::IllConditioned), "{rules:?}");
}
