//! The corpus as the inner loops want it: per sentence, which weights to add and where.
//!
//! Attributes with many labels are rows of a dense, padded matrix: a token adds whole rows with vector instructions, as far as
//! they have features. Of all others each (attribute, label) is an entry (feature, label). Features met in one block only are
//! that block's own: it writes their gradient in place, and only the rest has to be added up over blocks.
//!
//! A loop runs over all entries of a sentence, not over those of one token after the other: there are few of each kind on a
//! token, and loops that end after a few rounds are mispredicted at every end.

use crate::chain::features::{Features, NOWHERE, Place};
use crate::corpus::{Corpus, Rows};
use crate::numeric::ragged::{Lists, Values};
use crate::numeric::{self, LANES};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Entries of sentences, in compressed sparse rows.
#[derive(Clone, Default)]
pub struct Entries {
    /// Sentence -> where its entries end.
    pub ends: Vec<u32>,
    /// Row of the dense matrix, or index of a state feature.
    pub ids: Vec<u32>,
    /// Where in the scores of its sentence, tokens x width, each entry adds something: at its label, a row from there on.
    pub places: Vec<u32>,
    /// Value of each entry; empty when all are 1.
    pub values: Vec<f64>,
}

impl Entries {
    /// Of sentences that have none.
    pub fn none(sentences: usize) -> Entries {
        Entries { ends: vec![0; sentences], ..Entries::default() }
    }

    /// None yet, and room for so many.
    pub fn with_room(sentences: usize, entries: usize, valued: bool) -> Entries {
        Entries {
            ends: Vec::with_capacity(sentences),
            ids: Vec::with_capacity(entries),
            places: Vec::with_capacity(entries),
            values: Vec::with_capacity(if valued { entries } else { 0 }),
        }
    }

    /// The entries of a sentence.
    #[inline(always)]
    pub fn range(&self, sentence: usize) -> Range<usize> {
        let start = if sentence == 0 { 0 } else { self.ends[sentence - 1] as usize };
        start..self.ends[sentence] as usize
    }

    /// Whether no sentence has any.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The value of an entry.
    #[inline(always)]
    pub fn value(&self, at: usize) -> f64 {
        if self.values.is_empty() { 1.0 } else { self.values[at] }
    }

    #[inline(always)]
    pub fn push(&mut self, id: u32, place: u32, value: Option<f64>) {
        self.ids.push(id);
        self.places.push(place);
        self.values.extend(value);
    }

    pub fn end_sentence(&mut self) {
        self.ends.push(u32::try_from(self.ids.len()).expect("a block has fewer than 2^32 entries"));
    }

    fn shrink(&mut self) {
        self.ends.shrink_to_fit();
        self.ids.shrink_to_fit();
        self.places.shrink_to_fit();
        self.values.shrink_to_fit();
    }
}

/// How many kinds of rows there are: with features among the first eight labels alone, the first sixteen, the first
/// twenty-four, and all others.
pub const KINDS: usize = 4;

/// How many labels of its rows a kind may have features with; others may have them with all of the width.
#[inline(always)]
pub fn reach(kind: usize, width: usize) -> usize {
    if kind + 1 == KINDS { width } else { (kind + 1) * LANES }
}

/// Row -> its kind.
pub fn kinds(features: &Features) -> Vec<u8> {
    let last = |row| usize::from(*features.labels(row).last().expect("a row has features"));
    (0..features.n_dense).map(|row| (last(row) / LANES).min(KINDS - 1) as u8).collect()
}

/// A sentence of a block.
pub struct Sentence {
    /// In the corpus.
    pub number: usize,
    /// Counted within the block.
    pub tokens: Range<usize>,
}

/// A run of sentences that one thread works through.
pub struct Block {
    /// The shortest first, and with them their entries: sentences gone through abreast are of about the same length then, and
    /// lie side by side.
    pub sentences: Arc<[Sentence]>,
    /// By kind.
    pub rows: [Entries; KINDS],
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
    /// Token -> indices in `met`, one for each of its attributes that has bigram features; empty if none has.
    pub entries: Rows,
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
            bigrams.entries.end_row();
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
        self.entries.row(token).iter().map(|&id| &self.met[id as usize])
    }
}

impl Block {
    /// Samples of one token each, all in one block, with the columns of a matrix as attributes; `intercept` is one more, and
    /// its value.
    pub fn of_rows(rows: &Lists, intercept: Option<(u32, f64)>, features: &Features) -> Block {
        let n = rows.len();
        let valued = !matches!(rows.parts().1, Values::Ones(_)) || intercept.is_some_and(|(_, value)| value != 1.0);
        let mut block = Block {
            sentences: (0..n).map(|number| Sentence { number, tokens: number..number + 1 }).collect(),
            rows: std::array::from_fn(|_| Entries::none(n)),
            shared: Entries::none(n),
            own: Entries::none(n),
            own_range: features.state_labels.len()..features.state_labels.len(),
            bigrams: Bigrams::default(),
        };
        let place = u32::from(features.n_dense == 0);
        let entries = match kinds(features).first() {
            // Every row has all labels.
            Some(&kind) => &mut block.rows[usize::from(kind)],
            None => &mut block.shared,
        };
        entries.ends.clear();
        for sample in 0..n {
            let all = rows.entries(sample).chain(intercept);
            all.for_each(|(id, value)| entries.push(id, place, valued.then_some(value)));
            entries.end_sentence();
        }
        block
    }

    /// All entries, each kind by itself.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entries> {
        self.rows.iter_mut().chain([&mut self.shared, &mut self.own])
    }
}

pub fn blocks(corpus: &Corpus, features: &Features) -> Vec<Block> {
    let layout = Layout { corpus, features, places: features.places(corpus.attributes.len()), kinds: kinds(features) };
    features.blocks.par_iter().map(|(sentences, own)| layout.block(sentences.clone(), own.clone())).collect()
}

/// So many tokens take turns: sums of neighbouring entries do not wait for each other then.
const TURNS: usize = 16;

struct Layout<'a> {
    corpus: &'a Corpus,
    features: &'a Features,
    places: Vec<Place>,
    kinds: Vec<u8>,
}

impl Layout<'_> {
    fn block(&self, sentences: Range<usize>, own_range: Range<usize>) -> Block {
        let corpus = self.corpus;
        let tokens = match sentences.clone().last() {
            Some(last) => corpus.tokens(sentences.start).start..corpus.tokens(last).end,
            None => 0..0,
        };
        let mut numbers: Vec<usize> = sentences.collect();
        numbers.sort_by_key(|&number| corpus.tokens(number).len());
        let of_block = |all: Range<usize>| all.start - tokens.start..all.end - tokens.start;
        let sentence = |number| Sentence { number, tokens: of_block(corpus.tokens(number)) };
        let mut block = Block {
            sentences: numbers.iter().map(|&number| sentence(number)).collect(),
            rows: Default::default(),
            shared: Entries::default(),
            own: Entries::default(),
            own_range,
            bigrams: Bigrams::new(corpus, self.features, tokens),
        };
        for number in numbers {
            let tokens = corpus.tokens(number);
            for first in tokens.clone().step_by(TURNS) {
                self.add(&mut block, first..tokens.end.min(first + TURNS), tokens.start);
            }
            block.entries_mut().for_each(Entries::end_sentence);
        }
        block.entries_mut().for_each(Entries::shrink);
        block
    }

    /// Adds the entries of some tokens: the first of each, then the second of each.
    fn add(&self, block: &mut Block, tokens: Range<usize>, first_token: usize) {
        let Layout { corpus, features, places, kinds } = self;
        let width = numeric::padded(features.n_labels);
        let most = tokens.clone().map(|token| corpus.states.range(token).len()).max().unwrap_or(0);
        for (turn, token) in (0..most).flat_map(|turn| tokens.clone().map(move |token| (turn, token))) {
            let Some(at) = corpus.states.range(token).nth(turn) else { continue };
            let place = places[corpus.states.ids[at] as usize];
            if place.index == NOWHERE {
                continue;
            }
            let value = (!corpus.values.is_empty()).then(|| corpus.value(at));
            let row = u32::try_from((token - first_token) * width).expect("a sentence has fewer than 2^32 scores");
            if let Some(&kind) = kinds.get(place.index as usize) {
                block.rows[usize::from(kind)].push(place.index, row, value);
                continue;
            }
            let own = place.start as usize >= block.own_range.start && (place.end as usize) <= block.own_range.end;
            let base = if own { block.own_range.start as u32 } else { 0 };
            let entries = if own { &mut block.own } else { &mut block.shared };
            for feature in place.start..place.end {
                let label = features.state_labels[feature as usize];
                entries.push(feature - base, row + u32::from(label), value);
            }
        }
    }
}
