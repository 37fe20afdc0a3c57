//! The services files of LAMP guests.

use std::path::Path;

use super::{Software, WebServer};

/// Times are generous: a guest of a twentieth of a CPU takes twenty times as long as one of its own
/// CPU.
pub(crate) const HEAD: &str = "[guest]\nuser_namespace = true\n";

/// These services, then PHP, then Apache; stopped the other way round.
pub(super) fn serving(software: &Software, server: WebServer, first: &str) -> String {
    let mut text = format!("{HEAD}{first}");
    if server == WebServer::Event {
        text += &format!(
            r#"
[[service]]
name = "php-fpm"
command = ["{}", "--nodaemonize", "--fpm-config", "{{conf}}/php-fpm.conf", "-c", "{{conf}}/php/php.ini"]
environment = {{ PHP_INI_SCAN_DIR = "" }}
keep_group = true
ready = "log:ready to handle connections"
ready_within_ms = 120000
stop_signal = "TERM"
grace_ms = 10000
"#,
            software.php_fpm.display()
        );
    }
    text += &format!(
        r#"
[[service]]
name = "apache"
command = ["{}", "-f", "{{conf}}/apache.conf", "-DFOREGROUND"]
environment = {{ PHP_INI_SCAN_DIR = "" }}
ready = "log:resuming normal operations"
ready_within_ms = 120000
stop_signal = "TERM"
grace_ms = 20000
"#,
        software.apache.display()
    );
    text
}

/// The system tables of an empty database, then MariaDB alone.
pub(super) fn building(software: &Software) -> String {
    format!(
        "{HEAD}{}{}",
        initialising("mysql"),
        mariadb(&software.mariadbd)
    )
}

/// Makes an empty database in this directory of the data.
pub(crate) fn initialising(directory: &str) -> String {
    format!(
        r#"
[[service]]
name = "initialise"
command = ["/bin/sh", "{{conf}}/initialise.sh"]
oneshot = true
creates = "{{data}}/{directory}"
ready_within_ms = 300000
"#
    )
}

/// MariaDB must be allowed to write its pages before it is killed: an orderly stop is part of a
/// template.
pub(crate) fn mariadb(mariadbd: &Path) -> String {
    format!(
        r#"
[[service]]
name = "mariadb"
command = ["{}", "--defaults-file={{conf}}/mariadb.cnf"]
ready = "log:ready for connections"
ready_within_ms = 300000
stop_signal = "TERM"
grace_ms = 120000
"#,
        mariadbd.display()
    )
}
