//! The samples of an objective over chains as solvers visit them one by one, in any sequence.

use crate::chain::objective::ChainObjective;
use crate::chain::objective::layout::{Block, KINDS, SentenceEntries};
use crate::chain::objective::masks::{Known, Masked};
use crate::numeric;
use crate::stochastic::marks::Marks;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// An objective of first order with its blocks and the marks that updates need.
pub struct SamplePasses {
    pub objective: Arc<ChainObjective>,
    /// Block -> its marks.
    marks: Vec<Marks>,
}

impl SamplePasses {
    /// Marks all blocks on the objective's threads: O(entries).
    pub fn new(objective: Arc<ChainObjective>) -> SamplePasses {
        let marks = objective.install(|| objective.blocks.par_iter().map(Marks::new).collect());
        SamplePasses { objective, marks }
    }

    /// All samples, in the sequence of the corpus.
    pub fn samples(&self) -> Vec<Sample<'_>> {
        let (corpus, masks) = (&self.objective.corpus, &self.objective.masks);
        let mut samples = Vec::with_capacity(corpus.n_sentences());
        for (block, marks) in self.objective.blocks.iter().zip(&self.marks) {
            let mut sequence: Vec<_> = block.sentences.iter().enumerate().collect();
            sequence.sort_unstable_by_key(|(_, sentence)| sentence.number);
            for (at, sentence) in sequence {
                let part = |entries: &SentenceEntries| {
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
                    costs: self.objective.costs.of(corpus.tokens(sentence.number)),
                    knowledge: masks.known(sentence.number),
                    free: masks.free(sentence.number),
                    clamped: masks.clamped(sentence.number),
                    weight: self.objective.weight(sentence.number),
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
}

/// A sentence with its block, and the places of its entries in the block.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    pub block: &'a Block,
    pub marks: &'a Marks,
    /// Number among the block's sentences.
    pub sentence: usize,
    pub first_token: usize,
    end_token: usize,
    pub weight: f64,
    pub gold: &'a [u32],
    /// The costs of wrong labels; empty if no token has any.
    pub costs: &'a [f64],
    pub knowledge: Known,
    /// The mask of the labels that are allowed.
    pub free: &'a Masked,
    /// The mask of the possible labels, where labels are partial.
    pub clamped: &'a Masked,
    pub parts: Parts,
}

/// The ranges of a sample's entries among its block's entries.
#[derive(Clone, Copy)]
pub struct Parts {
    pub rows: [(u32, u32); KINDS],
    pub shared: (u32, u32),
    pub own: (u32, u32),
}

impl Sample<'_> {
    /// The sample's tokens, counted within its block.
    #[inline(always)]
    pub fn tokens(&self) -> Range<usize> {
        self.first_token..self.end_token
    }

    /// Whether the sample contributes nothing: it has no tokens, or none of its labels are known.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.tokens().is_empty() || self.knowledge == Known::Nothing
    }

    /// Prefetches the sample's entries, marks and gold labels.
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
    fn fetch_part(&self, entries: &SentenceEntries, marks: &[bool], (from, to): (u32, u32)) {
        let range = from as usize..to as usize;
        entries.fetch(self.sentence, range.clone());
        numeric::prefetch_range(marks, range);
    }
}
