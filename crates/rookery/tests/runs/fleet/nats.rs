//! Trials on pretend hosts, with messages over a NATS server.

use std::{fs, thread::sleep, time::Duration};

use super::{
    hosts::{NATS, PretendHosts},
    json,
    spread::{
        Running, assert_no_guests, await_agents, down, each_trial_once, rows, sampled, up,
        went_well,
    },
};
use crate::common::{Place, assert_host_as, code, host_state, root_tests, text};

/// The seed of an nkey, and its public key: of 32 bytes that are 7.
const SEED: &str = "SUAAOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBZ5FE";
const PUBLIC: &str = "UDVEU3DD4KOFECV66VIHWEZOYX4ZKR3WV27L464SIIPOU2IUI3JCYSJF";
/// Another seed: of bytes that are 8.
const OTHER_SEED: &str = "SUAAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCHYGE";

/// What lets the key alone in.
fn users() -> String {
    format!("authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}")
}

/// A hosts file of `count` pretend hosts whose messages go over `url`, with the seed in a file beside
/// it.
fn file(hosts: &PretendHosts<'_>, place: &Place, count: usize, url: &str, seed: &str) -> String {
    place.study("fleet.nk", seed);
    let nats = format!("[nats]\nurl = \"{url}\"\ncredentials = \"fleet.nk\"\n");
    let mut entries = vec![nats];
    entries.extend((0..count).map(|number| hosts.entry(number, "")));
    hosts.file(&entries)
}

#[test]
fn a_restart_of_the_server_loses_no_trial() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let mut server = hosts.nats_server(&users());
        let file = file(&hosts, &place, 2, &format!("nats://{NATS}"), SEED);
        up(&hosts, &file);
        let study = place.study("sampled.toml", &sampled("4", 4, "3s"));
        let mut running = Running::start(&hosts, &["run", &study, "--spread", &file, "--json"]);
        running.hear("trial-started", 2);
        let agent = hosts.agent(0).expect("an agent at work");
        let words = fs::read(format!("/proc/{agent}/cmdline")).expect("its words");
        assert!(String::from_utf8_lossy(&words).contains("\0--dial\0"));
        sleep(Duration::from_secs(1));
        server.end();
        // Longer than an agent may be silent, shorter than its lease.
        sleep(Duration::from_secs(4));
        server.begin();
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = place.export();
        each_trial_once(&run);
        let reasons = rows(&run, "reasons");
        let mut lost = reasons.iter().filter(|row| row["code"] == "host-lost");
        assert_eq!(lost.next(), None, "{reasons:?}");
        assert_eq!(rows(&run, "hosts").len(), 2);
        // Neither is needed to go down.
        drop(server);
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

#[test]
fn agents_whose_controller_was_killed_leave_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let _server = hosts.nats_server(&users());
        let file = file(&hosts, &place, 2, &format!("nats://{NATS}"), SEED);
        up(&hosts, &file);
        // The load would last longer than everything else here.
        let study = place.study("sampled.toml", &sampled("4", 2, "60s"));
        let mut running = Running::start(&hosts, &["run", &study, "--spread", &file, "--json"]);
        running.hear("trial-started", 2);
        sleep(Duration::from_secs(1));
        running.kill();
        for number in 0..2 {
            assert!(hosts.agent(number).is_some(), "it has a lease");
        }
        await_agents(&hosts, 2);
        assert_no_guests();
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

#[test]
fn a_server_that_cannot_be_used_is_said_before_anything_is_touched() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 1);
    let fault = |url: &str, seed: &str| {
        let file = file(&hosts, &place, 1, url, seed);
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
