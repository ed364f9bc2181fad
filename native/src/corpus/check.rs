//! Whether the numbers of a corpus go together: no index reaches beyond its array.

use crate::corpus::{Corpus, FIRST_SET, Rows, UNKNOWN};
use crate::error::{Error, Result};
use rayon::prelude::*;

/// Numbers that a thread looks at at a time.
const SOME: usize = 1 << 16;

impl Corpus {
    /// Fails if an index of a corpus reaches beyond the array that it points into, or a value is not finite.
    pub fn check_indices(&self) -> Result<()> {
        let n_tokens = self.n_tokens();
        let ascend = |ends: &[usize], last: usize| {
            let within = ends.par_windows(2).with_min_len(SOME).all(|pair| pair[0] <= pair[1]);
            within && ends.last().copied().unwrap_or(0) == last
        };
        let known =
            |ids: &[u32], count: usize| ids.par_chunks(SOME).all(|some| some.iter().all(|&id| (id as usize) < count));
        let rows = |rows: &Rows| ascend(&rows.ends, rows.ids.len()) && known(&rows.ids, self.attributes.len());
        let (n_labels, n_sets) = (self.labels.len(), self.label_sets.len());
        let is_label = |&label: &u32| match label {
            UNKNOWN => true,
            FIRST_SET.. => ((label - FIRST_SET) as usize) < n_sets,
            _ => (label as usize) < n_labels,
        };
        let is_set = |set: &Vec<u32>| set.iter().all(|&label| (label as usize) < n_labels);
        let finite =
            |numbers: &[f64]| numbers.par_chunks(SOME).all(|some| some.iter().all(|number| number.is_finite()));
        let (_, text, ends) = self.attributes.parts();
        let sound = n_labels <= FIRST_SET as usize
            && ascend(&self.sentence_ends, n_tokens)
            && rows(&self.states)
            && rows(&self.bigrams)
            && self.gold.par_chunks(SOME).all(|some| some.iter().all(is_label))
            && self.label_sets.iter().all(is_set)
            && finite(&self.values)
            && finite(&self.weights)
            && self.weights.par_chunks(SOME).all(|some| some.iter().all(|&weight| weight >= 0.0))
            && ascend(ends, text.len());
        if sound {
            Ok(())
        } else {
            Err(Error::Data("the numbers of the corpus do not go together; encode it again".into()))
        }
    }
}
