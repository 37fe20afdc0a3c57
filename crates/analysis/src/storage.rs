//! I/O of the guests against the ceiling of their storage: what a queue-depth sweep of the same
//! storage reached.

use rookery_stats::{IoRates, Measurement, ResourceSample};
use rookery_study::{Point, Purpose};
use serde::Deserialize;

use crate::{
    Run,
    io::{guest_io, host_io},
    schema::data,
};

/// What a pool of storage can do, as `rookery host storage` measured it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Ceiling {
    /// The pool in words.
    pub pool: String,
    /// What measured it.
    pub tool: String,
    /// Patterns, block sizes, depths.
    pub points: Vec<CeilingPoint>,
}

/// One measured point of a sweep.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CeilingPoint {
    /// `read` or `write`.
    pub pattern: String,
    /// Size of a request, KiB.
    pub block_kib: u32,
    /// Requests under way at once.
    pub depth: u32,
    /// Requests per second.
    pub iops: f64,
    /// Mean time of a request, us.
    pub mean_us: f64,
}

data! {
    /// Reads or writes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Direction {
        /// Reads.
        Read,
        /// Writes.
        Write,
    }
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// As patterns of a sweep are named.
    #[must_use]
    pub fn pattern(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// The rate of a trial, requests per second.
    #[must_use]
    pub fn rate(self, io: &PointIoRates) -> f64 {
        match self {
            Self::Read => io.reads_per_s,
            Self::Write => io.writes_per_s,
        }
    }
}

data! {
    /// Requests to block devices at every point that they were counted at.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StorageUse {
        /// Whether they are counted for each guest; else they are those of all disks of the host.
        pub of_guests: bool,
        /// Points with good trials.
        pub points: Vec<PointIo>,
    }
}

data! {
    /// Requests of a point.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PointIo {
        /// Number of the point.
        pub point: u32,
        /// Its label.
        pub label: String,
        /// Rates of each good trial.
        pub trials: Vec<PointIoRates>,
    }
}

data! {
    /// Rates of requests in the window of a trial.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PointIoRates {
        /// Reads per second.
        pub reads_per_s: f64,
        /// Writes per second.
        pub writes_per_s: f64,
    }
}

impl StorageUse {
    /// Of a run. Where the kernel does not count for each guest, the disks of the host stand for
    /// them; no points where neither was counted.
    #[must_use]
    pub fn from_run(run: &Run) -> Self {
        let of_guests = points(run, guest_io);
        if of_guests.is_empty() {
            return Self {
                of_guests: false,
                points: points(run, host_io),
            };
        }
        Self {
            of_guests: true,
            points: of_guests,
        }
    }
}

/// Rates of a trial.
type Counter = fn(&[ResourceSample], &Measurement) -> Option<IoRates>;

fn points(run: &Run, counter: Counter) -> Vec<PointIo> {
    run.header
        .plan
        .study_points()
        .map(|point| PointIo {
            point: point.id,
            label: point.label(),
            trials: rates(run, point, counter),
        })
        .filter(|point| !point.trials.is_empty())
        .collect()
}

/// Rates of the good trials of a point.
fn rates(run: &Run, point: &Point, counter: Counter) -> Vec<PointIoRates> {
    run.trials
        .iter()
        .filter(|trial| {
            trial.row.trial.point == point.id && trial.row.trial.purpose == Purpose::Study
        })
        .filter_map(|trial| trial.valid())
        .filter_map(|(record, measured)| counter(&record.resources, measured))
        .map(|io| PointIoRates {
            reads_per_s: io.reads_per_s,
            writes_per_s: io.writes_per_s,
        })
        .collect()
}

/// The most that a pool reached in one direction with requests of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Highest<'a> {
    /// The pool.
    pub pool: &'a str,
    /// Size of a request, KiB, and the depth at which it was reached; requests per second.
    pub point: &'a CeilingPoint,
}

/// The most of each pool and block size.
#[must_use]
pub fn highest(direction: Direction, ceilings: &[Ceiling]) -> Vec<Highest<'_>> {
    let mut found: Vec<Highest<'_>> = Vec::new();
    for ceiling in ceilings {
        let mut of_block: Vec<&CeilingPoint> = Vec::new();
        for point in ceiling
            .points
            .iter()
            .filter(|point| point.pattern == direction.pattern() && point.iops.is_finite())
        {
            match of_block
                .iter_mut()
                .find(|known| known.block_kib == point.block_kib)
            {
                Some(known) if known.iops < point.iops => *known = point,
                Some(_) => {}
                None => of_block.push(point),
            }
        }
        found.extend(of_block.into_iter().map(|point| Highest {
            pool: &ceiling.pool,
            point,
        }));
    }
    found
}
