//! Many comparisons at once: which may be called findings.
//!
//! [`holm`](crate::holm) guards every claim of a family; [`benjamini_hochberg`] is for screening,
//! where a known share of false alarms among the finds is acceptable.

/// Probabilities adjusted after Benjamini, Hochberg (JRSS B 57 (1995) 289), in the order given: the
/// i-th smallest of c times c / i, never above a larger one's, at most 1. Of all that lie below 5 %
/// afterwards, at most 5 % are false on average.
#[must_use]
pub fn benjamini_hochberg(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut smallest: f64 = 1.0;
    for (rank, &index) in order.iter().enumerate().rev() {
        let factor = probabilities.len() as f64 / (rank + 1) as f64;
        smallest = smallest.min(factor * probabilities[index]);
        adjusted[index] = smallest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::holm;

    #[test]
    fn the_worked_example_comes_out() {
        let near = |found: &[f64], known: [f64; 5]| {
            found.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-12)
        };
        let p = [0.030, 0.001, 0.012, 0.010, 0.200];
        assert!(
            near(&benjamini_hochberg(&p), [0.0375, 0.005, 0.02, 0.02, 0.2]),
            "{:?}",
            benjamini_hochberg(&p)
        );
        assert!(near(&holm(&p), [0.06, 0.005, 0.04, 0.04, 0.2]));
        assert_eq!(benjamini_hochberg(&[]), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn it_lies_between_the_plain_and_the_family_wise(p in prop::collection::vec(0.0..1.0f64, 1..20)) {
            for ((plain, found), family) in p.iter().zip(benjamini_hochberg(&p)).zip(holm(&p)) {
                prop_assert!(*plain <= found + 1e-12 && found <= family + 1e-12);
            }
        }
    }
}
