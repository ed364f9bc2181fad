//! Sentences as stochastic methods go through them: one at a time, in any order.

use super::marks::Marks;
use super::weights::Weights;
use crate::numeric;
use crate::objective::chain::ChainObjective;
use crate::objective::layout::{Block, Entries};
use crate::threads::Interrupt;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// A sentence with what belongs to its block.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    pub block: &'a Block,
    pub marks: &'a Marks,
    pub first_token: usize,
    end_token: usize,
    pub weight: f64,
    pub gold: &'a [u32],
    /// Its part of the block's rows, shared and own entries.
    pub parts: [(usize, usize); 3],
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
        let all = [(&block.rows, &marks.rows), (&block.shared, &marks.shared), (&block.own, &marks.own)];
        for ((entries, marks), &(from, to)) in all.into_iter().zip(parts) {
            numeric::prefetch_range(&entries.ids, from..to);
            numeric::prefetch_range(&entries.labels, from..to.min(entries.labels.len()));
            numeric::prefetch_range(marks, from..to);
            numeric::prefetch_range(&entries.ends, self.tokens());
        }
        numeric::prefetch_range(self.gold, 0..self.gold.len());
    }
}

/// All sentences of an objective, in the order of the corpus, in which this is quick.
pub fn samples(objective: &ChainObjective) -> Vec<Sample<'_>> {
    let mut samples = Vec::with_capacity(objective.corpus.n_sentences());
    for (block, marks) in objective.blocks.iter().zip(objective.marks()) {
        let mut first_token = 0;
        for &end_token in &block.sentence_ends {
            let end_token = end_token as usize;
            let part = |entries: &Entries| match end_token {
                end if end > first_token => (entries.range(first_token).start, entries.range(end - 1).end),
                _ => (0, 0),
            };
            samples.push(Sample {
                block,
                marks,
                first_token,
                end_token,
                gold: &objective.corpus.gold[block.first_token + first_token..block.first_token + end_token],
                weight: objective.weight(samples.len()),
                parts: [part(&block.rows), part(&block.shared), part(&block.own)],
            });
            first_token = end_token;
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
