//! The corpus as the inner loops want it: per token, which weights to add and where.
//!
//! Attributes with many labels are rows of a dense, padded matrix: a token adds whole rows with vector instructions. Of all
//! others each (attribute, label) is an entry (feature, label). Features met in one block only are that block's own: it writes their
//! gradient in place, and only the rest has to be added up over blocks.

use super::features::{Features, NOWHERE, Place};
use crate::corpus::Corpus;
use crate::design::{Lists, Values};
use rayon::prelude::*;
use std::ops::Range;

/// Entries of tokens, in compressed sparse rows.
#[derive(Clone, Default)]
pub struct Entries {
    pub ends: Vec<u32>,
    /// Row of the dense matrix, index of a state feature, or what a block has met.
    pub ids: Vec<u32>,
    /// Label of each entry; empty for rows.
    pub labels: Vec<u16>,
    /// Value of each entry; empty when all are 1.
    pub values: Vec<f64>,
}

impl Entries {
    #[inline(always)]
    pub fn range(&self, token: usize) -> Range<usize> {
        let start = if token == 0 { 0 } else { self.ends[token - 1] as usize };
        start..self.ends[token] as usize
    }

    /// Whether no token has any.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The value of an entry.
    #[inline(always)]
    pub fn value(&self, at: usize) -> f64 {
        if self.values.is_empty() { 1.0 } else { self.values[at] }
    }

    pub fn push(&mut self, id: u32, label: Option<u16>, value: f64, valued: bool) {
        self.ids.push(id);
        self.labels.extend(label);
        if valued {
            self.values.push(value);
        }
    }

    fn shrink(&mut self) {
        self.ends.shrink_to_fit();
        self.ids.shrink_to_fit();
        self.labels.shrink_to_fit();
        self.values.shrink_to_fit();
    }
}

/// A run of sentences that one thread works through.
pub struct Block {
    /// Sentence -> its last token plus one, counted within the block.
    pub sentence_ends: Vec<u32>,
    pub first_sentence: usize,
    pub first_token: usize,
    pub rows: Entries,
    pub shared: Entries,
    /// Indices count from the block's first own feature.
    pub own: Entries,
    /// The block's own features among the state features.
    pub own_range: Range<usize>,
    pub bigrams: Bigrams,
}

/// The bigram features of a block's tokens. Each block adds up the gradient of those that it meets, and of no others: there are
/// too many for a table of all of them.
#[derive(Clone, Default)]
pub struct Bigrams {
    /// Indices in `met`, one for each attribute of a token that has bigram features; empty if none has.
    pub entries: Entries,
    pub met: Vec<Met>,
}

/// Bigram features of one attribute, and where the block adds them up.
#[derive(Clone)]
pub struct Met {
    pub features: Range<u32>,
    pub place: u32,
}

impl Bigrams {
    fn new(corpus: &Corpus, features: &Features, tokens: Range<usize>) -> Bigrams {
        let mut bigrams = Bigrams::default();
        if features.n_bigrams() == 0 {
            return bigrams;
        }
        let mut places = vec![NOWHERE; corpus.attributes.len()];
        for token in tokens {
            for &attribute in corpus.bigrams_of(token) {
                let place = &mut places[attribute as usize];
                if *place == NOWHERE {
                    *place = bigrams.meet(features.bigram_ranges[attribute as usize].clone());
                }
                if *place != NOWHERE {
                    bigrams.entries.ids.push(*place);
                }
            }
            let end = u32::try_from(bigrams.entries.ids.len()).expect("a block has fewer than 2^32 entries");
            bigrams.entries.ends.push(end);
        }
        bigrams
    }

    /// Takes up the features of an attribute that is met first; returns its index, or `NOWHERE` if it has none.
    pub fn meet(&mut self, features: Range<u32>) -> u32 {
        if features.is_empty() {
            return NOWHERE;
        }
        let place = self.n_met() as u32;
        self.met.push(Met { features, place });
        self.met.len() as u32 - 1
    }

    /// How many features the block meets.
    pub fn n_met(&self) -> usize {
        self.met.last().map_or(0, |last| last.place as usize + last.features.len())
    }

    /// The entries of a token.
    #[inline(always)]
    pub fn of(&self, token: usize) -> impl ExactSizeIterator<Item = &Met> {
        self.entries.ids[self.entries.range(token)].iter().map(|&id| &self.met[id as usize])
    }
}

impl Block {
    /// Samples of one token each, all in one block, with the columns of a matrix as attributes; `intercept` is one more, and
    /// its value.
    pub fn of_rows(rows: &Lists, intercept: Option<(u32, f64)>, features: &Features) -> Block {
        let n = rows.len();
        let valued = !matches!(rows.parts().1, Values::Ones(_)) || intercept.is_some_and(|(_, value)| value != 1.0);
        let label = (features.n_dense == 0).then_some(1);
        let mut entries = Entries::default();
        for sample in 0..n {
            rows.entries(sample).for_each(|(id, value)| entries.push(id, label, value, valued));
            intercept.iter().for_each(|&(id, value)| entries.push(id, label, value, valued));
            entries.ends.push(u32::try_from(entries.ids.len()).expect("fewer than 2^32 entries"));
        }
        let none = || Entries { ends: vec![0; n], ..Entries::default() };
        let (rows, shared) = if features.n_dense == 0 { (none(), entries) } else { (entries, none()) };
        Block {
            sentence_ends: (1..=n as u32).collect(),
            first_sentence: 0,
            first_token: 0,
            rows,
            shared,
            own: none(),
            own_range: features.state_labels.len()..features.state_labels.len(),
            bigrams: Bigrams::default(),
        }
    }
}

pub fn blocks(corpus: &Corpus, features: &Features) -> Vec<Block> {
    let places = features.places(corpus.attributes.len());
    features
        .blocks
        .par_iter()
        .map(|(sentences, own_range)| block(corpus, features, &places, sentences.clone(), own_range.clone()))
        .collect()
}

fn block(
    corpus: &Corpus,
    features: &Features,
    places: &[Place],
    sentences: Range<usize>,
    own_range: Range<usize>,
) -> Block {
    let valued = !corpus.values.is_empty();
    let first_token = if sentences.is_empty() { 0 } else { corpus.tokens(sentences.start).start };
    let last_token = if sentences.is_empty() { 0 } else { corpus.tokens(sentences.end - 1).end };
    let mut block = Block {
        sentence_ends: Vec::with_capacity(sentences.len()),
        first_sentence: sentences.start,
        first_token,
        rows: Entries::default(),
        shared: Entries::default(),
        own: Entries::default(),
        own_range,
        bigrams: Bigrams::new(corpus, features, first_token..last_token),
    };
    for sentence in sentences {
        for token in corpus.tokens(sentence) {
            let range = corpus.states.range(token);
            for (at, &attribute) in range.clone().zip(&corpus.states.ids[range]) {
                let place = places[attribute as usize];
                if place.index == NOWHERE {
                    continue;
                }
                let value = corpus.value(at);
                if (place.index as usize) < features.n_dense {
                    block.rows.push(place.index, None, value, valued);
                    continue;
                }
                let own = place.start as usize >= block.own_range.start && (place.end as usize) <= block.own_range.end;
                let (entries, base) =
                    if own { (&mut block.own, block.own_range.start as u32) } else { (&mut block.shared, 0) };
                for feature in place.start..place.end {
                    let label = features.state_labels[feature as usize];
                    entries.push(feature - base, Some(label), value, valued);
                }
            }
            for entries in [&mut block.rows, &mut block.shared, &mut block.own] {
                entries.ends.push(u32::try_from(entries.ids.len()).expect("a block has fewer than 2^32 entries"));
            }
        }
        block.sentence_ends.push(block.rows.ends.len() as u32);
    }
    block.rows.shrink();
    block.shared.shrink();
    block.own.shrink();
    block
}
