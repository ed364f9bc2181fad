//! Sentences as the keys of their attributes: one thread reads them, another labels them.

use crate::chain::model::Model;
use crate::chain::tagging::batch::Labelled;
use crate::chain::tagging::sequence::Sequence;
use crate::corpus::sink::{Gold, Sink};

/// A sink that keeps the state attributes of consecutive sentences.
#[derive(Default)]
pub struct KeyedSentences {
    /// The attributes of all tokens, with their values.
    attributes: Vec<(u64, f64)>,
    /// Token -> attributes of all tokens up to it.
    token_ends: Vec<usize>,
    /// Sentence -> tokens of all sentences up to it.
    sentence_ends: Vec<usize>,
}

impl KeyedSentences {
    /// Forgets the sentences.
    pub fn clear(&mut self) {
        self.attributes.clear();
        self.token_ends.clear();
        self.sentence_ends.clear();
    }

    /// Number of tokens of all sentences.
    pub fn tokens(&self) -> usize {
        self.token_ends.len()
    }

    /// Labels the sentences.
    pub fn label(&self, model: &Model, sequence: &mut Sequence, probabilities: bool) -> Labelled {
        let (mut labelled, weights) = (Labelled::default(), model.weights());
        let (mut token, mut start) = (0, 0);
        for &sentence_end in &self.sentence_ends {
            sequence.begin(model);
            let ends = &self.token_ends[token..sentence_end];
            sequence.set(model, &weights, &self.attributes, (start, ends));
            (token, start) = (sentence_end, ends.last().copied().unwrap_or(start));
            labelled.add(model, sequence, probabilities);
        }
        labelled
    }
}

impl Sink for KeyedSentences {
    const SKIPS_ZEROS: bool = true;

    #[inline(always)]
    fn state(&mut self, key: u64, value: f64, _write: impl FnOnce(&mut Vec<u8>)) {
        self.attributes.push((key, value));
    }

    /// Attributes without a template have no bigrams.
    fn bigram(&mut self, _key: u64, _write: impl FnOnce(&mut Vec<u8>)) {}

    fn end_token(&mut self, _label: Option<Gold<'_>>) {
        self.token_ends.push(self.attributes.len());
    }

    fn end_sentence(&mut self, _weight: f64) {
        self.sentence_ends.push(self.token_ends.len());
    }
}
