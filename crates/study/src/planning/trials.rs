//! The trials in their order, and their seeds.

use rookery_cast::{count_u32, index, low_u64};

use crate::{Order, Point, Purpose, Study, Trial, Vcpus};

/// All trials in the order of execution: every combination once, then every combination again, ...
/// Each combination is a block: its points differ in the levels of factors alone and run back to
/// back, so that what drifts does so for all of them alike.
pub(super) fn order(study: &Study, combinations: &[Vec<Point>]) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut shuffle = Splitmix(mix(study.seed ^ SHUFFLE));
    let mut block = 0;
    for repeat in 1..=study.load.repeats {
        let mut round: Vec<(u32, Vec<u32>)> = (1..)
            .zip(combinations)
            .map(|(number, points)| (number, points.iter().map(|point| point.id).collect()))
            .collect();
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

/// The golden ratio as a fraction of 2^64, the increment of splitmix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The seed of a trial, a fixed function of study seed, combination and repeat, whatever the order
/// of execution. The trials of a block share it: the same users make the same choices under every
/// level, and their differences are not those of luck.
///
/// Both steps are bijections of the 64-bit numbers, so that different blocks of one study never
/// share a seed.
pub(super) fn trial_seed(study_seed: u64, combination: u32, repeat: u32) -> u64 {
    let trial = u64::from(combination) << 32 | u64::from(repeat);
    mix(mix(study_seed).wrapping_add(trial.wrapping_mul(GOLDEN)))
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

/// The points of a combination in the order of a repeat that was not planned at first.
pub(super) fn shuffled(points: &[u32], seed: u64, repeat: u32) -> Vec<u32> {
    let mut points = points.to_vec();
    Splitmix(mix(seed ^ SHUFFLE ^ u64::from(repeat))).shuffle(&mut points);
    points
}

/// The mixing function of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", OOPSLA 2014, in the constants of Vigna's reference implementation).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A splitmix64 stream.
struct Splitmix(u64);

impl Splitmix {
    fn next(&mut self) -> u64 {
        let value = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        value
    }

    /// Fisher-Yates. The bias of the scaled draw is below 2^-50 for any list a study can have.
    fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let draw = (u128::from(self.next()) * (last as u128 + 1)) >> 64;
            list.swap(last, index(low_u64(draw)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mixing_function_is_splitmix64() {
        // First values of Vigna's reference implementation for the seed 0.
        let mut stream = Splitmix(0);
        assert_eq!(stream.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(stream.next(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn seeds_are_fixed_forever() {
        // A stored run names only its seed: whoever repeats it later must get the same streams.
        assert_eq!(
            [trial_seed(1, 1, 1), trial_seed(1, 2, 1)],
            [17_421_597_054_599_355_941, 7_667_568_794_356_980_297]
        );
    }

    #[test]
    fn shuffles_reach_every_order_about_equally() {
        let mut stream = Splitmix(7);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut list = [1, 2, 3];
            stream.shuffle(&mut list);
            *counts.entry(list).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Six standard deviations of a binomial with n = 6000, p = 1/6.
        assert!(
            counts.values().all(|count| (827..=1173).contains(count)),
            "{counts:?}"
        );
    }
}
