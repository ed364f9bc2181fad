//! The mask of a sentence: which tokens may not have every label, and which labels they may have.

use crate::chain::inference::label_sets::LabelSets;
use crate::numeric::aligned::Aligned;
use pulp::Simd;

/// The rows of a table of scores, tokens x width, that a mask changes, and for each of them a row of 1 for labels that are allowed
/// and 0 for others.
#[derive(Default)]
pub struct Mask {
    /// Where the rows start in the table.
    places: Vec<usize>,
    rows: Aligned,
}

impl Mask {
    /// Allows everything.
    pub fn clear(&mut self) {
        self.places.clear();
        self.rows.clear();
    }

    /// Adds a row of ones and zeros for the row of the table that starts at `place`.
    pub fn push(&mut self, place: usize, row: &[f64]) {
        self.append(place, row.len()).copy_from_slice(row);
    }

    /// Adds a row of zeros, to be filled in.
    fn append(&mut self, place: usize, width: usize) -> &mut [f64] {
        self.places.push(place);
        let start = self.rows.len();
        self.rows.resize(start + width, 0.0);
        &mut self.rows[start..]
    }

    /// Adds the tokens of a sentence that may not have every label.
    pub fn add(&mut self, tokens: &LabelSets, width: usize) {
        for token in (0..tokens.rows()).filter(|&token| !tokens.is_full(token)) {
            tokens.write_ones(token, self.append(token * width, width));
        }
    }

    /// Multiplies the rows of a table by the rows of the mask: what is forbidden becomes 0.
    #[inline(always)]
    pub fn multiply<S: Simd>(&self, simd: S, table: &mut [f64]) {
        if let Some(width) = self.rows.len().checked_div(self.places.len()) {
            for (&place, row) in self.places.iter().zip(self.rows.chunks_exact(width)) {
                let (table, _) = S::as_mut_simd_f64s(&mut table[place..place + width]);
                let (row, _) = S::as_simd_f64s(row);
                table.iter_mut().zip(row).for_each(|(score, &allowed)| *score = simd.mul_f64s(*score, allowed));
            }
        }
    }

    /// Sets what is forbidden to another score, in the first `labels` numbers of a row.
    pub fn replace(&self, labels: usize, table: &mut [f64], other: f64) {
        if let Some(width) = self.rows.len().checked_div(self.places.len()) {
            for (&place, row) in self.places.iter().zip(self.rows.chunks_exact(width)) {
                for (score, _) in table[place..][..labels].iter_mut().zip(row).filter(|(_, allowed)| **allowed == 0.0) {
                    *score = other;
                }
            }
        }
    }
}
