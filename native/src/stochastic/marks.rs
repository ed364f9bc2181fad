//! Where in a sentence a feature occurs for the last time: what an update does to a weight once, it does there.

use crate::chain::features::Features;
use crate::chain::layout::{Block, Entries, KINDS};
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
    pub fn new(block: &Block) -> Marks {
        let Block { rows, shared, own, .. } = block;
        Marks {
            rows: rows.each_ref().map(last_in_sentence),
            shared: last_in_sentence(shared),
            own: last_in_sentence(own),
            repeats: OnceLock::new(),
        }
    }

    /// Which entries recur in their sentence; made when first asked for.
    pub fn repeats(&self, block: &Block, features: &Features) -> &Repeats {
        self.repeats.get_or_init(|| Repeats::new(block, features))
    }
}

fn last_in_sentence(entries: &Entries) -> Vec<bool> {
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
