//! The trials in their order, and their seeds.

use rookery_cast::count_u32;
use rookery_workload::random::{GOLDEN_GAMMA, RandomSource as _, SplitMix64, mix};

use crate::{Order, Purpose, Study, Trial, Vcpus};

/// All trials of these combinations of points, in the order of execution: every one once, then
/// every combination again, ... Each combination is a block: its points differ in the levels of
/// factors alone and run back to back, so that what drifts does so for all of them alike.
pub(super) fn order(study: &Study, combinations: &[Vec<u32>]) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut shuffle = SplitMix64::new(mix(study.seed ^ SHUFFLE));
    let mut block = 0;
    for repeat in 1..=study.load.repeats {
        let mut round: Vec<(u32, Vec<u32>)> = (1..).zip(combinations.iter().cloned()).collect();
        if study.load.order == Order::Random {
            shuffle.shuffle(&mut round);
            round
                .iter_mut()
                .for_each(|(_, points)| shuffle.shuffle(points));
        }
        for (combination, points) in round {
            block += 1;
            for point in points {
                trials.push(Trial {
                    id: count_u32(trials.len()) + 1,
                    point,
                    repeat,
                    block,
                    seed: trial_seed(study.seed, combination, repeat),
                    purpose: Purpose::Study,
                });
            }
        }
    }
    trials
}

/// Keeps the stream of the shuffle apart from the seeds of the trials.
const SHUFFLE: u64 = 0x726f_6f6b_6572_7901;

/// The seed of a trial, a fixed function of study seed, combination and repeat, whatever the order
/// of execution. The trials of a block share it: the same users make the same choices under every
/// level, and their differences are not those of luck.
///
/// Both steps are bijections of the 64-bit numbers, so that different blocks of one study never
/// share a seed.
pub(super) fn trial_seed(study_seed: u64, combination: u32, repeat: u32) -> u64 {
    let trial = u64::from(combination) << 32 | u64::from(repeat);
    mix(mix(study_seed).wrapping_add(trial.wrapping_mul(GOLDEN_GAMMA)))
}

/// Keeps the seeds of further attempts apart from those of first ones.
const RETRY: u64 = 0x726f_6f6b_6572_7903;

/// The seed of another attempt at a void trial, of which there were so many before.
pub(super) fn retry_seed(first: &Trial, attempts: u32) -> u64 {
    mix(mix(first.seed ^ RETRY).wrapping_add(u64::from(attempts)))
}

/// Keeps the seeds of probes apart from those of planned trials.
const PROBE: u64 = 0x726f_6f6b_6572_7902;

/// The seed of a probe, a fixed function of study seed, layout, load and attempt: the variants of a
/// layout share it.
pub(super) fn probe_seed(
    study_seed: u64,
    guests: u32,
    vcpus: Vcpus,
    load: f64,
    attempt: u32,
) -> u64 {
    let layout = u64::from(guests) << 32 | u64::from(vcpus.0);
    let load = mix(mix(study_seed ^ PROBE).wrapping_add(layout)) ^ load.to_bits();
    mix(mix(load).wrapping_add(u64::from(attempt)))
}

/// Keeps the seeds of pilots apart from those of all other trials.
const PILOT: u64 = 0x726f_6f6b_6572_7905;

/// The seed of the pilot of a point, a fixed function of study seed and point.
pub(super) fn pilot_seed(study_seed: u64, point: u32) -> u64 {
    mix(mix(study_seed ^ PILOT).wrapping_add(u64::from(point)))
}

/// The points of a combination in the order of a repeat that was not planned at first.
pub(super) fn shuffled(points: &[u32], seed: u64, repeat: u32) -> Vec<u32> {
    let mut points = points.to_vec();
    SplitMix64::new(mix(seed ^ SHUFFLE ^ u64::from(repeat))).shuffle(&mut points);
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_fixed_forever() {
        // A stored run names only its seed: whoever repeats it later must get the same streams.
        assert_eq!(
            [trial_seed(1, 1, 1), trial_seed(1, 2, 1)],
            [17_421_597_054_599_355_941, 7_667_568_794_356_980_297]
        );
    }
}
