//! Checks that the numbers of a corpus are consistent: no index is beyond the end of its array.

use crate::corpus::labels::sets_are_sound;
use crate::corpus::{Corpus, FIRST_SET, MOST_COST, Rows, UNKNOWN};
use crate::error::{Error, Result};
use crate::numeric::store::{Soon, Store};
use bytemuck::Pod;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

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

/// The entries of consecutive rows; None if the ends of the rows do not ascend, up to at most the number of entries.
pub(super) fn entries(ends: &[usize], rows: &Range<usize>, count: usize) -> Option<Range<usize>> {
    if rows.is_empty() {
        return Some(0..0);
    }
    let start = if rows.start == 0 { 0 } else { ends[rows.start - 1] };
    let some = &ends[rows.clone()];
    let ascend = start <= some[0] && some.is_sorted() && some[some.len() - 1] <= count;
    ascend.then(|| start..some[some.len() - 1])
}

/// Whether ends ascend, up to the number of entries that they divide.
fn divide(ends: &Store<usize>, count: usize) -> bool {
    let ascend = |some: &[usize]| some.windows(2).all(|pair| pair[0] <= pair[1]);
    all(ends, ascend) && ends.last().copied().unwrap_or(0) == count
}

impl Corpus {
    /// Fails if an index of a corpus reaches beyond the array that it points into, or a value is not finite. `name` is what the
    /// message calls the corpus.
    pub fn check_indices(&self, name: &Path) -> Result<()> {
        let (n_attributes, n_labels, n_sets) = (self.attributes.len(), self.labels.len(), self.label_sets.len());
        let attributes_exist = |some: &[u32]| some.iter().all(|&id| (id as usize) < n_attributes);
        let rows = |rows: &Rows| divide(&rows.ends, rows.ids.len()) && all(&rows.ids, attributes_exist);
        let is_label = |&label: &u32| match label {
            UNKNOWN => true,
            FIRST_SET.. => ((label - FIRST_SET) as usize) < n_sets,
            _ => (label as usize) < n_labels,
        };
        let finite = |some: &[f64]| some.iter().all(|number| number.is_finite());
        let (_, text, ends) = self.attributes.parts();
        let sound = n_labels <= FIRST_SET as usize
            && divide(&self.sentence_ends, self.n_tokens())
            && rows(&self.states)
            && rows(&self.bigrams)
            && all(&self.gold, |some| some.iter().all(is_label))
            && sets_are_sound(&self.label_sets, &self.label_shares, n_labels)
            && all(&self.values, finite)
            && all(&self.weights, |some| finite(some) && some.iter().all(|&weight| weight >= 0.0))
            && all(&self.costs, |some| some.iter().all(|&cost| cost.is_nan() || (0.0..=MOST_COST).contains(&cost)))
            && divide(ends, text.len());
        let message = || Error::Data(format!("{}: the corpus is inconsistent; encode it again", name.display()));
        sound.then_some(()).ok_or_else(message)
    }
}
