//! One of several, in proportion to their weights.

/// The index that a uniform `draw` in `[0, 1)` falls to, in proportion to the weights; never one of
/// weight zero.
pub(crate) fn weighted_index(weights: &[f64], draw: f64) -> Option<usize> {
    let mut left = draw * weights.iter().sum::<f64>();
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 && *weight > 0.0 {
            return Some(index);
        }
    }
    // Rounding may leave nothing of the end: the last that can be drawn.
    weights.iter().rposition(|weight| *weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_zero_are_never_drawn() {
        for draw in [0.0, 0.5, 1.0 - f64::EPSILON, 1.0] {
            assert_eq!(weighted_index(&[0.0, 1.0, 0.0], draw), Some(1));
        }
        assert_eq!(weighted_index(&[0.0, 0.0], 0.5), None);
        assert_eq!(weighted_index(&[], 0.5), None);
    }

    #[test]
    fn shares_follow_the_weights() {
        let drawn = |draw| weighted_index(&[1.0, 0.0, 3.0], draw);
        assert_eq!(drawn(0.249), Some(0));
        assert_eq!(drawn(0.251), Some(2));
    }
}
