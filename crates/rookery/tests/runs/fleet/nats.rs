//! Trials on pretend hosts, with messages over a NATS server.

use std::{fs, thread::sleep, time::Duration};

use rookery_testkit::NatsServer;
use serde_json::Value;

use super::{
    drivers::STUDY,
    fixture::{
        assert_no_guests, each_trial_once, ended_as, on_hosts_beside, only_reason, rows, told,
        went_well,
    },
    hosts::{NATS, PretendHosts},
    json,
    spread::sampled,
};
use crate::common::{Place, code, root_tests, text};

/// The seed of an nkey, and its public key: of 32 bytes that are 7.
const SEED: &str = "SUAAOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBZ5FE";
const PUBLIC: &str = "UDVEU3DD4KOFECV66VIHWEZOYX4ZKR3WV27L464SIIPOU2IUI3JCYSJF";
/// Another seed: of bytes that are 8.
const OTHER_SEED: &str = "SUAAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCHYGE";

/// What lets the key alone in.
fn users() -> String {
    format!("authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}")
}

/// A hosts file of these entries, whose messages go over these servers, with the seed in a file
/// beside it.
fn file(hosts: &PretendHosts<'_>, entries: Vec<String>, urls: &[&str], seed: &str) -> String {
    hosts.write("fleet.nk", seed);
    let nats = match urls {
        // Rust writes them as TOML does.
        [url] => format!("[nats]\nurl = {url:?}\ncredentials = \"fleet.nk\"\n"),
        urls => format!("[nats]\nurl = {urls:?}\ncredentials = \"fleet.nk\"\n"),
    };
    hosts.file(&[vec![nats], entries].concat())
}

/// A server, and the file of so many hosts that speak over it, each with more keys.
fn over_a_server(
    count: usize,
    more: &'static str,
) -> impl Fn(&PretendHosts<'_>) -> (String, NatsServer) {
    move |hosts| {
        let server = hosts.nats_server(&users());
        let entries = (0..count).map(|number| hosts.entry(number, more)).collect();
        let url = format!("nats://{NATS}");
        (file(hosts, entries, &[&url], SEED), server)
    }
}

#[test]
fn a_restart_of_the_server_loses_no_trial() {
    on_hosts_beside(Place::new, 2, over_a_server(2, ""), |fleet, mut server| {
        let mut running = fleet.begin(&sampled("4", 4, "3s"), "--spread");
        running.hear("trial-started", 2);
        let agent = fleet.hosts.agent(0).expect("an agent at work");
        let words = fs::read(format!("/proc/{agent}/cmdline")).expect("its words");
        assert!(String::from_utf8_lossy(&words).contains("\0--dial\0"));
        sleep(Duration::from_secs(1));
        server.end();
        // Longer than an agent may be silent, shorter than its lease.
        sleep(Duration::from_secs(4));
        server.begin();
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = fleet.place.export();
        no_host_was_lost(&run);
        assert_eq!(rows(&run, "hosts").len(), 2);
    });
}

/// Each trial was performed once, on hosts that were there to its end.
fn no_host_was_lost(run: &Value) {
    each_trial_once(run);
    let reasons = rows(run, "reasons");
    let mut lost = reasons.iter().filter(|row| row["code"] == "host-lost");
    assert_eq!(lost.next(), None, "{reasons:?}");
}

/// Another server, at another port; both are one cluster.
const SECOND: &str = "10.77.0.1:4223";

/// What makes a server, whose routes listen at `own`, one cluster with another.
fn cluster(own: u16, other: u16) -> String {
    format!(
        "{}\ncluster {{ name: \"c\", listen: \"10.77.0.1:{own}\", \
         routes: [\"nats://10.77.0.1:{other}\"] }}",
        users()
    )
}

#[test]
fn a_server_of_a_cluster_that_stops_loses_no_trial() {
    let cluster = |hosts: &PretendHosts<'_>| {
        let first = hosts.nats_server(&cluster(6222, 6223));
        let second = hosts.nats_server_at(SECOND, &cluster(6223, 6222));
        let entries = (0..2).map(|number| hosts.entry(number, "")).collect();
        // Nothing listens at the first.
        let urls = ["10.77.0.1:4221", NATS, SECOND].map(|place| format!("nats://{place}"));
        let urls = urls.each_ref().map(String::as_str);
        (file(hosts, entries, &urls, SEED), (first, second))
    };
    on_hosts_beside(Place::new, 2, cluster, |fleet, (mut first, _second)| {
        let mut running = fleet.begin(&sampled("4", 4, "3s"), "--spread");
        running.hear("trial-started", 2);
        sleep(Duration::from_secs(1));
        // It does not come back.
        first.end();
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = fleet.place.export();
        no_host_was_lost(&run);
    });
}

#[test]
fn agents_whose_controller_was_killed_leave_nothing() {
    on_hosts_beside(
        Place::among_others,
        2,
        over_a_server(2, ""),
        |fleet, _server| {
            // The load would last longer than everything else here.
            let mut running = fleet.begin(&sampled("4", 2, "60s"), "--spread");
            running.hear("trial-started", 2);
            sleep(Duration::from_secs(1));
            running.kill();
            for number in 0..2 {
                assert!(fleet.hosts.agent(number).is_some(), "it has a lease");
            }
            fleet.await_agents(2);
            assert_no_guests();
        },
    );
}

#[test]
fn a_partition_longer_than_the_lease_costs_a_trial_and_leaves_nothing() {
    // The test spoils the first trial: that of host a.
    let place = Place::with_planted_fault_among_others;
    on_hosts_beside(place, 2, over_a_server(2, ""), |fleet, _server| {
        // The load would last longer than the partition.
        let mut running = fleet.begin(&sampled("4", 2, "20s"), "--spread");
        running.hear("trial-started", 2);
        sleep(Duration::from_secs(1));
        fleet.hosts.cut_off(0);
        // Its lease ends, and it removes its guest.
        fleet.await_end_of_agent(0);
        fleet.hosts.join_again(0);
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = fleet.place.export();
        each_trial_once(&run);
        only_reason(&run, "host-lost");
        let trials = rows(&run, "trials").len();
        assert!(trials >= 3, "the first was planned again");
        fleet.await_agents(2);
        assert_no_guests();
        // The host can be used as before.
        let again = fleet.run(&sampled("4", 2, "2s"), "--spread");
        assert!(went_well(code(&again)), "{}", text(&again.stderr));
        each_trial_once(&fleet.place.export());
    });
}

/// The skew of starts that the settings tell, and its bound, microseconds.
fn skew(told: &str, threads: usize) -> (u64, u64) {
    let between = format!(" us of {threads} threads, known to ");
    let numbers = told
        .strip_prefix("p99 ")
        .and_then(|told| told.strip_suffix(" us"));
    let numbers = numbers.and_then(|numbers| numbers.split_once(&between));
    let (skew, bound) = numbers.unwrap_or_else(|| panic!("{told}"));
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{told}"));
    (number(skew), number(bound))
}

/// The largest amount by which users of a driver began early or late, microseconds.
fn late(told: &str) -> u64 {
    let (late, _) = told
        .split_once(" us after the common start")
        .expect("a start");
    late.trim_start_matches('-').parse().expect("a number")
}

#[test]
fn three_drivers_start_together_and_say_how_far_apart() {
    let three = over_a_server(3, "cpus = \"1\"");
    on_hosts_beside(Place::among_others, 3, three, |fleet, _server| {
        let ran = fleet.run(STUDY, "--drivers");
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = fleet.place.export();
        let skews = told(&run, "driver.start-skew");
        assert!(skews.len() >= ended_as(&run, "done").len(), "{skews:?}");
        let starts = ["a", "b", "c"].map(|name| told(&run, &format!("driver.{name}.start")));
        for (trial, text) in skews.into_iter().enumerate() {
            let (p99, bound) = skew(text, 3);
            eprintln!("start skew of three drivers: p99 {p99} us, known to {bound} us");
            // Of three starts it is the worst; pretend hosts have one clock, so that what is known
            // of it is right to its bound.
            let worst = starts.iter().map(|told| late(told[trial])).max();
            assert_eq!(Some(p99), worst, "{starts:?}");
        }
        for name in ["a", "b", "c"] {
            for clock in told(&run, &format!("driver.{name}.clock")) {
                let (ahead, known) = clock.split_once(" us ahead, known to ").expect("both");
                let ahead: i64 = ahead.parse().expect("a number");
                let bound: i64 = known.trim_end_matches(" us").parse().expect("a number");
                assert!(ahead.abs() <= bound, "one clock: {clock}");
            }
        }
    });
}

#[test]
fn a_server_that_cannot_be_used_is_said_before_anything_is_touched() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 1);
    let fault = |url: &str, seed: &str| {
        let file = file(&hosts, vec![hosts.entry(0, "")], &[url], seed);
        let refused = hosts.rookery(&["fleet", "up", &file, "--json"]);
        assert_eq!(code(&refused), 4, "{}", text(&refused.stdout));
        let refused = json(&refused.stderr);
        let error = match refused["errors"].as_array() {
            Some(errors) => errors[0].clone(),
            None => refused,
        };
        assert!(
            error["help"].is_string() && error["place"].is_string(),
            "{error}"
        );
        assert!(!hosts.directory(0).exists(), "{error}");
        error["code"].as_str().unwrap_or_default().to_owned()
    };
    let server = format!("nats://{NATS}");
    assert_eq!(fault(&server, SEED), "fleet::nats-unreachable");
    // The sshd of the first host.
    assert_eq!(fault("nats://10.77.0.11:2201", SEED), "fleet::nats-foreign");
    let _server = hosts.nats_server(&users());
    assert_eq!(fault(&server, OTHER_SEED), "fleet::nats-denied");
    assert_eq!(fault(&server, "no seed"), "fleet::nats-credentials");
}
