//! What an evaluation over pieces of sentences costs, and what one of the whole objective does, by counts.
//!
//! A whole evaluation takes few steps for each link: the transitions with features are the same for all sentences. Over pieces,
//! the labels differ from lane to lane, so that all links between slots are looked up and counted one by one. Where many labels
//! stay likely, such an evaluation costs more than a whole one.

use crate::chain::inference::Links;
use crate::chain::objective::layout::Block;
use crate::chain::objective::pruned::pieces::{Cutter, length};
use crate::numeric::LANES;

/// Nanoseconds, about, for eight lanes, of a link and a slot of pieces (19 to 26 and 10 to 20 with 100 to 300 labels, a link
/// 8 to 12 with few labels), and of a link and a node of the whole objective.
const SLOTS_LINK: f64 = 16.0;
const SLOT: f64 = 15.0;
const LINK: f64 = 2.0;
const NODE: f64 = 8.0;
/// The same of an entry: an attribute of a token, with its features. Entries over pieces are about as many and not counted.
const ENTRY: f64 = 4.0;

/// The cost of an evaluation over the pieces that a cutter holds, but for their features.
pub fn of_pieces(cutter: &Cutter, order: usize) -> f64 {
    let mut cost = 0.0;
    let mut slots = Vec::new();
    for group in cutter.groups() {
        slots.clear();
        slots.extend((0..length(group)).map(|at| cutter.slots(group, at) as f64));
        cost += SLOT * slots.iter().sum::<f64>();
        if !group[0].is_single {
            cost += SLOTS_LINK * slots.windows(order + 1).map(|slots| slots.iter().product::<f64>()).sum::<f64>();
        }
    }
    cost
}

/// The cost of an evaluation of the whole objective over a block.
pub fn of_block(block: &Block, links: &Links) -> f64 {
    let lengths: Vec<usize> = block.sentences.iter().map(|sentence| sentence.tokens.len()).collect();
    let of_token = |links: usize, nodes: usize| LINK * links as f64 + NODE * nodes as f64;
    let of_tokens = if links.are_few {
        let tokens: usize = lengths.chunks(LANES).filter_map(|eight| eight.iter().max()).sum();
        tokens as f64 * of_token(links.out.n_places(), links.n_nodes())
    } else {
        let vectors = links.width / LANES;
        lengths.iter().sum::<usize>() as f64 * of_token(links.labels * vectors, vectors)
    };
    let entries = block.rows.iter().chain([&block.shared, &block.own]).map(|entries| entries.ids.len());
    of_tokens + ENTRY * entries.sum::<usize>() as f64
}
