//! Columns whose derivatives need not be computed, because they are certainly too small for the weights to leave 0.
//!
//! Let r be the residuals and g = X' r. By Cauchy and Schwarz, |g_j - g0_j| <= |x_j| |r - r0|, where r0 and g0 = X' r0 are of an
//! earlier point. Where |g0_j| + |x_j| |r - r0| < l1, a weight of 0 is at its optimum: no column is lost (a sphere test, as in El
//! Ghaoui, Viallon & Rabbani, Pacific Journal of Optimization 8, 2012). Most columns of text are so rare that |x_j| is small.

use crate::classifier::objective::Classifier;
use crate::threads::Interrupt;

/// What is known of the derivatives of a sparse matrix from an earlier point.
pub struct Screen {
    /// Column -> |x_j|.
    norms: Vec<f64>,
    /// r0; empty before the first point.
    residuals: Vec<f64>,
    /// g0
    gradient: Vec<f64>,
    /// At least |r - r0| at the last point.
    distance: f64,
    /// Column -> whether its derivative was left out at the last point.
    left_out: Vec<bool>,
}

/// What rounding errors may add to the bounds, as a share of them.
const ROUNDING: f64 = 1e-9;

impl Screen {
    /// Nothing is known yet.
    pub fn new(classifier: &Classifier) -> Screen {
        let columns = classifier.design.columns();
        let norm = |column: usize| columns.entries(column).map(|(_, x)| x * x).sum::<f64>().sqrt();
        let norms: Vec<f64> = (0..columns.len()).map(norm).collect();
        let left_out = vec![false; norms.len()];
        Screen { norms, residuals: Vec::new(), gradient: Vec::new(), distance: 0.0, left_out }
    }

    /// Writes the gradient at w, where the residuals are given. Derivatives that are certainly smaller than l1 are left at those of
    /// the earlier point, which are smaller as well. Where that saves less than half of the work, all are computed, and the point
    /// becomes the earlier one of those to come.
    pub fn gradient(
        &mut self,
        classifier: &Classifier,
        residuals: &[f64],
        w: &[f64],
        l1: f64,
        gradient: &mut [f64],
        interrupt: &Interrupt,
    ) {
        let squares = residuals.iter().zip(&self.residuals).map(|(r, r0)| (r - r0) * (r - r0));
        self.distance = squares.sum::<f64>().sqrt() * (1.0 + ROUNDING);
        let columns = classifier.design.columns();
        let (mut needed, mut work) = (Vec::new(), 0);
        let limit = l1 * (1.0 - ROUNDING);
        for (j, left_out) in self.left_out.iter_mut().enumerate() {
            let before = self.gradient.get(j).map_or(f64::INFINITY, |g| g.abs());
            *left_out = w[j] == 0.0 && before + self.norms[j] * self.distance < limit;
            if !*left_out {
                needed.push(j);
                work += columns.range(j).len();
            }
        }
        if 2 * work < columns.n_entries() {
            gradient.copy_from_slice(&self.gradient);
            return classifier.gradient_of(&needed, residuals, gradient, interrupt);
        }
        classifier.gradient(residuals, gradient, interrupt);
        (self.residuals, self.gradient) = (residuals.to_vec(), gradient.to_vec());
        self.left_out.fill(false);
    }

    /// By how much the derivative at a column may be larger than what `gradient` has left there.
    pub fn unknown(&self, column: usize) -> f64 {
        if self.left_out[column] { self.norms[column] * self.distance } else { 0.0 }
    }
}
