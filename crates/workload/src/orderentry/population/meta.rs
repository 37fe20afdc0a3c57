//! `oe_meta`: what was loaded, so that a run on something else is refused.

use std::collections::BTreeMap;

use thiserror::Error;

use super::Population;
use crate::orderentry::{
    ddl::SchemaOptions,
    decimal::{ParseTimestampError, Timestamp},
    scale::{Scale, ScaleError},
};

/// The version of schema and population; another one is refused.
pub const SCHEMA_VERSION: u32 = 1;

const VERSION: &str = "schema_version";
const WAREHOUSES: &str = "warehouses";
const SEED: &str = "seed";
const DIVISOR: &str = "mini_divisor";
const LOAD_CONSTANT: &str = "c_load_last";
const LOADED_AT: &str = "loaded_at";

/// The rows of `oe_meta` that follow from the population alone. A loader adds `foreign_keys`,
/// `history_pk`, `loader_version` and its marks.
#[must_use]
pub fn meta_rows(population: &Population) -> Vec<(&'static str, String)> {
    vec![
        (LOAD_CONSTANT, population.load_constant().to_string()),
        (LOADED_AT, population.loaded_at.to_string()),
        (DIVISOR, population.scale.divisor().to_string()),
        (VERSION, SCHEMA_VERSION.to_string()),
        (SEED, population.seed.to_string()),
        (WAREHOUSES, population.scale.warehouses().to_string()),
    ]
}

/// Why a database is not the one that a run asks for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MetaError {
    /// Nothing was loaded, or something else.
    #[error("oe_meta has no `{0}`: the database was not loaded to its end; load it again")]
    Missing(&'static str),
    /// A value that makes no sense.
    #[error("oe_meta says {key} = `{value}`, which is not valid; load the database again")]
    Invalid {
        /// The key.
        key: &'static str,
        /// What stands there.
        value: String,
    },
    /// Another version of this workload loaded it.
    #[error(
        "the database has schema version {found}, this program needs {SCHEMA_VERSION}; load it \
         again"
    )]
    Version {
        /// What stands there.
        found: u32,
    },
    /// The run asks for another size.
    #[error(
        "the run asks for {asked} {what}, the database was loaded with {found}; change the study, \
         or load the database again"
    )]
    Differs {
        /// What differs.
        what: &'static str,
        /// What the run asks for.
        asked: String,
        /// What was loaded.
        found: String,
    },
    /// Sizes that no database can have.
    #[error("oe_meta: {0}")]
    Scale(#[from] ScaleError),
    /// A time that is none.
    #[error("oe_meta: {0}")]
    Time(#[from] ParseTimestampError),
}

/// Reads the rows of `oe_meta` back and compares them with what a run asks for; `None` takes any
/// size.
///
/// # Errors
/// When a row is missing or not valid, or the database is not what the run asks for.
pub fn check_meta(
    rows: &BTreeMap<String, String>,
    asked: Option<Scale>,
    options: SchemaOptions,
) -> Result<Population, MetaError> {
    let version = number(rows, VERSION)?;
    if version != u64::from(SCHEMA_VERSION) {
        return Err(MetaError::Version {
            found: u32::try_from(version).unwrap_or(u32::MAX),
        });
    }
    let small = |key| number(rows, key).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let population = Population {
        scale: Scale::new(small(WAREHOUSES)?, small(DIVISOR)?)?,
        seed: number(rows, SEED)?,
        loaded_at: rows
            .get(LOADED_AT)
            .ok_or(MetaError::Missing(LOADED_AT))?
            .parse::<Timestamp>()?,
    };
    if u64::from(population.load_constant()) != number(rows, LOAD_CONSTANT)? {
        return Err(MetaError::Invalid {
            key: LOAD_CONSTANT,
            value: rows[LOAD_CONSTANT].clone(),
        });
    }
    if let Some(asked) = asked {
        differ(
            "warehouses",
            asked.warehouses(),
            population.scale.warehouses(),
        )?;
        differ(
            "as the divisor of a test database",
            asked.divisor(),
            population.scale.divisor(),
        )?;
    }
    for (key, what, asked) in [
        ("foreign_keys", "foreign keys", options.foreign_keys),
        ("history_pk", "as a key of payments", options.history_key),
    ] {
        if let Some(found) = rows.get(key) {
            differ(what, asked.to_string(), found.clone())?;
        }
    }
    Ok(population)
}

fn number(rows: &BTreeMap<String, String>, key: &'static str) -> Result<u64, MetaError> {
    let value = rows.get(key).ok_or(MetaError::Missing(key))?;
    value.parse().map_err(|_| MetaError::Invalid {
        key,
        value: value.clone(),
    })
}

fn differ<T: PartialEq + ToString>(
    what: &'static str,
    asked: T,
    found: T,
) -> Result<(), MetaError> {
    if asked == found {
        return Ok(());
    }
    Err(MetaError::Differs {
        what,
        asked: asked.to_string(),
        found: found.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> (Population, BTreeMap<String, String>) {
        let population = Population::new(Scale::new(3, 100).expect("valid"), u64::MAX);
        let rows = meta_rows(&population)
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        (population, rows.collect())
    }

    #[test]
    fn what_was_loaded_is_read_back() {
        let (population, rows) = rows();
        let asked = Some(population.scale);
        assert_eq!(
            check_meta(&rows, asked, SchemaOptions::default()),
            Ok(population)
        );
        assert_eq!(
            check_meta(&rows, None, SchemaOptions::default()),
            Ok(population)
        );
    }

    #[test]
    fn another_database_is_refused() {
        let (population, rows) = rows();
        let check = |key: &str, value: &str| {
            let mut rows = rows.clone();
            rows.insert(key.to_owned(), value.to_owned());
            check_meta(&rows, Some(population.scale), SchemaOptions::default())
                .expect_err(key)
                .to_string()
        };
        assert!(check(VERSION, "2").contains("schema version 2"));
        assert!(
            check(WAREHOUSES, "4")
                .contains("asks for 3 warehouses, the database was loaded with 4")
        );
        assert!(check(WAREHOUSES, "many").contains("not valid"));
        assert!(check(DIVISOR, "7").contains("divisor 7"));
        assert!(check(LOAD_CONSTANT, "256").contains(LOAD_CONSTANT));
        assert!(check("foreign_keys", "true").contains("foreign keys"));
        assert!(check(LOADED_AT, "today").contains("today"));
        let mut without = rows.clone();
        without.remove(SEED);
        assert_eq!(
            check_meta(&without, None, SchemaOptions::default()),
            Err(MetaError::Missing(SEED))
        );
    }
}
