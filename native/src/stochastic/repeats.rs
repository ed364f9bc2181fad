//! Which entries of a sentence belong to features that occur there more than once: the sentence's gradient of such a feature is
//! a sum over its occurrences, and needs a place to be added up in.

use super::samples::Sample;
use crate::objective::layout::{Block, Entries};

/// The slot of an entry whose feature occurs once in the sentence.
pub const ALONE: u32 = u32::MAX;

/// A slot for each entry of a block: features that recur in a sentence are numbered from 0.
pub struct Repeats {
    pub rows: Vec<u32>,
    pub shared: Vec<u32>,
    /// Numbered on from the shared entries of the sentence.
    pub own: Vec<u32>,
}

impl Repeats {
    pub fn new(block: &Block) -> Repeats {
        let mut repeats = Repeats { rows: Vec::new(), shared: Vec::new(), own: Vec::new() };
        let of = |entries: &Entries| Slots::new(entries);
        let (mut rows, mut shared, mut own) = (of(&block.rows), of(&block.shared), of(&block.own));
        let mut first_token = 0;
        for (sentence, &end_token) in block.sentence_ends.iter().enumerate() {
            let tokens = (first_token, end_token as usize);
            rows.number(&block.rows, tokens, sentence as u32, 0, &mut repeats.rows);
            let used = shared.number(&block.shared, tokens, sentence as u32, 0, &mut repeats.shared);
            own.number(&block.own, tokens, sentence as u32, used, &mut repeats.own);
            first_token = end_token as usize;
        }
        repeats
    }

    /// The sparse entries of a sample with their slots, in the order of `Weights::sparse`.
    pub fn sparse<'a>(&'a self, sample: Sample<'a>) -> [(&'a Entries, &'a [u32]); 2] {
        [(&sample.block.shared, &self.shared), (&sample.block.own, &self.own)]
    }
}

/// For each id the sentence that it was met in last, and its slot there.
struct Slots {
    met: Vec<(u32, u32)>,
}

/// Met once so far.
const ONCE: u32 = u32::MAX - 1;

impl Slots {
    fn new(entries: &Entries) -> Slots {
        let size = entries.ids.iter().max().map_or(0, |&most| most as usize + 1);
        Slots { met: vec![(u32::MAX, 0); size] }
    }

    /// Adds the slots of a sentence's entries; returns the number of slots, with those already `used`.
    fn number(
        &mut self,
        entries: &Entries,
        (first, end): (usize, usize),
        sentence: u32,
        used: u32,
        slots: &mut Vec<u32>,
    ) -> u32 {
        if first == end {
            return used;
        }
        let ids = &entries.ids[entries.range(first).start..entries.range(end - 1).end];
        let mut next = used;
        for &id in ids {
            let (in_sentence, slot) = &mut self.met[id as usize];
            if *in_sentence != sentence {
                (*in_sentence, *slot) = (sentence, ONCE);
            } else if *slot == ONCE {
                *slot = next;
                next += 1;
            }
        }
        slots.extend(ids.iter().map(|&id| match self.met[id as usize].1 {
            ONCE => ALONE,
            slot => slot,
        }));
        next
    }
}
