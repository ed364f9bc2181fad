//! The units of columns: their largest values and sums of squares.

use crate::classifier::dense::norms;
use crate::classifier::objective::Classifier;
use crate::numeric::ragged::Values;

impl Classifier {
    /// The largest absolute value in each column, the intercept's left out; None if all values are 1.
    pub fn largest_values(&self) -> Option<Vec<f64>> {
        if let Some(table) = self.design.table() {
            return Some(norms(table, |_| 1.0, self.pool).1);
        }
        let rows = self.design.rows();
        let (_, values) = rows.parts();
        if matches!(values, Values::Ones(_)) {
            return None;
        }
        let mut largest = vec![0.0f64; self.design.n_columns()];
        for list in 0..rows.len() {
            for (column, value) in rows.entries(list) {
                let most = &mut largest[column as usize];
                *most = most.max(value.abs());
            }
        }
        Some(largest)
    }

    /// Gives the intercept's column the largest norm of all other columns: solvers converge fast on columns of similar norms.
    pub(super) fn scale_intercept(&mut self) {
        let squares = match self.design.table() {
            Some(table) => norms(table, |sample| self.weight(sample), self.pool).0,
            None => self.squares_of_lists(),
        };
        let largest = squares.into_iter().fold(0.0, f64::max);
        let total: f64 = (0..self.n_samples()).map(|sample| self.weight(sample)).sum();
        let value = (largest / total).sqrt();
        self.intercept = Some(if value.is_finite() && value > 0.0 { value } else { 1.0 });
    }

    /// The sum over samples of weight x^2 for each column of a sparse matrix.
    fn squares_of_lists(&self) -> Vec<f64> {
        let (rows, mut squares) = (self.design.rows(), vec![0.0; self.design.n_columns()]);
        for sample in 0..self.n_samples() {
            let weight = self.weight(sample);
            rows.entries(sample).for_each(|(column, x)| squares[column as usize] += weight * x * x);
        }
        squares
    }

    /// The sum over samples of factor * x^2 for each weight, where `factors` has a row of outputs for each sample.
    pub fn squares(&self, factors: &[f64]) -> Vec<f64> {
        let (n, outputs, value) = (self.n_samples(), self.n_outputs(), self.value());
        let (mut sums, factor) = (vec![0.0; self.n_features()], |sample, output| factors[sample * outputs + output]);
        if let Some(table) = self.design.table() {
            for output in 0..outputs {
                let squares = norms(table, |sample| factor(sample, output), self.pool).0;
                squares.into_iter().enumerate().for_each(|(column, sum)| sums[column * outputs + output] = sum);
            }
        } else {
            let rows = self.design.rows();
            for (sample, factors) in factors.chunks_exact(outputs).enumerate() {
                for (column, x) in rows.entries(sample) {
                    let sums = &mut sums[column as usize * outputs..][..outputs];
                    sums.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += x * x * factor);
                }
            }
        }
        for (output, sum) in sums[self.design.n_columns() * outputs..].iter_mut().enumerate() {
            *sum = (0..n).map(|sample| value * value * factor(sample, output)).sum();
        }
        sums
    }
}
