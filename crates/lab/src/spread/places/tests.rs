//! Trials are handed out and come back.

use rookery_study::Purpose;

use super::*;

fn trial(id: u32, point: u32, block: u32) -> Trial {
    Trial {
        id,
        point,
        repeat: 1,
        block,
        seed: u64::from(id),
        purpose: Purpose::Study,
    }
}

/// Machines alone.
fn teams(labs: usize) -> Teams {
    Teams {
        members: (0..labs).map(|lab| vec![lab]).collect(),
        alone: labs,
        of_point: HashMap::new(),
    }
}

/// Machines that have these trials to perform, so many at a time.
fn places(labs: usize, at_once: usize, left: Vec<Trial>) -> Places {
    let mut places = Places::new(teams(labs), at_once);
    left.into_iter().for_each(|trial| places.add(trial));
    places
}

fn ids(handed: &[(usize, Trial)]) -> Vec<(usize, u32)> {
    handed.iter().map(|(lab, trial)| (*lab, trial.id)).collect()
}

/// Let all machines go on until nothing is left; which machine had which point, in order.
fn perform_all(places: &mut Places) -> Vec<(usize, u32)> {
    let mut all = Vec::new();
    loop {
        let handed = places.next();
        if handed.is_empty() {
            return all;
        }
        for (lab, trial) in handed {
            all.push((lab, trial.point));
            places.end(lab);
        }
    }
}

#[test]
fn a_block_stays_on_one_machine() {
    let left = vec![
        trial(1, 1, 1),
        trial(2, 2, 1),
        trial(3, 1, 2),
        trial(4, 2, 2),
    ];
    let mut places = places(2, 2, left);
    assert_eq!(ids(&places.next()), [(0, 1), (1, 3)]);
    assert!(places.next().is_empty(), "both are at work");
    places.end(0);
    assert_eq!(ids(&places.next()), [(0, 2)]);
}

#[test]
fn repeats_of_a_point_go_to_different_machines() {
    // Two points, three repeats, three machines.
    let left = (0..6).map(|n| trial(n + 1, n % 2 + 1, n + 1)).collect();
    let mut all = perform_all(&mut places(3, 3, left));
    all.sort_unstable();
    assert_eq!(all, [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]);
}

#[test]
fn what_a_lost_machine_had_is_for_the_others() {
    let left = vec![trial(1, 1, 1), trial(2, 2, 1), trial(3, 1, 2)];
    let mut places = places(2, 2, left);
    assert_eq!(ids(&places.next()), [(0, 1), (1, 3)]);
    places.end(0);
    places.lose(0, &[0], Some(trial(4, 1, 1)));
    places.end(1);
    assert_eq!(ids(&places.next()), [(1, 4)]);
    places.end(1);
    assert_eq!(ids(&places.next()), [(1, 2)]);
    places.end(1);
    assert!(places.next().is_empty() && !places.is_stuck());
    places.add(trial(5, 1, 3));
    places.lose(1, &[1], None);
    assert!(places.is_stuck());
}

#[test]
fn another_attempt_comes_next_on_the_same_machine() {
    let mut places = places(1, 1, vec![trial(1, 1, 1), trial(2, 2, 1)]);
    places.next();
    places.end(0);
    places.give(0, trial(3, 1, 1));
    assert_eq!(ids(&places.next()), [(0, 3)]);
}

#[test]
fn machines_whose_drivers_are_shared_take_turns_by_blocks() {
    // Two blocks of two points, two machines, one trial at a time.
    let left = vec![
        trial(1, 1, 1),
        trial(2, 2, 1),
        trial(3, 1, 2),
        trial(4, 2, 2),
    ];
    let mut places = places(2, 1, left);
    let mut all = Vec::new();
    loop {
        let handed = ids(&places.next());
        let [(lab, id)] = handed[..] else {
            assert!(handed.is_empty(), "{handed:?}");
            break;
        };
        assert!(places.next().is_empty(), "one at a time");
        all.push((lab, id));
        places.end(lab);
    }
    assert_eq!(all, [(0, 1), (0, 2), (1, 3), (1, 4)]);
}

#[test]
fn what_machines_perform_together_waits_for_all_of_them_and_no_others() {
    // Point 2 is of machines 0 and 1 together; they are the third team.
    let mut teams = teams(2);
    teams.members.push(vec![0, 1]);
    teams.of_point.insert(2, 2);
    let mut places = Places::new(teams, 1);
    for trial in [
        trial(1, 1, 1),
        trial(2, 2, 1),
        trial(3, 1, 2),
        trial(4, 2, 2),
    ] {
        places.add(trial);
    }
    let mut performed = Vec::new();
    for _ in 0..3 {
        let handed = ids(&places.next());
        performed.extend(handed.iter().map(|(team, _)| *team));
        places.end(handed[0].0);
    }
    performed.sort_unstable();
    assert_eq!(performed, [0, 1, 2]);
    let handed = ids(&places.next());
    assert_eq!(handed, [(2, 4)]);
    places.end(2);
    places.lose(2, &[1], Some(trial(5, 2, 2)));
    assert!(places.next().is_empty() && places.is_stuck());
    places.add(trial(6, 1, 3));
    assert_eq!(
        ids(&places.next()),
        [(0, 6)],
        "the other machine goes on alone"
    );
}
