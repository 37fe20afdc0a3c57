//! What is refused before a connection is made.

use rookery_driver::{Arrivals, Precision, Profile};
use rookery_workload::orderentry::Scale;

use super::*;

/// A trial that could be.
pub(super) fn config() -> TrialConfig {
    TrialConfig {
        guests: vec![TrialGuest {
            name: "g1".to_owned(),
            target: "mysql://oe@127.0.0.1:9/shop".parse().expect("a target"),
            terminals: 2,
            population: Population::new(Scale::new(1, 100).expect("valid"), 42),
        }],
        threads: Threads::Free(2),
        network: None,
        load: Load::Closed,
        phases: Phases {
            ramp_up: Duration::ZERO,
            settle: Duration::ZERO,
            steady: Duration::from_secs(1),
            ramp_down: Duration::ZERO,
            drain: Duration::from_secs(1),
        },
        session: SessionOptions::default(),
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        think: rookery_workload::DelayDistribution::TruncatedExponential,
        delivery: DeliveryMode::Inline,
        max_retries: 10,
        patience: None,
        seed: 7,
        confirmed: Vec::new(),
    }
}

fn open_load() -> OpenLoad {
    OpenLoad {
        arrivals: Arrivals::Poisson,
        profile: Profile::level(100.0),
        weights: Vec::new(),
        max_in_flight: 10,
        precision: Precision::Exact,
        visit: Visit::Single,
    }
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(config().check().is_ok());
    let refusal = |change: fn(&mut TrialConfig)| {
        let mut config = config();
        change(&mut config);
        config.check().expect_err("refused").to_string()
    };
    type Change = fn(&mut TrialConfig);
    let cases: [(Change, &str); 8] = [
        (
            |config| config.threads = Threads::Free(0),
            "at least one thread",
        ),
        (|config| config.guests.clear(), "at least one thread"),
        (
            |config| config.guests[0].terminals = 0,
            "one terminal at each guest",
        ),
        (
            |config| config.phases.steady = Duration::ZERO,
            "longer than 0 s",
        ),
        (|config| config.pacing = Pacing::Rate(5.0), "open load"),
        (
            |config| {
                config.load = Load::Open(open_load());
                config.guests[0].terminals = 1;
            },
            "one connection at each guest",
        ),
        (
            |config| {
                config.load = Load::Open(OpenLoad {
                    visit: Visit::Acts(2),
                    ..open_load()
                });
            },
            "one transaction",
        ),
        (
            |config| {
                config.guests[0].target = "mysql://oe@192.0.2.1/shop".parse().expect("a target")
            },
            "not this machine",
        ),
    ];
    for (change, word) in cases {
        let text = refusal(change);
        assert!(text.contains(word), "{text}");
    }
    let mut inside = config();
    inside.guests[0].target = "mysql://oe@192.0.2.1/shop".parse().expect("a target");
    inside.network = Some("/run/netns/lab".into());
    assert!(inside.check().is_ok(), "the lab's own network");
}

#[test]
fn guests_do_not_work_in_step() {
    let mut config = config();
    config.guests.push(config.guests[0].clone());
    assert_eq!(config.plan(0).seed, config.seed);
    assert_ne!(config.plan(0).seed, config.plan(1).seed);
}

#[test]
fn no_database_at_all_is_an_error() {
    let stop = AtomicBool::new(false);
    let start = || -> Instant { panic!("nobody is connected") };
    let refused =
        run(&config(), &start, &stop, &|_| {}).expect_err("nothing listens on the discard port");
    assert!(matches!(refused, OltpError::NoServer { .. }), "{refused}");
}

#[test]
fn a_trial_travels_as_json() {
    let mut open = config();
    open.load = Load::Open(open_load());
    open.threads = Threads::Pinned(vec![1, 3]);
    open.network = Some("/run/netns/lab".into());
    open.patience = Some(Duration::from_millis(1_500));
    open.confirmed = vec!["192.0.2.1".parse().expect("an address")];
    for config in [config(), open] {
        let sent = serde_json::to_string(&config).expect("plain data");
        let arrived: TrialConfig = serde_json::from_str(&sent).expect(&sent);
        assert_eq!(arrived, config);
    }
}
