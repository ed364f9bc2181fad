//! Labels many sentences in parallel without a corpus; in this module, sentences of raw tokens.

use crate::chain::model::Model;
use crate::chain::tagging::sequence::{Sequence, SequenceScorer};
use crate::corpus::sink::Sink;
use crate::error::{Error, Result};
use crate::text::cells::Cells;
use crate::text::expand::Expander;
use crate::text::template::Template;
use crate::threads::{Interrupt, locked};
use rayon::prelude::*;
use std::sync::Mutex;

/// Sentences of raw tokens.
pub trait Sentences: Sync {
    /// Number of sentences.
    fn count(&self) -> usize;

    /// Number of tokens of a sentence.
    fn tokens(&self, sentence: usize) -> usize;

    /// Appends the first `columns` cells of a sentence's tokens, token by token.
    fn read<'a>(&'a self, sentence: usize, columns: usize, cells: &mut Vec<&'a [u8]>);
}

/// The labels of consecutive sentences.
#[derive(Default)]
pub struct Labelled {
    /// The labels of all tokens; `UNKNOWN` where every labelling is forbidden.
    pub labels: Vec<u32>,
    /// The probability of the label of each token, where probabilities are wanted.
    pub probabilities: Vec<f64>,
    /// log p(labels | sentence) of each sentence, where probabilities are wanted.
    pub log_probabilities: Vec<f64>,
}

impl Labelled {
    /// Adds the labels of a sentence.
    pub fn add(&mut self, model: &Model, sequence: &mut Sequence, probabilities: bool) {
        let start = self.labels.len();
        self.labels.extend_from_slice(sequence.best_labels(model));
        if probabilities {
            let (labels, out) = (&mut self.labels[start..], &mut self.probabilities);
            self.log_probabilities.push(sequence.probabilities(model, labels, out));
        }
    }

    /// Adds the labels of the sentences that follow.
    pub fn append(&mut self, mut other: Labelled) {
        self.labels.append(&mut other.labels);
        self.probabilities.append(&mut other.probabilities);
        self.log_probabilities.append(&mut other.log_probabilities);
    }
}

/// Tokens that a thread labels at a time, about.
const PIECE: usize = 2048;

/// Labels all sentences: on the current thread pool, or on the calling thread if there are few tokens.
pub fn tag_batch<S: Sentences>(
    model: &Model,
    template: &Template,
    sentences: &S,
    probabilities: bool,
    interrupt: &Interrupt,
) -> Result<Labelled> {
    let mut pieces = Vec::new();
    let (mut start, mut tokens) = (0, 0);
    model.expect((0..sentences.count()).map(|sentence| sentences.tokens(sentence)).sum());
    for sentence in 0..sentences.count() {
        tokens += sentences.tokens(sentence);
        if tokens >= PIECE || sentence + 1 == sentences.count() {
            pieces.push(start..sentence + 1);
            (start, tokens) = (sentence + 1, 0);
        }
    }
    // Buffers of pieces that are done: an expander remembers the tokens of all pieces that it has processed.
    let spare: Mutex<Vec<(Sequence, Expander<'_>)>> = Mutex::new(Vec::new());
    let tag = |piece: std::ops::Range<usize>| {
        interrupt.check()?;
        let buffers = locked(&spare).pop();
        let (mut sequence, mut expander) = buffers.unwrap_or_else(|| (Sequence::new(model), Expander::new(template)));
        sequence.lattice.heed(interrupt);
        let mut cells = Cells { columns: template.columns, cells: Vec::new() };
        let mut labelled = Labelled::default();
        for sentence in piece {
            cells.clear();
            sentences.read(sentence, template.columns, &mut cells.cells);
            let mut scorer = SequenceScorer::new(model, &mut sequence);
            let expanded = expander.expand(&cells, &mut scorer, |_| None);
            expanded.map_err(|message| Error::Data(format!("sentence {sentence}, {message}")))?;
            scorer.end_sentence(1.0);
            labelled.add(model, &mut sequence, probabilities);
        }
        interrupt.check()?;
        locked(&spare).push((sequence, expander));
        Ok(labelled)
    };
    let mut all = Labelled::default();
    if pieces.len() < 2 {
        pieces.into_iter().map(tag).try_for_each(|labelled| labelled.map(|labelled| all.append(labelled)))?;
    } else {
        let labelled: Vec<Labelled> = pieces.into_par_iter().map(tag).collect::<Result<_>>()?;
        labelled.into_iter().for_each(|labelled| all.append(labelled));
    }
    Ok(all)
}
