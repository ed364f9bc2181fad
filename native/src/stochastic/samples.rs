//! Sentences as stochastic methods go through them: one at a time, in any order.

use super::marks::Marks;
use crate::objective::chain::ChainObjective;
use crate::objective::layout::{Block, Entries};
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
}

/// All sentences of an objective.
pub struct Samples<'a> {
    objective: &'a ChainObjective,
    marks: &'a [Marks],
    /// Block of each sentence's place: sentences before `block_ends[b]` are in blocks up to b.
    block_ends: Vec<usize>,
}

impl<'a> Samples<'a> {
    pub fn new(objective: &'a ChainObjective) -> Self {
        let end = |block: &Block| block.first_sentence + block.sentence_ends.len();
        Samples { objective, marks: objective.marks(), block_ends: objective.blocks.iter().map(end).collect() }
    }

    pub fn get(&self, sentence: usize) -> Sample<'a> {
        let at = self.block_ends.partition_point(|&end| end <= sentence);
        let block = &self.objective.blocks[at];
        let within = sentence - block.first_sentence;
        let first_token = if within == 0 { 0 } else { block.sentence_ends[within - 1] as usize };
        let end_token = block.sentence_ends[within] as usize;
        let part = |entries: &Entries| match end_token {
            end if end > first_token => (entries.range(first_token).start, entries.range(end - 1).end),
            _ => (0, 0),
        };
        Sample {
            block,
            marks: &self.marks[at],
            first_token,
            end_token,
            gold: &self.objective.corpus.gold[block.first_token + first_token..block.first_token + end_token],
            weight: self.objective.corpus.weight(sentence),
            parts: [part(&block.rows), part(&block.shared), part(&block.own)],
        }
    }
}
