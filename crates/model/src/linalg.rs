//! Small dense matrices: a few columns, some dozens of rows.

/// A matrix by rows.
pub(crate) type Rows = Vec<Vec<f64>>;

/// Solve the square system `a x = b` by elimination with partial pivoting; `None` when `a` is
/// singular to working precision.
pub(crate) fn solve(mut a: Rows, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let size = b.len();
    let largest = a
        .iter()
        .flatten()
        .fold(0.0_f64, |most, cell| most.max(cell.abs()));
    for column in 0..size {
        let pivot =
            (column..size).max_by(|i, j| a[*i][column].abs().total_cmp(&a[*j][column].abs()))?;
        if a[pivot][column].abs() <= largest * 1e-15 || !a[pivot][column].is_finite() {
            return None;
        }
        a.swap(column, pivot);
        b.swap(column, pivot);
        for row in column + 1..size {
            let factor = a[row][column] / a[column][column];
            let (above, below) = a.split_at_mut(row);
            for (cell, upper) in below[0][column..].iter_mut().zip(&above[column][column..]) {
                *cell -= factor * upper;
            }
            b[row] -= factor * b[column];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size)
            .map(|column| a[row][column] * b[column])
            .sum();
        b[row] = (b[row] - known) / a[row][row];
    }
    b.iter().all(|value| value.is_finite()).then_some(b)
}

/// The inverse of a square matrix; `None` when it is singular to working precision.
pub(crate) fn inverse(a: &Rows) -> Option<Rows> {
    let size = a.len();
    let mut columns = Vec::with_capacity(size);
    for column in 0..size {
        let unit = (0..size)
            .map(|row| f64::from(u8::from(row == column)))
            .collect();
        columns.push(solve(a.clone(), unit)?);
    }
    Some(
        (0..size)
            .map(|row| columns.iter().map(|column| column[row]).collect())
            .collect(),
    )
}

/// A'A of a matrix with `columns` columns.
pub(crate) fn gram(a: &[Vec<f64>], columns: usize) -> Rows {
    let product = |i: usize, j: usize| a.iter().map(|row| row[i] * row[j]).sum();
    (0..columns)
        .map(|i| (0..columns).map(|j| product(i, j)).collect())
        .collect()
}

/// A symmetric matrix scaled to a unit diagonal, with the square roots of its diagonal; `None` when
/// a diagonal cell is not positive.
pub(crate) fn unit_diagonal(a: &Rows) -> Option<(Rows, Vec<f64>)> {
    let norms: Vec<f64> = a.iter().enumerate().map(|(i, row)| row[i].sqrt()).collect();
    if norms.iter().any(|norm| !norm.is_finite() || *norm <= 0.0) {
        return None;
    }
    let scaled = |(i, row): (usize, &Vec<f64>)| {
        row.iter()
            .enumerate()
            .map(|(j, cell)| cell / (norms[i] * norms[j]))
            .collect()
    };
    Some((a.iter().enumerate().map(scaled).collect(), norms))
}

/// (A'A)^-1 from A'A, by way of its scaled form.
pub(crate) fn gram_inverse(gram: &Rows) -> Option<Rows> {
    let (scaled, norms) = unit_diagonal(gram)?;
    let mut inverse = inverse(&scaled)?;
    for (i, row) in inverse.iter_mut().enumerate() {
        for (j, cell) in row.iter_mut().enumerate() {
            *cell /= norms[i] * norms[j];
        }
    }
    Some(inverse)
}

/// The x that minimises |A x - b|^2, by scaled normal equations with one step of refinement; `None`
/// when columns depend on each other.
pub(crate) fn least_squares(a: &[Vec<f64>], b: &[f64], columns: usize) -> Option<Vec<f64>> {
    let (scaled, norms) = unit_diagonal(&gram(a, columns))?;
    let against = |residual: &[f64]| -> Vec<f64> {
        (0..columns)
            .map(|j| {
                a.iter()
                    .zip(residual)
                    .map(|(row, r)| row[j] * r)
                    .sum::<f64>()
                    / norms[j]
            })
            .collect()
    };
    let mut x: Vec<f64> = vec![0.0; columns];
    for _ in 0..2 {
        let residual: Vec<f64> = a.iter().zip(b).map(|(row, b)| b - dot(row, &x)).collect();
        let step = solve(scaled.clone(), against(&residual))?;
        for (j, value) in x.iter_mut().enumerate() {
            *value += step[j] / norms[j];
        }
    }
    Some(x)
}

/// The condition number of a matrix whose columns are scaled to unit length, from A'A; infinite
/// when it is singular.
pub(crate) fn scaled_condition(gram: &Rows) -> f64 {
    let Some((scaled, _)) = unit_diagonal(gram) else {
        return f64::INFINITY;
    };
    let values = eigenvalues(scaled);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    if smallest <= largest * 1e-15 {
        f64::INFINITY
    } else {
        (largest / smallest).sqrt()
    }
}

/// Eigenvalues of a symmetric matrix by Jacobi's rotations.
fn eigenvalues(mut a: Rows) -> Vec<f64> {
    let size = a.len();
    for _ in 0..60 {
        let off: f64 = (0..size)
            .map(|i| (0..i).map(|j| a[i][j] * a[i][j]).sum::<f64>())
            .sum();
        if off < 1e-30 {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                rotate(&mut a, p, q);
            }
        }
    }
    (0..size).map(|i| a[i][i]).collect()
}

/// One rotation that clears cell (p, q).
fn rotate(a: &mut Rows, p: usize, q: usize) {
    if a[p][q].abs() < 1e-300 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for row in a.iter_mut() {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    let (above, below) = a.split_at_mut(q);
    for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

/// The inner product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_needs_pivoting_is_solved() {
        let x = solve(vec![vec![0.0, 2.0], vec![3.0, 1.0]], vec![4.0, 5.0]).expect("regular");
        assert!(
            (x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15,
            "{x:?}"
        );
        assert_eq!(
            solve(vec![vec![1.0, 2.0], vec![2.0, 4.0]], vec![1.0, 2.0]),
            None
        );
    }

    #[test]
    fn the_inverse_times_the_matrix_is_the_unit() {
        let a = vec![
            vec![4.0, 1.0, 0.5],
            vec![1.0, 3.0, 0.2],
            vec![0.5, 0.2, 2e-6 + 1.0],
        ];
        let inverse = gram_inverse(&a).expect("regular");
        for (i, row) in a.iter().enumerate() {
            for j in 0..3 {
                let cell: f64 = row
                    .iter()
                    .zip(&inverse)
                    .map(|(a, column)| a * column[j])
                    .sum();
                assert!(
                    (cell - f64::from(u8::from(i == j))).abs() < 1e-12,
                    "{i} {j} {cell}"
                );
            }
        }
    }

    #[test]
    fn least_squares_meets_an_exact_line_and_refuses_twin_columns() {
        let a: Rows = (1..5).map(|n| vec![1.0, f64::from(n)]).collect();
        let b: Vec<f64> = (1..5).map(|n| 3.0 + 0.5 * f64::from(n)).collect();
        let x = least_squares(&a, &b, 2).expect("regular");
        assert!(
            (x[0] - 3.0).abs() < 1e-13 && (x[1] - 0.5).abs() < 1e-13,
            "{x:?}"
        );
        let twins: Rows = (1..5).map(|n| vec![f64::from(n), f64::from(n)]).collect();
        assert_eq!(least_squares(&twins, &b, 2), None);
        assert!(scaled_condition(&gram(&twins, 2)) > 1e7);
    }

    #[test]
    fn eigenvalues_of_a_known_matrix() {
        let mut values = eigenvalues(vec![
            vec![2.0, 1.0, 0.0],
            vec![1.0, 2.0, 1.0],
            vec![0.0, 1.0, 2.0],
        ]);
        values.sort_by(f64::total_cmp);
        for (value, known) in values
            .iter()
            .zip([2.0 - 2.0_f64.sqrt(), 2.0, 2.0 + 2.0_f64.sqrt()])
        {
            assert!((value - known).abs() < 1e-14, "{values:?}");
        }
    }
}
