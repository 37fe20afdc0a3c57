//! Knobs of old: what they are called today, or what became of them.

use super::Component::{self, Apache, Mariadb, Php};

/// A knob that is no more.
pub(super) struct Retired {
    component: Component,
    name: &'static str,
    /// The knob that took its place; its values mean the same.
    pub(super) successor: Option<&'static str>,
    /// What became of it.
    pub(super) story: &'static str,
}

const fn renamed(
    component: Component,
    name: &'static str,
    successor: &'static str,
    story: &'static str,
) -> Retired {
    Retired {
        component,
        name,
        successor: Some(successor),
        story,
    }
}

const fn removed(component: Component, name: &'static str, story: &'static str) -> Retired {
    Retired {
        component,
        name,
        successor: None,
        story,
    }
}

const RETIRED: [Retired; 15] = [
    renamed(
        Mariadb,
        "table_cache",
        "table_open_cache",
        "renamed in MySQL 5.1",
    ),
    renamed(
        Mariadb,
        "innodb_file_io_threads",
        "innodb_read_io_threads",
        "divided into threads that read and threads that write",
    ),
    removed(
        Mariadb,
        "innodb_thread_concurrency",
        "removed in MariaDB 10.6: InnoDB admits every thread; mariadb.thread_handling = \
         pool-of-threads bounds the threads of the server instead",
    ),
    removed(
        Mariadb,
        "innodb_log_files_in_group",
        "removed in MariaDB 10.6: there is one redo log, of mariadb.innodb_log_file_size",
    ),
    removed(
        Mariadb,
        "innodb_buffer_pool_instances",
        "removed in MariaDB 10.6: the buffer pool is one",
    ),
    removed(
        Mariadb,
        "innodb_additional_mem_pool_size",
        "removed in MariaDB 10.1: InnoDB allocates as it needs",
    ),
    removed(
        Mariadb,
        "innodb_file_format",
        "removed in MariaDB 10.6: every table has the newest format",
    ),
    removed(
        Mariadb,
        "innodb_support_xa",
        "removed in MariaDB 10.3: always on",
    ),
    removed(
        Mariadb,
        "innodb_checksums",
        "removed in MariaDB 10.6: see mariadb.innodb_checksum_algorithm",
    ),
    removed(
        Mariadb,
        "thread_concurrency",
        "removed in MariaDB 10.5: a hint to Solaris, which did nothing on Linux",
    ),
    renamed(
        Apache,
        "MaxClients",
        "MaxRequestWorkers",
        "renamed in Apache 2.4",
    ),
    renamed(
        Apache,
        "MaxRequestsPerChild",
        "MaxConnectionsPerChild",
        "renamed in Apache 2.4",
    ),
    renamed(
        Php,
        "apc.enabled",
        "opcache.enable",
        "APC gave way to OPcache in PHP 5.5",
    ),
    renamed(
        Php,
        "apc.stat",
        "opcache.validate_timestamps",
        "APC gave way to OPcache in PHP 5.5",
    ),
    removed(
        Php,
        "apc.shm_size",
        "APC gave way to OPcache in PHP 5.5: see php.opcache.memory_consumption, MiB",
    ),
];

/// What became of a knob, if it is one of old.
pub(super) fn retired(component: Component, name: &str) -> Option<&'static Retired> {
    RETIRED
        .iter()
        .find(|knob| knob.component == component && knob.name.eq_ignore_ascii_case(name))
}
