//! Order entry on SQLite as a study, with the real program: bare guests, a container, and a server
//! that is killed in its trial.

use crate::common::{
    orderentry::{killed_in_its_trial, runs_to_its_end},
    root_tests,
};

#[test]
fn bare_guests_of_sqlite_run() {
    runs_to_its_end("sqlite", "bare", 2);
}

#[test]
fn a_container_of_sqlite_runs() {
    if root_tests() {
        runs_to_its_end("sqlite", "container", 1);
    }
}

#[test]
fn a_bare_guest_of_sqlite_that_is_killed_loses_no_order() {
    killed_in_its_trial("sqlite", "program");
}
