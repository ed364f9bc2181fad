//! A point on the way of a minimisation.

use crate::classifier::gram::violation;
use crate::classifier::objective::{Classifier, Start};
use crate::classifier::screen::Screen;
use std::ops::Range;

/// Weights of a classifier, and its evaluation there.
pub struct Point {
    pub w: Vec<f64>,
    /// The negative log-likelihood.
    pub nll: f64,
    /// x . w of each sample: a padded row of outputs.
    pub scores: Vec<f64>,
    /// weight * (p - y) of each sample: a padded row of outputs.
    pub residuals: Vec<f64>,
    /// Of the negative log-likelihood.
    pub gradient: Vec<f64>,
    /// Tells which derivatives need not be computed, if there may be such.
    pub screen: Option<Screen>,
}

/// A point of a sparse matrix on its way, whose gradient is not needed yet; fields as in `Point`.
pub struct Moving<'a> {
    pub w: &'a mut [f64],
    pub nll: &'a mut f64,
    pub scores: &'a mut Vec<f64>,
    pub residuals: &'a mut Vec<f64>,
}

impl Point {
    /// The point at some weights: one evaluation.
    pub fn at(classifier: &Classifier, w: Vec<f64>) -> Point {
        let Start { nll, scores, residuals, gradient } = classifier.start(&w);
        Point { w, nll, scores, residuals, gradient, screen: None }
    }

    /// The point at some weights, whose gradient is known, and whose scores are unless they are empty.
    pub fn of_scores(classifier: &Classifier, w: Vec<f64>, scores: Vec<f64>, gradient: Vec<f64>) -> Point {
        let scores = if scores.is_empty() { classifier.scores(&w) } else { scores };
        let mut residuals = vec![0.0; scores.len()];
        let nll = classifier.residuals(&scores, &mut residuals);
        Point { w, nll, scores, residuals, gradient, screen: None }
    }

    /// The penalised objective, and the largest violation of optimality, `excluded` columns left out: by the intercept itself, not by
    /// the weight of its column.
    pub fn measure(&self, classifier: &Classifier, (l1, l2): (f64, f64), excluded: &Range<usize>) -> (f64, f64) {
        let (d, value) = (classifier.n_penalised(), classifier.intercept.unwrap_or(1.0));
        let mut most = self.gradient[d..].iter().fold(0.0, |most: f64, g| most.max((g / value).abs()));
        let mut penalty = 0.0;
        let mut look = |(j, (&w, &g)): (usize, (&f64, &f64))| {
            // Most weights are 0, and most of them are at their optimum.
            if w != 0.0 || g.abs() > l1 {
                penalty += l1 * w.abs() + 0.5 * l2 * w * w;
                let violation = violation(w, g + l2 * w, l1).abs();
                if violation > most && !excluded.contains(&j) {
                    most = violation;
                }
            }
        };
        match &self.screen {
            Some(screen) => screen.candidates().iter().for_each(|&j| look((j, (&self.w[j], &self.gradient[j])))),
            None => self.w[..d].iter().zip(&self.gradient).enumerate().for_each(look),
        }
        (self.nll + penalty, most)
    }
}
