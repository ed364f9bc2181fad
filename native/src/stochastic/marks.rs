//! Marks of the entries at which a feature occurs in its sentence for the last time: an update applies the penalty to its weight
//! there, once.

use crate::chain::features::Features;
use crate::chain::objective::layout::{Block, KINDS, SentenceEntries};
use crate::stochastic::repeats::Repeats;
use std::sync::OnceLock;

/// One mark for each entry of a block.
pub struct Marks {
    pub rows: [Vec<bool>; KINDS],
    pub shared: Vec<bool>,
    pub own: Vec<bool>,
    repeats: OnceLock<Repeats>,
}

impl Marks {
    /// Marks the entries of all sentences of a block.
    pub fn new(block: &Block) -> Marks {
        let Block { rows, shared, own, .. } = block;
        Marks {
            rows: rows.each_ref().map(last_in_sentence),
            shared: last_in_sentence(shared),
            own: last_in_sentence(own),
            repeats: OnceLock::new(),
        }
    }

    /// Which entries recur in their sentence; made at the first request.
    pub fn repeats(&self, block: &Block, features: &Features) -> &Repeats {
        self.repeats.get_or_init(|| Repeats::new(block, features))
    }
}

fn last_in_sentence(entries: &SentenceEntries) -> Vec<bool> {
    let size = entries.ids.iter().max().map_or(0, |&most| most as usize + 1);
    let mut seen_in = vec![usize::MAX; size];
    let mut marks = vec![false; entries.ids.len()];
    for sentence in 0..entries.ends.len() {
        for at in entries.range(sentence).rev() {
            let id = entries.ids[at] as usize;
            marks[at] = seen_in[id] != sentence;
            seen_in[id] = sentence;
        }
    }
    marks
}
