//! Passive-aggressive learning (Crammer, Dekel, Keshet, Shalev-Shwartz & Singer 2006): w <- w + tau Delta, the smallest change
//! that makes the true labelling win by the wrong one's cost.
//!
//! The loss is l = margin + cost. tau is l / |Delta|^2, without slack or cut off at C (PA-I), or l / (|Delta|^2 + 1 / (2 C)) (PA-II).

use crate::stochastic::online::learner::{Answer, Learner, Mistake};

/// How an update may fall short of its aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    None,
    /// PA-I: the slack has a penalty of C.
    Linear,
    /// PA-II: the slack's square does.
    Squared,
}

/// The passive-aggressive learner.
pub struct PassiveAggressive {
    pub slack: Slack,
    /// C.
    pub c: f64,
    /// Whether a wrong labelling costs the root of its number of wrong labels, not 1.
    pub error_sensitive: bool,
}

impl Learner for PassiveAggressive {
    fn answer(&self, mistake: &Mistake) -> Answer {
        let cost = if self.error_sensitive { (mistake.errors as f64).sqrt() } else { 1.0 };
        let (loss, squared) = (mistake.margin + cost, mistake.variance);
        let alpha = match self.slack {
            Slack::None => loss / squared,
            Slack::Linear => (loss / squared).min(self.c),
            Slack::Squared => loss / (squared + 0.5 / self.c),
        };
        Answer { alpha, loss }
    }
}
