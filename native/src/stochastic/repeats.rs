//! What the scores of a sample's own gradient are made of: score(t, k) = sum over the features of token t and label k of value *
//! gradient, where the gradient of a feature is itself a sum over its occurrences in the sentence.
//!
//! A feature that occurs once gives value^2 times the token's residual: of these only the sum of value^2 is needed, and that is a
//! matter of the data. Features that recur need a slot to be added up in.

use super::samples::Sample;
use crate::numeric;
use crate::objective::features::Features;
use crate::objective::layout::{Block, Entries};

pub struct Repeats {
    labels: usize,
    /// tokens x labels: the sum of value^2 over the features of the token and label that occur once in the sentence.
    once: Vec<f32>,
    /// Rows and sparse entries that recur.
    pub rows: Recurrences,
    pub shared: Recurrences,
    /// Their slots are numbered on from those of the shared entries.
    pub own: Recurrences,
}

/// Entries whose features recur in their sentence, in order.
#[derive(Default)]
pub struct Recurrences {
    all: Vec<Recurrence>,
    /// Token -> where its entries end.
    ends: Vec<u32>,
}

#[derive(Clone, Copy)]
pub struct Recurrence {
    /// Counted within the block.
    pub token: u32,
    /// Index of the entry in the block.
    pub at: u32,
    /// One for each feature that recurs in the sentence, from 0.
    pub slot: u32,
}

impl Recurrences {
    /// Those of a sample.
    #[inline(always)]
    pub fn of(&self, sample: Sample<'_>) -> &[Recurrence] {
        let tokens = sample.tokens();
        let end = |token: usize| if token == 0 { 0 } else { self.ends[token - 1] as usize };
        &self.all[end(tokens.start)..end(tokens.end)]
    }
}

impl Repeats {
    pub fn new(block: &Block, features: &Features) -> Repeats {
        let labels = features.n_labels;
        let mut once = vec![0.0; block.rows.ends.len() * labels];
        let mut single = |entries: &Entries, token: usize, at: usize| {
            let once = &mut once[token * labels..][..labels];
            let squared = (entries.value(at) * entries.value(at)) as f32;
            match entries.labels.get(at) {
                Some(&label) => once[usize::from(label)] += squared,
                None => features
                    .labels(entries.ids[at] as usize)
                    .iter()
                    .for_each(|&label| once[usize::from(label)] += squared),
            }
        };
        let (mut rows, mut shared, mut own) =
            (Slots::new(&block.rows), Slots::new(&block.shared), Slots::new(&block.own));
        let mut first = 0;
        for &end in &block.sentence_ends {
            let tokens = first..end as usize;
            rows.number(&block.rows, tokens.clone(), 0, &mut single);
            let used = shared.number(&block.shared, tokens.clone(), 0, &mut single);
            own.number(&block.own, tokens, used, &mut single);
            first = end as usize;
        }
        Repeats { labels, once, rows: rows.found, shared: shared.found, own: own.found }
    }

    /// Asks for what belongs to a sample, which will be needed soon.
    #[inline(always)]
    pub fn fetch(&self, sample: &Sample<'_>) {
        let tokens = sample.tokens();
        numeric::prefetch_range(&self.once, tokens.start * self.labels..tokens.end * self.labels);
        [&self.rows, &self.shared, &self.own].into_iter().for_each(|recurrences| {
            numeric::prefetch_range(&recurrences.ends, tokens.clone());
        });
    }

    /// The sums of a sample's tokens, labels apart.
    #[inline(always)]
    pub fn once(&self, sample: Sample<'_>) -> impl Iterator<Item = &[f32]> {
        let tokens = sample.tokens();
        self.once[tokens.start * self.labels..tokens.end * self.labels].chunks_exact(self.labels)
    }
}

/// For each id the sentence that it was met in last, counted from 1, and its slot there.
struct Slots {
    met: Vec<(u32, u32)>,
    sentence: u32,
    found: Recurrences,
}

/// Met once so far.
const ONCE: u32 = u32::MAX;

impl Slots {
    fn new(entries: &Entries) -> Slots {
        let size = entries.ids.iter().max().map_or(0, |&most| most as usize + 1);
        Slots { met: vec![(0, 0); size], sentence: 0, found: Recurrences::default() }
    }

    /// Takes up a sentence's entries, or gives them to `single`; returns the number of slots, with those already `used`.
    fn number(
        &mut self,
        entries: &Entries,
        tokens: std::ops::Range<usize>,
        used: u32,
        single: &mut impl FnMut(&Entries, usize, usize),
    ) -> u32 {
        self.sentence += 1;
        let mut next = used;
        for token in tokens.clone() {
            for &id in &entries.ids[entries.range(token)] {
                let (sentence, slot) = &mut self.met[id as usize];
                if *sentence != self.sentence {
                    (*sentence, *slot) = (self.sentence, ONCE);
                } else if *slot == ONCE {
                    *slot = next;
                    next += 1;
                }
            }
        }
        for token in tokens {
            for at in entries.range(token) {
                match self.met[entries.ids[at] as usize].1 {
                    ONCE => single(entries, token, at),
                    slot => self.found.all.push(Recurrence { token: token as u32, at: at as u32, slot }),
                }
            }
            self.found.ends.push(self.found.all.len() as u32);
        }
        next
    }
}
