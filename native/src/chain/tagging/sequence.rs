//! The scores of one sentence, added up while its attributes are read, and its labels: no corpus is made, no thread woken.

use crate::chain::inference::{LabelSets, Lattice};
use crate::chain::model::{Model, ModelWeights, Terms, Viterbi};
use crate::corpus::UNKNOWN;
use crate::corpus::sink::{Gold, Sink};
use crate::error::Result;
use crate::numeric::arch::arch;
use crate::threads::Interrupt;

/// One sentence's scores under a model, and the buffers to infer labels in. A buffer stays with its model.
#[derive(Default)]
pub struct Sequence {
    pub lattice: Lattice,
    /// A buffer for the sentence's mask.
    sets: LabelSets,
    /// The state attributes of the tokens read so far, with their values, and the end of each token's.
    attributes: Vec<(u64, f64)>,
    ends: Vec<usize>,
    features: Terms,
    /// Edges into the next token.
    overlap: usize,
    /// The best labelling, once requested.
    path: Vec<u32>,
    has_path: bool,
    /// log Z, once forward-backward has left marginals in the lattice.
    log_z: Option<f64>,
    /// The scores, which forward-backward overwrites.
    scores: Vec<f64>,
}

impl Sequence {
    /// An empty sentence of a model.
    pub fn new(model: &Model) -> Self {
        let mut sequence = Sequence::default();
        sequence.lattice.prepare(&model.transitions);
        sequence.begin(model);
        sequence
    }

    /// Starts a sentence.
    #[inline]
    pub fn begin(&mut self, model: &Model) {
        (self.overlap, self.has_path, self.log_z) = (0, false, None);
        self.attributes.clear();
        self.ends.clear();
        self.lattice.begin(0, &model.transitions);
    }

    /// Adds a state attribute of the next token.
    #[inline(always)]
    pub fn add_state(&mut self, key: u64, value: f64) {
        self.attributes.push((key, value));
    }

    /// Adds the weights of a bigram attribute of the next token.
    #[inline(always)]
    pub fn add_bigram(&mut self, weights: &ModelWeights<'_>, key: u64) {
        weights.add_edges(weights.bigrams.find(key), &mut self.lattice);
        self.overlap += 1;
    }

    /// Ends the next token.
    #[inline(always)]
    pub fn end_token(&mut self) {
        self.ends.push(self.attributes.len());
        self.lattice.edge_ends.push(self.lattice.edges.len());
        self.lattice.overlap = self.lattice.overlap.max(self.overlap);
        self.overlap = 0;
    }

    /// Ends the sentence: its scores are added up.
    pub fn end(&mut self, model: &Model, weights: &ModelWeights<'_>) {
        let (attributes, ends) = (std::mem::take(&mut self.attributes), std::mem::take(&mut self.ends));
        self.set(model, weights, &attributes, (0, &ends));
        (self.attributes, self.ends) = (attributes, ends);
    }

    /// Adds up the scores of a sentence. `ends` has the end of each token's state attributes, which begin at `start`.
    pub fn set(
        &mut self,
        model: &Model,
        weights: &ModelWeights<'_>,
        attributes: &[(u64, f64)],
        (start, ends): (usize, &[usize]),
    ) {
        let lattice = &mut self.lattice;
        lattice.tokens = ends.len();
        lattice.scores.resize(ends.len() * model.transitions.width, 0.0);
        model.add_tokens(weights, attributes, (start, ends), &mut self.features, &mut lattice.scores);
        if lattice.edges.is_empty() {
            lattice.edge_ends.clear();
        }
        model.complete(lattice, &mut self.sets);
    }

    /// Makes an inference that the interrupt ends.
    pub fn heeding<T>(&mut self, interrupt: &Interrupt, infer: impl FnOnce(&mut Self) -> T) -> Result<T> {
        self.lattice.heed(interrupt);
        let answer = infer(self);
        self.lattice.heed(&Interrupt::default());
        if interrupt.is_set() {
            (self.has_path, self.log_z) = (false, None);
        }
        interrupt.check().map(|()| answer)
    }

    /// Number of tokens.
    pub fn tokens(&self) -> usize {
        self.lattice.tokens
    }

    /// The best labelling; `UNKNOWN` at each token if every labelling is forbidden.
    pub fn best_labels(&mut self, model: &Model) -> &[u32] {
        if !self.has_path {
            self.path.clear();
            if self.tokens() > 0 {
                let (lattice, path) = (&mut self.lattice, &mut self.path);
                arch().dispatch(Viterbi(lattice, &model.transitions, path));
            }
            self.has_path = true;
        }
        &self.path
    }

    /// log Z; leaves the marginals in the lattice, and the scores as they were.
    pub fn infer(&mut self, model: &Model) -> f64 {
        if let Some(log_z) = self.log_z {
            return log_z;
        }
        self.scores.clear();
        self.scores.extend_from_slice(&self.lattice.scores);
        let log_z = model.infer(&mut self.lattice);
        self.lattice.scores.copy_from_slice(&self.scores);
        self.log_z = Some(log_z);
        log_z
    }

    /// The probability of a label at a token.
    pub fn marginal(&mut self, model: &Model, token: usize, label: usize) -> f64 {
        self.infer(model);
        self.lattice.marginals[token * model.transitions.width + label]
    }

    /// Appends the probability of the label at each token; returns log p(labels | sentence). Where every labelling is forbidden, the
    /// labels become `UNKNOWN` and all probabilities 0.
    pub fn probabilities(&mut self, model: &Model, labels: &mut [u32], probabilities: &mut Vec<f64>) -> f64 {
        if self.tokens() == 0 {
            return 0.0;
        }
        let log_probability = self.log_probability(model, labels);
        if self.log_z == Some(f64::NEG_INFINITY) {
            labels.fill(UNKNOWN);
            probabilities.resize(probabilities.len() + labels.len(), 0.0);
            return f64::NEG_INFINITY;
        }
        let rows = self.lattice.marginals.chunks_exact(model.transitions.width).zip(labels);
        probabilities.extend(rows.map(|(row, &mut label)| row[label as usize].min(1.0)));
        log_probability
    }

    /// log p(labels | sentence), -inf where the labels are forbidden.
    pub fn log_probability(&mut self, model: &Model, labels: &[u32]) -> f64 {
        let log_z = self.infer(model);
        if log_z == f64::NEG_INFINITY || !model.allows(labels) {
            return f64::NEG_INFINITY;
        }
        (self.lattice.score(&model.transitions, labels.iter().copied()) - log_z).min(0.0)
    }
}

/// A sink that scores one sentence.
pub struct SequenceScorer<'m, 's> {
    model: &'m Model,
    weights: ModelWeights<'m>,
    sequence: &'s mut Sequence,
}

impl<'m, 's> SequenceScorer<'m, 's> {
    /// A scorer that starts a sentence.
    pub fn new(model: &'m Model, sequence: &'s mut Sequence) -> Self {
        sequence.begin(model);
        SequenceScorer { model, weights: model.weights(), sequence }
    }
}

impl Sink for SequenceScorer<'_, '_> {
    const SKIPS_ZEROS: bool = true;

    #[inline(always)]
    fn state(&mut self, key: u64, value: f64, _write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence.add_state(key, value);
    }

    fn bigram(&mut self, key: u64, _write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence.add_bigram(&self.weights, key);
    }

    fn end_token(&mut self, _label: Option<Gold<'_>>) {
        self.sequence.end_token();
    }

    fn end_sentence(&mut self, _weight: f64) {
        self.sequence.end(self.model, &self.weights);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::seeds;

    #[test]
    fn what_was_interrupted_is_inferred_anew() {
        for bytes in seeds::models() {
            let model = Model::from_bytes(&bytes).unwrap();
            let begun = || {
                let mut sequence = Sequence::new(&model);
                (0..50).for_each(|_| sequence.end_token());
                sequence.end(&model, &model.weights());
                sequence
            };
            let (mut fresh, mut sequence, interrupt) = (begun(), begun(), Interrupt::default());
            interrupt.set();
            assert!(sequence.heeding(&interrupt, |sequence| _ = sequence.best_labels(&model)).is_err());
            assert!(sequence.heeding(&interrupt, |sequence| sequence.infer(&model)).is_err());
            assert_eq!(sequence.best_labels(&model), fresh.best_labels(&model));
            assert_eq!(sequence.infer(&model).to_bits(), fresh.infer(&model).to_bits());
            assert!(sequence.lattice.marginals.iter().eq(fresh.lattice.marginals.iter()));
        }
    }
}
