//! Order entry as a study, with the real program: bare MariaDB and PostgreSQL guests, a container,
//! a machine, and a server that is killed in its trial.

use crate::common::{
    long_tests,
    orderentry::{database_tests, killed_in_its_trial, runs_to_its_end},
    root_tests,
};

#[test]
fn bare_guests_of_mariadb_run_and_one_that_is_killed_loses_no_order() {
    if database_tests() {
        runs_to_its_end("mariadb", "bare", 2);
        // The template is there by now: the only servers of the second run are those of its guests.
        killed_in_its_trial("mariadb", "mariadbd");
    }
}

#[test]
fn a_bare_guest_of_postgresql_runs_and_one_that_is_killed_loses_no_order() {
    if database_tests() {
        runs_to_its_end("postgresql", "bare", 1);
        killed_in_its_trial("postgresql", "postgres");
    }
}

#[test]
fn a_container_of_postgresql_runs() {
    if database_tests() && root_tests() {
        runs_to_its_end("postgresql", "container", 1);
    }
}

#[test]
fn a_machine_of_postgresql_runs() {
    // Every run of the tests has one with a disk for its log (`storage_roles`).
    if database_tests() && long_tests() {
        runs_to_its_end("postgresql", "vm", 1);
    }
}
