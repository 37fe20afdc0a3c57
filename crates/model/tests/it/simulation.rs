//! The simulator against what is known exactly; seeds are fixed, so these never flicker.

use rookery_model::{
    queue::{Capacity, ResponseTimes, Station, mg1_fcfs_wait, mm1_ps_deviation, mva, solve},
    simulate::{
        Discipline, Network, Population, SimulatedStation, SimulationError, Times, replicate,
        simulate,
    },
};

fn station(service: f64, times: Times, discipline: Discipline) -> SimulatedStation {
    SimulatedStation {
        service,
        times,
        discipline,
    }
}

fn closed(users: u32, think: f64, stations: Vec<SimulatedStation>) -> Network {
    Network {
        population: Population::Closed {
            users,
            think,
            times: Times::Exponential,
        },
        stations,
    }
}

fn first_come() -> Discipline {
    Discipline::FirstCome { servers: 1 }
}

#[track_caller]
fn near(what: &str, found: f64, known: f64, tolerance: f64) {
    assert!(
        (found / known - 1.0).abs() < tolerance,
        "{what}: {found}, known {known}"
    );
}

#[test]
fn the_closed_network_of_two_stations() {
    for discipline in [first_come(), Discipline::Shared(Capacity::Servers(1))] {
        let stations = vec![
            station(0.1, Times::Exponential, discipline.clone()),
            station(0.15, Times::Exponential, discipline.clone()),
        ];
        let found =
            replicate(&closed(20, 4.0, stations), 7, 5_000, 40_000, 0.01, 20).expect("plays");
        let exact = mva(&[Station::queue(0.1), Station::queue(0.15)], 4.0, 20).expect("valid");
        let (x, r) = (found.x, found.response_time);
        assert!(
            x.1.low <= exact.x && exact.x <= x.1.high,
            "{x:?} {}",
            exact.x
        );
        assert!(
            r.1.low <= exact.response_time() && exact.response_time() <= r.1.high,
            "{r:?}"
        );
        near("Q", found.outcomes[0].q[1], exact.q[1], 0.05);
        if discipline == first_come() {
            let model =
                ResponseTimes::closed(&[Station::queue(0.1), Station::queue(0.15)], 4.0, 20)
                    .expect("valid");
            near(
                "p95",
                found.times.quantile(0.95).expect("times"),
                model.quantile(0.95),
                0.02,
            );
        }
    }
}

/// The oracle of driver semantics, section 1: X within 2 %, R within 5 % up to the knee.
#[test]
fn one_server_behind_thinking_users() {
    for users in [1, 10, 50, 90, 100, 110, 150, 200] {
        let exact = mva(&[Station::queue(0.01)], 1.0, users).expect("valid");
        let network = closed(
            users,
            1.0,
            vec![station(0.01, Times::Exponential, first_come())],
        );
        let found = simulate(&network, 11, 0, 20_000, 400_000).expect("plays");
        near("X", found.x, exact.x, 0.02);
        near("R", found.response_time, exact.response_time(), 0.05);
        // Little's law holds exactly for the time integral, up to who is on the way at the ends.
        near("L = X R", found.q[0], found.x * found.response_time, 0.01);
    }
}

/// Random networks: formula, convolution and simulation are three ways to one answer.
#[test]
fn random_networks_are_played_as_they_are_solved() {
    let mut state = 3_u64;
    let mut draw = |low: f64, high: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..12 {
        let (users, think) = (draw(1.0, 40.0) as u32, draw(0.1, 2.0));
        let parts: Vec<(f64, u32)> = (0..draw(1.0, 4.0) as usize)
            .map(|_| (draw(0.01, 0.2), draw(1.0, 5.0) as u32))
            .collect();
        let stations: Vec<Station> = parts
            .iter()
            .map(|(demand, servers)| Station::servers(*demand, *servers))
            .collect();
        let exact = solve(&stations, think, users).expect("valid");
        let played = parts
            .iter()
            .enumerate()
            .map(|(k, (demand, servers))| match k % 2 {
                0 => station(
                    *demand,
                    Times::Exponential,
                    Discipline::FirstCome { servers: *servers },
                ),
                _ => station(
                    *demand,
                    Times::Erlang(2),
                    Discipline::Shared(Capacity::Servers(*servers)),
                ),
            });
        let found = simulate(
            &closed(users, think, played.collect()),
            5,
            0,
            5_000,
            100_000,
        )
        .expect("plays");
        near("X", found.x, exact.x, 0.02);
        near("R", found.response_time, exact.response_time, 0.03);
        for (found, exact) in found.q.iter().zip(&exact.q) {
            near("Q", *found, *exact, 0.06);
        }
    }
}

#[test]
fn several_servers_and_a_limit() {
    let limited = Capacity::Limited {
        servers: 2,
        limit: 1.5,
    };
    let exact = solve(
        &[Station {
            demand: 0.05,
            capacity: limited.clone(),
        }],
        0.2,
        10,
    )
    .expect("valid");
    let found = simulate(
        &closed(
            10,
            0.2,
            vec![station(0.05, Times::Erlang(3), Discipline::Shared(limited))],
        ),
        3,
        0,
        2_000,
        200_000,
    )
    .expect("plays");
    near("limited, any service distribution", found.x, exact.x, 0.01);
    let exact = solve(&[Station::servers(0.4, 4)], 1.0, 8).expect("valid");
    let found = simulate(
        &closed(
            8,
            1.0,
            vec![station(
                0.4,
                Times::Exponential,
                Discipline::FirstCome { servers: 4 },
            )],
        ),
        3,
        0,
        2_000,
        200_000,
    )
    .expect("plays");
    near("four servers", found.x, exact.x, 0.01);
}

#[test]
fn open_stations() {
    let open = |discipline, times| Network {
        population: Population::Open { rate: 0.7 },
        stations: vec![station(1.0, times, discipline)],
    };
    let shared = simulate(
        &open(Discipline::Shared(Capacity::Servers(1)), Times::Exponential),
        5,
        0,
        20_000,
        600_000,
    )
    .expect("plays");
    near("PS mean", shared.response_time, 10.0 / 3.0, 0.03);
    near(
        "PS deviation",
        shared.deviation,
        mm1_ps_deviation(1.0, 0.7).expect("valid"),
        0.05,
    );
    let bursty = simulate(
        &open(first_come(), Times::Hyperexponential(4.0)),
        5,
        0,
        20_000,
        600_000,
    )
    .expect("plays");
    near(
        "M/G/1",
        bursty.response_time,
        1.0 + mg1_fcfs_wait(0.7, 1.0, 4.0).expect("valid"),
        0.06,
    );
    let constant =
        simulate(&open(first_come(), Times::Constant), 5, 0, 20_000, 400_000).expect("plays");
    near(
        "M/D/1",
        constant.response_time,
        1.0 + mg1_fcfs_wait(0.7, 1.0, 0.0).expect("valid"),
        0.03,
    );
}

#[test]
fn same_seed_same_events_and_no_think_time() {
    let network = closed(5, 0.0, vec![station(0.1, Times::Exponential, first_come())]);
    let play = |seed| simulate(&network, seed, 0, 100, 10_000).expect("plays");
    let (a, b, c) = (play(1), play(1), play(2));
    assert_eq!(
        (a.x, a.response_time, a.events),
        (b.x, b.response_time, b.events)
    );
    assert_ne!(a.x, c.x);
    near("saturated", a.x, 10.0, 0.05);
    near("Little", a.x * a.response_time, 5.0, 0.01);
}

#[test]
fn what_cannot_be_played_is_refused() {
    let refuse = |network: &Network| {
        matches!(
            simulate(network, 1, 0, 0, 10),
            Err(SimulationError::Value(_))
        )
    };
    assert!(refuse(&closed(
        0,
        1.0,
        vec![station(0.1, Times::Constant, first_come())]
    )));
    assert!(refuse(&closed(1, 1.0, vec![])));
    assert!(refuse(&closed(
        1,
        f64::NAN,
        vec![station(0.1, Times::Constant, first_come())]
    )));
    assert!(refuse(&closed(
        1,
        1.0,
        vec![station(0.0, Times::Constant, first_come())]
    )));
    assert!(refuse(&closed(
        1,
        1.0,
        vec![station(1.0, Times::Erlang(0), first_come())]
    )));
    assert!(refuse(&closed(
        1,
        1.0,
        vec![station(
            1.0,
            Times::Constant,
            Discipline::FirstCome { servers: 0 }
        )]
    )));
}
