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
    /// The columns that may have to be computed while |r - r0| is at most `reach` and l1 at least `least`, in ascending order.
    candidates: Vec<usize>,
    reach: f64,
    least: f64,
}

/// What rounding errors may add to the bounds, as a share of them.
const ROUNDING: f64 = 1e-9;
/// By how much |r - r0| may grow, and l1 fall, before candidates are chosen again.
const REACH: f64 = 2.0;
const LEAST: f64 = 0.8;

impl Screen {
    /// Nothing is known yet.
    pub fn new(classifier: &Classifier) -> Screen {
        let columns = classifier.design.columns();
        let norm = |column: usize| columns.entries(column).map(|(_, x)| x * x).sum::<f64>().sqrt();
        let norms: Vec<f64> = (0..columns.len()).map(norm).collect();
        let (left_out, candidates) = (vec![false; norms.len()], (0..norms.len()).collect());
        Screen {
            norms,
            residuals: Vec::new(),
            gradient: Vec::new(),
            distance: 0.0,
            left_out,
            candidates,
            reach: 0.0,
            least: f64::INFINITY,
        }
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
        let (columns, limit) = (classifier.design.columns(), l1 * (1.0 - ROUNDING));
        if !self.residuals.is_empty() {
            let squares = residuals.iter().zip(&self.residuals).map(|(r, r0)| (r - r0) * (r - r0));
            self.distance = squares.sum::<f64>().sqrt() * (1.0 + ROUNDING);
            if self.distance > self.reach || limit < self.least {
                self.choose(w, limit);
                gradient.copy_from_slice(&self.gradient);
            }
            let (mut needed, mut work) = (Vec::new(), 0);
            for &j in &self.candidates {
                let is_small = self.gradient[j].abs() + self.norms[j] * self.distance < limit;
                self.left_out[j] = w[j] == 0.0 && is_small;
                if self.left_out[j] {
                    gradient[j] = self.gradient[j];
                } else {
                    needed.push(j);
                    work += columns.range(j).len();
                }
            }
            if 2 * work < columns.n_entries() {
                return classifier.gradient_of(&needed, residuals, gradient, interrupt);
            }
        }
        classifier.gradient(residuals, gradient, interrupt);
        (self.residuals, self.gradient, self.distance) = (residuals.to_vec(), gradient.to_vec(), 0.0);
        self.choose(w, limit);
    }

    /// Chooses the candidates anew. All others are left out.
    fn choose(&mut self, w: &[f64], limit: f64) {
        (self.reach, self.least) = (REACH * self.distance, LEAST * limit);
        let may_leave_0 =
            |j: &usize| w[*j] != 0.0 || self.gradient[*j].abs() + self.norms[*j] * self.reach >= self.least;
        self.candidates = (0..self.norms.len()).filter(may_leave_0).collect();
        self.left_out.fill(true);
    }

    /// The columns whose weights are not 0, or may leave 0 at the last point, and some others; in ascending order.
    pub fn candidates(&self) -> &[usize] {
        &self.candidates
    }

    /// By how much the derivative at a column may be larger than what `gradient` has left there.
    pub fn unknown(&self, column: usize) -> f64 {
        if self.left_out[column] { self.norms[column] * self.distance } else { 0.0 }
    }
}
