//! A wall clock that is set while users are driven.
//!
//! The clock of this machine is left alone: a library that is loaded before all others moves the
//! wall clock of single programs when a file is there.

use std::{fs, path::PathBuf, process::Command, thread::sleep, time::Duration};

use serde_json::Value;

use super::{
    drivers::STUDY,
    fixture::{Fleet, first, on_hosts, rows, told},
    guests::await_users,
};
use crate::common::{Place, code, text};

/// Adds a minute to the wall clock while `CLOCK_STEP_FILE` is there.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*own)(clockid_t, struct timespec *);
    if (!own) own = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = own(clock, at);
    const char *file = getenv("CLOCK_STEP_FILE");
    if (result == 0 && clock == CLOCK_REALTIME && file && access(file, F_OK) == 0) at->tv_sec += 60;
    return result;
}
"#;

/// What a program needs in its environment so that its wall clock is set when `file` is there.
fn environment(place: &Place, file: &str) -> [String; 2] {
    let path = |name: &str| place.dir.path().join(name).display().to_string();
    [
        format!("LD_PRELOAD={}", path("clock.so")),
        format!("CLOCK_STEP_FILE={}", path(file)),
    ]
}

/// A place whose pretend hosts have such a clock.
fn place() -> Place {
    let place = Place::with_planted_fault_among_others();
    let path = |name: &str| -> PathBuf { place.dir.path().join(name) };
    fs::write(path("clock.c"), LIBRARY).expect("written");
    let mut compiler = Command::new("cc");
    let made = compiler
        .args(["-shared", "-fPIC", "-o"])
        .args([path("clock.so"), path("clock.c")])
        .arg("-ldl")
        .output()
        .expect("a C compiler");
    assert!(made.status.success(), "{}", text(&made.stderr));
    let sessions = format!("SetEnv {}\n", environment(&place, "there").join(" "));
    fs::write(path("sessions.conf"), sessions).expect("written");
    place
}

/// Run the study with its guests on the first host, and set a clock in its first load: here, or
/// there.
fn run_with_step(fleet: &Fleet<'_>, study: &str, clock: &str) -> (i32, Value) {
    let step = fleet.place.dir.path().join(clock);
    let environment = environment(fleet.place, "here");
    let by = ["env", &environment[0], &environment[1]];
    let by = [&by[..], &["taskset", "--cpu-list", "1"]].concat();
    let mut running = fleet.begin_by(&by, study, "--guests");
    running.hear("trial-started", 1);
    await_users();
    if clock == "there" {
        // What matters there is the load alone: two seconds to the start of the users.
        sleep(Duration::from_secs(3));
    }
    fs::write(&step, "").expect("written");
    let ended = running.wait();
    fs::remove_file(&step).expect("removed");
    (ended, fleet.place.export())
}

#[test]
fn a_clock_that_is_set_moves_no_user_and_voids_the_trial_of_its_guests() {
    on_hosts(place, 1, first(1), |fleet| {
        let study = STUDY.replace("repeats = 2\nretry_void = 4", "repeats = 1\nretry_void = 0");
        let (ended, run) = run_with_step(fleet, &study, "there");
        assert_eq!(ended, 6, "{}", run["reasons"]);
        let reasons: Vec<&str> = rows(&run, "reasons")
            .iter()
            .filter(|row| row["code"] == "clock")
            .filter_map(|row| row["reason"].as_str())
            .collect();
        assert_eq!(reasons.len(), 1, "{}", run["reasons"]);
        assert!(reasons[0].contains("set by +60"), "{reasons:?}");
        users_began_together(&run);

        let study = STUDY.replace("repeats = 2", "repeats = 1");
        let (ended, run) = run_with_step(fleet, &study, "here");
        assert_eq!(ended, 0, "{}", run["reasons"]);
        let said = rows(&run, "reasons").iter();
        let of_clock: Vec<&Value> = said.filter(|row| row["code"] == "clock").collect();
        assert!(of_clock.is_empty(), "{of_clock:?}");
        users_began_together(&run);
        assert_eq!(
            code(&fleet.hosts.rookery(&["fleet", "status", &fleet.file])),
            0
        );
    });
}

/// All users began nearer to the common start than a clock was set by, in every trial.
fn users_began_together(run: &Value) {
    for start in told(run, "driver.controller.start") {
        let (late, _) = start
            .split_once(" us after the common start")
            .expect("both");
        let late: i64 = late.parse().expect("a number");
        assert!(late.abs() < 30_000_000, "{start}");
    }
}
