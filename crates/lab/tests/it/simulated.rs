//! Simulated studies on the whole road: plan, conductor, store; and the truth about them.

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

use rookery_analysis::{Run, search::found};
use rookery_lab::{Conductor, Event, PlanChanges, simulated};
use rookery_model::queue::{Station, solve};
use rookery_stats::Measurement;
use rookery_store::{Outcome, Store, TrialRecord};
use rookery_study::{Document, HostFacts, Plan};

/// A small host, on which no simulated study depends.
fn host() -> HostFacts {
    HostFacts {
        cpus: vec![0, 1],
        memory_mib: 1024,
        disk_free_mib: 1024,
        root: false,
        places: Vec::new(),
    }
}

/// Two cores of a host of three; 8 ms of CPU, 1 ms under the lock and 2 ms of disk in an order; no
/// noise.
pub(crate) fn study(stack: &str, users: &str, layouts: &str) -> Document {
    let text = format!(
        "title = \"Simulated\"\n\
         [workload]\nkind = \"dvdstore\"\nthink_time = \"100ms\"\n\
         [load]\nusers = {users}\nramp_up = \"1s\"\nsettle = \"2s\"\nsteady = \"20s\"\n\
         [qos]\np95 = \"100ms\"\n\
         [stack]\nkind = \"simulated\"\nhost_cpus = 3\nlock_demand = \"1ms\"\ndisk_demand \
         = \"2ms\"\n{stack}\n\
         [guest]\nkind = \"fake\"\n{layouts}"
    );
    Document::parse("simulated.toml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) const ONE_BIG: &str = "[[layout]]\nname = \"one-big\"\nguests = 1\nvcpus = 2\n";
pub(crate) const SPLIT: &str = "[[layout]]\nname = \"split\"\nguests = 2\nvcpus = 1\n";

pub(crate) fn plan(document: &Document) -> Plan {
    Plan::of(document, &host()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Runs a study; the store of the run.
fn run(document: &Document, runs: &Path) -> Store {
    let stop = AtomicBool::new(false);
    let conductor = Conductor {
        confirmed: Vec::new(),
        changes: PlanChanges::default(),
        labs: rookery_lab::Labs::Here,
        runs: runs.to_owned(),
        templates: runs.join("templates"),
        program: PathBuf::from("/bin/true"),
        stop: &stop,
        listener: &|_: &Event| (),
    };
    let summary = conductor
        .start(
            Path::new("simulated.toml"),
            document.text(),
            &[],
            document.study(),
            &plan(document),
        )
        .expect("a run");
    Store::open_read_only(summary.directory.join("run.sqlite")).expect("a store")
}

fn records(store: &Store) -> Vec<TrialRecord> {
    let rows = store.trials().expect("trials");
    rows.iter()
        .map(|row| {
            store
                .record(row.trial.id)
                .expect("readable")
                .expect("ended")
        })
        .collect()
}

fn orders_per_s(measured: &Measurement) -> f64 {
    let orders: u64 = measured
        .guests
        .iter()
        .map(|guest| counted(guest).n_overall)
        .sum();
    orders as f64 / (measured.window.end_s - measured.window.start_s)
}

#[test]
fn a_simulated_run_is_stored_like_any_other_and_says_what_it_is() {
    let runs = tempfile::tempdir().expect("a directory");
    let document = study("noise = 0.02", "[20, 60]", &format!("{ONE_BIG}{SPLIT}"));
    let store = run(&document, runs.path());
    let header = store.header().expect("a header");
    assert!(header.title.contains("imulated") && header.host.cpu_model == "simulated, 3 CPUs");
    assert!(
        store
            .notes()
            .expect("notes")
            .iter()
            .any(|note| format!("{note:?}").contains("nothing was measured"))
    );
    let records = records(&store);
    assert_eq!(records.len(), 4 * 3);
    for record in &records {
        assert_eq!(
            (record.outcome, record.reasons.as_slice()),
            (Outcome::Done, &[][..])
        );
        assert!(
            record
                .audits
                .iter()
                .all(|audit| audit.consistent && audit.rows[0].found > Some(0))
        );
        let guests = record.measurement.as_ref().expect("computed").guests.len();
        // 23 s of load, one sample a second of guests, host and driver.
        assert_eq!(record.resources.len(), 23 * (guests + 2));
    }
    assert!(
        !runs.path().join("templates").exists(),
        "no template was made"
    );
}

#[test]
fn the_same_study_gives_the_same_numbers() {
    let document = study("noise = 0.05", "[30]", SPLIT);
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let [first, second] = dirs
        .each_ref()
        .map(|dir| records(&run(&document, dir.path())));
    assert_eq!(first, second);
    assert_ne!(
        first[0].measurement, first[1].measurement,
        "repeats have seeds of their own"
    );
}

#[test]
fn throughput_is_that_of_the_exact_network() {
    let document = study("noise = 0", "[20]", ONE_BIG);
    let plan = plan(&document);
    let stations = [
        Station::servers(0.008, 2),
        Station::queue(0.001),
        Station::queue(0.002),
    ];
    for users in [5, 20, 40] {
        let exact = solve(&stations, 0.1, users).expect("a network").x;
        let measured =
            simulated::measure(&plan, &plan.points[0], users, Duration::from_secs(200), 1)
                .expect("a trial");
        let found = orders_per_s(&measured);
        assert!(
            (found / exact - 1.0).abs() < 0.02,
            "{users} users: {found} instead of {exact} orders/s"
        );
        assert!(
            measured.driver.little_error < 0.01,
            "{}",
            measured.driver.little_error
        );
    }
}

#[test]
fn slower_pages_are_seen_at_saturation() {
    let runs = tempfile::tempdir().expect("a directory");
    let document = study(
        "noise = 0\ncpu_demand = [\"8ms\", \"8.8ms\"]",
        "[100]",
        ONE_BIG,
    );
    let store = run(&document, runs.path());
    let rows = store.trials().expect("trials");
    let points = store.header().expect("a header").plan.points;
    let mean = |variant: u32| {
        let of = |row: &&rookery_store::TrialRow| {
            points
                .iter()
                .any(|point| point.id == row.trial.point && point.variant == variant)
        };
        let found: Vec<f64> = rows
            .iter()
            .filter(of)
            .map(|row| {
                orders_per_s(
                    &store
                        .record(row.trial.id)
                        .expect("readable")
                        .expect("ended")
                        .measurement
                        .expect("computed"),
                )
            })
            .collect();
        found.iter().sum::<f64>() / found.len() as f64
    };
    let (as_before, slower) = (mean(1), mean(2));
    assert!(
        (as_before / 250.0 - 1.0).abs() < 0.02,
        "two cores of 8 ms: {as_before}"
    );
    assert!(
        (as_before / slower / 1.1 - 1.0).abs() < 0.01,
        "{as_before} to {slower}"
    );
}

#[test]
fn a_freeze_is_in_the_response_times() {
    let document = study(
        "noise = 0\nfreeze = \"1s\"\nfreeze_every = \"10s\"",
        "[5]",
        ONE_BIG,
    );
    let plan = plan(&document);
    let measured = simulated::measure(&plan, &plan.points[0], 5, Duration::from_secs(100), 1)
        .expect("a trial");
    let order = measured.guests[0]
        .operations
        .iter()
        .find(|operation| operation.name == "order")
        .expect("orders");
    let longest = order.service.max_us().expect("orders");
    assert!((800_000..1_100_000).contains(&longest), "{longest} us");
    let still = measured.guests[0]
        .series
        .iter()
        .filter(|second| second.requests == 0)
        .count();
    assert!(still >= 9, "{still} seconds without an answer");
}

#[test]
fn arrivals_of_an_open_load_are_served_or_told() {
    let text = "title = \"Simulated\"\n\
         [workload]\nkind = \"dvdstore\"\n\
         [load]\nmodel = \"open\"\nrate = [100]\nramp_up = \"1s\"\nsettle = \"2s\"\nsteady \
                = \"20s\"\nrepeats = 1\n\
         [stack]\nkind = \"simulated\"\nhost_cpus = 3\nnoise = 0\n\
         [guest]\nkind = \"fake\"\n[[layout]]\nname = \"one\"\nguests = 1\nvcpus = 2\n";
    let document =
        Document::parse("open.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    let runs = tempfile::tempdir().expect("a directory");
    let records = records(&run(&document, runs.path()));
    let arrivals = records[0]
        .measurement
        .as_ref()
        .and_then(|measured| measured.driver.arrivals.clone())
        .expect("arrivals");
    assert!(
        arrivals.started == arrivals.drawn && arrivals.drawn > 1_700,
        "{arrivals:?}"
    );
    assert_eq!(
        records[0].outcome,
        Outcome::Done,
        "{:?}",
        records[0].reasons
    );
}

#[test]
fn the_true_knee_keeps_the_limits_and_a_few_users_more_do_not() {
    let document = study("noise = 0", "[20]", ONE_BIG);
    let plan = plan(&document);
    let (point, long) = (&plan.points[0], Duration::from_secs(60));
    let knee = simulated::knee(&plan, point, 1..=200, long)
        .expect("a trial")
        .expect("one user is served in time");
    // Two cores of 8 ms serve 250 orders/s, so that an order takes N / 250 - 0.1 s; a page is a
    // fifth of it, and 95 % of pages take less than about three times their mean: 100 ms with 67
    // users.
    assert!((60..75).contains(&knee), "{knee}");
    let passes = |users| {
        let measured =
            simulated::measure(&plan, point, users, long, document.study().seed).expect("a trial");
        rookery_stats::qos::judge(&document.study().qos, &measured).passed
    };
    assert!(passes(knee) && !passes(knee + 1));
    assert_eq!(
        simulated::knee(&plan, point, 150..=200, long).expect("a trial"),
        None
    );
}

/// The limit is on whole orders, and 1 % of noise lies on every trial.
fn searched(seed: u64) -> Document {
    let text = study("noise = 0.01", "[10, 20]", ONE_BIG)
        .text()
        .replace("p95 = \"100ms\"", "order.p95 = \"300ms\"");
    let text = text.replace(
        "[qos]",
        "[load.search]\nto = \"120 per host\"\nresolution = 0.03\n[qos]",
    );
    let text = format!("seed = {seed}\n{text}")
        .replace("settle = \"2s\"", "settle = \"1s\"")
        .replace("steady = \"20s\"", "steady = \"8s\"");
    Document::parse("searched.toml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn searches_find_the_true_knee() {
    let plan = plan(&searched(1));
    let truth = simulated::knee(&plan, &plan.points[0], 1..=120, Duration::from_secs(60));
    let knee = f64::from(truth.expect("a trial").expect("one user is served in time"));
    for seed in 1..=2 {
        let runs = tempfile::tempdir().expect("a directory");
        let run = Run::read(&run(&searched(seed), runs.path())).expect("a run");
        let found = found(&run.header.plan, &run.header.plan.searches[0], &run.trials)
            .expect("a search")
            .answer;
        let (low, high) = (
            found.interval.0.expect("within"),
            found.interval.1.expect("within"),
        );
        // Chance leaves one interval of twenty beside the truth; none is far from it.
        assert!(
            low < 1.04 * knee && high > 0.96 * knee,
            "seed {seed}: {low} to {high}, but {knee}"
        );
        assert!(
            (found.knee / knee - 1.0).abs() < 0.1,
            "seed {seed}: {} instead of {knee}",
            found.knee
        );
    }
}

#[test]
fn contradictions_of_simulated_studies_are_refused() {
    let refused = |change: &dyn Fn(String) -> String| {
        let text = change(study("noise = 0", "[20]", ONE_BIG).text().to_owned());
        let document = Document::parse("simulated.toml", &text)
            .unwrap_or_else(|problems| panic!("{problems}"));
        Plan::of(&document, &host())
            .expect_err("a contradiction")
            .to_string()
    };
    let bare = refused(&|text| text.replace("kind = \"fake\"", "kind = \"bare\""));
    assert!(
        bare.contains("write `kind = \"fake\"` in [guest]"),
        "{bare}"
    );
    let settings = refused(&|text| format!("{text}[host]\nsettings = \"enterprise-storage\"\n"));
    assert!(
        settings.contains("`host.settings` changes this host"),
        "{settings}"
    );
}

fn counted(guest: &rookery_stats::GuestMeasurement) -> &rookery_workload::dvdstore::ShopCounters {
    guest.counters.dvdstore().expect("a DVD Store")
}
