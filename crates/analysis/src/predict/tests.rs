//! Predictions against systems whose truth is known.

use rookery_study::{Document, Plan, Vcpus};

use crate::{
    Run,
    predict::{
        Calibration, Candidates, Forecaster, Group, HeldOutError, Holdout, Host, Kept, Limit,
        Method, Offer, Place, PredictError, Readings, SEED, Shape, Split, Structure,
        confirming_study,
        fixture::{World, run, study},
        pack, predicted_knee, shape,
    },
};

/// Knee at 52 users: half of these are below.
const LADDER: [u32; 8] = [8, 16, 24, 32, 48, 64, 80, 96];

fn ladder(world: &World, repeats: u32) -> Run {
    run(&study("1", &LADDER, repeats), world, 1)
}

fn readings(run: &Run) -> Readings {
    Readings::from_run(run).remove(0)
}

fn forecaster(run: &Run) -> Forecaster {
    Forecaster::fit(readings(run), 20, SEED).expect("models fit")
}

#[test]
fn calibration_finds_demand_background_and_growth() {
    let world = World {
        growth: 0.05,
        background: 0.03,
        ..World::PLAIN
    };
    let found = Calibration::fit(&readings(&run(&study("[1, 2, 4]", &LADDER, 3), &world, 2)).all)
        .expect("counters");
    let first = &found.demands[0];
    let (low, high) = first.interval_s.expect("a regression");
    assert!(
        low <= 0.005 && 0.005 <= high && first.changes_by.is_none(),
        "{first:?}"
    );
    assert!(
        (found.background_cores / 0.03 - 1.0).abs() < 0.05,
        "{found:?}"
    );
    assert!(
        (found.growth.per_guest - 0.05).abs() < 0.003 && found.growth.numbers == 3,
        "{found:?}"
    );
    assert!(
        (found.demand_s(8) / world.demand(8) - 1.0).abs() < 0.03,
        "{}",
        found.demand_s(8)
    );
}

#[test]
fn a_demand_that_changes_with_load_is_told() {
    let mut readings = readings(&ladder(&World::PLAIN, 3));
    for reading in &mut readings.all {
        let x = reading.x;
        reading.cores = Some(0.002 * x + 8e-6 * x * x);
    }
    let found = Calibration::fit(&readings.all).expect("counters");
    let change = found.demands[0].changes_by.expect("a bend");
    assert!((0.5..3.0).contains(&change), "{change}");
    let top = readings
        .all
        .iter()
        .map(|reading| reading.x)
        .fold(0.0, f64::max);
    assert!(
        found.demands[0].demand_s > 0.9 * (0.002 + 8e-6 * top),
        "{found:?}"
    );
}

#[test]
fn waking_up_bends_the_line_and_leaves_the_ceiling() {
    // 5 ms at a busy core and 8 ms at an idle one: what a server that sleeps between requests
    // shows.
    let mut readings = readings(&ladder(&World::PLAIN, 3));
    for reading in &mut readings.all {
        let x = reading.x;
        reading.cores = Some((0.008 * x / (1.0 + 0.003 * x)).min(1.0));
    }
    let below = Split::by_load(&readings, 0.5).expect("eight loads").fitted;
    let candidates = Candidates::fit(&below);
    let structure = candidates.structure(Method::Counters).expect("counters");
    let demand = &structure.calibration.as_ref().expect("counters").demands[0];
    assert!(
        (demand.demand_s / 0.005 - 1.0).abs() < 0.02
            && (demand.wakeup_s / 0.003 - 1.0).abs() < 0.05,
        "{demand:?}"
    );
    let shape = &readings.shapes()[0];
    let (low, full) = (
        structure.at(shape, 16.0).expect("solvable"),
        structure.at(shape, 150.0).expect("solvable"),
    );
    assert!((full.x / 200.0 - 1.0).abs() < 0.03, "{full:?}");
    // Alone, an order takes 8 ms of CPU; the rest of the lowest response time does not queue.
    let rest = (structure.residual_s, readings.all[0].response_s - 0.0085);
    assert!((rest.0 - rest.1.max(0.0)).abs() < 0.001, "{rest:?}");
    let busy = 0.008 * low.x / (1.0 + 0.003 * low.x);
    assert!(
        (low.utilisation / busy - 1.0).abs() < 0.03,
        "{low:?} {busy}"
    );
}

#[test]
fn product_form_systems_are_predicted_from_their_lower_half() {
    let worlds = [
        World::PLAIN,
        World {
            background: 0.05,
            delay_s: 0.03,
            ..World::PLAIN
        },
    ];
    for world in worlds {
        let error = HeldOutError::from_run(&ladder(&world, 3)).expect("eight loads");
        assert!(error.mape < 0.03, "{world:?} {error:#?}");
        assert_eq!(
            (error.model, error.unit),
            (Method::Counters.name(), "users")
        );
        assert_eq!(
            (error.fitted_loads.last(), error.held_out_loads.first()),
            (Some(&32.0), Some(&48.0))
        );
        assert!(error.beats_last_value && error.inside > 0.9 && error.points == 4);
    }
}

#[test]
fn a_lock_that_no_counter_shows_is_found_in_throughput() {
    // The lock takes longer than the CPU: it is the bottleneck at 143 orders/s.
    let world = World {
        lock_s: 0.007,
        ..World::PLAIN
    };
    let run = ladder(&world, 3);
    let forecaster = forecaster(&run);
    assert_eq!(
        forecaster.choice.method,
        Method::Hidden,
        "{}",
        forecaster.choice.reason
    );
    let structure = forecaster.structure().expect("a queueing model");
    assert!(
        (structure.hidden_s / 0.007 - 1.0).abs() < 0.05,
        "{structure:?}"
    );
    let shape = &forecaster.readings.shapes()[0];
    let numbers = forecaster
        .forecast(shape, 120.0)
        .numbers
        .expect("below twice the largest load");
    assert_eq!(numbers.limit, Some(Limit::HiddenQueue));
    assert!(
        (numbers.units_per_minute.value / (60.0 / 0.007) - 1.0).abs() < 0.03,
        "{numbers:?}"
    );
    // The CPU is no explanation: a counter says how busy it was. Nor is a lock in each guest, for
    // guests that nobody measured: it may be something that all share.
    assert!(
        forecaster
            .candidates
            .structure(Method::Throughput)
            .is_err_and(|error| matches!(error, PredictError::Contradicted { .. })),
        "{:?}",
        forecaster.candidates.structure(Method::Throughput)
    );
    let other = self::shape(&run, 1, 2, Vcpus(1000), Host::default()).expect("it fits");
    let refused = forecaster.forecast(&other, 40.0).numbers;
    assert!(
        matches!(refused, Err(PredictError::NotTheCpu { .. })),
        "{refused:?}"
    );
    let plain = Candidates::fit(&readings(&ladder(&World::PLAIN, 3)));
    assert!(
        plain
            .structure(Method::Hidden)
            .is_err_and(|error| *error == PredictError::NoHiddenQueue)
    );
}

#[test]
fn without_counters_throughput_must_show_the_ceiling() {
    let world = World {
        counters: false,
        ..World::PLAIN
    };
    let run = ladder(&world, 3);
    let forecaster = forecaster(&run);
    let state = forecaster
        .candidates
        .structure(Method::Throughput)
        .expect("a ceiling was seen")
        .at(&forecaster.readings.shapes()[0], 150.0);
    let ceiling = state.expect("solvable").x;
    assert!((ceiling / 200.0 - 1.0).abs() < 0.03, "{ceiling}");
    // Below the knee nothing shows it.
    let below = Split::by_load(&readings(&run), 0.6).expect("loads").fitted;
    let refused = Candidates::fit(&below);
    assert!(
        refused
            .structure(Method::Counters)
            .is_err_and(|error| *error == PredictError::NoDemand)
    );
    assert!(
        refused
            .structure(Method::Throughput)
            .is_err_and(|error| matches!(error, PredictError::FarFromCeiling { .. }))
    );
}

#[test]
fn another_number_of_guests_is_predicted_and_held_out() {
    let world = World {
        growth: 0.04,
        ..World::PLAIN
    };
    let run = run(&study("[1, 2, 4]", &LADDER, 2), &world, 5);
    let holdout = Holdout::of_guests(&readings(&run), 20, SEED).expect("three numbers");
    assert!(
        holdout.error().is_some_and(|error| error.mape < 0.03),
        "{holdout:#?}"
    );
    let shape = shape(&run, 1, 8, Vcpus(1000), Host::default()).expect("it fits");
    let forecast = forecaster(&run).forecast(&shape, 96.0);
    let truth = world.play(8, 96, 77, 20_000).x * 60.0;
    let numbers = forecast.numbers.expect("twice the guests");
    assert_eq!(forecast.place, Place::OtherLayout);
    assert!(
        (numbers.units_per_minute.value / truth - 1.0).abs() < 0.03
            && numbers.units_per_minute.holds(truth),
        "{numbers:?} {truth}"
    );
}

#[test]
fn numbers_are_refused_far_from_what_was_measured() {
    let run = ladder(&World::PLAIN, 3);
    let forecaster = forecaster(&run);
    let one = &forecaster.readings.shapes()[0];
    assert!(forecaster.forecast(one, 192.0).numbers.is_ok());
    let refused = forecaster
        .forecast(one, 193.0)
        .numbers
        .expect_err("beyond twice 96");
    assert_eq!(
        refused.to_string(),
        "F13: more than twice the largest measured load of this layout, users (96)"
    );
    let eight = shape(&run, 1, 8, Vcpus(1000), Host::default()).expect("it fits");
    let refused = forecaster
        .forecast(&eight, 50.0)
        .numbers
        .expect_err("eight guests from one");
    assert_eq!(
        refused.to_string(),
        "F13: more than twice the largest measured number of guests (1)"
    );
    let wide = Host {
        cpus: Some(8),
        memory_mib: None,
    };
    let wide = shape(&run, 1, 2, Vcpus(4000), wide).expect("it fits");
    assert!(
        forecaster
            .forecast(&wide, 50.0)
            .numbers
            .is_err_and(|error| error.to_string().contains("number of cores (1)"))
    );
    let small = Host {
        cpus: None,
        memory_mib: Some(300),
    };
    let refused = shape(&run, 1, 4, Vcpus(1000), small).expect_err("4 x 128 MiB");
    assert!(refused.to_string().contains("MiB"), "{refused}");
}

#[test]
fn too_few_loads_have_no_held_out_error() {
    let refused = HeldOutError::from_run(&run(&study("1", &[16, 64], 3), &World::PLAIN, 1))
        .expect_err("two loads");
    assert_eq!(
        refused.to_string(),
        "only 2 different loads per core were measured, and 3 are needed to hold out 1"
    );
    let refused = HeldOutError::from_run(&run(&study("1", &[16], 3), &World::PLAIN, 1))
        .expect_err("one load");
    assert_eq!(
        refused.to_string(),
        "only one load per core was measured, and a curve needs 3 different ones or more"
    );
    let mut empty = ladder(&World::PLAIN, 1);
    empty.trials.clear();
    assert_eq!(
        HeldOutError::from_run(&empty)
            .expect_err("no trial")
            .to_string(),
        "no trial is good enough to fit"
    );
}

#[test]
fn percentiles_and_limits_follow_the_measured_ratios() {
    let run = ladder(&World::PLAIN, 3);
    let forecaster = forecaster(&run);
    let shape = &forecaster.readings.shapes()[0];
    let at = |users: f64| forecaster.forecast(shape, users).numbers.expect("near");
    assert_eq!((at(20.0).kept, at(180.0).kept), (Kept::Yes, Kept::No));
    assert_eq!(
        at(180.0).nearest_limit.as_deref(),
        Some("purchase p95 <= 200 ms")
    );
    let truth = World::PLAIN.play(1, 72, 9, 200_000);
    for quantile in at(72.0).quantiles {
        let measured = truth
            .times
            .quantile(quantile.percentile / 100.0)
            .expect("played");
        assert!(
            (quantile.seconds.value / measured - 1.0).abs() < 0.15,
            "{quantile:?} {measured}"
        );
    }
}

#[test]
fn the_planner_finds_what_brute_force_finds() {
    let world = World {
        growth: 0.08,
        ..World::PLAIN
    };
    let run = run(&study("[1, 2, 4]", &LADDER, 3), &world, 6);
    let forecaster = forecaster(&run);
    let packing = pack(&run, &forecaster, Host::default(), None);
    assert_eq!(
        packing.layouts[0].guests, 1,
        "every further guest costs 8 %: {packing:#?}"
    );
    for packed in packing.layouts.iter().filter(|packed| packed.guests <= 4) {
        // The largest number of users whose p95 of a purchase, nine tenths of an order, is within
        // 200 ms.
        let keeps = |users: &u32| {
            let played = world.play(packed.guests, *users, 31, 40_000);
            0.9 * played.times.quantile(0.95).expect("played") <= 0.2
        };
        let brute = (30..160).step_by(2).take_while(keeps).last().expect("some");
        let most = packed.most_load;
        assert!(
            (most.value / f64::from(brute) - 1.0).abs() < 0.1,
            "{} guests: {most:?} {brute}",
            packed.guests
        );
        assert!(
            most.low <= f64::from(brute) && f64::from(brute) <= most.high,
            "{most:?} {brute}"
        );
    }
    let asked = pack(&run, &forecaster, Host::default(), Some(40.0));
    assert!(
        asked.layouts[0]
            .forecast
            .numbers
            .as_ref()
            .is_ok_and(|numbers| numbers.kept == Kept::Yes)
    );
    let text = confirming_study(&run, &forecaster, &packing, 2).to_toml();
    let document = Document::parse("confirm.toml", &text).expect("a valid study");
    let plan = Plan::of(&document, &run.header.host.facts).expect("it fits");
    let loads: Vec<u32> = plan
        .points
        .iter()
        .map(rookery_study::Point::total_users)
        .collect();
    assert_eq!(
        loads,
        [0, 1].map(|i| packing.layouts[i].most_load.value as u32)
    );
}

#[test]
fn a_hint_for_a_search_is_near_the_knee() {
    // Two loads far below the limit are enough to know roughly where it is.
    let run = run(&study("1", &[8, 24], 3), &World::PLAIN, 8);
    let hint = predicted_knee(&run, 1, 1, Vcpus(1000)).expect("a limit on p95");
    let keeps = |users: &u32| {
        0.9 * World::PLAIN
            .play(1, *users, 31, 40_000)
            .times
            .quantile(0.95)
            .expect("played")
            <= 0.2
    };
    let truth = f64::from((30..160).step_by(2).take_while(keeps).last().expect("some"));
    assert!(
        hint.load / truth < hint.factor && truth / hint.load < hint.factor,
        "{hint:?} {truth}"
    );
    let mut none = run.clone();
    none.trials.clear();
    assert_eq!(predicted_knee(&none, 1, 1, Vcpus(1000)), None);
}

#[test]
fn intervals_hold_new_runs() {
    // 60 ladders in worlds of different demands and delays; a new run at a load between, at one
    // beyond, and at a held-out one.
    let (mut hits, mut all) = (0, 0);
    for seed in 0..20_u64 {
        let world = World {
            demand_s: 0.003 + 0.0002 * seed as f64,
            delay_s: 0.001 * (seed % 7) as f64,
            ..World::PLAIN
        };
        let run = run(&study("1", &[10, 20, 40, 60, 80], 3), &world, 100 + seed);
        let forecaster = Forecaster::fit(readings(&run), 40, seed).expect("models fit");
        let shape = &forecaster.readings.shapes()[0];
        for users in [30, 70, 120] {
            let truth = world.play(1, users, 999 + seed, 3000).x * 60.0;
            let range = forecaster
                .forecast(shape, f64::from(users))
                .numbers
                .expect("near")
                .units_per_minute;
            all += 1;
            hits += u32::from(range.holds(truth));
        }
    }
    // 95 % or more: the error of the model is added although these models are right.
    assert!(hits >= all * 92 / 100, "{hits} of {all}");
}

#[test]
fn guests_that_compete_are_solved_as_if_alone_where_nothing_is_short() {
    let structure = |hidden_s: f64| Structure {
        calibration: None,
        scale: 0.005,
        hidden_s,
        residual_s: 0.002,
        offer: Offer::Closed {
            think_s: 0.25,
            cycle: false,
        },
    };
    let shape = |guests: u32, cap: f64, cpus: u32| Shape {
        guests,
        vcpus: cap,
        servers: 1,
        cap,
        groups: vec![Group { guests, cpus }],
        memory_mib: 128,
    };
    let x = |structure: &Structure, shape: &Shape, users: f64| {
        structure.at(shape, users).expect("solvable").x
    };
    for hidden_s in [0.0, 0.003] {
        let structure = structure(hidden_s);
        // Caps of half a core, and a hair more than half: eight guests compete for four cores in
        // the second case alone.
        let (alone, competing) = (
            x(&structure, &shape(8, 0.5, 4), 160.0),
            x(&structure, &shape(8, 0.5001, 4), 160.0),
        );
        assert!(
            (alone / competing - 1.0).abs() < 0.02,
            "{hidden_s}: {alone} {competing}"
        );
        let one = x(&structure, &shape(1, 0.5, 1), 20.0);
        assert!((alone - 8.0 * one).abs() < 1e-9);
    }
    // A cap of a hair less than the core that is shared is as good as none.
    let (capped, free) = (
        x(&structure(0.0), &shape(4, 0.9999, 1), 40.0),
        x(&structure(0.0), &shape(4, 1.0, 1), 40.0),
    );
    assert!((capped / free - 1.0).abs() < 1e-3, "{capped} {free}");
}
