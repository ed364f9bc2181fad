//! Columns whose derivatives need not be computed, because they are certainly too small for the weights to leave 0.
//!
//! Let r be the residuals and g = X' r. By Cauchy and Schwarz, |g_j - g0_j| <= |x_j| |r - r0|, where r0 and g0 = X' r0 are of an
//! earlier point. Where |g0_j| + |x_j| |r - r0| < l1, a weight of 0 is at its optimum: no column is lost (a sphere test, as in El
//! Ghaoui, Viallon & Rabbani, Pacific Journal of Optimization 8, 2012). Most columns of text are so rare that |x_j| is small.
//!
//! With three classes or more each class has its own r and g. The derivatives of a column are computed for all classes, or for none.

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
    /// Class -> at least |r - r0| at the last point.
    distances: Vec<f64>,
    /// Column -> whether its derivatives were left out at the last point.
    left_out: Vec<bool>,
    /// The weights of the columns that may have to be computed while |r - r0| is at most `reach` in each class and l1 at least `least`,
    /// in ascending order.
    candidates: Vec<usize>,
    reach: Vec<f64>,
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
        let (left_out, candidates) = (vec![false; norms.len()], (0..classifier.n_penalised()).collect());
        let zeros = vec![0.0; classifier.n_outputs()];
        Screen {
            norms,
            residuals: Vec::new(),
            gradient: Vec::new(),
            distances: zeros.clone(),
            left_out,
            candidates,
            reach: zeros,
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
        let outputs = classifier.n_outputs();
        if !self.residuals.is_empty() {
            self.measure(residuals, classifier.width());
            let is_beyond = self.distances.iter().zip(&self.reach).any(|(distance, reach)| distance > reach);
            if is_beyond || limit < self.least {
                self.choose(w, limit);
                gradient.copy_from_slice(&self.gradient);
            }
            let (mut needed, mut work) = (Vec::new(), 0);
            for at in self.candidates.chunks_exact(outputs) {
                let (j, weights) = (at[0] / outputs, at[0]..at[0] + outputs);
                self.left_out[j] = !self.may_leave_0(w, j, &self.distances, limit);
                if self.left_out[j] {
                    gradient[weights.clone()].copy_from_slice(&self.gradient[weights]);
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
        (self.residuals, self.gradient) = (residuals.to_vec(), gradient.to_vec());
        self.distances.fill(0.0);
        self.choose(w, limit);
    }

    /// Measures |r - r0| in each class; residuals have padded rows of this width.
    fn measure(&mut self, residuals: &[f64], width: usize) {
        let outputs = self.distances.len();
        let mut squares = vec![0.0; outputs];
        for (r, r0) in residuals.chunks_exact(width).zip(self.residuals.chunks_exact(width)) {
            for (square, (r, r0)) in squares.iter_mut().zip(r.iter().zip(r0)) {
                *square += (r - r0) * (r - r0);
            }
        }
        self.distances = squares.into_iter().map(|square: f64| square.sqrt() * (1.0 + ROUNDING)).collect();
    }

    /// Whether a weight of a column is not 0, or its derivative may be as large as `limit` when |r - r0| is `distances`.
    #[inline(always)]
    fn may_leave_0(&self, w: &[f64], column: usize, distances: &[f64], limit: f64) -> bool {
        let weights = column * distances.len()..(column + 1) * distances.len();
        let mut pairs = w[weights.clone()].iter().zip(&self.gradient[weights]).zip(distances);
        pairs.any(|((&w, g), distance)| w != 0.0 || g.abs() + self.norms[column] * distance >= limit)
    }

    /// Chooses the candidates anew. All others are left out.
    fn choose(&mut self, w: &[f64], limit: f64) {
        self.reach = self.distances.iter().map(|distance| REACH * distance).collect();
        self.least = LEAST * limit;
        let (outputs, columns) = (self.distances.len(), 0..self.norms.len());
        let may_leave_0 = |&column: &usize| self.may_leave_0(w, column, &self.reach, self.least);
        self.candidates =
            columns.filter(may_leave_0).flat_map(|column| column * outputs..(column + 1) * outputs).collect();
        self.left_out.fill(true);
    }

    /// The weights that are not 0, or may leave 0 at the last point, and some others; in ascending order.
    pub fn candidates(&self) -> &[usize] {
        &self.candidates
    }

    /// By how much the derivative at a column may be larger in a class than what `gradient` has left there.
    pub fn unknown(&self, column: usize, class: usize) -> f64 {
        if self.left_out[column] { self.norms[column] * self.distances[class] } else { 0.0 }
    }
}
