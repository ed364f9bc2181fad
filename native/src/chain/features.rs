//! Which features a chain model has, and the order of its weights.
//!
//! Order: transitions by (from, to); triples by their three labels; bigram features by attribute, then (from, to); state
//! features by class, then attribute, then label. The classes serve the layout in memory (`layout`): attributes with many
//! labels, which are kept as dense rows; the other attributes that occur in several blocks of the corpus; and those that
//! occur in one block only, block by block.

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
}

impl Selection {
    /// The features that were seen at least once, in a chain of this order.
    pub fn seen(order: u8) -> Selection {
        Selection { min_count: 1, order, ..Selection::default() }
    }
}

/// Attributes with at least so many labels, and on at least so many tokens, become dense rows.
fn is_dense(labels: usize, tokens: u32, width: usize) -> bool {
    labels * 8 >= width && labels > 1 && tokens >= 64
}

/// Tokens' attributes to a block: enough work to outweigh adding up a block's gradient.
const BLOCK: usize = 400_000;
const MOST_BLOCKS: usize = 64;
/// Tables of all label pairs are held in memory, several for each thread: 128 MiB each for so many labels.
const MOST_LABELS: usize = 4096;
/// The same of label triples.
pub const MOST_LABELS_OF_TRIPLES: usize = 256;

pub struct Features {
    pub n_labels: usize,
    /// (from, to) of each transition feature; they come first.
    pub transitions: Vec<(u16, u16)>,
    /// The labels of each transition of second order; they come next.
    pub triples: Vec<[u16; 3]>,
    /// Attribute -> its range in `bigram_pairs`; empty without bigram features.
    pub bigram_ranges: Vec<Range<u32>>,
    /// (from, to) of each bigram feature.
    pub bigram_pairs: Vec<(u16, u16)>,
    /// Attributes that have state features, in the order of those, with the end of their range in `state_labels`.
    pub state_attributes: Vec<(u32, u32)>,
    /// Label of each state feature.
    pub state_labels: Vec<u16>,
    /// The first `n_dense` of `state_attributes` are dense rows, then `n_shared` that several blocks share.
    pub n_dense: usize,
    pub n_shared: usize,
    /// Sentences of each block, and its own range of `state_labels`.
    pub blocks: Vec<(Range<usize>, Range<usize>)>,
}

/// Where the state features of an attribute are.
#[derive(Clone, Copy)]
pub struct Place {
    /// Index in `state_attributes`, or `NOWHERE`.
    pub index: u32,
    /// Start and end in `state_labels`.
    pub start: u32,
    pub end: u32,
}

pub const NOWHERE: u32 = u32::MAX;

impl Features {
    pub fn new(corpus: &Corpus, selection: Selection) -> Result<Features> {
        if !corpus.labelled {
            return Err(Error::Data("training needs labelled data".into()));
        }
        if corpus.labels.is_empty() {
            let what = if corpus.n_sentences() == 0 { "no sentences" } else { "no tokens in any sentence" };
            return Err(Error::Data(format!("{what}: there is nothing to train on")));
        }
        let n_labels = corpus.labels.len();
        if n_labels > MOST_LABELS {
            let message = format!("{n_labels} labels, more than {MOST_LABELS}; is the last column really the label?");
            return Err(Error::Data(message));
        }
        if selection.order == 2 && n_labels > MOST_LABELS_OF_TRIPLES {
            let most = MOST_LABELS_OF_TRIPLES;
            let message = format!("{n_labels} labels, more than {most}, are too many for order 2; use order 1");
            return Err(Error::Data(message));
        }
        let sentences = blocks(corpus);
        let seen = Seen::new(corpus, &sentences, selection.min_count);
        let labels_of = observed_labels(corpus, &seen.counts);
        let all_pairs = selection.all_transitions;
        let mut features = Features {
            n_labels,
            transitions: transitions(corpus, all_pairs),
            triples: if selection.order == 2 { triples(corpus, all_pairs) } else { Vec::new() },
            bigram_ranges: Vec::new(),
            bigram_pairs: Vec::new(),
            state_attributes: Vec::new(),
            state_labels: Vec::new(),
            n_dense: 0,
            n_shared: 0,
            blocks: Vec::new(),
        };
        features.add_bigrams(corpus, selection.min_count, all_pairs);
        features.add_states(&seen, &labels_of, selection, sentences)?;
        Ok(features)
    }

    /// Those of samples that are one token each, with every column of a matrix as an attribute: with two labels a feature for
    /// the second alone, with more one for every label.
    pub fn of_columns(n_columns: usize, n_labels: usize, n_samples: usize) -> Result<Features> {
        if n_labels > MOST_LABELS {
            return Err(Error::Data(format!("{n_labels} classes, more than {MOST_LABELS}")));
        }
        let labels: Vec<u16> = if n_labels == 2 { vec![1] } else { (0..n_labels as u16).collect() };
        let n = n_columns * labels.len();
        if u32::try_from(n).is_err() {
            return Err(Error::Data("more than 2^32 features".into()));
        }
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

    pub fn n_bigrams(&self) -> usize {
        self.bigram_pairs.len()
    }

    /// Where bigram features start among all features.
    pub fn first_bigram(&self) -> usize {
        self.transitions.len() + self.triples.len()
    }

    /// Where state features start among all features.
    pub fn first_state(&self) -> usize {
        self.first_bigram() + self.bigram_pairs.len()
    }

    pub fn len(&self) -> usize {
        self.first_state() + self.state_labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where each attribute's state features are.
    pub fn places(&self, n_attributes: usize) -> Vec<Place> {
        let mut places = vec![Place { index: NOWHERE, start: 0, end: 0 }; n_attributes];
        let mut start = 0;
        for (index, &(attribute, end)) in self.state_attributes.iter().enumerate() {
            places[attribute as usize] = Place { index: index as u32, start, end };
            start = end;
        }
        places
    }

    /// The range in `state_labels` of the first `count` attributes.
    pub fn state_range(&self, attributes: Range<usize>) -> Range<usize> {
        let end = |count: usize| if count == 0 { 0 } else { self.state_attributes[count - 1].1 as usize };
        end(attributes.start)..end(attributes.end)
    }

    /// Labels of the state features of an attribute, counted as in `state_attributes`.
    pub fn labels(&self, attribute: usize) -> &[u16] {
        &self.state_labels[self.state_range(attribute..attribute + 1)]
    }

    fn add_bigrams(&mut self, corpus: &Corpus, min_count: u32, all_pairs: bool) {
        if corpus.bigrams.ids.is_empty() {
            return;
        }
        let counts = token_counts(corpus, |token| corpus.bigrams_of(token));
        let mut seen = Vec::new();
        for sentence in 0..corpus.n_sentences() {
            for token in corpus.tokens(sentence).skip(1) {
                let (from, to) = (corpus.gold[token - 1] as u16, corpus.gold[token] as u16);
                seen.extend(corpus.bigrams_of(token).iter().map(|&attribute| (attribute, from, to)));
            }
        }
        seen.par_sort_unstable();
        seen.dedup();
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
    }

    fn add_states(
        &mut self,
        seen: &Seen,
        labels_of: &ObservedLabels,
        selection: Selection,
        sentences: Vec<Range<usize>>,
    ) -> Result<()> {
        let width = crate::numeric::padded(self.n_labels);
        let n_blocks = sentences.len();
        // Classes: 0 dense, 1 shared by blocks, 2 + b found in block b only.
        let mut classes: Vec<Vec<u32>> = vec![Vec::new(); 2 + n_blocks];
        for (attribute, &count) in seen.counts.iter().enumerate() {
            if count == 0 || seen.tokens[attribute] < selection.min_count {
                continue;
            }
            let n_labels = if selection.all_states { self.n_labels } else { labels_of.of(attribute).len() };
            let class = if is_dense(n_labels, count, width) {
                0
            } else if seen.first[attribute] == seen.last[attribute] {
                2 + usize::from(seen.first[attribute])
            } else {
                1
            };
            classes[class].push(attribute as u32);
        }
        (self.n_dense, self.n_shared) = (classes[0].len(), classes[1].len());
        let mut block_ranges = Vec::with_capacity(n_blocks);
        for (class, attributes) in classes.iter().enumerate() {
            let start = self.state_labels.len();
            for &attribute in attributes {
                if selection.all_states {
                    self.state_labels.extend(0..self.n_labels as u16);
                } else {
                    self.state_labels.extend_from_slice(labels_of.of(attribute as usize));
                }
                let end = u32::try_from(self.state_labels.len()).map_err(|_| {
                    Error::Data("more than 2^32 features; raise min_count or leave out all_states".into())
                })?;
                self.state_attributes.push((attribute, end));
            }
            if class >= 2 {
                block_ranges.push(start..self.state_labels.len());
            }
        }
        self.blocks = sentences.into_iter().zip(block_ranges).collect();
        Ok(())
    }
}

pub fn pairs_of(n_labels: usize) -> impl Iterator<Item = (u16, u16)> {
    let n = n_labels as u16;
    (0..n).flat_map(move |from| (0..n).map(move |to| (from, to)))
}

fn transitions(corpus: &Corpus, all: bool) -> Vec<(u16, u16)> {
    if !corpus.transitions {
        return Vec::new();
    }
    let n_labels = corpus.labels.len();
    let mut seen = vec![all; n_labels * n_labels];
    for sentence in 0..corpus.n_sentences() {
        for pair in corpus.gold[corpus.tokens(sentence)].windows(2) {
            seen[pair[0] as usize * n_labels + pair[1] as usize] = true;
        }
    }
    pairs_of(n_labels).zip(seen).filter_map(|(pair, seen)| seen.then_some(pair)).collect()
}

/// Transitions of second order: where there are none of first order, only if they were asked for by name.
fn triples(corpus: &Corpus, all: bool) -> Vec<[u16; 3]> {
    if !corpus.transitions && !corpus.triples {
        return Vec::new();
    }
    let n = corpus.labels.len();
    let mut seen = vec![all; n * n * n];
    for sentence in 0..corpus.n_sentences() {
        for labels in corpus.gold[corpus.tokens(sentence)].windows(3) {
            seen[(labels[0] as usize * n + labels[1] as usize) * n + labels[2] as usize] = true;
        }
    }
    let labels = |at: usize| [at / (n * n), at / n % n, at % n].map(|label| label as u16);
    (0..seen.len()).filter(|&at| seen[at]).map(labels).collect()
}

/// Cuts the corpus into blocks of whole sentences. They depend on the corpus alone, so that sums are added up in
/// the same order on any number of threads.
fn blocks(corpus: &Corpus) -> Vec<Range<usize>> {
    let work = |sentence: usize| {
        let tokens = corpus.tokens(sentence);
        corpus.states.ends.get(tokens.end.wrapping_sub(1)).copied().unwrap_or(0) + tokens.end
    };
    let n = corpus.n_sentences();
    let total = if n == 0 { 0 } else { work(n - 1) };
    let count = (total / BLOCK).clamp(1, MOST_BLOCKS);
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

/// Attribute -> the number of tokens it is on; twice on a token counts once.
fn token_counts<'c>(corpus: &'c Corpus, attributes_of: impl Fn(usize) -> &'c [u32]) -> Vec<u32> {
    let mut counts = vec![0u32; corpus.attributes.len()];
    let mut last = vec![usize::MAX; corpus.attributes.len()];
    for token in 0..corpus.n_tokens() {
        for &attribute in attributes_of(token) {
            let attribute = attribute as usize;
            counts[attribute] += u32::from(last[attribute] != token);
            last[attribute] = token;
        }
    }
    counts
}

/// Attribute -> how often it occurs, on how many tokens, first and last block it is in.
struct Seen {
    counts: Vec<u32>,
    tokens: Vec<u32>,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Seen {
    fn new(corpus: &Corpus, blocks: &[Range<usize>], min_count: u32) -> Seen {
        let n = corpus.attributes.len();
        let mut seen = Seen { counts: vec![0; n], tokens: Vec::new(), first: vec![0; n], last: vec![0; n] };
        for (block, sentences) in blocks.iter().enumerate() {
            for sentence in sentences.clone() {
                for token in corpus.tokens(sentence) {
                    for &attribute in corpus.states.row(token) {
                        let attribute = attribute as usize;
                        if seen.counts[attribute] == 0 {
                            seen.first[attribute] = block as u8;
                        }
                        seen.last[attribute] = block as u8;
                        seen.counts[attribute] += 1;
                    }
                }
            }
        }
        // An attribute that occurs is on one token at least: no need to count them for that.
        seen.tokens =
            if min_count > 1 { token_counts(corpus, |token| corpus.states.row(token)) } else { seen.counts.clone() };
        seen
    }
}

/// Attribute -> the labels it was seen with, sorted.
struct ObservedLabels {
    starts: Vec<usize>,
    lengths: Vec<u16>,
    labels: Vec<u16>,
}

impl ObservedLabels {
    fn of(&self, attribute: usize) -> &[u16] {
        &self.labels[self.starts[attribute]..][..usize::from(self.lengths[attribute])]
    }
}

fn observed_labels(corpus: &Corpus, counts: &[u32]) -> ObservedLabels {
    let mut next: Vec<usize> = counts
        .iter()
        .scan(0, |total, &count| {
            let start = *total;
            *total += count as usize;
            Some(start)
        })
        .collect();
    let mut labels = vec![0u16; corpus.states.ids.len()];
    for token in 0..corpus.n_tokens() {
        let label = corpus.gold[token] as u16;
        for &attribute in corpus.states.row(token) {
            let slot = &mut next[attribute as usize];
            labels[*slot] = label;
            *slot += 1;
        }
    }
    let starts: Vec<usize> = next.iter().zip(counts).map(|(end, &count)| end - count as usize).collect();
    let mut lengths = Vec::with_capacity(counts.len());
    for (&start, &count) in starts.iter().zip(counts) {
        let all = &mut labels[start..start + count as usize];
        all.sort_unstable();
        let mut kept = 0;
        for at in 0..all.len() {
            if at == 0 || all[at] != all[kept - 1] {
                all[kept] = all[at];
                kept += 1;
            }
        }
        lengths.push(kept as u16);
    }
    ObservedLabels { starts, lengths, labels }
}
