//! One load, carried by several drivers.

use std::{sync::atomic::AtomicBool, thread, time::Instant};

use rookery_testkit::Server;
use rookery_web::{Config, ForeignRecording, Part, Recording, merge, run_part};

use crate::common::{config, ms, own_cpu, page_script, shop, shop_script};

/// Drive the load of `config` by one driver for each of its CPUs. What they recorded travels as
/// JSON.
fn driven(config: &Config) -> Vec<Recording> {
    let start = Instant::now() + ms(50);
    let of = config.cpus.len() as u32;
    let drivers: Vec<_> = (0..of)
        .map(|before| {
            let own = Config {
                cpus: vec![config.cpus[before as usize]],
                ..config.clone()
            };
            thread::spawn(move || {
                let part = Part { before, of };
                run_part(&own, part, start, &AtomicBool::new(false), &|_| {})
            })
        })
        .collect();
    let ends = drivers.into_iter().map(|driver| {
        let recording = driver.join().expect("no panic").expect("the trial runs");
        serde_json::to_string(&recording).expect("plain data")
    });
    ends.map(|json| serde_json::from_str(&json).expect("what was sent"))
        .collect()
}

#[test]
fn what_several_drivers_recorded_is_the_load_of_one() {
    let server = Server::with(shop).expect("a server");
    let mut all = config(server.address(), 5, shop_script());
    all.cpus = vec![own_cpu(); 2];
    let recordings = driven(&all);
    let measurement = merge(&all, recordings).expect("of this load");
    let guest = &measurement.guests[0];
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
    assert_eq!((guest.users, measurement.driver.cpus.len()), (5, 2));
    let log = server.log();
    let seen = |name: &str| {
        let targets = log.iter().filter(|request| request.target.contains(name));
        targets.count() as u64
    };
    assert_eq!(seen("index.html"), 5, "each user has one driver");
    assert_eq!(measurement.driver.connections, 5);
    let counted: u64 = guest
        .series
        .iter()
        .map(|second| u64::from(second.requests))
        .sum();
    assert_eq!(counted, server.requests(), "every request was counted once");
    let proof = guest.counters.proof();
    assert_eq!(proof.rows[0].acknowledged, seen("dspurchase"));
    for operation in &guest.operations {
        assert_eq!(
            operation.response.count(),
            operation.succeeded,
            "{operation:?}"
        );
    }
}

#[test]
fn what_is_not_of_the_load_is_refused() {
    let server = Server::with(shop).expect("a server");
    let all = config(server.address(), 2, shop_script());
    let recordings = driven(&all);
    assert!(merge(&all, recordings.clone()).is_ok());
    assert_eq!(merge(&all, Vec::new()), Err(ForeignRecording));
    let mut more = all.clone();
    more.assignments.push(more.assignments[0].clone());
    assert_eq!(merge(&more, recordings.clone()), Err(ForeignRecording));
    let mut other = all.clone();
    other.assignments[0].script = page_script();
    assert_eq!(merge(&other, recordings.clone()), Err(ForeignRecording));
    // A second that no trial has would take memory for all before it.
    let json = serde_json::to_string(&recordings[0]).expect("plain data");
    let late = json.replacen(
        "\"seconds\":[{\"second\":0",
        "\"seconds\":[{\"second\":4000000000",
        1,
    );
    assert_ne!(late, json);
    let late = vec![serde_json::from_str(&late).expect("still a recording")];
    assert_eq!(merge(&all, late), Err(ForeignRecording));
}
