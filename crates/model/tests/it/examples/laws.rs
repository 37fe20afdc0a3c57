//! Scaling laws in closed form.

use rookery_model::{Usl, gustafson, karp_flatt};

use super::{CLOSED, all_close, close, example, list, number};

#[test]
pub(crate) fn amdahl() {
    let e = example("amdahl");
    let law = Usl {
        lambda: 1.0,
        sigma: number(&e["sigma"]),
        kappa: 0.0,
    };
    close(
        "speedup",
        law.throughput(number(&e["n"])),
        number(&e["speedup"]),
        CLOSED,
    );
    close(
        "limit",
        law.limit().expect("a limit"),
        number(&e["limit"]),
        CLOSED,
    );
}

#[test]
pub(crate) fn gustafson_and_karp_flatt() {
    let e = example("gustafson");
    close(
        "scaled",
        gustafson(number(&e["sigma"]), number(&e["n"])),
        number(&e["scaled_speedup"]),
        CLOSED,
    );
    let e = example("karp_flatt");
    close(
        "serial",
        karp_flatt(number(&e["speedup"]), number(&e["n"])),
        number(&e["serial"]),
        CLOSED,
    );
}

#[test]
pub(crate) fn usl_eval() {
    let e = example("usl_eval");
    let law = Usl {
        lambda: number(&e["lambda"]),
        sigma: number(&e["sigma"]),
        kappa: number(&e["kappa"]),
    };
    for (n, x) in e["X"].as_object().expect("a map") {
        close(
            n,
            law.throughput(n.parse().expect("a number")),
            number(x),
            CLOSED,
        );
    }
    let peak = law.peak().expect("a peak");
    all_close(
        "peak",
        &[peak.n, peak.x, peak.whole, law.throughput(peak.whole)],
        &["n_star", "x_max", "n_star_int", "X_at_int"].map(|key| number(&e[key])),
        CLOSED,
    );
    close("R(8)", law.response_time(8.0), number(&e["R_8"]), CLOSED);
    all_close(
        "N(X)",
        &law.users_at_throughput(8000.0),
        &list(&e["inv_X_8000"]),
        CLOSED,
    );
    let n = law.users_at_response_time(0.003).expect("reached");
    close("N(R)", n, number(&e["N_at_R_3ms"]), CLOSED);
    close(
        "R(N(R))",
        law.response_time(n),
        number(&e["check_R"]),
        CLOSED,
    );
    close(
        "efficiency",
        law.efficiency(32.0),
        number(&e["efficiency_32"]),
        CLOSED,
    );
}

#[test]
pub(crate) fn usl_jacobian() {
    let (e, j) = (example("usl_eval"), example("usl_jacobian"));
    let law = Usl {
        lambda: number(&e["lambda"]),
        sigma: number(&e["sigma"]),
        kappa: number(&e["kappa"]),
    };
    all_close("J", &law.gradient(number(&j["n"])), &list(&j["J"]), CLOSED);
}
