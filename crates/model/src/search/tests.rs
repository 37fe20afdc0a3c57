//! The search on simulated servers: how often its interval holds the knee, and what it costs.

use proptest::prelude::*;

use super::*;
use crate::{queue::repairman_quantile, random::Stream};

const RULE: &str = "purchase p95 <= 250 ms";

fn play(settings: Settings, mut outcome: impl FnMut(&Probe) -> Outcome) -> Answer {
    let mut search = Search::new(settings).expect("good settings");
    while let Some(probe) = search.next_probe() {
        search.observe(outcome(&probe));
    }
    search.finish()
}

/// The verdict on a value that is so many times its limit.
fn judge(excess: f64) -> Outcome {
    if excess <= 1.0 {
        Outcome::Pass
    } else {
        Outcome::Fail {
            rule: RULE.to_owned(),
        }
    }
}

/// A server whose knee is known, with noise between runs.
struct Server {
    /// 95th percentile at 1, 2, ... users, or none for a percentile that grows as the load does.
    table: Option<Vec<f64>>,
    knee: f64,
    noise: f64,
    stream: Stream,
}

impl Server {
    fn run(&mut self, load: f64) -> Outcome {
        let radius = (-2.0 * self.stream.uniform().ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.stream.uniform()).cos();
        let excess = match &self.table {
            Some(table) => table[load as usize - 1] / table[self.knee as usize - 1],
            None => load / self.knee,
        };
        judge(excess * (self.noise * normal).exp())
    }
}

/// 95th percentiles of one server of 10 ms with 1 s of think time: the knee of its throughput is at
/// 101 users.
fn table() -> Vec<f64> {
    (1..=400)
        .map(|users| repairman_quantile(0.01, 1.0, users, 0.95).expect("in range"))
        .collect()
}

/// The whole row of 200 servers: how many intervals hold the knee, mean relative error of the knee,
/// most probes, share confirmed.
fn row(
    table: Option<&Vec<f64>>,
    noise: f64,
    most_probes: u32,
    confirm: u32,
) -> (u32, f64, usize, f64) {
    let settings = Settings {
        lowest: 20.0,
        highest: 400.0,
        whole: table.is_some(),
        most_probes,
        confirm,
        ..Settings::users()
    };
    let (mut held, mut error, mut most, mut confirmed) = (0, 0.0, 0, 0);
    for seed in 0..200 {
        let mut stream = Stream::new(seed, 0x5ea);
        let knee = 40.0 + 300.0 * stream.uniform();
        let knee = if table.is_some() { knee.floor() } else { knee };
        let table = table.cloned();
        let mut server = Server {
            table,
            knee,
            noise,
            stream,
        };
        let answer = play(settings, |probe| server.run(probe.load));
        let (low, high) = answer.interval;
        held +=
            u32::from(low.is_none_or(|low| low <= knee) && high.is_none_or(|high| knee <= high));
        error += (answer.knee - knee).abs() / knee / 200.0;
        most = most.max(answer.probes.len());
        confirmed += u32::from(answer.confirmed);
    }
    (held, error, most, f64::from(confirmed) / 200.0)
}

#[test]
fn intervals_hold_the_knee_with_sixty_percent_of_the_probes_of_a_ladder() {
    let table = table();
    for server in [Some(&table), None] {
        for (noise, largest_error, fewest_confirmed) in
            [(0.02, 0.015, 0.95), (0.05, 0.03, 0.9), (0.1, 0.05, 0.85)]
        {
            // Ten loads, three repeats each.
            let (held, error, most, confirmed) = row(server, noise, 18, 3);
            assert!(
                held >= 186 && most <= 18,
                "noise {noise}: {held} of 200 with {most} probes"
            );
            assert!(
                error <= largest_error,
                "noise {noise}: knee off by {error:.3} on average"
            );
            assert!(
                confirmed >= fewest_confirmed,
                "noise {noise}: {confirmed} confirmed"
            );
            // Ten loads, tried once.
            let (held, _, most, _) = row(server, noise, 6, 1);
            assert!(
                held >= 186 && most <= 6,
                "noise {noise}: {held} of 200 with {most} probes"
            );
        }
    }
}

/// As [`row`] for other things that are searched: `knees` says where the knee lies for a uniform
/// number.
fn other_row(settings: Settings, knees: impl Fn(f64) -> f64, noise: f64) -> (u32, f64, usize) {
    let (mut held, mut error, mut most) = (0, 0.0, 0);
    for seed in 0..200 {
        let mut stream = Stream::new(seed, 0x60e57);
        let knee = knees(stream.uniform());
        let mut server = Server {
            table: None,
            knee,
            noise,
            stream,
        };
        let answer = play(settings, |probe| server.run(probe.load));
        let (low, high) = answer.interval;
        held +=
            u32::from(low.is_none_or(|low| low <= knee) && high.is_none_or(|high| knee <= high));
        error += (answer.knee - knee).abs() / knee / 200.0;
        most = most.max(answer.probes.len());
    }
    (held, error, most)
}

#[test]
fn guests_and_rates_are_found_as_users_are() {
    let budget = |settings: Settings| Settings {
        most_probes: 18,
        ..settings
    };
    for (noise, largest_error) in [(0.02, 0.03), (0.05, 0.04), (0.1, 0.06)] {
        let guests = other_row(
            budget(Settings::guests(64)),
            |u| (1.0 + 63.0 * u).floor(),
            noise,
        );
        let rate = other_row(
            budget(Settings::rate()),
            |u| 10.0 * 1000.0_f64.powf(u),
            noise,
        );
        for (what, (held, error, most)) in [("guests", guests), ("rate", rate)] {
            // Of ten loads with three repeats each, 60 %.
            assert!(
                held >= 186 && most <= 18,
                "{what}, noise {noise}: {held} of 200 with {most} probes"
            );
            assert!(
                error <= largest_error,
                "{what}, noise {noise}: knee off by {error:.3} on average"
            );
        }
    }
}

#[test]
fn without_noise_the_load_is_found_to_the_resolution() {
    let table = table();
    for knee in (20..400).step_by(7) {
        let settings = Settings {
            highest: 400.0,
            ..Settings::users()
        };
        let answer = play(settings, |probe| {
            judge(table[probe.load as usize - 1] / table[knee - 1])
        });
        let load = answer.load.expect("a load");
        let step = (0.02 * load).max(1.0);
        assert!(
            answer.confirmed && load <= knee as f64 && knee as f64 - load <= step,
            "{knee}: {answer:?}"
        );
        assert!(
            answer.probes.len() <= 20 && answer.ending == Ending::Found,
            "{knee}: {answer:?}"
        );
        assert_eq!(
            (answer.binding.as_deref(), answer.contradiction()),
            (Some(RULE), None)
        );
    }
}

#[test]
fn servers_that_always_fail_or_always_pass_come_to_an_end() {
    let failing = play(Settings::users(), |_| judge(2.0));
    assert_eq!(
        (failing.load, failing.ending.clone(), failing.confirmed),
        (None, Ending::NothingPasses, false)
    );
    assert!(
        failing.probes.len() <= 12 && failing.interval.0.is_none(),
        "{failing:?}"
    );
    let passing = play(Settings::users(), |_| Outcome::Pass);
    assert_eq!(
        (passing.load, passing.ending.clone()),
        (Some(10_000.0), Ending::EverythingPasses)
    );
    assert!(
        passing.confirmed && passing.probes.len() <= 20 && passing.interval.1.is_none(),
        "{passing:?}"
    );
}

#[test]
fn a_few_guests_are_counted_exactly() {
    for most in 2..=16 {
        for knee in 1..=most {
            let answer = play(Settings::guests(most), |probe| {
                judge(probe.load / f64::from(knee))
            });
            assert_eq!(
                answer.load,
                Some(f64::from(knee)),
                "{knee} of {most}: {answer:?}"
            );
            assert!(answer.confirmed && answer.probes.len() <= 16, "{answer:?}");
        }
    }
    let single = play(Settings::guests(1), |_| Outcome::Pass);
    assert_eq!(
        (single.load, single.ending),
        (Some(1.0), Ending::EverythingPasses)
    );
}

#[test]
fn hints_and_ladders_save_probes() {
    let probes = |settings: Settings, ladder: &[f64]| {
        let mut search = Search::new(settings).expect("good settings");
        ladder
            .iter()
            .for_each(|load| search.learn(*load, *load <= 420.0));
        while let Some(probe) = search.next_probe() {
            search.observe(judge(probe.load / 420.0));
        }
        let answer = search.finish();
        assert!(
            answer.confirmed
                && answer
                    .load
                    .is_some_and(|load| (411.0..=420.0).contains(&load)),
            "{answer:?}"
        );
        answer.probes.len()
    };
    let hint = |load, factor| Settings {
        hint: Some(Hint { load, factor }),
        ..Settings::users()
    };
    let cold = probes(Settings::users(), &[]);
    let warm = probes(hint(440.0, 1.2), &[]);
    let ladder = probes(
        Settings::users(),
        &[100.0, 200.0, 300.0, 400.0, 500.0, 600.0],
    );
    assert!(
        warm + 2 <= cold && ladder + 2 <= cold,
        "{cold} cold, {warm} warm, {ladder} after a ladder"
    );
    assert!(
        probes(hint(40.0, 1.2), &[]) <= 20,
        "a wrong hint costs probes, not the answer"
    );
}

#[test]
fn overload_is_approached_in_doublings() {
    let answer = play(
        Settings {
            hint: Some(Hint {
                load: 10.0,
                factor: 1.5,
            }),
            ..Settings::users()
        },
        |probe| judge(probe.load / 300.0),
    );
    let mut largest = 10.0_f64;
    for (probe, outcome) in &answer.probes {
        assert!(probe.load <= 2.0 * largest + 1.0, "{answer:?}");
        largest = if outcome.passed() == Some(true) {
            largest.max(probe.load)
        } else {
            largest
        };
    }
}

#[test]
fn an_invalid_probe_is_repeated_twice() {
    let invalid = || Outcome::Invalid {
        reason: "the driver used 93 % of its CPUs".to_owned(),
    };
    let mut tried = 0;
    let answer = play(Settings::users(), |probe| {
        tried += 1;
        if tried <= 2 {
            invalid()
        } else {
            judge(probe.load / 50.0)
        }
    });
    let first: Vec<_> = answer.probes[..3]
        .iter()
        .map(|(probe, _)| (probe.load, probe.attempt))
        .collect();
    let load = first[0].0;
    assert!(
        answer.confirmed && first == [(load, 0), (load, 1), (load, 2)],
        "{first:?}"
    );
    let limited = play(Settings::users(), |probe| {
        if probe.load > 60.0 {
            invalid()
        } else {
            Outcome::Pass
        }
    });
    let Ending::Invalid { load, .. } = &limited.ending else {
        panic!("{limited:?}")
    };
    assert!(*load > 60.0 && !limited.confirmed);
}

#[test]
fn the_same_outcomes_lead_the_same_way() {
    let mut server = Server {
        table: None,
        knee: 77.0,
        noise: 0.1,
        stream: Stream::new(5, 5),
    };
    let answer = play(Settings::rate(), |probe| server.run(probe.load));
    let mut stored = answer.probes.iter();
    let again = play(Settings::rate(), |probe| {
        let (known, outcome) = stored.next().expect("as many probes");
        assert_eq!(probe, known);
        outcome.clone()
    });
    assert_eq!(again, answer);
}

/// Runs that fail for no reason of the load (a hiccup of the host) mislead neither the interval nor
/// the way.
#[test]
fn hiccups_do_not_mislead() {
    let table = table();
    let held = (0..100).filter(|seed| {
        let mut hiccups = Stream::new(*seed, 0x41c);
        let settings = Settings {
            highest: 400.0,
            ..Settings::users()
        };
        let answer = play(settings, |probe| match hiccups.uniform() {
            luck if luck < 0.04 => judge(2.0),
            _ => judge(table[probe.load as usize - 1] / table[199]),
        });
        let (low, high) = answer.interval;
        low.is_none_or(|low| low <= 200.0) && high.is_none_or(|high| high >= 200.0)
    });
    let held = held.count();
    assert!(held >= 90, "{held} of 100");
}

#[test]
fn the_rule_that_binds_is_the_one_nearest_above() {
    let answer = play(Settings::users(), |probe| match probe.load {
        load if load <= 90.0 => Outcome::Pass,
        load if load <= 120.0 => Outcome::Fail {
            rule: "search p95 <= 100 ms".to_owned(),
        },
        _ => Outcome::Fail {
            rule: "errors <= 0.1 %".to_owned(),
        },
    });
    assert_eq!(answer.binding.as_deref(), Some("search p95 <= 100 ms"));
    assert!(
        answer
            .sentence("users")
            .contains("first to break: search p95 <= 100 ms")
    );
}

/// A guest that needs so many MiB.
fn need(mib: f64, probe: &Probe) -> Outcome {
    judge(mib / probe.load)
}

#[test]
fn the_least_memory_is_found_wherever_it_lies() {
    for mib in (20..1_000).step_by(7).map(f64::from) {
        let answer = play(Settings::memory(16, 1_024), |probe| need(mib, probe));
        let found = answer.load.expect("some memory is enough");
        assert!(answer.confirmed, "{mib}: {answer:?}");
        assert!((mib..mib * 1.05 + 1.0).contains(&found), "{mib}: {found}");
        let (Some(low), Some(high)) = answer.interval else {
            panic!("{mib}: {answer:?}");
        };
        assert!(low <= mib && mib <= high, "{mib}: {answer:?}");
        assert_eq!(answer.contradiction(), None);
    }
}

/// How many of 60 guests that need known amounts have an interval that holds it and is at most so
/// wide, and how many an interval that holds it.
fn narrowed(noise: f64, most_probes: u32) -> (u32, u32) {
    let settings = Settings {
        interval: Some(0.05),
        most_probes,
        ..Settings::memory(16, 1_024)
    };
    let (mut narrow, mut held) = (0, 0);
    for seed in 0..60 {
        let mut stream = Stream::new(seed, 0x3e3);
        let mib = (20.0 * 45.0_f64.powf(stream.uniform())).round();
        let mut server = Server {
            table: None,
            knee: 1.0,
            noise,
            stream,
        };
        let answer = play(settings, |probe| server.run(mib / probe.load));
        assert!(answer.probes.len() <= most_probes as usize);
        let (Some(low), Some(high)) = answer.interval else {
            continue;
        };
        let holds = low <= mib && mib <= high;
        held += u32::from(holds);
        // Whole MiB are rounded outwards.
        narrow += u32::from(holds && high - low <= 0.05 * low + 1.0);
    }
    (narrow, held)
}

#[test]
fn probes_that_are_left_over_make_the_interval_narrow() {
    let (narrow, held) = narrowed(0.0, 24);
    assert!(narrow >= 57 && held == 60, "{narrow} {held}");
    let (few, held) = narrowed(0.0, 10);
    assert!(few < narrow && held == 60, "{few} {held}");
    // Noise is no reason to be too sure.
    for noise in [0.02, 0.05] {
        let (_, held) = narrowed(noise, 24);
        assert!(held >= 55, "noise {noise}: {held}");
    }
}

#[test]
fn a_search_for_the_least_is_the_mirror_of_one_for_the_most() {
    // 10 to 1000 mirrored within itself: a load of 40 is memory of 250.
    let settings = Settings {
        lowest: 10.0,
        highest: 1_000.0,
        whole: false,
        hint: Some(Hint {
            load: 50.0,
            factor: 1.5,
        }),
        ..Settings::users()
    };
    let most = play(settings, |probe| judge(probe.load / 40.0));
    let mirrored = Settings {
        goal: Goal::Smallest,
        hint: Some(Hint {
            load: 200.0,
            factor: 1.5,
        }),
        ..settings
    };
    let least = play(mirrored, |probe| need(250.0, probe));
    let mirror = |load: f64| 10_000.0 / load;
    let near = |one: f64, other: f64| (one - other).abs() < 1e-6 * other;
    assert_eq!(most.probes.len(), least.probes.len());
    for ((one, _), (other, _)) in most.probes.iter().zip(&least.probes) {
        assert!(near(mirror(one.load), other.load), "{one:?} {other:?}");
    }
    assert!(near(
        mirror(most.load.expect("a load")),
        least.load.expect("an amount")
    ));
    let ((low, high), (least_low, least_high)) = (most.interval, least.interval);
    assert!(near(
        mirror(high.expect("an end")),
        least_low.expect("an end")
    ));
    assert!(near(
        mirror(low.expect("an end")),
        least_high.expect("an end")
    ));
}

#[test]
fn too_little_everywhere_and_enough_everywhere_are_told_apart() {
    let ends = [4_000.0, 1.0]
        .map(|mib| play(Settings::memory(16, 1_024), |probe| need(mib, probe)).sentence("MiB"));
    insta::assert_snapshot!(ends.join("\n"), @r"
    no amount keeps the limits (6 probes; even the largest amount fails)
    16 MiB, confirmed; edge below 16 with 95 % (9 probes; even the smallest amount passes: search lower)
    ");
}

#[test]
fn what_a_ladder_of_memory_says_is_learnt_the_right_way_round() {
    let mut search = Search::new(Settings::memory(16, 1_024)).expect("good settings");
    for (mib, passed) in [
        (1_024.0, true),
        (384.0, true),
        (256.0, true),
        (144.0, false),
    ] {
        search.learn(mib, passed);
    }
    let first = search.next_probe().expect("a probe").load;
    assert!((144.0..=256.0).contains(&first), "{first}");
}

#[test]
fn answers_are_sentences() {
    let answer =
        |knee: f64| play(Settings::users(), |probe| judge(probe.load / knee)).sentence("users");
    let texts = [
        answer(240.0),
        answer(0.5),
        answer(1e9),
        Search::new(Settings::rate())
            .expect("good settings")
            .finish()
            .sentence("orders/s"),
        play(Settings::guests(6), |_| Outcome::Invalid {
            reason: "the clock stepped".to_owned(),
        })
        .sentence("guests"),
    ];
    insta::assert_snapshot!(texts.join("\n"), @r"
    236 users, confirmed; edge between 236 and 248 with 95 %; first to break: purchase p95 <= 250 ms (14 probes)
    no load keeps the limits (5 probes; even the lowest load fails)
    10000 users, confirmed; edge above 10000 with 95 % (12 probes; even the highest load passes: search higher)
    no load is known to keep the limits (0 probes; interrupted)
    no load is known to keep the limits (3 probes; stopped at 2 guests: the clock stepped)
    ");
}

#[test]
fn settings_out_of_range_are_refused() {
    let good = Settings::users();
    let hint = |load, factor| Some(Hint { load, factor });
    let bad = [
        Settings {
            lowest: 0.0,
            ..good
        },
        Settings {
            highest: f64::INFINITY,
            ..good
        },
        Settings {
            lowest: 1.5,
            ..good
        },
        Settings {
            hint: hint(5.0, 1.0),
            ..good
        },
        Settings {
            hint: hint(f64::NAN, 2.0),
            ..good
        },
        Settings {
            resolution: 0.0,
            ..good
        },
        Settings {
            most_probes: 1,
            ..good
        },
        Settings {
            confirm: 99,
            ..good
        },
    ];
    let refusals = bad.map(|settings| Search::new(settings).expect_err("bad settings").to_string());
    insta::assert_snapshot!(refusals.join("\n"), @r"
    the range of loads must run from above 0 to something larger, not from 0 to 10000
    the range of loads must run from above 0 to something larger, not from 1 to inf
    users, guests and MiB are whole numbers: the range 1.5 to 10000 must have whole ends
    the hint must be a load above 0 with a factor from 1.01 to 10, not 5 with 1
    the hint must be a load above 0 with a factor from 1.01 to 10, not NaN with 2
    resolution must lie between 0.001 and 0.5, not 0
    most_probes must lie between 2 and 200, not 1
    confirm must lie between 0 and 10, not 99
    ");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_comes_out_it_stays_in_range_and_ends(
        outcomes in prop::collection::vec(0_u8..8, 40),
        lowest in 1_u32..50,
        span in 0_u32..2_000,
        goal in prop::sample::select(vec![Goal::Largest, Goal::Smallest]),
        whole in any::<bool>(),
        most_probes in 2_u32..40,
        confirm in 0_u32..5,
        resolution in 0.005..0.3_f64,
        interval in prop::option::of(0.01..0.5_f64),
    ) {
        let settings = Settings {
            goal,
            lowest: f64::from(lowest),
            highest: f64::from(lowest + span),
            whole,
            resolution,
            interval,
            hint: None,
            most_probes,
            confirm,
        };
        let mut next = 0;
        let answer = play(settings, |_| {
            next += 1;
            match outcomes[next - 1] {
                0 => Outcome::Invalid { reason: "a test".to_owned() },
                outcome => judge(f64::from(outcome) / 4.0),
            }
        });
        prop_assert!(answer.probes.len() <= most_probes as usize);
        let inside = |load: f64| (settings.lowest..=settings.highest).contains(&load) && (!whole || load.fract() == 0.0);
        prop_assert!(answer.probes.iter().all(|(probe, _)| inside(probe.load)));
        prop_assert!(answer.load.is_none_or(inside));
        prop_assert!((settings.lowest..=settings.highest).contains(&answer.knee));
        if let (Some(low), Some(high)) = answer.interval {
            prop_assert!(low <= high);
        }
        let confirms = |(probe, outcome): &&(Probe, Outcome)| {
            Some(probe.load) == answer.load && probe.purpose == Purpose::Confirm && *outcome == Outcome::Pass
        };
        let confirmations = answer.probes.iter().filter(confirms).count();
        prop_assert!(!answer.confirmed || confirmations >= confirm as usize, "{:?}", answer);
    }
}
