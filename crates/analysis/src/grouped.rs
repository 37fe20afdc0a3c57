//! Points with groups as wholes: what is kept of them where their groups stand for themselves.

use rookery_study::Point;

/// A point with groups as it was planned, and what became of them.
#[derive(Clone, Debug)]
pub struct GroupedPoint {
    /// The point.
    pub point: Point,
    /// Its groups, in their order.
    pub groups: Vec<GroupPart>,
}

/// One group of a point.
#[derive(Clone, Debug)]
pub struct GroupPart {
    /// Number of the point that stands for the group; nothing of a tier, which has no load.
    pub point: Option<u32>,
    /// What its guests used together, over the good trials.
    pub used: GroupUse,
}

/// What the guests of a group used in the measured windows, means over the good trials.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupUse {
    /// Cores.
    pub cores: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: Option<f64>,
    /// Reads from block devices per second.
    pub reads_per_s: Option<f64>,
    /// Writes to block devices per second.
    pub writes_per_s: Option<f64>,
}
