//! Which combinations of levels are tried: all of them, or a screening design.
//!
//! The screening design is a Hadamard matrix folded over: its rows and their negatives (Plackett
//! and Burman: "The design of optimum multifactorial experiments", Biometrika 33, 1946; the fold is
//! by Box and Wilson, 1951). With n factors and the smallest order N that is at least n it has 2N
//! runs and resolution IV: no effect of a factor is mixed with another factor's, nor with that of
//! any two factors together. The effects of two factors together are mixed with each other;
//! [`aliases`] says which.

use serde::{Deserialize, Serialize};

/// How the levels of several factors are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Every combination.
    #[default]
    Full,
    /// A balanced part of the combinations of factors of two levels each, which shows the effect of
    /// each factor alone.
    Screening,
}

/// Orders of the Hadamard matrices that are made here.
const ORDERS: [usize; 8] = [1, 2, 4, 8, 12, 16, 20, 24];

/// Most factors of a screening design.
pub(crate) const MOST_SCREENED: usize = 24;

/// Rows of levels (indices), one level for each factor, all first levels first. `levels` counts
/// those of each factor. For a screening design all counts are 2 and there are at most
/// [`MOST_SCREENED`].
pub(crate) fn rows(design: Design, levels: &[usize]) -> Vec<Vec<usize>> {
    match design {
        Design::Full => full(levels),
        Design::Screening => screening(levels.len()),
    }
}

/// How many rows there are, without making them.
pub(crate) fn count(design: Design, levels: &[usize]) -> usize {
    match design {
        Design::Full => levels
            .iter()
            .fold(1, |product, count| product.saturating_mul(*count)),
        Design::Screening => 2 * order_for(levels.len()),
    }
}

/// The last factor changes fastest.
fn full(levels: &[usize]) -> Vec<Vec<usize>> {
    levels.iter().fold(vec![Vec::new()], |rows, count| {
        let longer = rows
            .iter()
            .flat_map(|row| (0..*count).map(move |level| [row.as_slice(), &[level]].concat()));
        longer.collect()
    })
}

fn order_for(factors: usize) -> usize {
    ORDERS
        .into_iter()
        .find(|order| *order >= factors)
        .unwrap_or(MOST_SCREENED)
}

fn screening(factors: usize) -> Vec<Vec<usize>> {
    let matrix = hadamard(order_for(factors));
    let folded = |sign: i32| {
        let row = move |row: &Vec<i32>| {
            row.iter()
                .take(factors)
                .map(|value| usize::from(value * sign > 0))
                .collect()
        };
        matrix.iter().map(row)
    };
    // The first row of every matrix is all ones: its negative has the first level of every factor.
    folded(-1).chain(folded(1)).collect()
}

/// A Hadamard matrix of one of [`ORDERS`]: Sylvester's for powers of two, Paley's first for primes
/// plus one.
fn hadamard(order: usize) -> Vec<Vec<i32>> {
    if order.is_power_of_two() {
        let sign = |row: usize, column: usize| {
            if (row & column).count_ones().is_multiple_of(2) {
                1
            } else {
                -1
            }
        };
        return (0..order)
            .map(|row| (0..order).map(|column| sign(row, column)).collect())
            .collect();
    }
    let prime = order - 1;
    let squares: Vec<usize> = (1..prime).map(|n| n * n % prime).collect();
    let character = |n: usize| match n % prime {
        0 => 0,
        n if squares.contains(&n) => 1,
        _ => -1,
    };
    let entry = |row: usize, column: usize| match (row, column) {
        (0, _) => 1,
        (_, 0) => -1,
        (row, column) if row == column => 1,
        (row, column) => character(row + prime - column),
    };
    (0..order)
        .map(|row| (0..order).map(|column| entry(row, column)).collect())
        .collect()
}

/// An effect: of one factor, or of two together; indices of factors.
type Effect = (usize, Option<usize>);

/// What a design mixes up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Aliases {
    /// Effects that it cannot tell apart, at least two in each set.
    pub(crate) sets: Vec<Vec<Effect>>,
    /// Whether effects of two factors together are mixed in part with others besides.
    pub(crate) partly: bool,
}

/// The aliases of effects of one and of two factors in rows of two levels. Fewer than two factors
/// have none.
pub(crate) fn aliases(rows: &[Vec<usize>]) -> Aliases {
    let factors = rows.first().map_or(0, Vec::len);
    let pairs = (0..factors).flat_map(|a| (a + 1..factors).map(move |b| (a, Some(b))));
    let effects: Vec<Effect> = (0..factors).map(|a| (a, None)).chain(pairs).collect();
    let contrast = |(a, b): Effect| -> Vec<i32> {
        let sign = |level: usize| if level == 0 { -1 } else { 1 };
        rows.iter()
            .map(|row| sign(row[a]) * b.map_or(1, |b| sign(row[b])))
            .collect()
    };
    let contrasts: Vec<Vec<i32>> = effects.iter().map(|effect| contrast(*effect)).collect();
    let (mut sets, mut partly, mut told) = (Vec::new(), false, vec![false; effects.len()]);
    for first in 0..effects.len() {
        let mut set = vec![effects[first]];
        for other in first + 1..effects.len() {
            let product: i32 = contrasts[first]
                .iter()
                .zip(&contrasts[other])
                .map(|(a, b)| a * b)
                .sum();
            if product.unsigned_abs() as usize == rows.len() {
                set.push(effects[other]);
                told[other] = true;
            } else if product != 0 {
                partly = true;
            }
        }
        if set.len() > 1 && !told[first] {
            sets.push(set);
        }
    }
    Aliases { sets, partly }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_designs_have_every_combination_once() {
        assert_eq!(rows(Design::Full, &[]), [Vec::<usize>::new()]);
        assert_eq!(
            rows(Design::Full, &[2, 3]),
            [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
        );
        assert_eq!(
            count(Design::Full, &[64; 30]),
            usize::MAX,
            "bounded without being made"
        );
    }

    #[test]
    fn matrices_are_orthogonal() {
        for order in ORDERS {
            let matrix = hadamard(order);
            for (a, b) in (0..order).flat_map(|a| (0..order).map(move |b| (a, b))) {
                let product: i32 = matrix[a].iter().zip(&matrix[b]).map(|(a, b)| a * b).sum();
                assert_eq!(
                    product,
                    if a == b { order as i32 } else { 0 },
                    "order {order}, rows {a} and {b}"
                );
            }
            assert!(matrix[0].iter().all(|value| *value == 1));
        }
    }

    /// Resolution IV: main effects are clear of each other and of all pairs, for every number of
    /// factors.
    #[test]
    fn screening_keeps_the_effects_of_single_factors_clear() {
        for factors in 1..=MOST_SCREENED {
            let rows = rows(Design::Screening, &vec![2; factors]);
            assert_eq!(rows.len(), count(Design::Screening, &vec![2; factors]));
            assert!(
                rows[0].iter().all(|level| *level == 0),
                "the reference is tried"
            );
            let sign = |row: &[usize], factor: usize| if row[factor] == 0 { -1 } else { 1 };
            for a in 0..factors {
                assert_eq!(
                    rows.iter().map(|row| sign(row, a)).sum::<i32>(),
                    0,
                    "each level equally often"
                );
                for b in (0..factors).filter(|b| *b != a) {
                    assert_eq!(
                        rows.iter()
                            .map(|row| sign(row, a) * sign(row, b))
                            .sum::<i32>(),
                        0
                    );
                    for c in (0..b).filter(|c| *c != a) {
                        let mixed: i32 = rows
                            .iter()
                            .map(|row| sign(row, a) * sign(row, b) * sign(row, c))
                            .sum();
                        assert_eq!(mixed, 0, "{factors} factors: {a} is mixed with {b} x {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn few_factors_are_tried_in_full() {
        for factors in 1..=3 {
            let mut screened = rows(Design::Screening, &vec![2; factors]);
            screened.sort();
            screened.dedup();
            assert_eq!(screened.len(), if factors == 3 { 8 } else { 1 << factors });
            let found = aliases(&rows(Design::Screening, &vec![2; factors]));
            assert_eq!((found.sets, found.partly), (vec![], false));
        }
    }

    #[test]
    fn pairs_are_mixed_with_pairs_alone() {
        // Four factors in eight runs: the half fraction with I = ABCD.
        let found = aliases(&rows(Design::Screening, &[2; 4]));
        let pair = |a, b| (a, Some(b));
        assert_eq!(
            found.sets,
            [
                [pair(0, 1), pair(2, 3)],
                [pair(0, 2), pair(1, 3)],
                [pair(0, 3), pair(1, 2)]
            ]
        );
        assert!(!found.partly);
        let found = aliases(&rows(Design::Screening, &[2; 11]));
        assert!(found.partly, "Plackett and Burman's mix in part");
        assert!(
            found
                .sets
                .iter()
                .flatten()
                .all(|(_, other)| other.is_some())
        );
    }
}
