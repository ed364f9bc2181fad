//! Where messages stand in memory.
//!
//! Messages out of a variable stand side by side, by ascending edge, and so those of neighbouring variables: whoever
//! computes the messages of some variables writes one piece of memory. Messages *into* a variable are looked up by
//! `reverse`.
//!
//! A message to a variable of r states has r - 1 entries: a message means nothing but ratios, here those to the first
//! state.

use crate::network::Network;
use std::ops::Range;

/// Messages of a block, which one thread computes at a time: they stay in the caches, and are worth waking a thread
/// for.
const BLOCK: usize = 4096;

pub struct Slots {
    /// The first slot of each variable, and their number.
    at: Vec<usize>,
    /// The first entry of each slot, and their number.
    entry_at: Vec<usize>,
    /// The slot of the message in the opposite direction.
    pub reverse: Vec<u32>,
    /// Slots of each edge: from its first variable to its second, and back.
    pub of_edge: Vec<(u32, u32)>,
    /// Variables in blocks of about as many messages, whatever the number of threads.
    pub blocks: Vec<Range<usize>>,
}

impl Slots {
    pub fn new(network: &Network) -> Self {
        let n = network.n_variables();
        let (mut at, mut entry_at, mut blocks) = (vec![0], vec![0], Vec::new());
        let mut of_edge = vec![(0, 0); network.edges().len()];
        let (mut slot, mut entry, mut begun) = (0, 0, 0);
        for i in 0..n {
            for neighbour in network.neighbours(i) {
                let edge = &mut of_edge[neighbour.edge as usize];
                *(if neighbour.first { &mut edge.1 } else { &mut edge.0 }) = slot;
                slot += 1;
                entry += network.states()[neighbour.variable as usize] as usize - 1;
                entry_at.push(entry);
            }
            at.push(slot as usize);
            if slot as usize - at[begun] >= BLOCK || i + 1 == n {
                blocks.push(begun..i + 1);
                begun = i + 1;
            }
        }
        let mut reverse = vec![0; slot as usize];
        of_edge.iter().for_each(|&(a, b)| (reverse[a as usize], reverse[b as usize]) = (b, a));
        Slots { at, entry_at, reverse, of_edge, blocks }
    }

    /// Number of messages.
    pub fn n_messages(&self) -> usize {
        self.reverse.len()
    }

    /// Number of entries of all messages.
    pub fn n_entries(&self) -> usize {
        self.entry_at[self.n_messages()]
    }

    /// Slots of the messages out of variables.
    #[inline(always)]
    pub fn out_of(&self, variables: Range<usize>) -> Range<usize> {
        self.at[variables.start]..self.at[variables.end]
    }

    #[inline(always)]
    pub fn entries(&self, slots: Range<usize>) -> Range<usize> {
        self.entry_at[slots.start]..self.entry_at[slots.end]
    }

    /// Entries of the message in the opposite direction.
    #[inline(always)]
    pub fn entries_into(&self, slot: usize) -> Range<usize> {
        let reverse = self.reverse[slot] as usize;
        self.entries(reverse..reverse + 1)
    }
}
