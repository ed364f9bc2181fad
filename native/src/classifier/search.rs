//! The line search of a proximal Newton step (Yuan, Ho & Lin 2012, section 4.2), and what comes after a whole step.
//!
//! Symbols as in `newton`.

use crate::classifier::gram::{Column, inner};
use crate::classifier::newton::Subproblem;
use crate::classifier::point::Moving;
use crate::numeric::ragged::{Id, Value, with_entries};
use std::mem::swap;

/// The point that the line search accepts.
pub struct Accepted {
    /// t of the point w + t delta.
    pub length: f64,
    /// The negative log-likelihood at the point.
    pub nll: f64,
    /// The decrease of the penalised objective.
    pub decrease: f64,
    /// Evaluations of the objective.
    pub trials: usize,
}

impl Subproblem<'_> {
    /// X delta of a sparse matrix, a padded row of outputs for each sample, where the columns are those of the working set that `moves` names, and the intercept's.
    pub(super) fn direction(&self, moves: impl Fn(&Column) -> bool) -> Vec<f64> {
        if self.classifier.n_outputs() > 1 {
            return self.direction_of_classes();
        }
        let of_intercept = self.value() * self.intercepts.iter().map(|intercept| intercept.delta).sum::<f64>();
        let mut direction = vec![of_intercept; self.classifier.n_samples()];
        let lists = self.classifier.design.columns();
        with_entries!(lists, all => for column in self.columns.iter().filter(|column| column.delta != 0.0 && moves(column)) {
            lists.add_to(column.id, all, column.delta, &mut direction);
        });
        direction
    }

    /// `direction` of all columns with three classes or more.
    fn direction_of_classes(&self) -> Vec<f64> {
        let (classifier, lists) = (self.classifier, self.classifier.design.columns());
        let (k, width) = (classifier.n_classes, classifier.width());
        let mut direction = vec![0.0; classifier.n_samples() * width];
        with_entries!(lists, all => for Column { id, delta, .. } in self.columns.iter().filter(|column| column.delta != 0.0) {
            let ((ids, values), class) = (lists.list(id / k, all), id % k);
            ids.iter().zip(values).for_each(|(&i, x)| direction[i.at() * width + class] += delta * x.get());
        });
        for row in direction.chunks_exact_mut(width) {
            row.iter_mut()
                .zip(&self.intercepts)
                .for_each(|(score, intercept)| *score += self.value() * intercept.delta);
        }
        direction
    }

    /// By how much the L1 penalty changes from w to w + t delta.
    fn l1_change(&self, t: f64) -> f64 {
        let change = |column: &Column| column.factor * ((column.w + t * column.delta).abs() - column.w.abs());
        self.settings.l1 * self.columns.iter().map(change).sum::<f64>()
    }

    /// The first-order change of the objective from w to w + delta, which is negative at a useful step (Eq. 20).
    pub fn promise(&self) -> f64 {
        let all = self.columns.iter().chain(&self.intercepts);
        let slope: f64 = all.map(|column| column.gradient * column.delta).sum();
        slope + self.l1_change(1.0)
    }

    /// Halves the step until the objective, which is `before` at w, decreases by `DECREASE` of the promise (Eq. 20). A whole step whose
    /// promise rounding errors hide is accepted if nothing speaks against it but they. `nll` evaluates a step of a length; the last one
    /// is the accepted one.
    pub fn search(&self, promise: f64, before: f64, mut nll: impl FnMut(f64) -> f64) -> Option<Accepted> {
        if promise.is_nan() || promise >= -self.settings.enough {
            return None;
        }
        let hidden = ROUNDING * before;
        let (least, trials) = if promise >= -hidden { (hidden, 1) } else { (DECREASE * promise, MOST_TRIALS) };
        let crossed: f64 = self.columns.iter().map(|column| column.factor * (column.w * column.delta)).sum();
        let squared: f64 = self.columns.iter().map(|column| column.factor * (column.delta * column.delta)).sum();
        let mut t = 1.0;
        for trial in 1..=trials {
            let nll = nll(t);
            let change = nll - before + self.l1_change(t) + self.settings.l2 * t * (crossed + 0.5 * t * squared);
            if change <= t * least {
                return Some(Accepted { length: t, nll, decrease: -change, trials: trial });
            }
            t *= 0.5;
        }
        None
    }

    /// Writes w + length * delta.
    pub fn take(&self, length: f64, w: &mut [f64]) {
        for column in self.columns.iter().chain(&self.intercepts) {
            // At length 1, a weight that coordinate descent has made 0 becomes exactly 0.
            w[column.id] = column.w + length * column.delta;
        }
    }

    /// Goes on from w + delta to w + (1 + t) delta as long as that decreases the objective: on data that are almost separable, far from
    /// the optimum, the second derivatives fall on the way. Weights that are 0 at w + delta remain 0. The step has decreased the
    /// objective by `decrease`. Returns the number of evaluations.
    pub fn go_on(&self, at: Moving<'_>, decrease: f64) -> usize {
        let Moving { w, nll, scores, residuals } = at;
        let direction = self.direction(|column| w[column.id] != 0.0);
        let (mut penalty, mut slope) = self.penalty_beyond(w, 0.0);
        slope += inner(residuals, &direction);
        let (mut reached, mut next, mut trials) = (0.0, FIRST_BEYOND, 0);
        let (mut point, mut residuals_there) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
        let mut goes_on = slope < -STEEP * decrease;
        while goes_on && trials < MOST_BEYOND {
            trials += 1;
            let moved = scores.iter().zip(&direction).map(|(score, x_delta)| score + (next - reached) * x_delta);
            point.iter_mut().zip(moved).for_each(|(point, moved)| *point = moved);
            let nll_there = self.classifier.residuals(&point, &mut residuals_there);
            let (penalty_there, slope_of_penalty) = self.penalty_beyond(w, next);
            goes_on = nll_there + penalty_there < *nll + penalty;
            if goes_on {
                (*nll, penalty, reached, next) = (nll_there, penalty_there, next, 2.0 * next);
                swap(scores, &mut point);
                swap(residuals, &mut residuals_there);
                goes_on = inner(residuals, &direction) + slope_of_penalty < 0.0;
            }
        }
        for column in self.columns.iter().filter(|column| column.delta != 0.0) {
            if w[column.id] != 0.0 {
                w[column.id] += reached * column.delta;
            }
        }
        self.intercepts.iter().for_each(|intercept| w[intercept.id] += reached * intercept.delta);
        trials
    }

    /// The penalty of the columns of the working set at w + t delta, where weights that are 0 remain 0, and its derivative by t.
    fn penalty_beyond(&self, w: &[f64], t: f64) -> (f64, f64) {
        let (l1, l2) = (self.settings.l1, self.settings.l2);
        let (mut penalty, mut slope) = (0.0, 0.0);
        for column in self.columns.iter().filter(|column| w[column.id] != 0.0) {
            let at = w[column.id] + t * column.delta;
            penalty += column.factor * (l1 * at.abs() + 0.5 * l2 * at * at);
            slope += column.factor * (l1.copysign(at) + l2 * at) * column.delta;
        }
        (penalty, slope)
    }
}

/// Most halvings in a line search.
const MOST_TRIALS: usize = 40;
/// A promised decrease of less than this fraction of the objective may be hidden by rounding errors of its many terms.
pub const ROUNDING: f64 = 2.3e-13;
/// Fraction of the promised decrease that the line search requires: sigma of Eq. 20.
const DECREASE: f64 = 1e-4;
/// The first t beyond a whole step; each next one is twice the one before.
const FIRST_BEYOND: f64 = 0.5;
/// Most steps beyond a whole step.
const MOST_BEYOND: usize = 5;
/// Steps go on if the slope at the end of the step is at least this share of the decrease in the step.
const STEEP: f64 = 0.1;
