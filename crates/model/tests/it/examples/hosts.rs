//! Many guests on one host.

use rookery_model::{
    consolidation::{
        Claim, fair_shares, overhead_of_demands, overhead_of_loss, symmetric_guests, throttle,
    },
    queue::{Capacity, Class, ModelError, Station, exact_classes, linearizer, mva, solve},
};

use super::{CLOSED, ITERATED, all_close, close, example, list, number, rows};

#[test]
pub(crate) fn water_filling() {
    for key in ["water_filling", "water_filling2"] {
        let e = example(key);
        let column = |name: &str| list(&e[name]);
        let (runnable, vcpus, cap, weight) = (
            column("runnable"),
            column("vcpus"),
            column("cap"),
            column("weight"),
        );
        let claims: Vec<Claim> = (0..4)
            .map(|g| Claim {
                runnable: runnable[g],
                vcpus: vcpus[g],
                cap: cap[g],
                weight: weight[g],
            })
            .collect();
        all_close(
            key,
            &fair_shares(number(&e["M"]), &claims),
            &column("rate"),
            CLOSED,
        );
    }
}

#[test]
pub(crate) fn consolidation_floating() -> Result<(), ModelError> {
    let e = example("consolidation_floating");
    let (cpu, disk, think, cores) = (
        number(&e["D_cpu_native"]),
        number(&e["D_disk"]),
        number(&e["Z"]),
        4,
    );
    let bare = solve(
        &[Station::servers(cpu, cores), Station::queue(disk)],
        think,
        200,
    )?;
    close("bare", bare.x, number(&e["bare_metal_200_users"]), CLOSED);
    let mut one = 0.0;
    for row in rows(&e["rows_G_X_linear"]) {
        let guest = [
            Station::servers(cpu * number(&e["overhead"]), cores),
            Station::queue(disk),
        ];
        let x = solve(&guest, think, 25 * row[0] as u32)?.x;
        one = if row[0] == 1.0 { x } else { one };
        all_close("row", &[x, one * row[0]], &row[1..], CLOSED);
    }
    Ok(())
}

#[test]
pub(crate) fn consolidation_pinned() -> Result<(), ModelError> {
    let e = example("consolidation_pinned");
    let classes: Vec<Class> = (0..4)
        .map(|guest| {
            let mut demands = vec![0.0; 5];
            demands[guest] = number(&e["D_private"]);
            demands[4] = number(&e["D_shared"]);
            Class {
                users: 5,
                think: 1.0,
                demands,
            }
        })
        .collect();
    let exact = exact_classes(&classes, &[false; 5])?;
    all_close(
        "exact",
        &[exact.x[0], exact.r[0][0], exact.r[0][4]],
        &["X", "R_private", "R_shared"].map(|key| number(&e["exact"][key])),
        CLOSED,
    );
    let found = linearizer(&classes, &[false; 5])?;
    all_close(
        "linearizer",
        &[found.x[2], found.r[2][2], found.r[2][4]],
        &list(&e["linearizer"]),
        ITERATED,
    );
    let found = symmetric_guests(4, 5, 1.0, &[0.1], &[0.03])?;
    all_close(
        "symmetric",
        &[found.x, found.r[0], found.r[1]],
        &list(&e["schweitzer_symmetric"]),
        ITERATED,
    );
    close(
        "alone",
        mva(&[Station::queue(0.1), Station::queue(0.03)], 1.0, 5)?.x,
        number(&e["X_alone"]),
        CLOSED,
    );
    Ok(())
}

#[test]
pub(crate) fn consolidation_pinned_many() -> Result<(), ModelError> {
    for row in rows(&example("consolidation_pinned_many")["rows_G_Xper"]) {
        let x = symmetric_guests(row[0] as u32, 25, 1.0, &[0.03], &[0.004])?.x;
        all_close("row", &[x, x * row[0]], &row[1..], ITERATED);
    }
    Ok(())
}

#[test]
pub(crate) fn cpu_cap() -> Result<(), ModelError> {
    let e = example("cpu_cap");
    for row in rows(&e["rows_cap_X_R"]) {
        let station = Station {
            demand: number(&e["D"]),
            capacity: Capacity::Limited {
                servers: 2,
                limit: row[0],
            },
        };
        let found = solve(&[station], number(&e["Z"]), 10)?;
        all_close("cap", &[found.x, found.response_time], &row[1..], CLOSED);
    }
    Ok(())
}

#[test]
pub(crate) fn throttle_and_overheads() {
    let e = example("throttle");
    let (busy, stall) = throttle(
        number(&e["quota_ms"]),
        number(&e["period_ms"]),
        number(&e["threads"]),
    );
    all_close(
        "throttle",
        &[busy, stall],
        &[number(&e["busy_ms_before_stall"]), number(&e["stall_ms"])],
        CLOSED,
    );
    assert_eq!(
        throttle(200.0, 100.0, 1.0),
        (100.0, 0.0),
        "a quota that lasts"
    );
    close("loss of 16 %", overhead_of_loss(0.16), 0.16 / 0.84, CLOSED);
    close("demands", overhead_of_demands(0.02, 0.0224), 0.12, CLOSED);
}
