//! Operational laws and service demands.

use rookery_model::{
    demand::{DemandFilter, demands, disk_demand},
    operational::{Usage, interactive_response, little, visit_shares},
};

use super::{CLOSED, all_close, close, example, list, number, rows};

#[test]
pub(crate) fn operational() {
    let e = example("operational");
    let value = |key: &str| number(&e[key]);
    let cpu = Usage {
        seconds: value("T"),
        completions: value("C"),
        busy: value("B_cpu_core_s"),
        servers: value("cores"),
    };
    let disk = Usage {
        busy: value("B_disk"),
        servers: 1.0,
        ..cpu
    };
    let found = [
        cpu.throughput(),
        cpu.utilisation(),
        cpu.demand(),
        disk.utilisation(),
        disk.demand(),
    ];
    all_close(
        "laws",
        &found,
        &["X", "U_cpu", "D_cpu", "U_disk", "D_disk"].map(value),
        CLOSED,
    );
    close(
        "forced flow",
        value("V_disk") * cpu.throughput(),
        value("X_disk"),
        CLOSED,
    );
    close(
        "S",
        disk.demand() / value("V_disk"),
        value("S_disk"),
        CLOSED,
    );
    let r = interactive_response(value("N"), cpu.throughput(), value("Z"));
    close("R", r, value("R"), CLOSED);
    close(
        "L",
        little(cpu.throughput(), r),
        value("L_in_system"),
        CLOSED,
    );
}

#[test]
pub(crate) fn markov_drupal() {
    // Front page, recent posts, read node, login, add node, comment, search, log out; rows in
    // percent, from -> to.
    let names = ["FP", "RP", "RN", "UL", "AL", "CP", "CS", "LO"];
    let to_front = [20.0, 40.0, 20.0, 15.0, 5.0, 0.0, 0.0, 0.0];
    let out = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 100.0];
    let graph = [
        to_front,
        [40.0, 20.0, 20.0, 15.0, 5.0, 0.0, 0.0, 0.0],
        [20.0, 20.0, 40.0, 15.0, 5.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 40.0, 30.0, 30.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 10.0, 80.0],
        out,
        out,
        to_front,
    ];
    let graph: Vec<Vec<f64>> = graph.iter().map(|row| row.to_vec()).collect();
    let shares = visit_shares(&graph).expect("connected");
    let e = example("markov_drupal");
    all_close(
        "pi",
        &shares,
        &names.map(|name| number(&e["pi"][name])),
        CLOSED,
    );
    assert_eq!(
        visit_shares(&[vec![1.0, 0.0], vec![0.0, 1.0]]),
        None,
        "it falls apart"
    );
    assert_eq!(visit_shares(&[vec![0.0]]), None, "an empty row");
}

#[test]
pub(crate) fn demand_ols() {
    let e = example("demand_ols");
    let (x, u) = (list(&e["X"]), list(&e["U"]));
    let matrix: Vec<Vec<f64>> = x.iter().map(|x| vec![*x]).collect();
    let found = demands(&matrix, &u).expect("found");
    all_close(
        "regression",
        &[found.background, found.demands[0]],
        &[number(&e["U0"]), number(&e["D"])],
        CLOSED,
    );
    all_close("se", &found.standard_errors, &list(&e["se"]), CLOSED);
    let interval = found.intervals[0].expect("free");
    all_close(
        "interval",
        &[interval.low, interval.high],
        &list(&e["ci_D"]),
        CLOSED,
    );
    // What the regression is better than: demands that take the background for work.
    let (sum_x, sum_u): (f64, f64) = (x.iter().sum(), u.iter().sum());
    close(
        "ratio of means",
        sum_u / sum_x,
        number(&e["D_ratio_of_means"]),
        CLOSED,
    );
    let (cross, squares) = x
        .iter()
        .zip(&u)
        .fold((0.0, 0.0), |(c, s), (x, u)| (c + x * u, s + x * x));
    close(
        "through the origin",
        cross / squares,
        number(&e["D_no_intercept"]),
        CLOSED,
    );
}

#[test]
pub(crate) fn demand_two_class() {
    let e = example("demand_two_class");
    let found = demands(&rows(&e["X"]), &list(&e["U"])).expect("found");
    for key in ["ols", "nnls"] {
        all_close(
            key,
            &[found.background, found.demands[0], found.demands[1]],
            &list(&e[key]),
            CLOSED,
        );
    }
    close("condition", found.condition, number(&e["cond"]), CLOSED);
}

#[test]
pub(crate) fn kalman_demand() {
    let e = example("kalman_demand");
    let mut filter = DemandFilter {
        demand: number(&e["d0"]),
        variance: number(&e["p0"]),
        drift: number(&e["q"]),
        noise: number(&e["r"]),
    };
    for step in rows(&e["steps_x_u_gain_d_p"]) {
        let gain = filter.update(step[0], step[1]);
        all_close(
            "step",
            &[gain, filter.demand, filter.variance],
            &step[2..],
            CLOSED,
        );
    }
}

#[test]
pub(crate) fn hit_ratio() {
    let e = example("hit_ratio");
    let found: Vec<f64> = list(&e["h"])
        .iter()
        .map(|h| disk_demand(number(&e["logical_reads"]), *h, number(&e["S"])))
        .collect();
    all_close("D", &found, &list(&e["D"]), CLOSED);
}
