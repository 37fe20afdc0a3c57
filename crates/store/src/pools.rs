//! Buffer pools that were sized to hold a hit ratio: what was found for a point, kept for all of
//! its trials.

use rusqlite::params;
use serde::{Deserialize, Serialize};

use crate::{
    Store, StoreError,
    cells::{int, json_of},
};

/// The buffer pool of the guests of a point, found by calibration trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolSizing {
    /// The point.
    pub point: u32,
    /// Hit ratio that was asked for, 0 to 1.
    pub target: f64,
    /// The size that is held, bytes.
    pub bytes: u64,
    /// Hit ratio that was measured with it.
    pub hit: f64,
    /// Whether that is as near as was asked for.
    pub reached: bool,
    /// Every size that was tried, in order.
    pub rounds: Vec<PoolRound>,
}

/// One calibration trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolRound {
    /// Size of the buffer pool, bytes.
    pub bytes: u64,
    /// Hit ratio over all guests, 0 to 1.
    pub hit: f64,
}

impl Store {
    /// Keep the pool of a point; one that was kept before is replaced.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn keep_pool(&self, pool: &PoolSizing) -> Result<(), StoreError> {
        self.write("storing the buffer pool of a point", |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO pools (point, target, bytes, hit, reached, rounds_json) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    pool.point,
                    pool.target,
                    int(pool.bytes),
                    pool.hit,
                    pool.reached,
                    json_of(&pool.rounds)
                ],
            )?;
            Ok(())
        })
    }

    /// All pools that were found, by point.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn pools(&self) -> Result<Vec<PoolSizing>, StoreError> {
        self.collect("pools", "SELECT * FROM pools ORDER BY point", [], |cells| {
            Ok(PoolSizing {
                point: cells.small("point")?,
                target: cells.real("target")?,
                bytes: cells.count("bytes")?,
                hit: cells.real("hit")?,
                reached: cells.flag("reached")?,
                rounds: cells.json("rounds_json")?,
            })
        })
    }
}
