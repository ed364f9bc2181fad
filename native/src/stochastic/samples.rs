//! Sentences as stochastic methods go through them: one at a time, in any order.

use crate::chain::layout::{Block, Entries, KINDS};
use crate::chain::objective::ChainObjective;
use crate::numeric;
use crate::stochastic::marks::Marks;
use crate::stochastic::weights::Weights;
use crate::threads::Interrupt;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// A sentence with what belongs to its block.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    pub block: &'a Block,
    pub marks: &'a Marks,
    /// Among those of the block.
    pub sentence: usize,
    pub first_token: usize,
    end_token: usize,
    pub weight: f64,
    pub gold: &'a [u32],
    pub parts: Parts,
}

/// From where to where a sample's entries are among those of its block.
#[derive(Clone, Copy)]
pub struct Parts {
    pub rows: [(u32, u32); KINDS],
    pub shared: (u32, u32),
    pub own: (u32, u32),
}

impl Sample<'_> {
    #[inline(always)]
    pub fn tokens(&self) -> Range<usize> {
        self.first_token..self.end_token
    }

    /// Asks for the entries and labels, which will be needed soon.
    #[inline(always)]
    pub fn fetch(&self) {
        let Sample { block, marks, parts, .. } = self;
        for ((entries, marks), &part) in block.rows.iter().zip(&marks.rows).zip(&parts.rows) {
            self.fetch_part(entries, marks, part);
        }
        self.fetch_part(&block.shared, &marks.shared, parts.shared);
        self.fetch_part(&block.own, &marks.own, parts.own);
        numeric::prefetch_range(self.gold, 0..self.gold.len());
    }

    #[inline(always)]
    fn fetch_part(&self, entries: &Entries, marks: &[bool], (from, to): (u32, u32)) {
        let range = from as usize..to as usize;
        numeric::prefetch(&entries.ends, self.sentence);
        numeric::prefetch_range(&entries.ids, range.clone());
        numeric::prefetch_range(&entries.places, range.clone());
        numeric::prefetch_range(marks, range);
    }
}

/// All sentences of an objective, in the order of the corpus, in which this is quick.
pub fn samples(objective: &ChainObjective) -> Vec<Sample<'_>> {
    let corpus = &objective.corpus;
    let mut samples = Vec::with_capacity(corpus.n_sentences());
    for (block, marks) in objective.blocks.iter().zip(objective.marks()) {
        let mut order: Vec<_> = block.sentences.iter().enumerate().collect();
        order.sort_unstable_by_key(|(_, sentence)| sentence.number);
        for (at, sentence) in order {
            let part = |entries: &Entries| {
                let range = entries.range(at);
                (range.start as u32, range.end as u32)
            };
            samples.push(Sample {
                block,
                marks,
                sentence: at,
                first_token: sentence.tokens.start,
                end_token: sentence.tokens.end,
                gold: &corpus.gold[corpus.tokens(sentence.number)],
                weight: objective.weight(sentence.number),
                parts: Parts {
                    rows: block.rows.each_ref().map(part),
                    shared: part(&block.shared),
                    own: part(&block.own),
                },
            });
        }
    }
    samples
}

/// Samples between two looks at the interrupt flag.
pub const PERIOD: usize = 64;

/// What a method does with one sample after the other.
pub trait Visitor {
    fn weights(&self) -> &Weights<'_>;

    /// The turn of the k-th sample in the order.
    fn visit<S: Simd>(&mut self, simd: S, k: usize, sample: Sample<'_>);
}

/// Takes a visitor through the samples in an order known beforehand, and asks for what will be needed next. Stops early when
/// interrupted.
pub struct Visits<'a, V> {
    pub visitor: V,
    pub objective: &'a ChainObjective,
    pub order: &'a [usize],
    pub interrupt: &'a Interrupt,
}

impl<V: Visitor> WithSimd for Visits<'_, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Visits { mut visitor, objective, order, interrupt } = self;
        let all = samples(objective);
        let samples: Vec<Sample<'_>> = order.iter().map(|&sentence| all[sentence]).collect();
        for (k, &sample) in samples.iter().enumerate() {
            if k % PERIOD == 0 && interrupt.is_set() {
                return;
            }
            if let Some(later) = samples.get(k + 2) {
                later.fetch();
            }
            if let Some(next) = samples.get(k + 1) {
                visitor.weights().fetch(next);
            }
            visitor.visit(simd, k, sample);
        }
    }
}
