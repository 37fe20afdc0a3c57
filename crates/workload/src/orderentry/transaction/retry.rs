//! Which errors are tried again, how often, and after how long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    orderentry::{
        dialect::Dialect,
        random::{Purpose, Stream},
    },
    random::RandomSource as _,
};

/// Why a transaction was tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The server chose it as the victim of a deadlock.
    Deadlock,
    /// It waited too long for a lock.
    LockTimeout,
    /// Its snapshot was too old.
    Serialization,
    /// The database was locked as a whole.
    Busy,
    /// Another delivery took the order first.
    LostRace,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 5] = [
        Self::Deadlock,
        Self::LockTimeout,
        Self::Serialization,
        Self::Busy,
        Self::LostRace,
    ];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::LockTimeout => "lock timeout",
            Self::Serialization => "serialization failure",
            Self::Busy => "database busy",
            Self::LostRace => "lost race",
        }
    }
}

/// What an error means for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// Roll back and try the same input again.
    Retry(Cause),
    /// The connection is gone. During a COMMIT nobody knows what became of the transaction.
    ConnectionLost,
    /// Something that must not happen, such as a constraint that was violated: the run stops.
    Bug,
}

/// The class of a server's error, by SQLSTATE and the server's own number. ODBC drivers pass both.
///
/// SQLite has no SQLSTATE: give its extended result code as the number.
#[must_use]
pub fn classify(dialect: Dialect, sqlstate: &str, native: i64) -> ErrorClass {
    use ErrorClass::{Bug, ConnectionLost, Retry};
    let by_number = match (dialect, native) {
        (Dialect::Mariadb | Dialect::Mysql, 1213) => Some(Retry(Cause::Deadlock)),
        (Dialect::Mariadb | Dialect::Mysql, 1205) => Some(Retry(Cause::LockTimeout)),
        (Dialect::Mariadb | Dialect::Mysql, 1020) => Some(Retry(Cause::Serialization)),
        // Gone away, lost in a query, shutdown in progress, killed, closed for inactivity.
        (Dialect::Mariadb | Dialect::Mysql, 2006 | 2013 | 1053 | 1927 | 4031) => {
            Some(ConnectionLost)
        }
        // The low byte of an extended code: BUSY with BUSY_RECOVERY, BUSY_SNAPSHOT, and LOCKED.
        (Dialect::Sqlite, native) if matches!(native & 0xff, 5 | 6) => Some(Retry(Cause::Busy)),
        (Dialect::Db2, -911) => Some(Retry(Cause::Deadlock)),
        (Dialect::Db2, -913) => Some(Retry(Cause::LockTimeout)),
        _ => None,
    };
    if let Some(class) = by_number {
        return class;
    }
    match sqlstate {
        "40P01" => Retry(Cause::Deadlock),
        "55P03" | "HYT00" => Retry(Cause::LockTimeout),
        "40001" if dialect.is_mysql_like() => Retry(Cause::Deadlock),
        "57P01" | "57P02" | "57P03" | "HYT01" => ConnectionLost,
        state if state.starts_with("08") => ConnectionLost,
        // 40003 says that nobody knows whether the statement completed.
        "40003" => ConnectionLost,
        state if state.starts_with("40") => Retry(Cause::Serialization),
        _ => Bug,
    }
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Try again after this time.
    After(Duration),
    /// The transaction has failed.
    GiveUp,
}

/// The retries of one terminal: at once, then after a random time whose bound doubles from 1 to 64
/// ms ("full jitter").
#[derive(Clone, Debug)]
pub struct Retries {
    max: u32,
    stream: Stream,
}

impl Retries {
    /// At most `max` retries of each transaction, for terminal `number` of a run with `seed`.
    #[must_use]
    pub fn new(max: u32, seed: u64, number: u32) -> Self {
        Self {
            max,
            stream: Stream::new(seed, Purpose::Retry, number.into()),
        }
    }

    /// What to do after attempt `attempts`, counted from 1.
    pub fn judge(&mut self, attempts: u32) -> Verdict {
        if attempts > self.max {
            return Verdict::GiveUp;
        }
        let Some(doublings) = attempts.checked_sub(2) else {
            return Verdict::After(Duration::ZERO);
        };
        let bound_us = 1000 << doublings.min(6);
        Verdict::After(Duration::from_micros(self.stream.below(bound_us + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_fall_into_their_classes() {
        use ErrorClass::{Bug, ConnectionLost, Retry};
        let cases = [
            (Dialect::Mariadb, "40001", 1213, Retry(Cause::Deadlock)),
            (Dialect::Mariadb, "HY000", 1205, Retry(Cause::LockTimeout)),
            (Dialect::Mariadb, "HY000", 1020, Retry(Cause::Serialization)),
            (Dialect::Mysql, "40001", 1213, Retry(Cause::Deadlock)),
            (Dialect::Mariadb, "23000", 1062, Bug),
            (Dialect::Mariadb, "HY000", 2013, ConnectionLost),
            (Dialect::Mariadb, "08S01", 1927, ConnectionLost),
            (Dialect::Postgresql, "40001", 0, Retry(Cause::Serialization)),
            (Dialect::Postgresql, "40P01", 0, Retry(Cause::Deadlock)),
            (Dialect::Postgresql, "55P03", 0, Retry(Cause::LockTimeout)),
            (Dialect::Postgresql, "57P01", 0, ConnectionLost),
            (Dialect::Postgresql, "08006", 0, ConnectionLost),
            (Dialect::Postgresql, "23505", 0, Bug),
            (Dialect::Postgresql, "25P02", 0, Bug),
            (Dialect::Sqlite, "", 5, Retry(Cause::Busy)),
            (Dialect::Sqlite, "HY000", 5, Retry(Cause::Busy)),
            (Dialect::Sqlite, "", 517, Retry(Cause::Busy)),
            (Dialect::Sqlite, "", 6, Retry(Cause::Busy)),
            (Dialect::Sqlite, "", 19, Bug),
            (Dialect::Db2, "40001", -911, Retry(Cause::Deadlock)),
            (Dialect::Db2, "57033", -913, Retry(Cause::LockTimeout)),
            (Dialect::Generic, "40002", 0, Retry(Cause::Serialization)),
            (Dialect::Generic, "HYT00", 0, Retry(Cause::LockTimeout)),
            (Dialect::Generic, "42000", 0, Bug),
        ];
        for (dialect, state, native, class) in cases {
            assert_eq!(
                classify(dialect, state, native),
                class,
                "{dialect:?} {state} {native}"
            );
        }
    }

    #[test]
    fn the_first_retry_is_at_once_and_later_ones_wait_longer() {
        let mut retries = Retries::new(10, 1, 0);
        assert_eq!(retries.judge(1), Verdict::After(Duration::ZERO));
        for (attempts, bound_ms) in [(2, 1), (3, 2), (8, 64), (10, 64)] {
            let waits: Vec<_> = (0..500)
                .map(|_| match retries.judge(attempts) {
                    Verdict::After(wait) => wait,
                    Verdict::GiveUp => panic!("ten retries are allowed"),
                })
                .collect();
            let longest = waits.iter().max().copied().expect("waits");
            assert!(longest <= Duration::from_millis(bound_ms));
            assert!(
                longest > Duration::from_millis(bound_ms) * 9 / 10,
                "{attempts}: {longest:?}"
            );
        }
        assert_eq!(retries.judge(11), Verdict::GiveUp);
        assert_eq!(Retries::new(0, 1, 0).judge(1), Verdict::GiveUp);
    }
}
