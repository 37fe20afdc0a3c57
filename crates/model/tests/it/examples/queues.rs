//! Queueing models: exact, approximate, bounds, open, percentiles.

use rookery_model::queue::{
    Capacity, Class, ClassSolution, ModelError, Multiserver, Repairman, ResponseTimes, Station,
    allen_cunneen, asymptotic, balanced, exact_classes, knee, linearizer, mg1_fcfs_wait,
    mm1_ps_deviation, mm1_quantile, mva, ps_response, repairman_quantile, schweitzer,
    schweitzer_scaled, seidmann, solve, solve_classes,
};
use serde_json::Value;

use super::{CLOSED, ITERATED, all_close, close, example, list, number, rows};

fn queues(demands: &[f64]) -> Vec<Station> {
    demands
        .iter()
        .map(|demand| Station::queue(*demand))
        .collect()
}

#[test]
pub(crate) fn bounds() -> Result<(), ModelError> {
    let stations = queues(&[0.1, 0.15]);
    for n in [10_u32, 20, 40] {
        let e = example(&format!("bounds_{n}"));
        let a = asymptotic(&stations, 4.0, n)?;
        all_close(
            "asymptotic",
            &[a.x_low, a.x_high, a.r_low, a.r_high, knee(&stations, 4.0)?],
            &list(&e["aba"]),
            CLOSED,
        );
        let b = balanced(&stations, 4.0, n)?;
        all_close(
            "balanced",
            &[b.x_low, b.x_high, b.r_low, b.r_high],
            &list(&e["bjb"]),
            CLOSED,
        );
        close(
            "exact",
            mva(&stations, 4.0, n)?.x,
            number(&e["exact"]),
            CLOSED,
        );
    }
    Ok(())
}

#[test]
pub(crate) fn mva_single_by_both_exact_ways() -> Result<(), ModelError> {
    let e = example("mva_single");
    let stations = queues(&list(&e["D"]));
    for row in rows(&e["rows_N_X_R1_R2_Q1_Q2"]) {
        let (think, n) = (number(&e["Z"]), row[0] as u32);
        let m = mva(&stations, think, n)?;
        all_close(
            "mva",
            &[m.x, m.r[0], m.r[1], m.q[0], m.q[1]],
            &row[1..],
            CLOSED,
        );
        let c = solve(&stations, think, n)?;
        all_close(
            "convolution",
            &[c.x, c.r[0], c.r[1], c.q[0], c.q[1]],
            &row[1..],
            CLOSED,
        );
    }
    Ok(())
}

#[test]
pub(crate) fn large_populations() -> Result<(), ModelError> {
    let e = example("mva_large_N");
    let solution = mva(&queues(&list(&e["D"])), number(&e["Z"]), 8000)?;
    all_close(
        "mva",
        &[solution.x, solution.response_time()],
        &[number(&e["X"]), number(&e["R"])],
        CLOSED,
    );
    let e = example("fes_large_N");
    let stations = [Station::servers(0.004, 4), Station::queue(0.0008)];
    for row in rows(&e["rows_N_X_R"]) {
        let solution = solve(&stations, number(&e["Z"]), row[0] as u32)?;
        all_close(
            "flow-equivalent",
            &[solution.x, solution.response_time],
            &row[1..],
            CLOSED,
        );
    }
    Ok(())
}

#[test]
pub(crate) fn mva_multiserver() -> Result<(), ModelError> {
    let e = example("mva_multiserver");
    let stations = [Station::servers(0.4, 4), Station::queue(0.05)];
    let solution = solve(&stations, 1.0, 20)?;
    close("X", solution.x, number(&e["X"]), CLOSED);
    all_close("R", &solution.r, &list(&e["R"]), CLOSED);
    all_close("Q", &solution.q, &list(&e["Q"]), CLOSED);
    close("U", solution.u[0], number(&e["U_per_server"]), CLOSED);
    all_close(
        "p",
        &solution.marginal(0).expect("a queue")[..6],
        &list(&e["p_cpu"]),
        CLOSED,
    );
    for (n, x) in e["Xs"].as_object().expect("a map") {
        close(
            n,
            solve(&stations, 1.0, n.parse().expect("users"))?.x,
            number(x),
            CLOSED,
        );
    }
    Ok(())
}

#[test]
pub(crate) fn approximations_of_several_servers() -> Result<(), ModelError> {
    let stations = [Station::servers(0.4, 4), Station::queue(0.05)];
    let e = example("seidmann");
    let found = seidmann(&stations, 1.0, 20)?;
    all_close(
        "seidmann",
        &[found.x, found.r[0], found.r[1]],
        &[
            number(&e["X"][0]),
            number(&e["R_cpu"]),
            number(&e["R_disk"]),
        ],
        ITERATED,
    );
    let e = example("schweitzer_min");
    let found = schweitzer_scaled(&stations, 1.0, 20)?;
    close("X", found.x, number(&e["X"]), ITERATED);
    all_close("R", &found.r, &list(&e["R"]), ITERATED);
    all_close("Q", &found.q, &list(&e["Q"]), ITERATED);
    Ok(())
}

#[test]
pub(crate) fn closed_eval() -> Result<(), ModelError> {
    let e = example("closed_eval");
    for e in [&e, &e["m4"]] {
        let servers = e["m"].as_u64().expect("m") as u32;
        let (demand, think, n) = (number(&e["D"]), number(&e["Z"]), number(&e["N"]));
        close(
            "convolution",
            solve(&[Station::servers(demand, servers)], think, n as u32)?.x,
            number(&e["X"]),
            CLOSED,
        );
        close(
            "chain",
            Repairman {
                demand,
                servers,
                think,
            }
            .throughput(n),
            number(&e["X"]),
            CLOSED,
        );
    }
    Ok(())
}

fn classes(e: &Value) -> Vec<Class> {
    let (users, think) = (list(&e["N"]), list(&e["Z"]));
    let one = |(i, demands): (usize, Vec<f64>)| Class {
        users: users[i] as u32,
        think: think[i],
        demands,
    };
    rows(&e["D"]).into_iter().enumerate().map(one).collect()
}

#[track_caller]
fn same(found: &ClassSolution, e: &Value, tolerance: f64) {
    all_close("X", &found.x, &list(&e["X"]), tolerance);
    for (name, found) in [("R", &found.r), ("Q", &found.q), ("U", &found.u)] {
        for (found, expected) in found.iter().zip(rows(&e[name])) {
            all_close(name, found, &expected, tolerance);
        }
    }
}

#[test]
pub(crate) fn several_classes() -> Result<(), ModelError> {
    for prefix in ["mva_multi", "mva_multi_busy"] {
        let e = example(&format!("{prefix}_exact"));
        let classes = classes(&e);
        same(&exact_classes(&classes, &[false, false])?, &e, CLOSED);
        same(
            &solve_classes(&classes, &[Capacity::Servers(1), Capacity::Servers(1)])?,
            &e,
            CLOSED,
        );
        same(
            &schweitzer(&classes, &[false, false])?,
            &example(&format!("{prefix}_schweitzer")),
            ITERATED,
        );
        same(
            &linearizer(&classes, &[false, false])?,
            &example(&format!("{prefix}_linearizer")),
            ITERATED,
        );
    }
    Ok(())
}

#[test]
pub(crate) fn approximations_of_one_class() -> Result<(), ModelError> {
    let class = [Class {
        users: 20,
        think: 4.0,
        demands: vec![0.1, 0.15],
    }];
    for (key, found) in [
        ("schweitzer_single_20", schweitzer(&class, &[false, false])?),
        ("linearizer_single_20", linearizer(&class, &[false, false])?),
    ] {
        let e = example(key);
        all_close("X", &found.x, &list(&e["X"]), ITERATED);
        all_close("R", &found.r[0], &list(&e["R"][0]), ITERATED);
        all_close("Q", &found.q[0], &list(&e["Q"][0]), ITERATED);
    }
    Ok(())
}

#[test]
pub(crate) fn open_stations() -> Result<(), ModelError> {
    let e = example("mm4");
    let station = Multiserver::new(number(&e["lam"]), 1.0 / number(&e["mu"]), 4)?;
    let found = [
        station.wait_probability,
        station.wait,
        station.response_time(),
        station.rho,
        station.wait_quantile(0.95),
    ];
    all_close(
        "mm4",
        &found,
        &["C", "W", "R", "rho", "p95_wait"].map(|key| number(&e[key])),
        CLOSED,
    );
    close(
        "Lq",
        station.wait * station.arrivals,
        number(&e["Lq"]),
        CLOSED,
    );
    close(
        "L",
        station.response_time() * station.arrivals,
        number(&e["L"]),
        CLOSED,
    );
    let e = example("mm1");
    let (lam, s) = (number(&e["lam"]), number(&e["S"]));
    close(
        "R",
        Multiserver::new(lam, s, 1)?.response_time(),
        number(&e["R"]),
        CLOSED,
    );
    all_close(
        "quantiles",
        &[mm1_quantile(lam, s, 0.95)?, mm1_quantile(lam, s, 0.99)?],
        &[number(&e["p95"]), number(&e["p99"])],
        CLOSED,
    );
    let e = example("mg1_fcfs");
    let wait = mg1_fcfs_wait(number(&e["lam"]), number(&e["ES"]), number(&e["scv"]))?;
    all_close(
        "mg1",
        &[wait, wait + number(&e["ES"])],
        &[number(&e["W"]), number(&e["R"])],
        CLOSED,
    );
    let e = example("mm1_ps");
    let found = [
        ps_response(1.0, 0.7)?,
        mm1_ps_deviation(1.0, 0.7)?,
        ps_response(2.0, 0.7)?,
    ];
    all_close(
        "ps",
        &found,
        &["R", "sd", "R_of_size_2"].map(|key| number(&e[key])),
        CLOSED,
    );
    let e = example("ggc");
    let wait = |arrival, service| allen_cunneen(1.4, 1.0, 2, arrival, service);
    all_close(
        "ggc",
        &[wait(1.0, 1.0)?, wait(1.0, 4.0)?],
        &[number(&e["W_mmc"]), number(&e["W"])],
        CLOSED,
    );
    Ok(())
}

#[test]
pub(crate) fn percentiles() -> Result<(), ModelError> {
    let e = example("percentiles_closed");
    let stations = queues(&list(&e["D"]));
    for row in rows(&e["rows_N_mean_sd_p50_p95_p99_exp95"]) {
        let times = ResponseTimes::closed(&stations, number(&e["Z"]), row[0] as u32)?;
        let found = [
            times.mean,
            times.deviation,
            times.quantile(0.5),
            times.quantile(0.95),
            times.quantile(0.99),
            times.mean * 20.0_f64.ln(),
        ];
        all_close("percentiles", &found, &row[1..], ITERATED);
        close(
            "share",
            times.share_within(times.quantile(0.95)),
            0.95,
            CLOSED,
        );
    }
    let e = example("repairman_exact_percentile");
    let quantile = |p| repairman_quantile(number(&e["S"]), number(&e["Z"]), 30, p);
    all_close(
        "exact",
        &[quantile(0.95)?, quantile(0.99)?],
        &[number(&e["p95"]), number(&e["p99"])],
        CLOSED,
    );
    Ok(())
}

/// The oracle of driver semantics, section 1: one server of 10 ms behind 1 s of thinking, closed,
/// and open at four utilisations.
#[test]
fn closed_and_open_loads_of_one_server() -> Result<(), ModelError> {
    let closed = [
        (1, 0.9901, 0.010_000),
        (10, 9.8915, 0.010_966),
        (50, 49.0695, 0.018_962),
        (90, 85.3902, 0.053_985),
        (100, 92.4300, 0.081_900),
        (110, 97.2537, 0.131_063),
        (150, 99.9999, 0.500_001),
        (200, 100.0, 1.0),
    ];
    let station = queues(&[0.01]);
    assert!((knee(&station, 1.0)? - 101.0).abs() < 1e-9);
    for (users, x, r) in closed {
        let found = mva(&station, 1.0, users)?;
        assert!(
            (found.x - x).abs() <= 5.1e-5 && (found.response_time() - r).abs() <= 5.1e-7,
            "{users}: {found:?}"
        );
    }
    for (rho, mean, p99) in [
        (0.5, 2.0, 9.21),
        (0.8, 5.0, 23.0),
        (0.9, 10.0, 46.1),
        (0.95, 20.0, 92.1),
    ] {
        let found = Multiserver::new(rho / 0.01, 0.01, 1)?.response_time();
        let quantile = mm1_quantile(rho / 0.01, 0.01, 0.99)?;
        assert!(
            (found / 0.01 - mean).abs() < 1e-9 && (quantile / 0.01 / p99 - 1.0).abs() < 2e-3,
            "{rho}: {found} {quantile}"
        );
    }
    Ok(())
}
