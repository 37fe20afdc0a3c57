//! How long it took to make a database, in its parts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The making of a database. The parts follow each other; where rows and indexes are made side by
/// side, the rows end with the last row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseLoad {
    /// The empty database: the first start of its server, tables, accounts, s.
    pub create_s: f64,
    /// The rows, s.
    pub rows_s: f64,
    /// Keys, indexes and statistics after the last row, s.
    pub index_s: f64,
    /// Checks of what arrived, s; not part of [`DatabaseLoad::total_s`].
    pub check_s: f64,
    /// Writing everything out, s: the orderly stop of the server; not part of the total either.
    pub close_s: f64,
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of the database, as its server or its file system counts them; 0 where neither tells.
    pub bytes: u64,
}

impl DatabaseLoad {
    /// Create, rows and indexes together, s.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        self.create_s + self.rows_s + self.index_s
    }

    /// Rows per second while rows were made; `None` where that took no time.
    #[must_use]
    pub fn rows_per_s(&self) -> Option<f64> {
        per_second(self.rows, self.rows_s)
    }

    /// Bytes of the whole database per second of the whole load; `None` where nobody counts them.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        per_second(self.bytes, self.total_s())
    }

    /// The same with this time added to the creation.
    #[must_use]
    pub fn created_within(self, time: Duration) -> Self {
        Self {
            create_s: self.create_s + time.as_secs_f64(),
            ..self
        }
    }

    /// The load of several databases side by side: the slowest of them in time, all of them in rows
    /// and bytes; `None` of none.
    #[must_use]
    pub fn together(loads: &[Self]) -> Option<Self> {
        let slowest = loads
            .iter()
            .max_by(|a, b| a.total_s().total_cmp(&b.total_s()))?;
        Some(Self {
            rows: loads.iter().map(|load| load.rows).sum(),
            bytes: loads.iter().map(|load| load.bytes).sum(),
            ..*slowest
        })
    }
}

fn per_second(count: u64, seconds: f64) -> Option<f64> {
    (count > 0 && seconds > 0.0).then(|| count as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_side_by_side_take_as_long_as_the_slowest() {
        let quick = DatabaseLoad {
            create_s: 1.0,
            rows_s: 4.0,
            index_s: 3.0,
            check_s: 9.0,
            close_s: 9.0,
            rows: 1000,
            bytes: 1 << 20,
        };
        let slow = DatabaseLoad {
            rows_s: 5.0,
            ..quick
        };
        let both = DatabaseLoad::together(&[quick, slow]).expect("two loads");
        assert_eq!((both.total_s(), both.rows), (9.0, 2000));
        assert_eq!(both.rows_per_s(), Some(400.0));
        assert_eq!(both.bytes_per_s(), Some(f64::from(2 << 20) / 9.0));
        assert_eq!(DatabaseLoad::together(&[]), None);
        assert_eq!(DatabaseLoad::default().rows_per_s(), None);
    }
}
