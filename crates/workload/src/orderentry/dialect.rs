//! What differs between databases, as data.

use std::{borrow::Cow, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Whose SQL is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// MariaDB 10.6 and later.
    Mariadb,
    /// MySQL 8 and later.
    Mysql,
    /// PostgreSQL 14 and later.
    Postgresql,
    /// SQLite 3.35 and later.
    Sqlite,
    /// DB2 for Linux 9.7 and later, over ODBC.
    Db2,
    /// Plain SQL for any other database over ODBC.
    Generic,
}

/// Not the name of a dialect, isolation level or statement style.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} `{name}` is not known; use {choices}")]
pub struct ParseNameError {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) choices: &'static str,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 6] = [
        Self::Mariadb,
        Self::Mysql,
        Self::Postgresql,
        Self::Sqlite,
        Self::Db2,
        Self::Generic,
    ];

    /// The name in studies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
            Self::Postgresql => "postgresql",
            Self::Sqlite => "sqlite",
            Self::Db2 => "db2",
            Self::Generic => "generic",
        }
    }

    /// Whether this is MariaDB or MySQL.
    #[must_use]
    pub fn is_mysql_like(self) -> bool {
        matches!(self, Self::Mariadb | Self::Mysql)
    }

    /// Whether decimals are stored as integers: cents and ten-thousandths. SQLite would make floats
    /// of them.
    #[must_use]
    pub fn stores_unscaled(self) -> bool {
        self == Self::Sqlite
    }

    /// Whether an UPDATE hands back what it changed.
    #[must_use]
    pub fn update_returns(self) -> bool {
        matches!(self, Self::Postgresql | Self::Sqlite | Self::Db2)
    }

    /// Whether transactions begin without a statement: the session switches autocommit off once.
    #[must_use]
    pub fn begins_implicitly(self) -> bool {
        matches!(self, Self::Db2 | Self::Generic)
    }

    /// What ends a SELECT whose rows will be changed.
    pub(crate) fn lock(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Db2 => " WITH RS USE AND KEEP UPDATE LOCKS",
            _ => " FOR UPDATE",
        }
    }

    /// What limits a SELECT to its first `rows` rows.
    pub(crate) fn limit(self, rows: u32) -> String {
        match self {
            Self::Db2 if rows == 1 => " FETCH FIRST 1 ROW ONLY".to_owned(),
            Self::Db2 => format!(" FETCH FIRST {rows} ROWS ONLY"),
            _ => format!(" LIMIT {rows}"),
        }
    }

    /// The time of the server.
    pub(crate) fn now(self) -> &'static str {
        if self == Self::Db2 {
            "CURRENT TIMESTAMP"
        } else {
            "CURRENT_TIMESTAMP"
        }
    }

    /// `text` with the placeholders of this dialect in place of each `?`.
    pub(crate) fn placeholders(self, text: String) -> String {
        if self != Self::Postgresql {
            return text;
        }
        let mut numbered = String::with_capacity(text.len() + 32);
        let mut number = 0;
        for part in text.split_inclusive('?') {
            match part.strip_suffix('?') {
                Some(before) => {
                    number += 1;
                    numbered.push_str(&format!("{before}${number}"));
                }
                None => numbered.push_str(part),
            }
        }
        numbered
    }

    /// The statement that sets the isolation level of a session, or nothing where it is left as it
    /// is.
    ///
    /// SQLite has one level. DB2 sets it by its own names (UR, CS, RS, RR).
    #[must_use]
    pub fn set_isolation(self, isolation: Isolation) -> Option<Cow<'static, str>> {
        let level = match isolation {
            Isolation::Default => return None,
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        };
        match self {
            Self::Sqlite => None,
            Self::Postgresql => Some(
                format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
                    .into(),
            ),
            Self::Mariadb | Self::Mysql | Self::Generic => {
                Some(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}").into())
            }
            Self::Db2 => Some(
                match isolation {
                    Isolation::RepeatableRead => "SET CURRENT ISOLATION = RS",
                    Isolation::Serializable => "SET CURRENT ISOLATION = RR",
                    Isolation::Default | Isolation::ReadCommitted => "SET CURRENT ISOLATION = CS",
                }
                .into(),
            ),
        }
    }

    /// The query that reads the isolation level of a session back, where there is one.
    #[must_use]
    pub fn read_isolation(self) -> Option<&'static str> {
        match self {
            Self::Mariadb => Some("SELECT @@SESSION.tx_isolation"),
            Self::Mysql => Some("SELECT @@SESSION.transaction_isolation"),
            Self::Postgresql => Some("SHOW default_transaction_isolation"),
            Self::Db2 => Some("SELECT CURRENT ISOLATION FROM SYSIBM.SYSDUMMY1"),
            // It has no other.
            Self::Sqlite => Some("SELECT 'serializable'"),
            Self::Generic => None,
        }
    }
}

impl FromStr for Dialect {
    type Err = ParseNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name)
            .ok_or(ParseNameError {
                what: "dialect",
                name: name.to_owned(),
                choices: "mariadb, mysql, postgresql, sqlite, db2 or generic",
            })
    }
}

/// The isolation level that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Whatever the server gives.
    #[default]
    Default,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl Isolation {
    /// The name in studies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::ReadCommitted => "read_committed",
            Self::RepeatableRead => "repeatable_read",
            Self::Serializable => "serializable",
        }
    }
}

impl FromStr for Isolation {
    type Err = ParseNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "default" => Ok(Self::Default),
            "read_committed" => Ok(Self::ReadCommitted),
            "repeatable_read" => Ok(Self::RepeatableRead),
            "serializable" => Ok(Self::Serializable),
            _ => Err(ParseNameError {
                what: "isolation level",
                name: name.to_owned(),
                choices: "default, read_committed, repeatable_read or serializable",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.name().parse(), Ok(dialect));
        }
        let error = "oracle".parse::<Dialect>().expect_err("not known");
        assert!(error.to_string().contains("mariadb"), "{error}");
        assert!("chaos".parse::<Isolation>().is_err());
    }

    #[test]
    fn placeholders_are_numbered_for_postgresql_alone() {
        let text = || "a = ? AND b = ?, c".to_owned();
        assert_eq!(
            Dialect::Postgresql.placeholders(text()),
            "a = $1 AND b = $2, c"
        );
        assert_eq!(Dialect::Mariadb.placeholders(text()), text());
    }

    #[test]
    fn db2_sets_levels_by_its_own_names() {
        let set = |isolation| Dialect::Db2.set_isolation(isolation).map(Cow::into_owned);
        assert_eq!(set(Isolation::Default), None);
        assert_eq!(
            set(Isolation::RepeatableRead).as_deref(),
            Some("SET CURRENT ISOLATION = RS")
        );
        assert_eq!(
            set(Isolation::Serializable).as_deref(),
            Some("SET CURRENT ISOLATION = RR")
        );
        assert_eq!(Dialect::Sqlite.set_isolation(Isolation::Serializable), None);
    }
}
