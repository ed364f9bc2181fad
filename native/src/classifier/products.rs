//! The matrix X' D X over the columns of a classifier's matrix, dense or sparse, where D is diagonal.
//!
//! A dense matrix is multiplied in blocks (`dense`). Of a sparse one, each sample adds the products of its entries: the cost is that
//! of all pairs of entries in a row. Rows are cut into pieces whose number depends on the matrix alone, and the sums of the pieces
//! are added up in their order, so that results are the same on any number of threads.

use crate::classifier::dense::{MOST_ROWS, gram};
use crate::classifier::objective::Classifier;
use crate::classifier::table::Columns;
use crate::numeric::ragged::{Entries, Id, Lists, NOWHERE, Value, with_entries};
use crate::threads;
use std::ops::Range;

/// Which part of X' D X is computed.
#[derive(Clone, Copy)]
pub struct Products<'a> {
    pub classifier: &'a Classifier,
    /// Numbers of the columns in ascending order; the intercept's column is the last and always there.
    pub columns: &'a [usize],
    /// The sum runs over one of so many blocks of samples, the first and every `stride`-th one.
    pub stride: usize,
}

/// Entries of the smallest piece of rows, and most pieces.
const PIECE: usize = 1 << 14;
const PIECES: usize = 16;

impl Products<'_> {
    /// The number of rows of the matrix.
    pub fn size(&self) -> usize {
        self.columns.len() + usize::from(self.classifier.intercept.is_some())
    }

    /// The matrix, row after row, where `diagonal` is that of D.
    pub fn over(&self, diagonal: &[f64]) -> Vec<f64> {
        let Products { classifier, columns, stride } = *self;
        if let Some(table) = classifier.design.table() {
            let chosen = (columns.len() < table.n_columns()).then_some(columns);
            let columns = Columns { table, chosen, intercept: classifier.intercept };
            return gram(columns, diagonal, stride, classifier.pool);
        }
        let rows = classifier.design.rows();
        let mut matrix = with_entries!(rows, all => self.of_rows(rows, all, diagonal));
        let size = self.size();
        for a in 0..size {
            for b in 0..a {
                matrix[a * size + b] = matrix[b * size + a];
            }
        }
        matrix
    }

    /// The number by which sums over the blocks have to be multiplied to stand for the sums over all samples, if these are in
    /// proportion to `amounts`.
    pub fn factor(&self, amounts: &[f64]) -> f64 {
        let looked_at: f64 = amounts.chunks(MOST_ROWS).step_by(self.stride).flatten().sum();
        if self.stride > 1 && looked_at > 0.0 { amounts.iter().sum::<f64>() / looked_at } else { 1.0 }
    }

    /// The upper half of the matrix, from sparse rows.
    fn of_rows<I: Id, V: Value>(&self, rows: &Lists, all: Entries<'_, I, V>, diagonal: &[f64]) -> Vec<f64> {
        let Products { classifier, columns, stride } = *self;
        let mut places = vec![NOWHERE; classifier.design.n_columns()];
        columns.iter().enumerate().for_each(|(place, &column)| places[column] = place as u32);
        let n_pieces = (all.ids.len() / stride / PIECE).clamp(1, PIECES);
        let height = rows.len().div_ceil(n_pieces).next_multiple_of(MOST_ROWS * stride);
        let pieces = (0..rows.len()).step_by(height).map(|first| first..rows.len().min(first + height)).collect();
        let parts = threads::share(classifier.pool, pieces, |piece: Range<usize>| {
            let mut sums = vec![0.0; self.size().pow(2)];
            for first in piece.clone().step_by(MOST_ROWS * stride) {
                for row in first..piece.end.min(first + MOST_ROWS) {
                    self.add(rows.list(row, all), &places, diagonal[row], &mut sums);
                }
            }
            sums
        });
        let sum = |mut sums: Vec<f64>, part: Vec<f64>| {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            sums
        };
        parts.into_iter().reduce(sum).unwrap_or_default()
    }

    /// Adds the products of the entries of a row.
    fn add<I: Id, V: Value>(&self, (ids, values): (&[I], &[V]), places: &[u32], d: f64, sums: &mut [f64]) {
        let (size, last) = (self.size(), self.columns.len());
        if let Some(value) = self.classifier.intercept {
            sums[last * size + last] += d * value * value;
            for (id, x) in ids.iter().zip(values) {
                let place = places[id.at()];
                if place != NOWHERE {
                    sums[place as usize * size + last] += d * value * x.get();
                }
            }
        }
        for (id, x) in ids.iter().zip(values) {
            let place = places[id.at()];
            if place == NOWHERE {
                continue;
            }
            let (factor, row) = (d * x.get(), &mut sums[place as usize * size..][..size]);
            // Entries may come in any order and more than once: each pair is added where the row is that of the smaller place.
            for (other, y) in ids.iter().zip(values) {
                let other = places[other.at()];
                if other != NOWHERE && other >= place {
                    row[other as usize] += factor * y.get();
                }
            }
        }
    }
}
