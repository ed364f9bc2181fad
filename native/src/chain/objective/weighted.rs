//! The sentences of an objective with their weights and the costs of wrong labels.

use crate::chain::objective::costs::Costs;
use crate::corpus::Corpus;

/// The sentences of a corpus, with the corpus' weights or others.
#[derive(Clone, Copy)]
pub struct Weighted<'a> {
    pub corpus: &'a Corpus,
    /// Sentence -> weight, where it is not the corpus' weight.
    pub weights: Option<&'a [f64]>,
    pub costs: &'a Costs,
}

impl Weighted<'_> {
    #[inline(always)]
    pub fn weight(&self, sentence: usize) -> f64 {
        self.weights.map_or_else(|| self.corpus.weight(sentence), |weights| weights[sentence])
    }
}
