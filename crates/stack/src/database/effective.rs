//! What is really in force in a running server, beside what was asked, and what that means for
//! committed work.

use std::collections::BTreeMap;

use super::{DatabaseError, Engine, EngineFacts as _, Server};
use crate::tuning::{Effective, Tuned, is_on, row};

/// All settings of a server, by name.
pub type Readings = BTreeMap<String, String>;

/// Settings that a reader of a result wants to know even where nobody asked for a value.
const MARIADB: [&str; 14] = [
    "version",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_buffer_size",
    "innodb_flush_method",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_page_size",
    "innodb_io_capacity",
    "innodb_adaptive_hash_index",
    "tx_isolation",
    "max_connections",
    "large_pages",
    "thread_handling",
];
const POSTGRESQL: [&str; 16] = [
    "server_version",
    "shared_buffers",
    "effective_cache_size",
    "max_wal_size",
    "wal_buffers",
    "wal_level",
    "checkpoint_timeout",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "default_transaction_isolation",
    "autovacuum",
    "huge_pages",
    "jit",
    "max_connections",
];

/// Read every setting of a server back.
///
/// # Errors
/// When the server does not tell.
pub fn read_back(server: &mut Server) -> Result<Readings, DatabaseError> {
    let query = match server.engine() {
        Engine::Mariadb => "SHOW GLOBAL VARIABLES",
        Engine::Postgresql => "SELECT name, current_setting(name, true) FROM pg_settings",
    };
    Ok(server.pairs(query)?.into_iter().collect())
}

/// Every setting of the tuning as asked and as in force, then what is always worth knowing, then
/// what a commit is worth.
#[must_use]
pub fn compare(engine: Engine, readings: &Readings, tuned: &Tuned) -> Vec<Effective> {
    let mut rows: Vec<Effective> = tuned
        .component(engine.component())
        .map(|setting| row(setting, readings.get(&setting.name).cloned(), false))
        .collect();
    let always: &[&str] = match engine {
        Engine::Mariadb => &MARIADB,
        Engine::Postgresql => &POSTGRESQL,
    };
    for name in always {
        let key = format!("{}.{name}", engine.key());
        if let Some(value) = readings
            .get(*name)
            .filter(|_| rows.iter().all(|row| row.name != key))
        {
            rows.push(told(key, value.clone()));
        }
    }
    if engine == Engine::Postgresql {
        for row in &mut rows {
            row.asked = row.asked.take().map(|value| binary(&value));
            row.effective = row.effective.take().map(|value| binary(&value));
        }
    }
    rows.push(told(
        format!("{}.durability", engine.key()),
        durability(&relaxed_settings(engine, readings)),
    ));
    rows
}

/// A size as PostgreSQL writes it, with the units that say what it means: its `kB` are 1024 bytes.
fn binary(value: &str) -> String {
    let units = [("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("TB", "TiB")];
    let found = units.iter().find_map(|(own, meant)| {
        let digits = value.strip_suffix(own)?;
        digits
            .parse::<u64>()
            .is_ok()
            .then(|| format!("{digits}{meant}"))
    });
    found.unwrap_or_else(|| value.to_owned())
}

fn told(name: String, value: String) -> Effective {
    Effective {
        name,
        asked: None,
        effective: Some(value),
        differs: false,
    }
}

/// A setting, and whether a value of it keeps what was committed.
type Safe = (&'static str, fn(&str) -> bool);

/// What a commit is worth when the machine loses power, in words.
fn durability(relaxed: &[String]) -> String {
    if relaxed.is_empty() {
        return "full".to_owned();
    }
    format!("relaxed durability: {}", relaxed.join(", "))
}

/// The settings in force, with their values, by which committed work may be lost when the machine
/// loses power; none where what was committed stays.
#[must_use]
pub fn relaxed_settings(engine: Engine, readings: &Readings) -> Vec<String> {
    let safe: &[Safe] = match engine {
        Engine::Mariadb => &[
            ("innodb_flush_log_at_trx_commit", |value| {
                matches!(value, "1" | "3")
            }),
            ("innodb_doublewrite", is_on),
            ("innodb_flush_method", |value| {
                !value.eq_ignore_ascii_case("nosync")
            }),
        ],
        Engine::Postgresql => &[
            ("fsync", is_on),
            ("synchronous_commit", |value| value != "off"),
            ("full_page_writes", is_on),
        ],
    };
    safe.iter()
        .filter_map(|(name, keeps)| {
            let value = readings.get(*name)?;
            (!keeps(value)).then(|| format!("{name} = {value}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rookery_study::Variables;

    use super::*;

    fn readings(pairs: &[(&str, &str)]) -> Readings {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn relaxed_durability_is_named_with_its_reason() {
        let full = readings(&[
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
        ]);
        assert_eq!(
            durability(&relaxed_settings(Engine::Mariadb, &full)),
            "full"
        );
        let relaxed = readings(&[
            ("innodb_flush_log_at_trx_commit", "2"),
            ("innodb_doublewrite", "OFF"),
        ]);
        assert_eq!(
            durability(&relaxed_settings(Engine::Mariadb, &relaxed)),
            "relaxed durability: innodb_flush_log_at_trx_commit = 2, innodb_doublewrite = OFF"
        );
        let relaxed = readings(&[
            ("fsync", "on"),
            ("synchronous_commit", "off"),
            ("full_page_writes", "on"),
        ]);
        assert_eq!(
            durability(&relaxed_settings(Engine::Postgresql, &relaxed)),
            "relaxed durability: synchronous_commit = off"
        );
    }

    #[test]
    fn what_differs_is_told_and_what_matters_is_shown() {
        let guest = Variables {
            vcpus: 1.0,
            memory_bytes: 512.0 * 1_048_576.0,
            users: 8.0,
            guests: 1.0,
            callers: 1.0,
        };
        let overrides = [("postgresql.work_mem".to_owned(), "4MiB".to_owned())];
        let tuned = Tuned::evaluate(
            crate::tuning::Family::Postgresql,
            "stock",
            &overrides,
            &guest,
        )
        .expect("valid");
        let in_force = readings(&[
            ("shared_buffers", "128MB"),
            ("work_mem", "8MB"),
            ("max_connections", "100"),
            ("fsync", "on"),
        ]);
        let rows = compare(Engine::Postgresql, &in_force, &tuned);
        let find = |name: &str| {
            rows.iter()
                .find(|row| row.name == name)
                .unwrap_or_else(|| panic!("{name}"))
        };
        assert!(!find("postgresql.shared_buffers").differs);
        assert!(find("postgresql.work_mem").differs);
        assert!(
            find("postgresql.max_wal_size").differs,
            "the server does not know it"
        );
        assert_eq!(
            find("postgresql.shared_buffers").effective.as_deref(),
            Some("128MiB")
        );
        assert_eq!(
            find("postgresql.shared_buffers").asked.as_deref(),
            Some("131072KiB")
        );
        assert_eq!(find("postgresql.fsync").asked, None);
        assert_eq!(
            find("postgresql.durability").effective.as_deref(),
            Some("full")
        );
    }
}
