//! Laws that hold for every network and every fit.

use proptest::prelude::*;
use rookery_model::{
    Usl,
    consolidation::{Claim, fair_shares},
    fit::{
        Bootstrap, Family, Observation, Observations, Options, Weights, fit_closed, fit_usl, judge,
    },
    queue::{
        Capacity, Class, Repairman, Station, asymptotic, balanced, exact_classes, linearizer, mva,
        schweitzer, solve,
    },
};

fn demands() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.001..1.0_f64, 1..5)
}

/// A lock that excludes only itself is a queue: its share of the time is not the sigma of Amdahl's
/// law, in which a serial section stops everything.
#[test]
fn the_share_of_a_lock_is_no_sigma() {
    let share = 0.2;
    let lock = Repairman {
        demand: share,
        servers: 1,
        think: 1.0 - share,
    };
    let run = |n: f64| Observation {
        n,
        x: lock.throughput(n),
    };
    let observations = Observations::new([1.0, 2.0, 3.0, 4.0].map(run).to_vec()).expect("valid");
    let fit = fit_usl(&observations, Family::Amdahl, Weights::Equal, None).expect("fits");
    assert!(
        (0.03..0.07).contains(&fit.law.sigma),
        "{}: docs/web2005.md says 0.05",
        fit.law.sigma
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn exact_solutions_agree_and_lie_within_the_bounds(demands in demands(), think in 0.0..5.0_f64, users in 1_u32..60) {
        let stations: Vec<Station> = demands.iter().map(|d| Station::queue(*d)).collect();
        let m = mva(&stations, think, users).expect("valid");
        let c = solve(&stations, think, users).expect("valid");
        prop_assert!((m.x / c.x - 1.0).abs() < 1e-9, "{} {}", m.x, c.x);
        let class = Class { users, think, demands: demands.clone() };
        let e = exact_classes(&[class], &vec![false; demands.len()]).expect("valid");
        prop_assert!((e.x[0] / m.x - 1.0).abs() < 1e-12);
        for bounds in [asymptotic(&stations, think, users).expect("valid"), balanced(&stations, think, users).expect("valid")] {
            prop_assert!(bounds.x_low <= m.x * (1.0 + 1e-9) && m.x <= bounds.x_high * (1.0 + 1e-9), "{bounds:?} \
                {}", m.x);
            prop_assert!(bounds.r_low <= m.response_time() * (1.0 + 1e-9) && m.response_time() <= bounds.r_high * (1.0 + 1e-9), "{bounds:?}");
        }
        // Little's law, station by station and for the whole.
        prop_assert!((m.q.iter().sum::<f64>() + m.x * think - f64::from(users)).abs() < 1e-8 * f64::from(users));
    }

    #[test]
    fn any_speeds_obey_little_and_more_users_never_harm(
        demand in 0.01..1.0_f64, other in 0.001..0.5_f64, servers in 1_u32..12, limit in 0.2..12.0_f64, think in 0.0..3.0_f64, users in 1_u32..50,
    ) {
        let stations = [
            Station { demand, capacity: Capacity::Limited { servers, limit } },
            Station::queue(other),
            Station::delay(0.05),
        ];
        let found = solve(&stations, think, users).expect("valid");
        prop_assert!((found.q.iter().sum::<f64>() + found.x * think - f64::from(users)).abs() < 1e-7 * f64::from(users), "{found:?}");
        let bounds = asymptotic(&stations, think, users).expect("valid");
        prop_assert!(found.x <= bounds.x_high * (1.0 + 1e-9), "{} {bounds:?}", found.x);
        prop_assert!(found.u.iter().all(|u| *u <= 1.0 + 1e-9));
        let marginal = found.marginal(0).expect("a queue");
        prop_assert!((marginal.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let more = solve(&stations, think, users + 1).expect("valid");
        prop_assert!(more.x >= found.x * (1.0 - 1e-9));
    }

    #[test]
    fn the_chain_is_the_network(demand in 0.001..1.0_f64, servers in 1_u32..20, think in 0.001..20.0_f64, users in 1_u32..300) {
        let exact = solve(&[Station::servers(demand, servers)], think, users).expect("valid");
        let chain = Repairman { demand, servers, think };
        prop_assert!((chain.throughput(f64::from(users)) / exact.x - 1.0).abs() < 1e-9);
        let between = chain.throughput(f64::from(users) + 0.5);
        prop_assert!(between >= exact.x * (1.0 - 1e-12) && between <= chain.throughput(f64::from(users) + 1.0) * (1.0 + 1e-12));
    }

    #[test]
    fn classes_obey_little_and_a_new_user_slows_the_others(
        a in prop::collection::vec(0.01..0.5_f64, 3), b in prop::collection::vec(0.01..0.5_f64, 3),
        n in 1_u32..10, m in 1_u32..10, think in 0.0..3.0_f64, delay in any::<bool>(),
    ) {
        let classes = |n: u32| [Class { users: n, think, demands: a.clone() }, Class { users: m, think: 1.0, demands: b.clone() }];
        let delays = [false, delay, false];
        let found = exact_classes(&classes(n), &delays).expect("valid");
        for (c, class) in classes(n).iter().enumerate() {
            let there: f64 = found.q[c].iter().sum::<f64>() + found.x[c] * class.think;
            prop_assert!((there - f64::from(class.users)).abs() < 1e-9 * f64::from(class.users), "{found:?}");
        }
        for k in (0..3).filter(|k| !delays[*k]) {
            prop_assert!(found.u[0][k] + found.u[1][k] <= 1.0 + 1e-12, "no server is busy for more \
                than all the time");
        }
        let more = exact_classes(&classes(n + 1), &delays).expect("valid");
        prop_assert!(more.x[0] >= found.x[0] * (1.0 - 1e-12) && more.x[1] <= found.x[1] * (1.0 + 1e-12), "{found:?} \
            {more:?}");
        let response = |solution: &rookery_model::queue::ClassSolution, c: usize| solution.r[c].iter().sum::<f64>();
        prop_assert!(response(&more, 1) >= response(&found, 1) * (1.0 - 1e-12));
    }

    #[test]
    fn single_servers_slow_down_as_users_come(demands in demands(), think in 0.0..5.0_f64, users in 1_u32..60) {
        let stations: Vec<Station> = demands.iter().map(|d| Station::queue(*d)).collect();
        let (few, more) = (mva(&stations, think, users).expect("valid"), mva(&stations, think, users + 1).expect("valid"));
        prop_assert!(more.x >= few.x * (1.0 - 1e-12) && more.response_time() >= few.response_time() * (1.0 - 1e-12));
        for (few, more) in few.q.iter().zip(&more.q) {
            prop_assert!(*more >= few * (1.0 - 1e-12));
        }
    }

    #[test]
    fn closed_queues_are_found_again(demand in 0.001..0.1_f64, ratio in 2.0..40.0_f64) {
        let truth = Repairman { demand, servers: 1, think: demand * ratio };
        let runs = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0].map(|n| Observation { n, x: truth.throughput(n) });
        let fit = fit_closed(&Observations::new(runs.to_vec()).expect("valid"), 0.0, 8).expect("fits");
        prop_assert!((fit.model.demand / demand - 1.0).abs() < 1e-5 && (fit.model.think / truth.think - 1.0).abs() < 1e-5, "{fit:?} {truth:?}");
        prop_assert_eq!(fit.model.servers, 1);
    }

    /// Whatever the data, a bounded parameter is at 0 and has an upper end, or is above 0 and has
    /// an interval.
    #[test]
    fn bounds_are_kept(noise in prop::collection::vec(0.9..1.1_f64, 8), sigma in 0.0..0.1_f64) {
        let law = Usl { lambda: 10.0, sigma, kappa: 0.0 };
        let loads = [1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0];
        let runs = loads.iter().zip(&noise).map(|(n, e)| Observation { n: *n, x: law.throughput(*n) * e });
        let data = Observations::new(runs.collect()).expect("valid");
        let fit = fit_usl(&data, Family::Usl, Weights::Equal, None).expect("fits");
        let amdahl = fit_usl(&data, Family::Amdahl, Weights::Equal, None).expect("fits");
        prop_assert!(fit.law.lambda > 0.0 && fit.rss <= amdahl.rss * (1.0 + 1e-9), "a bigger \
            family fits no worse");
        for (place, value) in [(1, fit.law.sigma), (2, fit.law.kappa)] {
            if fit.free[place] {
                prop_assert!(value >= 0.0 && fit.interval(place).is_some() && fit.upper_bound(place, &data).is_none());
            } else {
                prop_assert!(value == 0.0 && fit.interval(place).is_none());
                prop_assert!(fit.upper_bound(place, &data).is_some_and(|bound| bound > 0.0), "{fit:?}");
            }
        }
    }

    #[test]
    fn linearizer_is_closer_than_schweitzer_or_both_are_close(
        a in prop::collection::vec(0.01..0.5_f64, 3), b in prop::collection::vec(0.01..0.5_f64, 3), n in 1_u32..12, m in 1_u32..12, think in 0.0..3.0_f64,
    ) {
        let classes = [Class { users: n, think, demands: a }, Class { users: m, think: think / 2.0, demands: b }];
        let exact = exact_classes(&classes, &[false; 3]).expect("valid");
        let error = |x: &[f64]| x.iter().zip(&exact.x).map(|(x, e)| (x / e - 1.0).abs()).fold(0.0, f64::max);
        let (rough, fine) = (error(&schweitzer(&classes, &[false; 3]).expect("valid").x), error(&linearizer(&classes, &[false; 3]).expect("valid").x));
        prop_assert!(fine < 0.03 && rough < 0.25, "{fine} {rough}");
        prop_assert!(fine <= rough || fine < 0.01, "{fine} {rough}");
    }

    #[test]
    fn shares_are_fair(cores in 0.5..16.0_f64, guests in prop::collection::vec((0.0..8.0_f64, 0.5..8.0_f64, 0.2..8.0_f64, 0.1..4.0_f64), 1..10)) {
        let claims: Vec<Claim> = guests.iter().map(|&(runnable, vcpus, cap, weight)| Claim { runnable, vcpus, cap, weight }).collect();
        let shares = fair_shares(cores, &claims);
        let limits: Vec<f64> = claims.iter().map(|c| c.runnable.min(c.vcpus).min(c.cap)).collect();
        let (used, wanted) = (shares.iter().sum::<f64>(), limits.iter().sum::<f64>());
        prop_assert!((used - wanted.min(cores)).abs() < 1e-9, "{used} {wanted}");
        for (i, share) in shares.iter().enumerate() {
            prop_assert!(*share <= limits[i] + 1e-12);
            // Whoever is short has at least as much per weight as anyone else.
            if *share < limits[i] - 1e-9 {
                prop_assert!((0..shares.len()).all(|j| shares[j] / claims[j].weight <= share / claims[i].weight + 1e-9));
            }
        }
    }

    #[test]
    fn exact_laws_are_found_again(lambda in 1.0..1e5_f64, sigma in 0.0..0.6_f64, kappa in 0.0..0.02_f64) {
        let law = Usl { lambda, sigma, kappa };
        let runs = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0].map(|n| Observation { n, x: law.throughput(n) });
        let fit = fit_usl(&Observations::new(runs.to_vec()).expect("valid"), Family::Usl, Weights::Relative, None).expect("fits");
        prop_assert!((fit.law.lambda / lambda - 1.0).abs() < 1e-6, "{:?} {law:?}", fit.law);
        prop_assert!((fit.law.sigma - sigma).abs() < 1e-6 && (fit.law.kappa - kappa).abs() < 1e-7, "{:?} {law:?}", fit.law);
    }
}

proptest! {
    // Wild data make searches long.
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn no_data_make_the_judge_fail(runs in prop::collection::vec((0.01..3e3_f64, 1e-6..1e9_f64), 1..12)) {
        let runs = runs.into_iter().map(|(n, x)| Observation { n, x });
        let judgement = judge(&Observations::new(runs.collect()).expect("valid"), &Options { max_servers: 4, ..Options::default() });
        if let Some(choice) = judgement.choice() {
            prop_assert!(!choice.refused());
            prop_assert!(choice.fitted.as_ref().is_some_and(|fitted| fitted.throughput(1.0).is_finite()));
        }
    }
}

/// Standard normal numbers from a fixed stream, by the sum of twelve uniform ones.
fn noise(state: &mut u64) -> f64 {
    let mut sum = -6.0;
    for _ in 0..12 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        sum += (*state >> 11) as f64 / (1_u64 << 53) as f64;
    }
    sum
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    let law = Usl {
        lambda: 1000.0,
        sigma: 0.03,
        kappa: 0.0006,
    };
    let loads = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];
    let mut state = 17;
    let (mut covered, mut peaks, mut new_runs, studies) = ([0_u32; 3], 0, 0, 1000);
    for _ in 0..studies {
        let runs = loads.map(|n| Observation {
            n,
            x: law.throughput(n) + 120.0 * noise(&mut state),
        });
        let data = Observations::new(runs.to_vec()).expect("valid");
        let fit = fit_usl(&data, Family::Usl, Weights::Equal, None).expect("fits");
        for (place, truth) in [law.lambda, law.sigma, law.kappa].into_iter().enumerate() {
            covered[place] += u32::from(
                fit.interval(place)
                    .is_some_and(|interval| interval.low <= truth && truth <= interval.high),
            );
        }
        let peak = law.peak().expect("a peak").n;
        peaks += u32::from(
            fit.peak_interval()
                .is_some_and(|(_, interval)| interval.low <= peak && peak <= interval.high),
        );
        let (new, run) = (
            law.throughput(40.0) + 120.0 * noise(&mut state),
            fit.predict(40.0, &data).expect("df").run,
        );
        new_runs += u32::from(run.low <= new && new <= run.high);
    }
    for hits in covered.into_iter().chain([peaks, new_runs]) {
        let share = f64::from(hits) / f64::from(studies);
        assert!(
            (0.92..=0.975).contains(&share),
            "{covered:?} {peaks} {new_runs}"
        );
    }
}

#[test]
fn runs_are_resampled_within_their_loads() {
    let law = Usl {
        lambda: 100.0,
        sigma: 0.05,
        kappa: 0.001,
    };
    let mut state = 5;
    let runs = [1.0, 4.0, 8.0, 16.0, 32.0]
        .iter()
        .flat_map(|n| [*n; 5])
        .map(|n| Observation {
            n,
            x: law.throughput(n) * (1.0 + 0.01 * noise(&mut state)),
        });
    let data = Observations::new(runs.collect()).expect("valid");
    let fit = fit_usl(&data, Family::Usl, Weights::Variance, None).expect("fits");
    let drawn = Bootstrap::resample(&fit, &data, 500, 3).expect("draws");
    assert!(drawn.by_runs && drawn.draws == 500);
    assert!(
        drawn.lambda.low < fit.law.lambda && fit.law.lambda < drawn.lambda.high,
        "{drawn:?}"
    );
    assert!(drawn.kappa.low >= 0.0);
}

#[test]
fn intervals_of_the_closed_queue_cover_the_truth_too() {
    let truth = Repairman {
        demand: 0.005,
        servers: 4,
        think: 0.06,
    };
    let loads = [1.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0];
    let mut state = 29;
    let (mut ceiling, mut delay, mut knee, mut means, mut new_runs) = (0, 0, 0, 0, 0);
    for _ in 0..400 {
        let runs = loads.map(|n| Observation {
            n,
            x: truth.throughput(n) * (1.0 + 0.03 * noise(&mut state)),
        });
        // Told the number of servers as its largest, the fit still tries the smaller ones.
        let fit =
            fit_closed(&Observations::new(runs.to_vec()).expect("valid"), 0.0, 4).expect("fits");
        let covers = |interval: Option<rookery_model::fit::Interval>, value: f64| {
            u32::from(
                interval.is_some_and(|interval| interval.low <= value && value <= interval.high),
            )
        };
        // The number of servers hardly shows, and the demand of one with it: the ceiling is what
        // can be known.
        ceiling += covers(fit.ceiling, truth.ceiling());
        delay += u32::from(fit.delay.is_some());
        knee += covers(fit.knee, truth.knee());
        let found = fit.predict(40.0).expect("df");
        means += covers(Some(found.mean), truth.throughput(40.0));
        new_runs += covers(
            Some(found.run),
            truth.throughput(40.0) * (1.0 + 0.03 * noise(&mut state)),
        );
    }
    for hits in [ceiling, knee, means, new_runs] {
        assert!(
            (372..=394).contains(&hits),
            "{ceiling} {knee} {means} {new_runs}"
        );
    }
    assert!(delay > 360, "{delay}");
}
