//! Equal capacity in different splits: one big guest, two halves, four quarters.

use rookery_cast::truncate_u64;

use crate::{points::PointSummary, schema::data};

data! {
    /// Points of equal vCPUs and load in all, in at least two splits.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CapacityGroup {
        /// vCPUs of all guests of a point.
        pub vcpus: f64,
        /// Load of all guests in words: `200 users`.
        pub load_label: String,
        /// The splits, fewest guests first.
        pub splits: Vec<Split>,
        /// Numbers of the points.
        pub points: Vec<u32>,
    }
}

data! {
    /// How capacity is split.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Split {
        /// Number of guests.
        pub guests: u32,
        /// vCPUs of each.
        pub vcpus: f64,
    }
}

/// Groups of at least two splits, the smallest capacity first.
#[must_use]
pub fn groups(points: &[PointSummary]) -> Vec<CapacityGroup> {
    let mut groups: Vec<(u64, f64, Vec<&PointSummary>)> = Vec::new();
    for summary in points {
        let point = &summary.point;
        let vcpus = u64::from(point.guests) * thousandths(point.vcpus);
        let known = groups.iter_mut().find(|(known, _, group)| {
            *known == vcpus
                && group
                    .first()
                    .is_some_and(|first| first.point.load_label == point.load_label)
        });
        match known {
            Some((.., group)) => group.push(summary),
            None => groups.push((vcpus, point.load(), vec![summary])),
        }
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    groups
        .into_iter()
        .filter_map(|(vcpus, _, group)| capacity_group(vcpus, &group))
        .collect()
}

fn capacity_group(vcpus: u64, group: &[&PointSummary]) -> Option<CapacityGroup> {
    let mut splits: Vec<(u32, u64)> = group
        .iter()
        .map(|summary| (summary.point.guests, thousandths(summary.point.vcpus)))
        .collect();
    splits.sort_unstable();
    splits.dedup();
    (splits.len() > 1).then(|| CapacityGroup {
        vcpus: vcpus as f64 / 1000.0,
        load_label: group[0].point.load_label.clone(),
        splits: splits
            .into_iter()
            .map(|(guests, vcpus)| Split {
                guests,
                vcpus: vcpus as f64 / 1000.0,
            })
            .collect(),
        points: group.iter().map(|summary| summary.point.id).collect(),
    })
}

/// vCPUs are planned in thousandths: by these they are equal or not.
fn thousandths(vcpus: f64) -> u64 {
    truncate_u64((1000.0 * vcpus).round())
}
