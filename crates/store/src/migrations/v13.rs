//! Version 13: the hosts of a fleet, and which of them performed a trial.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(HOSTS)],
};

const HOSTS: &str = "
CREATE TABLE hosts (
    host TEXT NOT NULL PRIMARY KEY, hostname TEXT NOT NULL, kernel TEXT NOT NULL,
    cpu_model TEXT NOT NULL, cpus INTEGER NOT NULL, memory_mib INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE trial_hosts (
    trial INTEGER NOT NULL PRIMARY KEY REFERENCES trials, host TEXT NOT NULL,
    clock_offset_us INTEGER, clock_bound_us INTEGER, clock_stepped INTEGER
) STRICT;";
