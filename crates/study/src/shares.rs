//! How the driver's CPUs are shared out to groups of guests.

/// The CPUs for each group by its load; none for a group without. Each has at least one of its own,
/// and the rest go where most load waits for a CPU; where there are too few, groups take turns.
///
/// Source of the rule: V. d'Hondt's method of highest averages.
pub(crate) fn of(loads: &[Option<f64>], driver: &[u32]) -> Vec<Vec<u32>> {
    let loaded = loads.iter().flatten().count();
    if driver.len() < loaded {
        let mut turn = 0;
        let next = |load: &Option<f64>| {
            if load.is_none() || driver.is_empty() {
                return Vec::new();
            }
            turn += 1;
            vec![driver[(turn - 1) % driver.len()]]
        };
        return loads.iter().map(next).collect();
    }
    let mut counts: Vec<usize> = loads
        .iter()
        .map(|load| usize::from(load.is_some()))
        .collect();
    for _ in loaded..driver.len() {
        let waiting = |place: &usize| loads[*place].unwrap_or(0.0) / (counts[*place] as f64 + 1.0);
        let most = (0..loads.len())
            .filter(|place| loads[*place].is_some())
            // Of equal ones the first.
            .rev()
            .max_by(|a, b| waiting(a).total_cmp(&waiting(b)));
        if let Some(most) = most {
            counts[most] += 1;
        }
    }
    let mut left = driver.iter().copied();
    counts
        .into_iter()
        .map(|count| left.by_ref().take(count).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_follow_the_load() {
        let shares = |loads: &[Option<f64>], cpus: u32| of(loads, &(0..cpus).collect::<Vec<u32>>());
        let none: Vec<u32> = Vec::new();
        let (one, two) = (Some(10.0), Some(30.0));
        assert_eq!(shares(&[one], 2), [vec![0, 1]]);
        assert_eq!(
            shares(&[one, None, two], 4),
            [vec![0], none.clone(), vec![1, 2, 3]]
        );
        assert_eq!(shares(&[one, one], 3), [vec![0, 1], vec![2]]);
        assert_eq!(
            shares(&[one, None, two], 1),
            [vec![0], none.clone(), vec![0]]
        );
        assert_eq!(shares(&[one, one, two], 2), [vec![0], vec![1], vec![0]]);
        assert_eq!(shares(&[one, two], 0), [none.clone(), none]);
    }
}
