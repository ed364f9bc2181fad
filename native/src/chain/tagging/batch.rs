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
use std::ops::Range;
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
    let sizes = (0..sentences.count()).map(|sentence| sentences.tokens(sentence));
    let pieces = in_pieces(model, template, sizes, interrupt, |piece, sequence, expander| {
        let mut cells = Cells { columns: template.columns, cells: Vec::new() };
        let mut labelled = Labelled::default();
        for sentence in piece {
            cells.clear();
            sentences.read(sentence, template.columns, &mut cells.cells);
            score(model, sequence, expander, &cells, || format!("sentence {sentence}"))?;
            labelled.add(model, sequence, probabilities);
        }
        Ok(labelled)
    })?;
    let mut all = Labelled::default();
    pieces.into_iter().for_each(|labelled| all.append(labelled));
    Ok(all)
}

/// Adds up the scores of a sentence of raw tokens. Errors begin with its `name`.
pub(super) fn score(
    model: &Model,
    sequence: &mut Sequence,
    expander: &mut Expander<'_>,
    cells: &Cells<'_>,
    name: impl FnOnce() -> String,
) -> Result<()> {
    let mut scorer = SequenceScorer::new(model, sequence);
    let expanded = expander.expand(cells, &mut scorer, |_| None);
    expanded.map_err(|message| Error::Data(format!("{}, {message}", name())))?;
    scorer.end_sentence(1.0);
    Ok(())
}

/// Calls `work` with pieces of consecutive sentences, given the number of tokens of each, at least about: on the current thread
/// pool, or on the calling thread if one piece holds all. Returns what it returns, in order.
pub(super) fn in_pieces<'t, T: Send>(
    model: &Model,
    template: &'t Template,
    sizes: impl ExactSizeIterator<Item = usize>,
    interrupt: &Interrupt,
    work: impl Fn(Range<usize>, &mut Sequence, &mut Expander<'t>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (mut pieces, count) = (Vec::new(), sizes.len());
    let (mut start, mut tokens, mut all_tokens) = (0, 0, 0);
    for (sentence, size) in sizes.enumerate() {
        (tokens, all_tokens) = (tokens + size, all_tokens + size);
        if tokens >= PIECE || sentence + 1 == count {
            pieces.push(start..sentence + 1);
            (start, tokens) = (sentence + 1, 0);
        }
    }
    model.expect(all_tokens);
    // Buffers of pieces that are done: an expander remembers the tokens of all pieces that it has processed.
    let spare: Mutex<Vec<(Sequence, Expander<'t>)>> = Mutex::new(Vec::new());
    let work = |piece: Range<usize>| {
        interrupt.check()?;
        let buffers = locked(&spare).pop();
        let (mut sequence, mut expander) = buffers.unwrap_or_else(|| (Sequence::new(model), Expander::new(template)));
        sequence.lattice.heed(interrupt);
        let done = work(piece, &mut sequence, &mut expander)?;
        interrupt.check()?;
        locked(&spare).push((sequence, expander));
        Ok(done)
    };
    if pieces.len() < 2 { pieces.into_iter().map(work).collect() } else { pieces.into_par_iter().map(work).collect() }
}
