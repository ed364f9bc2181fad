//! The places of messages in memory.
//!
//! Each message has a slot. The messages out of variable 0 come first, by ascending edge, then the messages out of variable 1, and
//! so on: a thread that computes the messages out of consecutive variables writes one piece of memory. The messages *into* a
//! variable are found through `reverse`.
//!
//! A message to a variable of r states has r - 1 entries, its ratios to the first state: a message is defined up to a factor.

use crate::network::Network;
use std::ops::Range;

/// Least messages of a block, which one thread computes at a time: enough to be worth waking a thread, and few enough to stay in
/// the caches.
const BLOCK: usize = 4096;

/// The slots of the messages of a network.
pub struct MessageSlots {
    /// Variable -> the first slot of a message out of it; at the end, the number of slots.
    at: Vec<usize>,
    /// Slot -> its first entry; at the end, the number of entries.
    entry_at: Vec<usize>,
    /// Slot -> the slot of the message in the opposite direction.
    pub reverse: Vec<u32>,
    /// Edge -> the slots of the message from its first variable to its second, and of the message back.
    pub of_edge: Vec<(u32, u32)>,
    /// Consecutive variables with about `BLOCK` messages out of them, independently of the number of threads.
    pub blocks: Vec<Range<usize>>,
}

impl MessageSlots {
    /// Gives each message of a network its slot.
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
        MessageSlots { at, entry_at, reverse, of_edge, blocks }
    }

    pub fn n_messages(&self) -> usize {
        self.reverse.len()
    }

    /// Number of entries of all messages.
    pub fn n_entries(&self) -> usize {
        self.entry_at[self.n_messages()]
    }

    /// The slots of the messages out of consecutive variables.
    #[inline(always)]
    pub fn out_of(&self, variables: Range<usize>) -> Range<usize> {
        self.at[variables.start]..self.at[variables.end]
    }

    /// The entries of consecutive slots.
    #[inline(always)]
    pub fn entries(&self, slots: Range<usize>) -> Range<usize> {
        self.entry_at[slots.start]..self.entry_at[slots.end]
    }

    /// The entries of the message in the opposite direction to a slot.
    #[inline(always)]
    pub fn entries_into(&self, slot: usize) -> Range<usize> {
        let reverse = self.reverse[slot] as usize;
        self.entries(reverse..reverse + 1)
    }
}
