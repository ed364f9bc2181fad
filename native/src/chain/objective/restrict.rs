//! Chain objectives over some of the features: an evaluation costs what the kept features cost.

use crate::chain::features::{Features, NOWHERE, Selection};
use crate::chain::objective::ChainObjective;
use crate::chain::objective::layout::{self, Bigrams, Block, SentenceEntries};
use crate::chain::objective::scratch::settled;
use crate::error::Result;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Old number -> new number; `NOWHERE` for numbers that are not kept.
fn places(len: usize, numbers: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut places = vec![NOWHERE; len];
    numbers.zip(0..).for_each(|(from, to)| places[from] = to);
    places
}

/// Feature -> the number of kept features before it. The list is one longer than the number of features; `numbers` ascends.
fn before(len: usize, numbers: impl Iterator<Item = usize>) -> Vec<u32> {
    let (mut before, mut total) = (Vec::with_capacity(len + 1), 0);
    for feature in numbers {
        before.resize(feature + 1, total);
        total += 1;
    }
    before.resize(len + 1, total);
    before
}

impl ChainObjective {
    /// The objective over the features with these numbers, which ascend; the weights of all others are 0. Error: the blocks of
    /// a corpus on disk are also on disk, and the disk is full.
    pub fn restrict(&self, numbers: &[usize]) -> Result<ChainObjective> {
        let (full, n) = (&*self.features, self.features.len());
        let (first_bigram, first) = (full.first_bigram(), full.first_state());
        let at = |first: usize| numbers.partition_point(|&feature| feature < first);
        let bigrams = numbers[at(first_bigram)..at(first)].iter().map(|feature| feature - first_bigram);
        let bigrams_before = before(full.n_bigrams(), bigrams);
        let bigram = |old: &Range<u32>| bigrams_before[old.start as usize]..bigrams_before[old.end as usize];
        let features = full.restrict(numbers, bigram);
        let states = &numbers[at(first)..];
        let state_places = places(n - first, states.iter().map(|feature| feature - first));
        let attributes = features.state_attributes[..features.n_dense].iter();
        let mut rows = full.state_attributes[..full.n_dense].iter().enumerate();
        let row_of =
            |&(attribute, _): &(u32, u32)| rows.find(|(_, row)| row.0 == attribute).expect("a row remains a row").0;
        let row_places = places(full.n_dense, attributes.map(row_of));
        // A row that loses features may change its kind.
        let kinds = layout::kinds(&features);
        let rows: Vec<(u8, u32)> =
            row_places.iter().map(|&place| (*kinds.get(place as usize).unwrap_or(&0), place)).collect();
        let blocks = self.install(|| {
            let pairs = self.blocks.par_iter().zip(&features.blocks);
            let restricted = |(block, (_, own_range)): (&Block, &(Range<usize>, Range<usize>))| {
                settled(&self.corpus, block.restrict(&rows, &state_places, own_range.clone(), &bigram))
            };
            pairs.map(restricted).collect::<Result<Vec<Block>>>()
        })?;
        // Without triples the chain is one of first order.
        let selection = Selection::seen(if features.triples.is_empty() { 1 } else { self.order() });
        let free = n - self.n_unpenalised;
        let n_unpenalised = numbers.len() - numbers.partition_point(|&feature| feature < free);
        let empirical = numbers.iter().map(|&feature| self.empirical[feature]).collect();
        Ok(self.with_features(features, blocks, selection, n_unpenalised, empirical))
    }
}

impl Features {
    /// The features with these numbers, which ascend, in the same sequence and classes; `bigram` gives the new range of
    /// bigram features for an old one.
    pub(super) fn restrict(&self, numbers: &[usize], bigram: impl Fn(&Range<u32>) -> Range<u32>) -> Features {
        let (n_transitions, first_bigram, first) = (self.transitions.len(), self.first_bigram(), self.first_state());
        let (transitions, rest) = numbers.split_at(numbers.partition_point(|&feature| feature < n_transitions));
        let (triples, rest) = rest.split_at(rest.partition_point(|&feature| feature < first_bigram));
        let (bigrams, states) = rest.split_at(rest.partition_point(|&feature| feature < first));
        let mut features = Features {
            n_labels: self.n_labels,
            transitions: transitions.iter().map(|&feature| self.transitions[feature]).collect(),
            triples: triples.iter().map(|&feature| self.triples[feature - n_transitions]).collect(),
            bigram_ranges: self.bigram_ranges.iter().map(bigram).collect(),
            bigram_pairs: bigrams.iter().map(|&feature| self.bigram_pairs[feature - first_bigram]).collect(),
            state_attributes: Vec::new(),
            state_labels: states.iter().map(|&feature| self.state_labels[feature - first]).collect(),
            n_dense: 0,
            n_shared: 0,
            blocks: Vec::new(),
        };
        let mut end = 0;
        for (index, &(attribute, last)) in self.state_attributes.iter().enumerate() {
            let start = end;
            end += states[start..].iter().take_while(|&&feature| feature - first < last as usize).count();
            if end > start {
                features.state_attributes.push((attribute, end as u32));
                features.n_dense += usize::from(index < self.n_dense);
                features.n_shared += usize::from((self.n_dense..self.n_dense + self.n_shared).contains(&index));
            }
        }
        let before = |state: usize| states.partition_point(|&feature| feature - first < state);
        let block = |(sentences, own_range): &(Range<usize>, Range<usize>)| {
            (sentences.clone(), before(own_range.start)..before(own_range.end))
        };
        features.blocks = self.blocks.iter().map(block).collect();
        features
    }
}

impl Block {
    fn restrict(
        &self,
        rows: &[(u8, u32)],
        states: &[u32],
        own_range: Range<usize>,
        bigram: &impl Fn(&Range<u32>) -> Range<u32>,
    ) -> Block {
        let (before, now) = (self.own_range.start, own_range.start as u32);
        let own_place = |id: u32| match states[before + id as usize] {
            NOWHERE => NOWHERE,
            place => place - now,
        };
        let [shared] = restrict(std::array::from_ref(&self.shared), |id| (0, states[id as usize]));
        let [own] = restrict(std::array::from_ref(&self.own), |id| (0, own_place(id)));
        Block {
            sentences: Arc::clone(&self.sentences),
            rows: restrict(&self.rows, |id| rows[id as usize]),
            shared,
            own,
            own_range,
            bigrams: self.bigrams.restrict(bigram),
        }
    }
}

impl Bigrams {
    fn restrict(&self, range_of: impl Fn(&Range<u32>) -> Range<u32>) -> Bigrams {
        let mut bigrams = Bigrams::default();
        let places: Vec<u32> = self.met.iter().map(|met| bigrams.meet(range_of(&met.features))).collect();
        for token in 0..self.entries.ends.len() {
            let ids = self.entries.row(token).iter().map(|&id| places[id as usize]).filter(|&place| place != NOWHERE);
            bigrams.entries.ids.to_mut().extend(ids);
            bigrams.entries.end_row();
        }
        bigrams
    }
}

/// The kept entries of N lists; `goes` gives the new list and the new id for an old id, `NOWHERE` for an id that is not kept.
fn restrict<const N: usize>(all: &[SentenceEntries; N], goes: impl Fn(u32) -> (u8, u32)) -> [SentenceEntries; N] {
    let valued = all.iter().any(|entries| !entries.values.is_empty());
    let (n, n_sentences) = (all.iter().map(|entries| entries.ids.len()).sum(), all[0].ends.len());
    let of_sentence = |sentence: usize| all.iter().map(|entries| entries.range(sentence).len()).sum();
    let most: usize = (0..n_sentences).map(of_sentence).max().unwrap_or(0);
    // Memory that is never written costs nothing, so each list gets room for all entries.
    let mut restricted: [SentenceEntries; N] =
        std::array::from_fn(|_| SentenceEntries::with_room(n_sentences, n, valued));
    let mut buffers: [Vec<(u32, u32, f64)>; N] = std::array::from_fn(|_| vec![(0, 0, 0.0); most + 1]);
    for sentence in 0..n_sentences {
        let mut lens = [0; N];
        for entries in all {
            let range = entries.range(sentence);
            let pairs = entries.ids[range.clone()].iter().zip(&entries.places[range.clone()]);
            for (at, (&id, &place)) in range.zip(pairs) {
                // An entry that is not kept is overwritten by the next one: a branch could not be predicted.
                let (kind, id) = goes(id);
                let len = &mut lens[usize::from(kind)];
                buffers[usize::from(kind)][*len] = (id, place, entries.value(at));
                *len += usize::from(id != NOWHERE);
            }
        }
        for ((restricted, buffer), len) in restricted.iter_mut().zip(&buffers).zip(lens) {
            restricted.ids.to_mut().extend(buffer[..len].iter().map(|entry| entry.0));
            restricted.places.to_mut().extend(buffer[..len].iter().map(|entry| entry.1));
            if valued {
                restricted.values.to_mut().extend(buffer[..len].iter().map(|entry| entry.2));
            }
            restricted.end_sentence();
        }
    }
    restricted
}
