//! Means and standard deviations of columns.

/// The mean and the standard deviation of each of `n_columns` columns of a matrix, given row by row. The mean of a constant column is
/// exactly its value.
pub fn moments(numbers: &[f64], n_columns: usize) -> (Vec<f64>, Vec<f64>) {
    let rows = || numbers.chunks_exact(n_columns.max(1));
    let (n_rows, first) = (rows().len() as f64, &numbers[..n_columns.min(numbers.len())]);
    let (mut means, mut varies) = (vec![0.0; n_columns], vec![0u64; n_columns]);
    for row in rows() {
        for (((mean, varies), x), first) in means.iter_mut().zip(&mut varies).zip(row).zip(first) {
            *mean += x;
            *varies |= u64::from(x != first);
        }
    }
    means.iter_mut().for_each(|mean| *mean /= n_rows);
    let mut spreads = vec![0.0; n_columns];
    for row in rows() {
        for ((spread, x), mean) in spreads.iter_mut().zip(row).zip(&means) {
            *spread += (x - mean) * (x - mean);
        }
    }
    spreads.iter_mut().for_each(|spread| *spread = (*spread / n_rows).sqrt());
    for ((mean, &varies), &first) in means.iter_mut().zip(&varies).zip(first) {
        // A sum of many equal numbers has rounding errors.
        if varies == 0 {
            *mean = first;
        }
    }
    (means, spreads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_columns() {
        let (means, spreads) = moments(&[1.0, 0.1, -2.0, 3.0, 0.1, 2.0, 8.0, 0.1, 0.0], 3);
        assert_eq!(means, [4.0, 0.1, 0.0]);
        assert_eq!(spreads[0], (26.0f64 / 3.0).sqrt());
        assert!(spreads[1] < 1e-16);
        assert_eq!(spreads[2], (8.0f64 / 3.0).sqrt());
    }

    #[test]
    fn no_rows_and_no_columns_are_harmless() {
        assert!(moments(&[], 2).0.iter().all(|mean| mean.is_nan()));
        assert!(moments(&[], 0).0.is_empty());
    }
}
