//! The corpus laid out for the inner loops: for each sentence the weights to add, and the places in its scores to add them at.
//!
//! Attributes with features of many labels are rows of a dense, padded matrix: a token adds whole rows with vector
//! instructions, up to the last label with a feature. Every other feature on a token is a separate entry. Features that occur
//! in one block only are that block's own: the block writes their gradient in place, and only the gradient of rows and shared
//! features has to be added up over blocks.
//!
//! ```text
//!     Block
//!     sentences   [s0, s1, ...]            the shortest first; each names its tokens, counted within the block
//!     rows[0]     rows with features of labels 0..8 only            \
//!     rows[1]     ... of labels 0..16 only                           |  six lists of entries, `SentenceEntries`:
//!     rows[2]     ... of labels 0..24 only                           |  four kinds of rows, by how far they reach,
//!     rows[3]     all other rows                                     |  then single features
//!     shared      single features that several blocks meet           |
//!     own         single features that only this block meets        /
//!     bigrams     token -> the attributes with bigram features
//!
//!     SentenceEntries, here rows[1] for s0 of two tokens and s1 of one; width is 24:
//!
//!                 s0                  s1
//!               +------+------+------+------+
//!     ids       |  17  |  17  |   4  |   9  |   row of the dense matrix (in shared and own: number of the feature)
//!     places    |   0  |  24  |   0  |   0  |   token * width (in shared and own: + label): the place in the sentence's scores
//!     values    |  1.0 |  2.0 |  0.5 |  1.0 |   factor of the weights; empty where every value of the block is 1
//!               +------+------+------+------+
//!     ends                         3      4     sentence -> where its entries end
//!
//!     Tokens take turns (`TURNS`): the first entry of each token, then the second of each.
//! ```
//!
//! A loop runs over all entries of a sentence at once. A loop for each token would have few rounds, and the processor mispredicts
//! every end of such a loop.

use crate::chain::features::{Features, NOWHERE, Place};
use crate::corpus::{Corpus, Rows};
use crate::error::Result;
use crate::numeric::ragged::{Lists, Values};
use crate::numeric::store::{Soon, Store};
use crate::numeric::{self, LANES};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Entries of sentences, in compressed sparse rows: an entry adds a row of weights, or a single weight, to the scores.
#[derive(Clone, Default)]
pub struct SentenceEntries {
    /// Sentence -> where its entries end.
    pub ends: Vec<u32>,
    /// Row of the dense matrix, or number of a state feature.
    pub ids: Store<u32>,
    /// The place in the scores of the sentence, tokens x width, that an entry adds its weight to; a row adds its weights from
    /// that place on.
    pub places: Store<u32>,
    /// Value of each entry; empty when all are 1.
    pub values: Store<f64>,
}

/// Evaluates an expression for each entry without a value, which is 1 then, or another one for each entry with its value.
macro_rules! for_each_entry {
    ($entries:expr, $values:expr, |$entry:pat_param| $one:expr, |$value:ident| $valued:expr) => {
        if $values.is_empty() {
            for $entry in $entries {
                $one
            }
        } else {
            for ($entry, &$value) in $entries.zip($values) {
                $valued
            }
        }
    };
}
pub(crate) use for_each_entry;

impl SentenceEntries {
    /// No entries, for a number of sentences.
    pub fn none(sentences: usize) -> SentenceEntries {
        SentenceEntries { ends: vec![0; sentences], ..SentenceEntries::default() }
    }

    /// No sentences yet, with room for a number of sentences and entries.
    pub fn with_room(sentences: usize, entries: usize, valued: bool) -> SentenceEntries {
        SentenceEntries {
            ends: Vec::with_capacity(sentences),
            ids: Vec::with_capacity(entries).into(),
            places: Vec::with_capacity(entries).into(),
            values: Vec::with_capacity(if valued { entries } else { 0 }).into(),
        }
    }

    /// The entries of a sentence.
    #[inline(always)]
    pub fn range(&self, sentence: usize) -> Range<usize> {
        let start = if sentence == 0 { 0 } else { self.ends[sentence - 1] as usize };
        start..self.ends[sentence] as usize
    }

    /// The ids and places of a sentence's entries, and their values; no values when all are 1.
    #[inline(always)]
    pub fn of(&self, sentence: usize) -> (impl Iterator<Item = (&u32, &u32)>, &[f64]) {
        let range = self.range(sentence);
        let values = if self.values.is_empty() { &[] } else { &self.values[range.clone()] };
        (self.ids[range.clone()].iter().zip(&self.places[range]), values)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The value of an entry.
    #[inline(always)]
    pub fn value(&self, at: usize) -> f64 {
        if self.values.is_empty() { 1.0 } else { self.values[at] }
    }

    /// Adds an entry to the current sentence; all entries have a value, or none has.
    #[inline(always)]
    pub fn push(&mut self, id: u32, place: u32, value: Option<f64>) {
        self.ids.to_mut().push(id);
        self.places.to_mut().push(place);
        if let Some(value) = value {
            self.values.to_mut().push(value);
        }
    }

    /// Ends the current sentence.
    pub fn end_sentence(&mut self) {
        self.ends.push(u32::try_from(self.ids.len()).expect("a block has fewer than 2^32 entries"));
    }

    /// Prefetches the end of a sentence and some of its entries.
    #[inline(always)]
    pub fn fetch(&self, sentence: usize, range: Range<usize>) {
        numeric::prefetch(&self.ends, sentence);
        numeric::prefetch_range(&self.ids, range.clone());
        numeric::prefetch_range(&self.places, range);
    }

    /// Releases spare memory; values that are all 1 are dropped.
    fn shrink(&mut self) {
        if self.values.iter().all(|&value| value == 1.0) {
            self.values = Store::default();
        }
        self.ends.shrink_to_fit();
        self.ids.to_mut().shrink_to_fit();
        self.places.to_mut().shrink_to_fit();
        self.values.to_mut().shrink_to_fit();
    }
}

/// The number of kinds of rows: rows with features of the first eight labels only, of the first sixteen, of the first
/// twenty-four, and all other rows.
pub const KINDS: usize = 4;

/// The number of leading labels, a multiple of eight, that rows of a kind can have features of.
#[inline(always)]
pub fn reach(kind: usize, width: usize) -> usize {
    if kind + 1 == KINDS { width } else { (kind + 1) * LANES }
}

/// Row of the dense matrix -> its kind.
pub fn kinds(features: &Features) -> Vec<u8> {
    let last = |row| usize::from(*features.labels(row).last().expect("a row has features"));
    (0..features.n_dense).map(|row| (last(row) / LANES).min(KINDS - 1) as u8).collect()
}

/// A sentence of a block.
pub struct Sentence {
    /// Number of the sentence in the corpus.
    pub number: usize,
    /// Its tokens, counted within the block.
    pub tokens: Range<usize>,
}

/// A run of sentences of the corpus that one thread works through.
pub struct Block {
    /// The shortest first, and so are their entries: sentences that go abreast have about the same length then, and lie side by
    /// side.
    pub sentences: Arc<[Sentence]>,
    /// Kind -> the entries that are rows of this kind.
    pub rows: [SentenceEntries; KINDS],
    pub shared: SentenceEntries,
    /// Entries of the block's own features; `ids` count from the first of these.
    pub own: SentenceEntries,
    /// The range of the block's own features among the state features.
    pub own_range: Range<usize>,
    pub bigrams: Bigrams,
}

/// The bigram features of a block's tokens. A block adds up the gradient of the bigram features that it meets: a table of all
/// bigram features would be too large for each block to have one.
#[derive(Clone, Default)]
pub struct Bigrams {
    /// Token -> indices in `met`, one for each of its attributes with bigram features; no tokens at all where no attribute has
    /// any.
    pub entries: Rows,
    pub met: Vec<Met>,
}

/// The bigram features of one attribute, and the place of the first one's gradient in the block's sums.
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
                    bigrams.entries.ids.to_mut().push(*place);
                }
            }
            bigrams.entries.end_row();
        }
        bigrams
    }

    /// Adds the features of an attribute to `met`; returns their index there, or `NOWHERE` if it has no features.
    pub fn meet(&mut self, features: Range<u32>) -> u32 {
        if features.is_empty() {
            return NOWHERE;
        }
        let place = self.n_met() as u32;
        self.met.push(Met { features, place });
        self.met.len() as u32 - 1
    }

    /// The number of bigram features that the block meets.
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
    /// A block of samples of one token each, with the columns of a matrix as attributes. `intercept` is the number and the value
    /// of an attribute that every sample also has.
    pub fn of_rows(rows: &Lists, intercept: Option<(u32, f64)>, features: &Features) -> Block {
        let n = rows.len();
        let valued = !matches!(rows.parts().1, Values::Ones(_)) || intercept.is_some_and(|(_, value)| value != 1.0);
        let mut block = Block {
            sentences: (0..n).map(|number| Sentence { number, tokens: number..number + 1 }).collect(),
            rows: std::array::from_fn(|_| SentenceEntries::none(n)),
            shared: SentenceEntries::none(n),
            own: SentenceEntries::none(n),
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

    /// Advises the system on the use of the entries, if they are in a file.
    pub fn advise(&self, soon: Soon) {
        for entries in self.rows.iter().chain([&self.shared, &self.own]) {
            entries.ids.advise(0..entries.ids.len(), soon);
            entries.places.advise(0..entries.places.len(), soon);
            entries.values.advise(0..entries.values.len(), soon);
        }
    }

    /// The six lists of entries.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut SentenceEntries> {
        self.rows.iter_mut().chain([&mut self.shared, &mut self.own])
    }
}

/// Lays out the sentences of a corpus in the blocks of `features`; `settle` decides where a block is stored.
pub fn blocks(
    corpus: &Corpus,
    features: &Features,
    settle: impl Fn(Block) -> Result<Block> + Sync,
) -> Result<Vec<Block>> {
    let maker =
        BlockMaker { corpus, features, places: features.places(corpus.attributes.len()), kinds: kinds(features) };
    let lay_out = |(sentences, own_range): &(Range<usize>, Range<usize>)| {
        let block = settle(maker.block(sentences.clone(), own_range.clone()))?;
        corpus.advise(sentences.clone(), Soon::Unwanted);
        Ok(block)
    };
    features.blocks.par_iter().map(lay_out).collect()
}

/// The number of tokens that take turns in laying out an entry: sums of neighbouring entries do not wait for each other then.
const TURNS: usize = 16;

struct BlockMaker<'a> {
    corpus: &'a Corpus,
    features: &'a Features,
    places: Vec<Place>,
    kinds: Vec<u8>,
}

impl BlockMaker<'_> {
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
            shared: SentenceEntries::default(),
            own: SentenceEntries::default(),
            own_range,
            bigrams: Bigrams::new(corpus, self.features, tokens),
        };
        for number in numbers {
            let tokens = corpus.tokens(number);
            for first in tokens.clone().step_by(TURNS) {
                self.add(&mut block, first..tokens.end.min(first + TURNS), tokens.start);
            }
            block.entries_mut().for_each(SentenceEntries::end_sentence);
        }
        block.entries_mut().for_each(SentenceEntries::shrink);
        block
    }

    /// Adds the entries of some tokens, except entries of value 0: the first entry of each token, then the second of each.
    fn add(&self, block: &mut Block, tokens: Range<usize>, first_token: usize) {
        let BlockMaker { corpus, features, places, kinds } = self;
        let width = numeric::padded(features.n_labels);
        let most = tokens.clone().map(|token| corpus.states.range(token).len()).max().unwrap_or(0);
        for (turn, token) in (0..most).flat_map(|turn| tokens.clone().map(move |token| (turn, token))) {
            let Some(at) = corpus.states.range(token).nth(turn) else { continue };
            let place = places[corpus.states.ids[at] as usize];
            if place.index == NOWHERE {
                continue;
            }
            let value = (!corpus.values.is_empty()).then(|| corpus.value(at));
            // An attribute whose value is 0, such as a truth value that does not hold, neither scores nor learns.
            if value == Some(0.0) {
                continue;
            }
            let row = u32::try_from((token - first_token) * width).expect("a sentence has fewer than 2^32 scores");
            if let Some(&kind) = kinds.get(place.index as usize) {
                block.rows[usize::from(kind)].push(place.index, row, value);
                continue;
            }
            let is_own = place.start as usize >= block.own_range.start && (place.end as usize) <= block.own_range.end;
            let base = if is_own { block.own_range.start as u32 } else { 0 };
            let entries = if is_own { &mut block.own } else { &mut block.shared };
            for feature in place.start..place.end {
                let label = features.state_labels[feature as usize];
                entries.push(feature - base, row + u32::from(label), value);
            }
        }
    }
}
