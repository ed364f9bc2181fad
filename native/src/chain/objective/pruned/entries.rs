//! The features of a group's cells: each entry names a feature and the place of a cell, packed into as few bytes as they need.

use crate::chain::objective::layout::for_each_entry;

/// Bits of a place in a narrow entry, and of a feature's number.
const NARROW: u32 = 16;

/// Entries of groups, in compressed rows. An entry adds the weight of its feature to the score at its place.
#[derive(Default)]
pub struct CellEntries {
    /// Group -> where its entries end.
    ends: Vec<u32>,
    packed: Packed,
    /// Value of each entry; empty when all are 1.
    values: Vec<f64>,
}

/// Features in the high half of a number, places in the low half.
enum Packed {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for Packed {
    fn default() -> Self {
        Packed::Narrow(Vec::new())
    }
}

/// An entry as it is packed.
trait Entry: Copy {
    fn parts(self) -> (usize, usize);
}

impl Entry for u32 {
    #[inline(always)]
    fn parts(self) -> (usize, usize) {
        ((self >> NARROW) as usize, (self & 0xffff) as usize)
    }
}

impl Entry for u64 {
    #[inline(always)]
    fn parts(self) -> (usize, usize) {
        ((self >> 32) as usize, (self & 0xffff_ffff) as usize)
    }
}

impl CellEntries {
    pub fn len(&self) -> usize {
        match &self.packed {
            Packed::Narrow(entries) => entries.len(),
            Packed::Wide(entries) => entries.len(),
        }
    }

    /// Appends entries of the current group: (feature, place), with their values unless all are 1. `places` bounds the places and
    /// `features` the features.
    pub fn extend(&mut self, entries: &[(u32, u32)], values: &[f64], features: usize, places: usize) {
        if features.max(places) > 1 << NARROW
            && let Packed::Narrow(narrow) = &self.packed
        {
            let wide =
                narrow.iter().map(|entry| entry.parts()).map(|(feature, place)| (feature as u64) << 32 | place as u64);
            self.packed = Packed::Wide(wide.collect());
        }
        match &mut self.packed {
            Packed::Narrow(packed) => packed.extend(entries.iter().map(|&(feature, place)| feature << NARROW | place)),
            Packed::Wide(packed) => {
                packed.extend(entries.iter().map(|&(feature, place)| u64::from(feature) << 32 | u64::from(place)));
            }
        }
        self.values.extend(values);
    }

    /// Ends the current group.
    pub fn end_group(&mut self) {
        self.ends.push(u32::try_from(self.len()).expect("a block has fewer than 2^32 entries"));
    }

    /// Adds the weights of a group's entries to its scores.
    #[inline(always)]
    pub fn add_weights(&self, group: usize, w: &[f64], scores: &mut [f64]) {
        let range = self.range(group);
        let values = self.values.get(range.clone()).unwrap_or_default();
        match &self.packed {
            Packed::Narrow(entries) => add_weights(&entries[range], values, w, scores),
            Packed::Wide(entries) => add_weights(&entries[range], values, w, scores),
        }
    }

    /// Adds the marginals of a group's cells, times the value of each entry raised to `power`, to the sums of its entries' features.
    #[inline(always)]
    pub fn spread(&self, group: usize, marginals: &[f64], power: i32, sums: &mut [f64]) {
        let range = self.range(group);
        let values = self.values.get(range.clone()).unwrap_or_default();
        match &self.packed {
            Packed::Narrow(entries) => spread(&entries[range], values, marginals, power, sums),
            Packed::Wide(entries) => spread(&entries[range], values, marginals, power, sums),
        }
    }

    #[inline(always)]
    fn range(&self, group: usize) -> std::ops::Range<usize> {
        let start = if group == 0 { 0 } else { self.ends[group - 1] as usize };
        start..self.ends[group] as usize
    }
}

#[inline(always)]
fn add_weights<E: Entry>(entries: &[E], values: &[f64], w: &[f64], scores: &mut [f64]) {
    let entries = entries.iter().copied().map(Entry::parts);
    for_each_entry!(
        entries,
        values,
        |(feature, place)| {
            scores[place] += w[feature];
        },
        |value| {
            scores[place] += value * w[feature];
        }
    );
}

#[inline(always)]
fn spread<E: Entry>(entries: &[E], values: &[f64], marginals: &[f64], power: i32, sums: &mut [f64]) {
    let entries = entries.iter().copied().map(Entry::parts);
    for_each_entry!(
        entries,
        values,
        |(feature, place)| {
            sums[feature] += marginals[place];
        },
        |value| {
            sums[feature] += value.powi(power) * marginals[place];
        }
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_add_value_times_weight_and_spread_value_times_marginal() {
        for (features, values) in [(3, &[][..]), (3, &[0.5, -2.0, 3.0]), (1 << 17, &[0.5, -2.0, 3.0])] {
            let mut entries = CellEntries::default();
            entries.extend(&[(0, 1), (2, 0), (2, 1)], values, features, 2);
            entries.end_group();
            let mut scores = [0.0; 2];
            entries.add_weights(0, &[1.0, 10.0, 100.0], &mut scores);
            let [a, b, c]: [f64; 3] = if values.is_empty() { [1.0; 3] } else { [0.5, -2.0, 3.0] };
            assert_eq!(scores, [b * 100.0, a + c * 100.0]);
            for power in [1, 2] {
                let mut sums = [0.0; 3];
                entries.spread(0, &[0.25, 0.5], power, &mut sums);
                let [a, b, c] = [a, b, c].map(|value| value.powi(power));
                assert_eq!(sums, [a * 0.5, 0.0, b * 0.25 + c * 0.5]);
            }
        }
    }
}
