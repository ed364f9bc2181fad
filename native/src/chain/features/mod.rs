//! Which features a chain model has, and the sequence of its weights. The other files find them, in a corpus (`seen`) or in its
//! parts (`counting`, `table`), and name them (`feature_names`), also for a model (`source`).
//!
//! Sequence: transitions by (from, to); triples by their three labels; bigram features by attribute, then (from, to); state
//! features by class, then attribute, then label. The classes of attributes serve the layout in memory (`objective::layout`):
//!
//! - dense: attributes with features of many labels, kept as rows of a matrix;
//! - shared: other attributes that occur in several blocks of the corpus;
//! - own: other attributes that occur in one block only, block by block.

pub mod counting;
pub mod feature_names;
pub(super) mod seen;
pub mod source;
pub mod table;

use crate::chain::features::seen::{
    ObservedLabels, Seen, for_each_row, labels_by_sum, observed_labels, pairs_of, token_counts, transitions, triples,
};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Which features to make of a corpus. Python hands it over as an object with these attributes (`loglinear.ChainFeatures`), which
/// are read here so that an option is named in one place of the native half.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Selection {
    /// A state feature for every attribute with every label, not only for those seen together.
    pub all_states: bool,
    /// A feature for every transition, not only for those seen.
    pub all_transitions: bool,
    /// Attributes on fewer tokens have no features.
    pub min_count: u32,
    /// 1, or 2 for features of three labels in a row besides. A template can ask for these as well.
    pub order: u8,
    /// CRFsuite's `feature.minfreq`: transitions and state features whose values in the data, times the weights of the sentences,
    /// add up to less are left out; the sum of an unseen one is 0. Python's object may lack it.
    #[cfg_attr(feature = "python", pyo3(default))]
    pub min_sum: Option<f64>,
}

impl Selection {
    /// The features that were seen at least once, in a chain of this order.
    pub fn seen(order: u8) -> Selection {
        Selection { min_count: 1, order, ..Selection::default() }
    }
}

/// Whether an attribute with features of `labels` labels, on `tokens` tokens, becomes a dense row.
fn is_dense(labels: usize, tokens: u32, width: usize) -> bool {
    labels * 8 >= width && labels > 1 && tokens >= 64
}

/// Attributes of tokens in a block: enough work to outweigh adding up a block's gradient. From `MOST_BLOCKS` blocks on, blocks get
/// larger rather than more, up to `LARGEST` attributes: a thread lays a block out in memory.
const BLOCK: usize = 400_000;
const MOST_BLOCKS: usize = 64;
const LARGEST: usize = 8_000_000;
/// Occurrences of bigram attributes that are kept before repetitions are left out.
const FEW_PAIRS: usize = 4_000_000;
/// The most labels: every thread holds several tables of all pairs of labels, 128 MiB each with this number.
pub const MOST_LABELS: usize = 4096;
/// The most labels of a chain of second order, whose tables hold all triples of labels.
pub const MOST_LABELS_OF_TRIPLES: usize = 256;

/// Fails if a chain of this order cannot have so many labels.
fn too_many_labels(n_labels: usize, order: u8) -> Result<()> {
    if n_labels > MOST_LABELS {
        let message = format!(
            "{n_labels} labels, more than {MOST_LABELS}; are these the labels? Columns have them last, attribute files \
             and svmlight first"
        );
        return Err(Error::Data(message));
    }
    if order == 2 && n_labels > MOST_LABELS_OF_TRIPLES {
        let most = MOST_LABELS_OF_TRIPLES;
        let message = format!("{n_labels} labels, more than {most}, are too many for order 2; use order 1");
        return Err(Error::Data(message));
    }
    Ok(())
}

/// The features of a chain, in the sequence of its weights.
#[derive(Clone)]
pub struct Features {
    pub n_labels: usize,
    /// (from, to) of each transition feature. Transitions are the first features.
    pub transitions: Vec<(u16, u16)>,
    /// The three labels in a row of each triple feature. Triples come next.
    pub triples: Vec<[u16; 3]>,
    /// Attribute -> its range in `bigram_pairs`; empty where the corpus has no attributes of bigrams.
    pub bigram_ranges: Vec<Range<u32>>,
    /// (from, to) of each bigram feature.
    pub bigram_pairs: Vec<(u16, u16)>,
    /// The attributes that have state features, in the sequence of the weights, each with the end of its range in `state_labels`.
    pub state_attributes: Vec<(u32, u32)>,
    /// Label of each state feature.
    pub state_labels: Vec<u16>,
    /// The number of dense attributes: the first ones of `state_attributes`.
    pub n_dense: usize,
    /// The number of shared attributes, which come next.
    pub n_shared: usize,
    /// The sentences of each block, and the range of its own features in `state_labels`.
    pub blocks: Vec<(Range<usize>, Range<usize>)>,
}

/// Where the state features of an attribute stand.
#[derive(Clone, Copy)]
pub struct Place {
    /// Index in `state_attributes`, or `NOWHERE`.
    pub index: u32,
    /// Start of its range in `state_labels`.
    pub start: u32,
    /// End of its range in `state_labels`.
    pub end: u32,
}

/// The place of an attribute or feature that there is none of.
pub const NOWHERE: u32 = u32::MAX;

impl Features {
    /// Finds the features of a corpus. Errors: no labels, no tokens, too many labels or features.
    pub fn new(corpus: &Corpus, selection: Selection) -> Result<Features> {
        if !corpus.labelled {
            return Err(Error::Data("training needs labelled data".into()));
        }
        // CRFsuite trains on nothing, too.
        if corpus.labels.is_empty() && selection.min_sum.is_none() {
            let what = match (corpus.n_sentences(), corpus.n_tokens()) {
                (0, _) => "no sentences",
                (_, 0) => "no tokens in any sentence",
                _ => "no token whose label is known",
            };
            return Err(Error::Data(format!("{what}: there is nothing to train on")));
        }
        let n_labels = corpus.labels.len();
        too_many_labels(n_labels, selection.order)?;
        let sentences = blocks(corpus, MOST_BLOCKS);
        let seen = Seen::new(corpus, &sentences, selection.min_count);
        let mut labels_of = observed_labels(corpus, &seen.counts);
        if let Some(least) = selection.min_sum {
            labels_of = labels_by_sum(corpus, labels_of, least, selection.all_states);
        }
        let all_pairs = selection.all_transitions;
        let pairs = transitions(corpus, all_pairs, selection.min_sum);
        let triples = if selection.order == 2 { triples(corpus, all_pairs) } else { Vec::new() };
        let mut features = Features::of_labels(n_labels, pairs, triples);
        features.add_bigrams(corpus, selection.min_count, all_pairs)?;
        features.add_states(&seen, &labels_of, selection, sentences)?;
        Ok(features)
    }

    /// The features of labels alone, without attributes.
    pub(super) fn of_labels(n_labels: usize, transitions: Vec<(u16, u16)>, triples: Vec<[u16; 3]>) -> Features {
        Features {
            n_labels,
            transitions,
            triples,
            bigram_ranges: Vec::new(),
            bigram_pairs: Vec::new(),
            state_attributes: Vec::new(),
            state_labels: Vec::new(),
            n_dense: 0,
            n_shared: 0,
            blocks: Vec::new(),
        }
    }

    /// The features of samples that are one token each, with every column of a matrix as an attribute: with two labels a column
    /// has one feature, of the second label; with more it has one of every label.
    pub fn of_columns(n_columns: usize, n_labels: usize, n_samples: usize) -> Result<Features> {
        if n_labels > MOST_LABELS {
            return Err(Error::Data(format!("{n_labels} classes, more than {MOST_LABELS}")));
        }
        let labels: Vec<u16> = if n_labels == 2 { vec![1] } else { (0..n_labels as u16).collect() };
        let n = n_columns * labels.len();
        check_count(n)?;
        let is_dense = labels.len() > 1;
        Ok(Features {
            n_labels,
            transitions: Vec::new(),
            triples: Vec::new(),
            bigram_ranges: Vec::new(),
            bigram_pairs: Vec::new(),
            state_attributes: (0..n_columns).map(|j| (j as u32, ((j + 1) * labels.len()) as u32)).collect(),
            state_labels: labels.repeat(n_columns),
            n_dense: if is_dense { n_columns } else { 0 },
            n_shared: if is_dense { 0 } else { n_columns },
            blocks: vec![(0..n_samples, n..n)],
        })
    }

    /// The number of bigram features.
    pub fn n_bigrams(&self) -> usize {
        self.bigram_pairs.len()
    }

    /// The number of the first bigram feature among all features.
    pub fn first_bigram(&self) -> usize {
        self.transitions.len() + self.triples.len()
    }

    /// The number of the first state feature among all features.
    pub fn first_state(&self) -> usize {
        self.first_bigram() + self.bigram_pairs.len()
    }

    /// The number of features.
    pub fn len(&self) -> usize {
        self.first_state() + self.state_labels.len()
    }

    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Attribute -> where its state features stand.
    pub fn places(&self, n_attributes: usize) -> Vec<Place> {
        let mut places = vec![Place { index: NOWHERE, start: 0, end: 0 }; n_attributes];
        let mut start = 0;
        for (index, &(attribute, end)) in self.state_attributes.iter().enumerate() {
            places[attribute as usize] = Place { index: index as u32, start, end };
            start = end;
        }
        places
    }

    /// The range in `state_labels` of a range of `state_attributes`.
    pub fn state_range(&self, attributes: Range<usize>) -> Range<usize> {
        let end = |count: usize| if count == 0 { 0 } else { self.state_attributes[count - 1].1 as usize };
        end(attributes.start)..end(attributes.end)
    }

    /// Labels of the state features of the attribute with this index in `state_attributes`.
    pub fn labels(&self, attribute: usize) -> &[u16] {
        &self.state_labels[self.state_range(attribute..attribute + 1)]
    }

    fn add_bigrams(&mut self, corpus: &Corpus, min_count: u32, all_pairs: bool) -> Result<()> {
        if corpus.bigrams.ids.is_empty() {
            return Ok(());
        }
        let counts = token_counts(corpus, |token| corpus.bigrams_of(token));
        let (mut seen, mut most) = (Vec::new(), FEW_PAIRS);
        for sentence in corpus.sweep() {
            for token in corpus.tokens(sentence).skip(1) {
                for_each_row(corpus, [token - 1, token], |[from, to]| {
                    let (from, to) = (from as u16, to as u16);
                    seen.extend(corpus.bigrams_of(token).iter().map(|&attribute| (attribute, from, to)));
                });
            }
            // Repetitions are left out now and then, so that memory is that of the features.
            if seen.len() > most {
                seen.par_sort_unstable();
                seen.dedup();
                most = FEW_PAIRS.max(2 * seen.len());
            }
        }
        seen.par_sort_unstable();
        seen.dedup();
        let kept = counts.iter().filter(|&&count| count >= min_count.max(1)).count();
        check_count(if all_pairs { kept * self.n_labels * self.n_labels } else { seen.len() })?;
        let mut next = seen.iter().peekable();
        for (attribute, &count) in counts.iter().enumerate() {
            let start = self.bigram_pairs.len() as u32;
            let kept = count >= min_count.max(1);
            while let Some(&&(_, from, to)) = next.peek().filter(|seen| seen.0 as usize == attribute) {
                next.next();
                if kept && !all_pairs {
                    self.bigram_pairs.push((from, to));
                }
            }
            if kept && all_pairs {
                self.bigram_pairs.extend(pairs_of(self.n_labels));
            }
            self.bigram_ranges.push(start..self.bigram_pairs.len() as u32);
        }
        Ok(())
    }

    pub(super) fn add_states(
        &mut self,
        seen: &Seen,
        labels_of: &ObservedLabels,
        selection: Selection,
        sentences: Vec<Range<usize>>,
    ) -> Result<()> {
        let width = crate::numeric::padded(self.n_labels);
        let n_blocks = sentences.len();
        // A bound on the sums has looked at all labels already.
        let all_states = selection.all_states && selection.min_sum.is_none();
        // Class -> its attributes: 0 dense, 1 shared by blocks, 2 + b found in block b only.
        let mut classes: Vec<Vec<u32>> = vec![Vec::new(); 2 + n_blocks];
        let mut total = 0;
        for (attribute, &count) in seen.counts.iter().enumerate() {
            let n_labels = if all_states { self.n_labels } else { labels_of.of(attribute).len() };
            if count == 0 || n_labels == 0 || seen.tokens[attribute] < selection.min_count {
                continue;
            }
            let class = if is_dense(n_labels, count, width) {
                0
            } else if seen.first[attribute] == seen.last[attribute] {
                2 + usize::from(seen.first[attribute])
            } else {
                1
            };
            classes[class].push(attribute as u32);
            total += n_labels;
        }
        // Before memory is asked for.
        check_count(total)?;
        (self.n_dense, self.n_shared) = (classes[0].len(), classes[1].len());
        let mut block_ranges = Vec::with_capacity(n_blocks);
        for (class, attributes) in classes.iter().enumerate() {
            let start = self.state_labels.len();
            for &attribute in attributes {
                if all_states {
                    self.state_labels.extend(0..self.n_labels as u16);
                } else {
                    self.state_labels.extend_from_slice(labels_of.of(attribute as usize));
                }
                self.state_attributes.push((attribute, self.state_labels.len() as u32));
            }
            if class >= 2 {
                block_ranges.push(start..self.state_labels.len());
            }
        }
        self.blocks = sentences.into_iter().zip(block_ranges).collect();
        Ok(())
    }
}

/// Fails if there are more features of states, or of bigrams, than 32-bit numbers count.
fn check_count(features: usize) -> Result<()> {
    if u32::try_from(features).is_ok() {
        return Ok(());
    }
    let remedy = "raise min_count, or leave out all_states and all_transitions";
    Err(Error::Data(format!("{features} features, more than 2^32; {remedy}")))
}

/// Cuts the corpus into blocks of whole sentences, at most `most` unless these would be too large for memory. The blocks depend on
/// the corpus alone, so that sums are added up in the same sequence on any number of threads.
pub(super) fn blocks(corpus: &Corpus, most: usize) -> Vec<Range<usize>> {
    let work = |sentence: usize| {
        let tokens = corpus.tokens(sentence);
        corpus.states.ends.get(tokens.end.wrapping_sub(1)).copied().unwrap_or(0) + tokens.end
    };
    let n = corpus.n_sentences();
    let total = if n == 0 { 0 } else { work(n - 1) };
    let count = (total / BLOCK).clamp(1, most).max(total / LARGEST).min(usize::from(u16::MAX));
    let mut blocks = Vec::with_capacity(count);
    let mut start = 0;
    for block in 0..count {
        let goal = total * (block + 1) / count;
        let mut end = start;
        while end < n && (work(end) <= goal || block + 1 == count) {
            end += 1;
        }
        blocks.push(start..end);
        start = end;
    }
    blocks
}

#[cfg(test)]
mod tests;
