//! The inverse of a symmetric matrix.

/// Inverts a symmetric, positive definite matrix, of which the part below the diagonal is read, in place; the logarithm of its determinant, or `None`
/// where it is not positive definite. The sweep operator: each pivot goes through the rows of memory once.
pub(super) fn invert(matrix: &mut [f64], size: usize) -> Option<f64> {
    let mut log_determinant = 0.0;
    let mut column = vec![0.0; size];
    for pivot in 0..size {
        let diagonal = matrix[pivot * size + pivot];
        if diagonal.is_nan() || diagonal <= 1e-12 {
            return None;
        }
        log_determinant += diagonal.ln();
        column[..pivot].copy_from_slice(&matrix[pivot * size..pivot * size + pivot]);
        for row in pivot + 1..size {
            column[row] = matrix[row * size + pivot];
        }
        column[pivot] = 0.0;
        let scale = 1.0 / diagonal;
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = column[row] * scale;
            let own = &mut matrix[row * size..=row * size + row];
            for (entry, other) in own.iter_mut().zip(&column) {
                *entry -= factor * other;
            }
            if row > pivot {
                own[pivot] = factor;
            }
        }
        for before in 0..pivot {
            matrix[pivot * size + before] = column[before] * scale;
        }
        matrix[pivot * size + pivot] = -scale;
    }
    // What was swept is the inverse with the other sign.
    for row in 0..size {
        for before in 0..=row {
            let entry = -matrix[row * size + before];
            matrix[row * size + before] = entry;
            matrix[before * size + row] = entry;
        }
    }
    Some(log_determinant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let size = 7;
        let entry = |row: usize, column: usize| {
            (-(row.abs_diff(column) as f64) / 3.0).exp() + if row == column { 0.1 } else { 0.0 }
        };
        let matrix: Vec<f64> = (0..size * size).map(|at| entry(at / size, at % size)).collect();
        let mut inverse = matrix.clone();
        invert(&mut inverse, size).expect("a positive definite matrix");
        for row in 0..size {
            for column in 0..size {
                let product: f64 = (0..size).map(|at| matrix[row * size + at] * inverse[at * size + column]).sum();
                let expected = if row == column { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-12, "{row} {column}: {product}");
            }
        }
        // The determinant of a matrix of two rows.
        let mut two = vec![4.0, 1.0, 1.0, 3.0];
        assert!((invert(&mut two, 2).expect("positive definite") - 11f64.ln()).abs() < 1e-12);
        assert_eq!(invert(&mut [1.0, 2.0, 2.0, 1.0], 2), None);
    }
}
