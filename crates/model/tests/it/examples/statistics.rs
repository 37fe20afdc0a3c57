//! Statistics of benchmarks: steady state, intervals, ratios, ranks, many comparisons. They live in
//! the crate `stats`.

use rookery_stats::{
    BatchMeans, Bootstrap, Contrast, Design, Observation, RankBounds, Ratio, Shift,
    adaptive::Levels, autocorrelation, benjamini_hochberg, effect, effective_count,
    fewest_for_upper_bound, holm, steady::Mser5, t_975,
};

use super::{CLOSED, all_close, close, example, list, number, rows};

#[test]
pub(crate) fn mser5() {
    let e = example("mser5");
    let series = list(&e["y"]);
    let found = Mser5::from_series(&series).expect("50 values");
    all_close("groups", &found.groups, &list(&e["batch_means"]), CLOSED);
    all_close(
        "statistic",
        &found.statistic,
        &list(&e["statistic"]),
        CLOSED,
    );
    assert_eq!(Some(found.cut as u64), e["d_star"].as_u64());
    assert_eq!(
        Some(found.truncate() as u64),
        e["truncate_observations"].as_u64()
    );
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    close(
        "after",
        mean(&series[found.truncate()..]),
        number(&e["mean_after"]),
        CLOSED,
    );
    close("all", mean(&series), number(&e["mean_all"]), CLOSED);
}

#[test]
pub(crate) fn batch_means() {
    let e = example("batch_means");
    let series = list(&e["y"]);
    let length = e["batch"].as_u64().expect("a length") as usize;
    let found = BatchMeans::in_batches(&series, series.len() / length).expect("batches");
    all_close("means", &found.means, &list(&e["means"]), CLOSED);
    let naive = {
        let n = series.len() as f64;
        let variance = series.iter().map(|y| (y - found.mean).powi(2)).sum::<f64>() / (n - 1.0);
        t_975(series.len() as u32 - 1).expect("df") * (variance / n).sqrt()
    };
    all_close(
        "interval",
        &[
            found.mean,
            found.half_width,
            naive,
            autocorrelation(&series),
            effective_count(&series),
            found.lag1,
            found.von_neumann,
        ],
        &[
            "mean",
            "half_width",
            "naive_half_width",
            "acf1",
            "n_eff_ar1",
            "acf1_of_means",
            "von_neumann",
        ]
        .map(|key| number(&e[key])),
        CLOSED,
    );
}

#[test]
pub(crate) fn ratios() {
    let e = example("paired_ratio");
    let sides = [list(&e["A"]), list(&e["B"])];
    let mut trials = Vec::new();
    for (level, side) in (0..).zip(&sides) {
        trials.extend((0..).zip(side).map(|(block, value)| Observation {
            block,
            stratum: 0,
            levels: vec![level],
            value: *value,
        }));
    }
    let contrast = Contrast {
        factor: 0,
        reference: 0,
        level: 1,
    };
    let found = effect(&trials, &Design::new([vec![0], vec![1]]), contrast).expect("six pairs");
    let (low, high) = found.interval.expect("six pairs");
    let known = list(&e["ci"]);
    all_close(
        "paired",
        &[found.ratio, low, high],
        &[number(&e["geo_ratio"]), known[0], known[1]],
        CLOSED,
    );

    let e = example("fieller_ratio");
    let known = list(&e["result_ratio_lo_hi_df"]);
    let (a, b) = (list(&e["A"]), list(&e["B"]));
    let found = Ratio::between(&b, &a).expect("two lots");
    let (low, high) = found.interval.expect("six repeats");
    all_close("fieller", &[found.value, low, high], &known[..3], CLOSED);

    let known = list(&example("bootstrap_ratio")["ci"]);
    let (low, high) = Bootstrap::ratio(&b, &a, 1).expect("two lots").interval;
    let width = known[1] - known[0];
    assert!(
        ((high - low) / width - 1.0).abs() < 0.15 && (low - known[0]).abs() < 0.15 * width,
        "{low} {high} {known:?}"
    );
}

#[test]
pub(crate) fn ranks() {
    let e = example("hodges_lehmann");
    let found = Shift::between(&list(&e["a"]), &list(&e["b"])).expect("two lots");
    let (low, high) = found.interval.expect("large enough");
    let known = list(&e["ci"]);
    all_close(
        "shift",
        &[
            found.value,
            found.u,
            found.p,
            2.0 * found.superiority - 1.0,
            found.superiority,
            low,
            high,
        ],
        &[
            number(&e["shift"]),
            number(&e["U"]),
            number(&e["p"]),
            number(&e["cliff_delta"]),
            number(&e["A12"]),
            known[0],
            known[1],
        ],
        CLOSED,
    );
    let e = example("percentile_ci");
    let bounds = RankBounds::exact(e["n"].as_u64().expect("n"), number(&e["p"]));
    close("cover", bounds.coverage, number(&e["cover"]), CLOSED);
    assert_eq!(
        (bounds.low, bounds.high),
        (e["lower_rank"].as_u64(), e["upper_rank"].as_u64())
    );
    assert_eq!(
        fewest_for_upper_bound(0.99, 0.95),
        e["min_n_for_p99_upper"].as_u64()
    );
}

#[test]
pub(crate) fn kalibera_jones() {
    let e = example("kalibera_jones");
    let found = Levels::from_runs(&rows(&e["y"])).expect("four runs");
    let plan = found
        .intervals_per_run(number(&e["cost_iteration"]), number(&e["cost_run"]))
        .expect("runs differ");
    all_close(
        "levels",
        &[
            found.within,
            found.of_means,
            found.within,
            found.between,
            plan,
            found.mean,
            found.half_width,
        ],
        &["S1", "S2", "T1", "T2", "r_opt", "mean", "half_width"].map(|key| number(&e[key])),
        CLOSED,
    );
}

#[test]
pub(crate) fn multiplicity() {
    let e = example("multiplicity");
    let p = list(&e["p"]);
    all_close("holm", &holm(&p), &list(&e["holm"]), CLOSED);
    all_close("bh", &benjamini_hochberg(&p), &list(&e["bh"]), CLOSED);
}
