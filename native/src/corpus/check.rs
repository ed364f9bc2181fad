//! Checks that the numbers of a corpus are consistent: no index is beyond the end of its array.

use crate::corpus::{Corpus, FIRST_SET, MOST_COST, Rows, UNKNOWN};
use crate::error::{Error, Result};
use crate::numeric::store::{Soon, Store};
use bytemuck::Pod;
use rayon::prelude::*;

/// Numbers that a thread looks at at a time.
const SOME: usize = 1 << 20;

/// Whether all runs of numbers pass a test; a run begins with the last number of the run before it. Numbers on disk leave this
/// process' memory after the test.
fn all<T: Pod + Sync>(numbers: &Store<T>, test: impl Fn(&[T]) -> bool + Sync) -> bool {
    let runs = numbers.len().div_ceil(SOME);
    (0..runs).into_par_iter().all(|run| {
        let range = (run * SOME).saturating_sub(1)..((run + 1) * SOME).min(numbers.len());
        let passed = test(&numbers[range.clone()]);
        numbers.advise(range, Soon::Unwanted);
        passed
    })
}

/// Whether ends ascend, up to the number of entries that they divide.
fn divide(ends: &Store<usize>, count: usize) -> bool {
    let ascend = |some: &[usize]| some.windows(2).all(|pair| pair[0] <= pair[1]);
    all(ends, ascend) && ends.last().copied().unwrap_or(0) == count
}

impl Corpus {
    /// Fails if an index of a corpus reaches beyond the array that it points into, or a value is not finite.
    pub fn check_indices(&self) -> Result<()> {
        let (n_attributes, n_labels, n_sets) = (self.attributes.len(), self.labels.len(), self.label_sets.len());
        let attributes_exist = |some: &[u32]| some.iter().all(|&id| (id as usize) < n_attributes);
        let rows = |rows: &Rows| divide(&rows.ends, rows.ids.len()) && all(&rows.ids, attributes_exist);
        let is_label = |&label: &u32| match label {
            UNKNOWN => true,
            FIRST_SET.. => ((label - FIRST_SET) as usize) < n_sets,
            _ => (label as usize) < n_labels,
        };
        let is_set = |set: &Vec<u32>| set.iter().all(|&label| (label as usize) < n_labels);
        let are_shares = |(number, shares): (usize, &Vec<f64>)| {
            let count = self.label_sets.get(number).map_or(0, Vec::len);
            shares.is_empty() || (shares.len() == count && shares.iter().all(|share| *share > 0.0 && *share <= 1.0))
        };
        let finite = |some: &[f64]| some.iter().all(|number| number.is_finite());
        let (_, text, ends) = self.attributes.parts();
        let sound = n_labels <= FIRST_SET as usize
            && divide(&self.sentence_ends, self.n_tokens())
            && rows(&self.states)
            && rows(&self.bigrams)
            && all(&self.gold, |some| some.iter().all(is_label))
            && self.label_sets.iter().all(is_set)
            && self.label_shares.iter().enumerate().all(are_shares)
            && all(&self.values, finite)
            && all(&self.weights, |some| finite(some) && some.iter().all(|&weight| weight >= 0.0))
            && all(&self.costs, |some| some.iter().all(|&cost| cost.is_nan() || (0.0..=MOST_COST).contains(&cost)))
            && divide(ends, text.len());
        if sound { Ok(()) } else { Err(Error::Data("the corpus is inconsistent; encode it again".into())) }
    }
}
