//! A NATS server that `rookery fleet up` starts on one of the pretend hosts.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{
    fixture::{each_trial_once, rows, went_well},
    hosts::PretendHosts,
    json,
    spread::SIMULATED,
};
use crate::common::{Place, assert_host_as, code, host_state, root_tests, text};

/// Where the server of host b listens.
const PORT: u16 = 4223;
/// How long a process that was killed may be seen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A hosts file of two hosts, the second of which has the server.
fn file(hosts: &PretendHosts<'_>) -> String {
    let server = format!("[nats.host]\nname = \"b\"\nport = {PORT}\n");
    hosts.file(&[server, hosts.entry(0, ""), hosts.entry(1, "")])
}

/// The keys of the server's users.
fn keys(file: &str) -> PathBuf {
    format!("{file}.keys").into()
}

fn mode(path: &Path) -> u32 {
    let there = fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    there.permissions().mode() & 0o777
}

/// How the hosts stand; the exit code too.
fn status(hosts: &PretendHosts<'_>, file: &str) -> (i32, Value) {
    let status = hosts.rookery(&["fleet", "status", file, "--json"]);
    (code(&status), json(&status.stdout)["hosts"].clone())
}

/// The process of the server, by what `fleet up` says.
fn up(hosts: &PretendHosts<'_>, file: &str) -> u64 {
    let up = hosts.rookery(&["fleet", "up", file, "--json"]);
    assert_eq!(code(&up), 0, "{}", text(&up.stderr));
    let up = json(&up.stdout);
    assert_eq!(up[0].get("server"), None, "{up}");
    assert_eq!(up[1]["server"]["url"], format!("tls://10.77.0.12:{PORT}"));
    up[1]["server"]["process"].as_u64().expect("a process")
}

fn command_line(process: u64) -> String {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).into_owned()
}

fn kill(process: u64) {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    kill_process(id.expect("a process"), Signal::KILL).expect("killed");
    let began = Instant::now();
    while !command_line(process).is_empty() {
        assert!(began.elapsed() < PATIENCE, "it lives");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_is_started_used_killed_started_again_and_removed() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = file(&hosts);
        let process = up(&hosts, &file);
        let directory = hosts.directory(1).join("nats");
        assert!(command_line(process).starts_with("nats-server\0-c\0"));
        assert_eq!(mode(&keys(&file)), 0o600);
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&directory.join("server.key")), 0o600);
        let of_server = fs::read_to_string(directory.join("server.conf")).expect("there");
        let seed = json(&fs::read(keys(&file)).expect("there"))["seed"].clone();
        assert!(!of_server.contains(seed.as_str().expect("a seed")));
        assert_eq!(up(&hosts, &file), process, "it is left as it is");
        assert_eq!(status(&hosts, &file).1[1]["server"]["process"], process);

        a_run_goes_over_it(&hosts, &place, &file);
        let logs = hosts.rookery(&["fleet", "logs", &file]);
        assert_eq!(code(&logs), 0, "{}", text(&logs.stderr));
        let logs = text(&logs.stdout);
        assert!(
            logs.contains("b nats-server: ") && logs.contains("Server is ready"),
            "{logs}"
        );

        let known = fs::read(keys(&file)).expect("there");
        kill(process);
        without_its_server_a_fleet_is_not_ready(&hosts, &place, &file);
        let again = up(&hosts, &file);
        assert_ne!(again, process);
        assert_eq!(
            fs::read(keys(&file)).expect("there"),
            known,
            "with the same keys"
        );

        let down = hosts.rookery(&["fleet", "down", &file]);
        assert_eq!(code(&down), 0, "{}", text(&down.stderr));
        let told = format!("removed NATS server, process {again}");
        assert!(text(&down.stdout).contains(&told), "{}", text(&down.stdout));
        assert_eq!(command_line(again), "");
        assert!(!keys(&file).exists());
        for number in 0..2 {
            assert!(!hosts.directory(number).exists(), "host {number}");
        }
    }
    assert_host_as(&before);
}

/// A run over the server, whose host performs no trials.
fn a_run_goes_over_it(hosts: &PretendHosts<'_>, place: &Place, file: &str) {
    let study = place.study("study.toml", SIMULATED);
    let ran = hosts.rookery(&["run", &study, "--spread", file]);
    assert!(went_well(code(&ran)), "{}", text(&ran.stderr));
    let run = place.export();
    each_trial_once(&run);
    let performed: Vec<&Value> = rows(&run, "hosts")
        .iter()
        .map(|host| &host["host"])
        .collect();
    assert_eq!(performed, ["a"], "{}", run["hosts"]);
}

fn without_its_server_a_fleet_is_not_ready(hosts: &PretendHosts<'_>, place: &Place, file: &str) {
    let (status, found) = status(hosts, file);
    assert_eq!(status, 4, "{found}");
    assert_eq!(found[1]["state"], "no-server", "{found}");
    let study = place.study("study.toml", SIMULATED);
    let refused = hosts.rookery(&["run", &study, "--spread", file]);
    let words = text(&refused.stderr);
    assert_eq!(code(&refused), 4, "{words}");
    assert!(
        words.contains("fleet::nats-unreachable") && words.contains("rookery fleet up"),
        "{words}"
    );
}

#[test]
fn what_stands_against_a_server_is_said_before_anything_is_touched() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 2);
    let file = file(&hosts);
    let fault = || {
        let refused = hosts.rookery(&["fleet", "up", &file, "--json"]);
        assert_eq!(code(&refused), 4, "{}", text(&refused.stdout));
        let refused = json(&refused.stderr);
        let error = match refused["errors"].as_array() {
            Some(errors) => errors[0].clone(),
            None => refused,
        };
        assert!(error["help"].is_string(), "{error}");
        let place = error["place"].as_str().unwrap_or_default();
        assert!(place.starts_with("host b "), "{error}");
        for number in 0..2 {
            assert!(!hosts.directory(number).exists(), "{error}");
        }
        assert!(!keys(&file).exists(), "{error}");
        error["code"].as_str().unwrap_or_default().to_owned()
    };
    hosts.replace_nats_server(1, Some(""));
    assert_eq!(fault(), "fleet::no-nats-server");
    hosts.replace_nats_server(1, None);
    hosts.replace_nats_server(1, Some("echo nats-server: v2.8.4"));
    assert_eq!(fault(), "fleet::nats-version");
    hosts.replace_nats_server(1, None);
    let mut taken = hosts.nats_server_on(1, PORT);
    assert_eq!(fault(), "fleet::nats-port");
    taken.end();
    up(&hosts, &file);
    let down = hosts.rookery(&["fleet", "down", &file]);
    assert_eq!(code(&down), 0, "{}", text(&down.stderr));
}

#[test]
fn a_server_whose_keys_are_elsewhere_is_left_as_it_is() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 2);
    let file = file(&hosts);
    let process = up(&hosts, &file);
    let elsewhere = keys(&file).with_extension("elsewhere");
    fs::rename(keys(&file), &elsewhere).expect("moved");
    let study = place.study("study.toml", SIMULATED);
    for args in [
        &["fleet", "up", &file][..],
        &["run", &study, "--spread", &file],
    ] {
        let refused = hosts.rookery(args);
        let words = text(&refused.stderr);
        assert_eq!(code(&refused), 4, "{words}");
        assert!(
            words.contains("fleet::nats-keys") && words.contains("help:"),
            "{words}"
        );
    }
    assert!(!command_line(process).is_empty(), "it lives");
    fs::rename(&elsewhere, keys(&file)).expect("moved");
    assert_eq!(up(&hosts, &file), process);
    // Who has no keys can still remove it.
    fs::remove_file(keys(&file)).expect("removed");
    let down = hosts.rookery(&["fleet", "down", &file]);
    assert_eq!(code(&down), 0, "{}", text(&down.stderr));
    assert_eq!(command_line(process), "");
}

#[test]
fn two_who_bring_a_fleet_up_at_once_have_one_server() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 2);
    let file = file(&hosts);
    let begin = || {
        let mut up = hosts.command(&["fleet", "up", &file]);
        up.stdout(Stdio::piped()).stderr(Stdio::piped());
        up.spawn().expect("rookery starts")
    };
    for up in [begin(), begin()] {
        let up = up.wait_with_output().expect("it ends");
        assert_eq!(code(&up), 0, "{}", text(&up.stderr));
        assert!(text(&up.stdout).contains("NATS server on b: tls://10.77.0.12:4223"));
    }
    // The keys that are there are those of the server that runs.
    let process = up(&hosts, &file);
    assert_eq!(status(&hosts, &file).1[1]["server"]["process"], process);
    let down = hosts.rookery(&["fleet", "down", &file]);
    assert_eq!(code(&down), 0, "{}", text(&down.stderr));
    assert_eq!(command_line(process), "");
}
