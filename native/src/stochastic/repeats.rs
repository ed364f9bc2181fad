//! The parts of the scores that a sample's gradient, taken as weights, gives the sample itself: score(t, k) = sum over the
//! features of token t and label k of value * gradient of the feature, and the gradient of a feature is a sum over its
//! occurrences in the sentence.
//!
//! A feature that occurs once contributes value^2 * the token's residual: the sum of value^2 over these features depends on the
//! data alone and is stored. The gradient of a feature that recurs has to be added up first, in a slot of the feature's own.

use crate::chain::features::Features;
use crate::chain::objective::layout::{Block, KINDS, Sentence, SentenceEntries};
use crate::numeric;
use std::ops::Range;

/// The sums and slots of all sentences of a block.
pub struct Repeats {
    labels: usize,
    /// tokens x labels: the sum of value^2 over the features of a token and label that occur once in the sentence.
    once: Vec<f32>,
    /// Kind of rows -> the rows that recur. The slots of a kind are numbered on from the slots of the kinds before.
    pub rows: [Recurrences; KINDS],
    pub shared: Recurrences,
    /// The own entries that recur. Their slots are numbered on from the slots of the shared entries.
    pub own: Recurrences,
}

/// The entries, ascending, whose features recur in their sentence.
#[derive(Default)]
pub struct Recurrences {
    all: Vec<Recurrence>,
    /// Sentence -> where its entries end in `all`.
    ends: Vec<u32>,
}

/// An entry whose feature recurs in its sentence.
#[derive(Clone, Copy)]
pub struct Recurrence {
    /// Index of the entry in the block.
    pub at: u32,
    /// Number of the feature among the features that recur in the sentence, from 0.
    pub slot: u32,
}

impl Recurrences {
    /// The recurrences of a sentence of the block.
    #[inline(always)]
    pub fn of(&self, sentence: usize) -> &[Recurrence] {
        let start = if sentence == 0 { 0 } else { self.ends[sentence - 1] as usize };
        &self.all[start..self.ends[sentence] as usize]
    }
}

impl Repeats {
    /// Goes through all entries of the block once.
    pub fn new(block: &Block, features: &Features) -> Repeats {
        let (labels, width) = (features.n_labels, numeric::padded(features.n_labels));
        let n_tokens: usize = block.sentences.iter().map(|sentence| sentence.tokens.len()).sum();
        let mut once = vec![0.0; n_tokens * labels];
        let mut rows = block.rows.each_ref().map(Slots::new);
        let (mut shared, mut own) = (Slots::new(&block.shared), Slots::new(&block.own));
        for (sentence, Sentence { tokens, .. }) in block.sentences.iter().enumerate() {
            let once = &mut once[tokens.start * labels..tokens.end * labels];
            let mut used = 0;
            for (slots, entries) in rows.iter_mut().zip(&block.rows) {
                used = slots.number(entries, sentence, used, |at, squared| {
                    let token = entries.places[at] as usize / width;
                    let features = features.labels(entries.ids[at] as usize);
                    features.iter().for_each(|&label| once[token * labels + usize::from(label)] += squared);
                });
            }
            let mut single = |entries: &SentenceEntries, at: usize, squared| {
                let place = entries.places[at] as usize;
                once[place / width * labels + place % width] += squared;
            };
            let used = shared.number(&block.shared, sentence, 0, |at, squared| single(&block.shared, at, squared));
            own.number(&block.own, sentence, used, |at, squared| single(&block.own, at, squared));
        }
        Repeats {
            labels,
            once,
            rows: rows.map(|slots| slots.recurrences),
            shared: shared.recurrences,
            own: own.recurrences,
        }
    }

    /// Prefetches the sums of a sentence's tokens and the ends of its recurrences.
    #[inline(always)]
    pub fn fetch(&self, sentence: usize, tokens: Range<usize>) {
        numeric::prefetch_range(&self.once, tokens.start * self.labels..tokens.end * self.labels);
        let all = self.rows.iter().chain([&self.shared, &self.own]);
        all.for_each(|recurrences| numeric::prefetch(&recurrences.ends, sentence));
    }

    /// For each of some tokens of the block its sums of value^2, one for each label.
    #[inline(always)]
    pub fn once(&self, tokens: Range<usize>) -> impl Iterator<Item = &[f32]> {
        self.once[tokens.start * self.labels..tokens.end * self.labels].chunks_exact(self.labels)
    }
}

/// Numbers the slots of a block's sentences, one after the other.
struct Slots {
    met: Vec<(u32, u32)>,
    recurrences: Recurrences,
}

/// The slot of an id that was met once so far.
const ONCE: u32 = u32::MAX;

impl Slots {
    fn new(entries: &SentenceEntries) -> Slots {
        let size = entries.ids.iter().max().map_or(0, |&most| most as usize + 1);
        Slots { met: vec![(0, 0); size], recurrences: Recurrences::default() }
    }

    /// Stores the entries of a sentence that recur, and calls `single` with every other entry and its value^2. Slots are numbered
    /// from `used` on; returns the next number.
    fn number(
        &mut self,
        entries: &SentenceEntries,
        sentence: usize,
        used: u32,
        mut single: impl FnMut(usize, f32),
    ) -> u32 {
        let number = sentence as u32 + 1;
        let mut next = used;
        for &id in &entries.ids[entries.range(sentence)] {
            let (sentence, slot) = &mut self.met[id as usize];
            if *sentence != number {
                (*sentence, *slot) = (number, ONCE);
            } else if *slot == ONCE {
                *slot = next;
                next += 1;
            }
        }
        for at in entries.range(sentence) {
            match self.met[entries.ids[at] as usize].1 {
                ONCE => single(at, (entries.value(at) * entries.value(at)) as f32),
                slot => self.recurrences.all.push(Recurrence { at: at as u32, slot }),
            }
        }
        self.recurrences.ends.push(self.recurrences.all.len() as u32);
        next
    }
}
