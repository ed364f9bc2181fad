//! Adaptive regularisation of weights with a diagonal of variances (Crammer, Kulesza & Dredze 2009; for sequences Mejer &
//! Crammer 2010): w <- w + alpha Sigma Delta, and 1 / Sigma <- 1 / Sigma + Delta^2 / gamma.
//!
//! The loss is l = margin + number of wrong labels, and alpha = l / (Delta' Sigma Delta + gamma).

use crate::stochastic::online::learner::{Answer, Learner, Mistake};

/// AROW.
pub struct Arow {
    /// The larger this is, the smaller a change.
    pub gamma: f64,
}

impl Learner for Arow {
    fn answer(&self, mistake: &Mistake) -> Answer {
        let loss = mistake.margin + mistake.errors as f64;
        Answer { alpha: loss / (mistake.variance + self.gamma), loss }
    }

    fn shrunk(&self, variance: f64, delta: f64) -> f64 {
        variance / (1.0 + variance * delta * delta / self.gamma)
    }
}
