//! The averaged perceptron (Collins 2002, Figure 2 and section 2.2): w <- w + Delta.

use crate::stochastic::online::learner::{Answer, Learner, Mistake};

/// The perceptron. Its loss is the share of wrong labels.
pub struct AveragedPerceptron;

impl Learner for AveragedPerceptron {
    fn answer(&self, mistake: &Mistake) -> Answer {
        Answer { alpha: 1.0, loss: mistake.errors as f64 / mistake.tokens as f64 }
    }
}
