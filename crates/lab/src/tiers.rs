//! Groups whose guests call those of another group.

use rookery_stack::StackPart;
use rookery_study::{Callers, Point};

/// Which part of its stack the `group`-th group of a point runs.
pub(crate) fn part_of(point: &Point, group: usize) -> StackPart {
    let Some(own) = point.groups.get(group) else {
        return StackPart::Whole;
    };
    match &own.callers {
        Callers::Group(front) => {
            let front = point.groups.iter().find(|other| other.name == *front);
            let users = front.map_or(0, |front| front.total_users());
            StackPart::Tier {
                users: users.div_ceil(own.guests.max(1)),
                callers: point.callers_of_each(own),
            }
        }
        Callers::Users if point.tier_of(group).is_some() => StackPart::Front,
        Callers::Users => StackPart::Whole,
    }
}

/// The guest of a tier of so many that the `caller`-th of so many callers calls: callers are shared
/// out in runs, so that those of one tile call guests of the same tile.
pub(crate) fn called_by(caller: usize, callers: usize, tier: usize) -> usize {
    (caller * tier / callers.max(1)).min(tier.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_shared_out_in_runs() {
        let of = |callers: usize, tier: usize| -> Vec<usize> {
            (0..callers)
                .map(|caller| called_by(caller, callers, tier))
                .collect()
        };
        assert_eq!(of(2, 1), [0, 0]);
        assert_eq!(of(4, 2), [0, 0, 1, 1]);
        assert_eq!(of(3, 2), [0, 0, 1]);
        assert_eq!(of(1, 2), [0]);
    }
}
