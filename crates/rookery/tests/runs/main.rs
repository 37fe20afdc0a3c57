//! Tests that perform trials, build templates or change the host. Those that measure, or change
//! what all share, go on one at a time, because a trial beside another accuses its driver; those
//! that put a small load on go on together. [`common::Place`] holds the turn.

#[path = "../common/mod.rs"]
mod common;

mod archives;
mod block_devices;
mod ceiling;
mod cms;
mod cms_wordpress;
mod compare;
mod containers;
mod drive;
mod effects;
mod external;
mod fleet;
mod groups;
mod guest_death;
mod host;
mod http;
mod images;
mod interrupt;
mod lamp;
mod lamp_ends;
mod layouts;
mod live;
mod load_time;
mod machines;
mod netstream;
mod netstream_alone;
mod open;
mod orderentry_resume;
mod orderentry_sqlite;
mod orderentry_sqlite_study;
mod orderentry_study;
mod others;
mod own_sql;
mod planted_storage;
mod predict;
mod records;
mod sample;
mod search;
mod secret_columns;
mod storage;
mod storage_faults;
mod storage_roles;
mod stored;
mod swap;
mod template;
mod void;
mod walk;
mod web2005;
mod web2005_bytes;
mod web2005_modern;
mod web2005_planted;
mod web2005_tls;
mod weights;
mod wish;

/// A trial that measures wants the machine to itself.
const ONE_AT_A_TIME: bool = true;
