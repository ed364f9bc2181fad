//! Which features a chain model has, and the sequence of its weights. They follow from what is seen in a corpus (`seen`), or in
//! its parts (`counting`, `table`), and from the selection. Other files name them (`feature_names`), also for a model (`source`).
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

use crate::chain::features::seen::{Occurrences, Seen, pairs_of};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use std::ops::Range;

/// Which features to make of a corpus. Python passes it as an object with these attributes (`loglinear.ChainFeatures`), which
/// are read here so that an option is named in one place of the native half.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Selection {
    /// A state feature for every attribute with every label, not only for pairs seen together.
    pub all_states: bool,
    /// A feature for every transition, not only for transitions seen.
    pub all_transitions: bool,
    /// Attributes on fewer tokens have no features.
    pub min_count: u32,
    /// 1, or 2 to add features of three labels in a row. A template can request these as well.
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

/// The least work of a block, in units of the time that an attribute of a token takes: enough to outweigh handing it to a thread.
const BLOCK: usize = 50_000;
/// The least work of a block for each sum that it adds up, so that blocks spend little of their time on adding up their sums.
const BLOCK_OF_SUM: usize = 4;
/// From this number of blocks on, blocks get larger rather than more, up to `LARGEST` attributes: a thread lays a block out in
/// memory.
pub(super) const MOST_BLOCKS: usize = 64;
const LARGEST: usize = 8_000_000;
/// The number of labels and links that inference goes through in the time that an attribute of a token takes.
const STEPS: usize = 8;

/// The most labels: every thread holds several tables of all pairs of labels, 128 MiB each with this number.
pub const MOST_LABELS: usize = 4096;
/// The most labels of a chain of second order, whose tables hold all triples of labels.
pub const MOST_LABELS_OF_TRIPLES: usize = 256;

/// Fails if a chain of this order cannot have `n_labels` labels.
fn too_many_labels(n_labels: usize, order: u8) -> Result<()> {
    if n_labels > MOST_LABELS {
        let message = format!(
            "{n_labels} labels, more than {MOST_LABELS}; check where the labels are: last in columns, first in \
             attribute files and svmlight"
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

/// The error of data that have no features.
pub(super) const NO_FEATURES: &str =
    "no features: every attribute was dropped and there are no transitions; lower min_count";

/// The features of a chain, in the sequence of its weights.
#[derive(Clone)]
pub struct Features {
    pub n_labels: usize,
    /// (from, to) of each transition feature. Transitions are the first features.
    pub transitions: Vec<[u16; 2]>,
    /// The three labels in a row of each triple feature. Triples come next.
    pub triples: Vec<[u16; 3]>,
    /// Attribute -> its range in `bigram_pairs`; empty where the corpus has no bigram attributes.
    pub bigram_ranges: Vec<Range<u32>>,
    /// (from, to) of each bigram feature.
    pub bigram_pairs: Vec<[u16; 2]>,
    /// The attributes that have state features, in the sequence of the weights, each with the end of its range in `state_labels`.
    pub state_attributes: Vec<(u32, u32)>,
    /// Label of each state feature.
    pub state_labels: Vec<u16>,
    /// The number of dense attributes, which come first in `state_attributes`.
    pub n_dense: usize,
    /// The number of shared attributes, which come next.
    pub n_shared: usize,
    /// The sentences of each block, and the range in `state_labels` of the features that occur in this block only.
    pub blocks: Vec<(Range<usize>, Range<usize>)>,
}

/// The places of an attribute's state features.
#[derive(Clone, Copy)]
pub struct Place {
    /// Index in `state_attributes`, or `NOWHERE`.
    pub index: u32,
    /// Start of its range in `state_labels`.
    pub start: u32,
    /// End of its range in `state_labels`.
    pub end: u32,
}

/// The place of an attribute or feature that does not exist.
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
                _ => "no token has a known label",
            };
            return Err(Error::Data(format!("{what}: there is nothing to train on")));
        }
        let n_labels = corpus.labels.len();
        too_many_labels(n_labels, selection.order)?;
        let mut seen = Seen::of(corpus, selection.order, selection.min_count);
        if let Some(least) = selection.min_sum {
            seen.bound(corpus, least, selection.all_states, selection.all_transitions);
        }
        let sentences = blocks(corpus, Cost::new(n_labels, &seen, selection), MOST_BLOCKS);
        Features::of(n_labels, &seen, selection, sentences)
    }

    /// The features that a selection makes of what is seen in these blocks of sentences; without blocks, attributes are shared or
    /// dense. Error: too many labels or features.
    pub(super) fn of(
        n_labels: usize,
        seen: &Seen,
        selection: Selection,
        sentences: Vec<Range<usize>>,
    ) -> Result<Features> {
        too_many_labels(n_labels, selection.order)?;
        let every = Every::new(n_labels, selection);
        let mut features = Features {
            n_labels,
            transitions: transitions(seen, selection, &every),
            triples: triples(n_labels, seen, selection, &every),
            bigram_ranges: Vec::new(),
            bigram_pairs: Vec::new(),
            state_attributes: Vec::new(),
            state_labels: Vec::new(),
            n_dense: 0,
            n_shared: 0,
            blocks: Vec::new(),
        };
        features.add_bigrams(|attribute| bigram_pairs(seen, selection, &every, attribute), seen.bigram_tokens.len())?;
        features.add_states(&seen.states, |attribute| state_labels(seen, selection, &every, attribute), sentences)?;
        Ok(features)
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

    /// The number of transitions, triples, bigram features and state features, in the sequence of the weights.
    pub fn counts(&self) -> (usize, usize, usize, usize) {
        (self.transitions.len(), self.triples.len(), self.n_bigrams(), self.state_labels.len())
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

    pub fn len(&self) -> usize {
        self.first_state() + self.state_labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Attribute -> the places of its state features.
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

    /// Adds the bigram features of attributes with these pairs of labels.
    fn add_bigrams<'s>(&mut self, pairs_of: impl Fn(usize) -> &'s [[u16; 2]], n_attributes: usize) -> Result<()> {
        let attributes = 0..n_attributes;
        // Before memory is allocated.
        check_count(attributes.clone().map(|attribute| pairs_of(attribute).len()).sum())?;
        for attribute in attributes {
            let start = self.bigram_pairs.len() as u32;
            self.bigram_pairs.extend_from_slice(pairs_of(attribute));
            self.bigram_ranges.push(start..self.bigram_pairs.len() as u32);
        }
        Ok(())
    }

    /// Adds the state features of attributes with these labels.
    fn add_states<'s>(
        &mut self,
        occurrences: &Occurrences,
        labels_of: impl Fn(usize) -> &'s [u16],
        sentences: Vec<Range<usize>>,
    ) -> Result<()> {
        let width = crate::numeric::padded(self.n_labels);
        // Class -> its attributes: 0 dense, 1 shared by blocks, 2 + b found in block b only.
        let mut classes: Vec<Vec<u32>> = vec![Vec::new(); 2 + sentences.len()];
        let mut total = 0;
        for (attribute, &count) in occurrences.counts.iter().enumerate() {
            let n_labels = labels_of(attribute).len();
            if n_labels == 0 {
                continue;
            }
            let class = match occurrences.block(attribute, &sentences) {
                _ if is_dense(n_labels, count, width) => 0,
                Some(block) => 2 + block,
                None => 1,
            };
            classes[class].push(attribute as u32);
            total += n_labels;
        }
        // Before memory is allocated.
        check_count(total)?;
        (self.n_dense, self.n_shared) = (classes[0].len(), classes[1].len());
        let mut class_ranges = Vec::with_capacity(classes.len());
        for attributes in &classes {
            let start = self.state_labels.len();
            for &attribute in attributes {
                self.state_labels.extend_from_slice(labels_of(attribute as usize));
                self.state_attributes.push((attribute, self.state_labels.len() as u32));
            }
            class_ranges.push(start..self.state_labels.len());
        }
        self.blocks = sentences.into_iter().zip(class_ranges.drain(2..)).collect();
        Ok(())
    }
}

/// All labels, and all pairs of labels, where a selection asks for features with all of them.
struct Every {
    labels: Option<Vec<u16>>,
    pairs: Option<Vec<[u16; 2]>>,
}

impl Every {
    fn new(n_labels: usize, selection: Selection) -> Every {
        // A bound on the sums has looked at all labels already.
        let all_states = selection.all_states && selection.min_sum.is_none();
        Every {
            labels: all_states.then(|| (0..n_labels as u16).collect()),
            pairs: selection.all_transitions.then(|| pairs_of(n_labels).collect()),
        }
    }
}

/// The transitions that are features, ascending.
fn transitions(seen: &Seen, selection: Selection, every: &Every) -> Vec<[u16; 2]> {
    match &every.pairs {
        // A bound on the sums has looked at all transitions already.
        Some(pairs) if seen.has_transitions && selection.min_sum.is_none() => pairs.clone(),
        _ => seen.transitions.clone(),
    }
}

/// The triples that are features, ascending.
fn triples(n_labels: usize, seen: &Seen, selection: Selection, every: &Every) -> Vec<[u16; 3]> {
    let labels = 0..n_labels as u16;
    match &every.pairs {
        _ if selection.order != 2 => Vec::new(),
        Some(pairs) if seen.has_transitions || seen.has_triples => {
            pairs.iter().flat_map(|&[a, b]| labels.clone().map(move |c| [a, b, c])).collect()
        }
        _ => seen.triples.clone(),
    }
}

/// The pairs of labels with which an attribute has bigram features; none for an attribute that is too rare.
fn bigram_pairs<'s>(seen: &'s Seen, selection: Selection, every: &'s Every, attribute: usize) -> &'s [[u16; 2]] {
    match &every.pairs {
        _ if seen.bigram_tokens[attribute] < selection.min_count.max(1) => &[],
        Some(pairs) => pairs,
        None => seen.bigrams.get(attribute),
    }
}

/// The labels with which an attribute has state features; none for an attribute that is too rare.
fn state_labels<'s>(seen: &'s Seen, selection: Selection, every: &'s Every, attribute: usize) -> &'s [u16] {
    match &every.labels {
        _ if seen.states.tokens[attribute] < selection.min_count.max(1) => &[],
        Some(labels) => labels,
        None => seen.labels.get(attribute),
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

/// What an evaluation of a corpus costs besides its attributes.
#[derive(Clone, Copy, Default)]
pub(super) struct Cost {
    /// The number of labels and links that inference goes through for a token.
    pub steps: usize,
    /// About the number of sums that each block adds up, for the features that it shares with other blocks.
    pub sums: usize,
}

impl Cost {
    pub(super) fn new(n_labels: usize, seen: &Seen, selection: Selection) -> Cost {
        let (width, every) = (crate::numeric::padded(n_labels), Every::new(n_labels, selection));
        let sums_of = |(attribute, &count): (usize, &u32)| match state_labels(seen, selection, &every, attribute).len()
        {
            0 => 0,
            n_labels if is_dense(n_labels, count, width) => width,
            n_labels => {
                if count > 1 {
                    n_labels
                } else {
                    0
                }
            }
        };
        let states: usize = seen.states.counts.iter().enumerate().map(sums_of).sum();
        Cost { steps: seen.n_steps(n_labels), sums: states + 2 * n_labels * width }
    }
}

/// Cuts the corpus into blocks of whole sentences of about the same work, at most `most` unless these would be too large for
/// memory. The blocks depend on only the corpus and its features, so that sums are added up in the same sequence on any number of
/// threads.
pub(super) fn blocks(corpus: &Corpus, cost: Cost, most: usize) -> Vec<Range<usize>> {
    let attributes =
        |sentence: usize| corpus.states.ends.get(corpus.tokens(sentence).end.wrapping_sub(1)).copied().unwrap_or(0);
    let work_of_token = 1 + cost.steps / STEPS;
    let work = |sentence: usize| attributes(sentence) + corpus.tokens(sentence).end * work_of_token;
    let n = corpus.n_sentences();
    let (total, n_attributes) = if n == 0 { (0, 0) } else { (work(n - 1), attributes(n - 1)) };
    let count = match total / BLOCK.max(BLOCK_OF_SUM * cost.sums) {
        0 | 1 => 1,
        // Two threads get as many blocks.
        count => count.next_multiple_of(2).min(most),
    };
    let count = count.max(n_attributes / LARGEST).min(usize::from(u16::MAX));
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
