//! The state features of a restricted chain, by attribute.

use crate::chain::features::Features;

/// The attributes that have state features, in tables small enough for the fastest caches.
pub struct FeaturesByAttribute<'a> {
    pub features: &'a Features,
    /// Bit per attribute: whether it has features.
    bits: Vec<u64>,
    /// Word of `bits` -> the number of such attributes before it.
    before: Vec<u32>,
    /// Attribute with features, in the order of the attributes -> its features among the state features.
    starts: Vec<Start>,
}

/// The features of an attribute.
#[derive(Clone, Copy)]
pub struct Start {
    pub first: u32,
    pub end: u32,
    /// Bit per label, of the first 64: whether there is a feature.
    pub labels: u64,
}

impl<'a> FeaturesByAttribute<'a> {
    /// The features of a chain whose corpus has `n_attributes` attributes.
    pub fn new(features: &'a Features, n_attributes: usize) -> FeaturesByAttribute<'a> {
        let mut all: Vec<(u32, u32, u32)> = Vec::with_capacity(features.state_attributes.len());
        let mut start = 0;
        for &(attribute, end) in &features.state_attributes {
            all.push((attribute, start, end));
            start = end;
        }
        all.sort_unstable();
        let mut bits = vec![0; n_attributes.div_ceil(64)];
        all.iter().for_each(|&(attribute, ..)| bits[attribute as usize / 64] |= 1 << (attribute % 64));
        let before = bits.iter().scan(0, |total, word: &u64| {
            let before = *total;
            *total += word.count_ones();
            Some(before)
        });
        let before = before.collect();
        let start = |&(_, first, end): &(u32, u32, u32)| {
            let labels = features.state_labels[first as usize..end as usize].iter().filter(|&&label| label < 64);
            Start { first, end, labels: labels.fold(0, |bits, label| bits | 1 << label) }
        };
        let starts = all.iter().map(start).collect();
        FeaturesByAttribute { features, bits, before, starts }
    }

    /// The features of an attribute; None if it has none.
    #[inline(always)]
    pub fn of(&self, attribute: u32) -> Option<Start> {
        let (word, bit) = (attribute as usize / 64, attribute % 64);
        let bits = self.bits[word];
        if bits >> bit & 1 == 0 {
            return None;
        }
        let rank = self.before[word] + (bits & ((1 << bit) - 1)).count_ones();
        Some(self.starts[rank as usize])
    }

    /// Adds the weight for the transitions and triples of gold labels.
    pub fn count_links(&self, gold: &[u32], weight: f64, counts: &mut [f64]) {
        let (transitions, triples) = (&self.features.transitions, &self.features.triples);
        let (of_pairs, of_triples) = counts.split_at_mut(transitions.len());
        for labels in gold.windows(2) {
            if let Ok(index) = transitions.binary_search(&[labels[0] as u16, labels[1] as u16]) {
                of_pairs[index] += weight;
            }
        }
        for labels in gold.windows(3) {
            if let Ok(index) = triples.binary_search(&[labels[0], labels[1], labels[2]].map(|label| label as u16)) {
                of_triples[index] += weight;
            }
        }
    }
}
