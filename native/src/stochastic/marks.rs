//! Where in a sentence a feature occurs for the last time: what an update does to a weight once, it does there.

use super::repeats::Repeats;
use crate::objective::features::Features;
use crate::objective::layout::{Block, Entries};
use std::sync::OnceLock;

/// One mark for each entry of a block.
pub struct Marks {
    pub rows: Vec<bool>,
    pub shared: Vec<bool>,
    pub own: Vec<bool>,
    repeats: OnceLock<Repeats>,
}

impl Marks {
    pub fn new(block: &Block) -> Marks {
        let of = |entries: &Entries| last_in_sentence(&block.sentence_ends, entries);
        Marks { rows: of(&block.rows), shared: of(&block.shared), own: of(&block.own), repeats: OnceLock::new() }
    }

    /// Which entries recur in their sentence; made when first asked for.
    pub fn repeats(&self, block: &Block, features: &Features) -> &Repeats {
        self.repeats.get_or_init(|| Repeats::new(block, features))
    }
}

fn last_in_sentence(sentence_ends: &[u32], entries: &Entries) -> Vec<bool> {
    let size = entries.ids.iter().max().map_or(0, |&most| most as usize + 1);
    let mut seen_in = vec![u32::MAX; size];
    let mut marks = vec![false; entries.ids.len()];
    let mut start = 0;
    for (sentence, &tokens) in sentence_ends.iter().enumerate() {
        let end = if tokens == 0 { 0 } else { entries.ends[tokens as usize - 1] as usize };
        for at in (start..end).rev() {
            let id = entries.ids[at] as usize;
            marks[at] = seen_in[id] != sentence as u32;
            seen_in[id] = sentence as u32;
        }
        start = end;
    }
    marks
}
