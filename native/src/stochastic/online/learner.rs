//! What online learners have in common. Symbols as in `online`.

/// A sample whose best labelling is wrong.
pub struct Mistake {
    /// The number of wrong labels, >= 1.
    pub errors: usize,
    pub tokens: usize,
    /// The score of the best labelling less the score of the true one, >= 0.
    pub margin: f64,
    /// Delta' Sigma Delta.
    pub variance: f64,
}

/// A learner's response to a mistake.
pub struct Answer {
    pub alpha: f64,
    pub loss: f64,
}

/// An online learner.
pub trait Learner: Sync {
    fn answer(&self, mistake: &Mistake) -> Answer;

    /// The variance of a weight after a mistake with the entry delta of Delta.
    fn shrunk(&self, variance: f64, _delta: f64) -> f64 {
        variance
    }
}
