//! The matrix X' D X over the columns of a classifier's matrix, dense or sparse, where D is diagonal.
//!
//! A dense matrix is multiplied in blocks (`dense`). Of a sparse one, each sample adds the products of its entries: the cost is that
//! of all pairs of entries in a row. Rows are cut into pieces whose number depends on the matrix alone, and the sums of the pieces
//! are added up in their order, so that results are the same on any number of threads.
//!
//! Over some columns of a sparse matrix (`of_columns`), only their entries are visited. If the columns are few and not too rare, they are
//! written out as dense blocks of samples: rows of these take less time than short lists, whose ends the processor cannot predict.

use crate::classifier::dense::{MOST_ROWS, gram};
use crate::classifier::objective::Classifier;
use crate::classifier::table::Columns;
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::arch;
use crate::numeric::padded;
use crate::numeric::ragged::{Entries, Id, Lists, NOWHERE, Value, combine, with_entries};
use crate::threads;
use pulp::{Simd, WithSimd};
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
/// Samples of a dense block of some columns, the most columns of one, and the most places of it per entry.
const BLOCK: usize = 64;
const MOST_IN_BLOCK: usize = 128;
const PLACES_PER_ENTRY: usize = 128;

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
        self.mirror(&mut matrix);
        matrix
    }

    /// The length of a padded row of the matrix.
    fn width(&self) -> usize {
        padded(self.size().max(1))
    }

    /// Copies the upper half of the matrix to its lower half.
    fn mirror(&self, matrix: &mut [f64]) {
        let size = self.size();
        for a in 0..size {
            for b in 0..a {
                matrix[a * size + b] = matrix[b * size + a];
            }
        }
    }

    /// `over` by way of the entries of the columns: all samples of a sparse matrix.
    pub fn of_columns(&self, diagonal: &[f64]) -> Vec<f64> {
        let lists = self.classifier.design.columns();
        let entries: usize = self.columns.iter().map(|&column| lists.range(column).len()).sum();
        let is_full = self.classifier.n_samples() * self.size() <= PLACES_PER_ENTRY * entries;
        let mut matrix = match is_full && self.size() <= MOST_IN_BLOCK {
            true => with_entries!(lists, all => self.of_blocks(all, entries, diagonal)),
            false => self.by_lists(diagonal),
        };
        if let Some(value) = self.classifier.intercept {
            matrix[self.size().pow(2) - 1] = value * value * diagonal.iter().sum::<f64>();
        }
        self.mirror(&mut matrix);
        matrix
    }

    /// The matrix but for the intercept's rows, block by block of samples: the sum over pieces of samples, whose number depends on that
    /// of the `entries` alone.
    fn of_blocks<I: Id, V: Value>(&self, all: Entries<'_, I, V>, entries: usize, diagonal: &[f64]) -> Vec<f64> {
        let n = self.classifier.n_samples();
        let piece = n.div_ceil((entries / PIECE).clamp(1, PIECES)).next_multiple_of(BLOCK);
        let pieces = (0..n).step_by(piece).map(|first| first..n.min(first + piece)).collect();
        let sums = threads::share(self.classifier.pool, pieces, |samples| {
            arch().dispatch(InBlocks { products: self, all, diagonal, samples })
        });
        let (size, width) = (self.size(), self.width());
        let mut matrix = vec![0.0; size * size];
        for sums in sums {
            for (row, sums) in matrix.chunks_exact_mut(size.max(1)).zip(sums.chunks_exact(width)) {
                row.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            }
        }
        matrix
    }

    /// The part of some samples in the matrix, as padded rows.
    #[inline(always)]
    fn in_blocks<S: Simd, I: Id, V: Value>(
        &self,
        simd: S,
        all: Entries<'_, I, V>,
        diagonal: &[f64],
        samples: Range<usize>,
    ) -> Aligned {
        let (lists, columns, width) = (self.classifier.design.columns(), self.columns, self.width());
        let (mut sums, mut block) = (Aligned::new(columns.len() * width, 0.0), Aligned::new(BLOCK * width, 0.0));
        if let Some(value) = self.classifier.intercept {
            block.iter_mut().skip(columns.len()).step_by(width).for_each(|entry| *entry = value);
        }
        // The entries of a block, one column after the other: row of the block, and diagonal * x. The samples of a column ascend.
        let (mut rows, mut products): (Vec<u16>, Vec<f64>) = (Vec::new(), Vec::new());
        let start = |&column: &usize| {
            let range = lists.range(column);
            range.start + all.ids[range].partition_point(|i| i.at() < samples.start)
        };
        let mut ends: Vec<(usize, usize)> = columns.iter().map(|column| (start(column), 0)).collect();
        for first in samples.clone().step_by(BLOCK) {
            let last = samples.end.min(first + BLOCK);
            rows.clear();
            products.clear();
            for (a, ((next, end), &column)) in ends.iter_mut().zip(columns).enumerate() {
                let rest = *next..lists.range(column).end;
                for (i, x) in all.ids[rest.clone()].iter().zip(&all.values[rest]) {
                    if i.at() >= last {
                        break;
                    }
                    let row = i.at() - first;
                    block[row * width + a] += x.get();
                    rows.push(row as u16);
                    products.push(diagonal[i.at()] * x.get());
                    *next += 1;
                }
                *end = rows.len();
            }
            let mut start = 0;
            for (sums, &(_, end)) in sums.chunks_exact_mut(width).zip(&ends) {
                combine(simd, &rows[start..end], &products[start..end], &block, sums);
                start = end;
            }
            let mut start = 0;
            for (a, &(_, end)) in ends.iter().enumerate() {
                rows[start..end].iter().for_each(|&row| block[row as usize * width + a] = 0.0);
                start = end;
            }
        }
        sums
    }

    /// The upper half of the matrix but for the intercept's entry, by lists of the columns of each sample.
    fn by_lists(&self, diagonal: &[f64]) -> Vec<f64> {
        let (classifier, columns, size) = (self.classifier, self.columns, self.size());
        let of_set = classifier.design.columns().select(columns.iter().copied());
        let (by_sample, mut matrix) = (of_set.transposed(), vec![0.0; size * size]);
        let rows = matrix.chunks_mut(size.max(1)).enumerate().take(columns.len()).collect();
        with_entries!(of_set, all => with_entries!(by_sample, samples => {
            threads::share(classifier.pool, rows, |(a, row)| {
                let (ids, values) = of_set.list(a, all);
                for (&i, x) in ids.iter().zip(values) {
                    let factor = diagonal[i.at()] * x.get();
                    let (others, values) = by_sample.list(i.at(), samples);
                    let entries = others.iter().zip(values).rev().take_while(|&(&b, _)| b.at() >= a);
                    entries.for_each(|(&b, y)| row[b.at()] += factor * y.get());
                    if let Some(value) = classifier.intercept {
                        row[columns.len()] += factor * value;
                    }
                }
            });
        }));
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

/// `Products::in_blocks`, for every instruction set.
struct InBlocks<'a, I, V> {
    products: &'a Products<'a>,
    all: Entries<'a, I, V>,
    diagonal: &'a [f64],
    samples: Range<usize>,
}

impl<I: Id, V: Value> WithSimd for InBlocks<'_, I, V> {
    type Output = Aligned;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Aligned {
        self.products.in_blocks(simd, self.all, self.diagonal, self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::matrix::Design;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Some rows of a sparse matrix with six columns, and the diagonal of D.
    fn rows() -> impl Strategy<Value = Vec<(Vec<(u32, f64)>, f64)>> {
        let value = prop_oneof![Just(1.0), -2.0..2.0];
        prop::collection::vec((prop::collection::vec((0..6u32, value), 0..5), 0.0..1.0), 1..3 * BLOCK)
    }

    fn classifier(rows: &[(Vec<(u32, f64)>, f64)], intercept: Option<f64>) -> Classifier {
        let entries = || rows.iter().flat_map(|(row, _)| row);
        let ends = rows.iter().scan(0, |end, (row, _)| {
            *end += row.len();
            Some(*end)
        });
        let (ids, values): (Vec<u32>, Vec<f64>) = entries().copied().unzip();
        let design = Arc::new(Design::new(ends.collect(), &ids, &values, 6).unwrap());
        let targets = (0..rows.len()).map(|i| i as u32 % 2).collect();
        Classifier::new(design, targets, Vec::new(), 2, (intercept, false), 2).unwrap()
    }

    proptest! {
        #[test]
        fn products_by_blocks_by_lists_and_by_rows_are_the_same(
            data in rows(), entries in 0..3 * PIECE, columns in prop::sample::subsequence(vec![0, 1, 2, 3, 4, 5], 0..=6), has_intercept: bool
        ) {
            let classifier = classifier(&data, has_intercept.then_some(0.7));
            let diagonal: Vec<f64> = data.iter().map(|&(_, d)| d).collect();
            let products = Products { classifier: &classifier, columns: &columns, stride: 1 };
            let lists = classifier.design.columns();
            let mut blocks = with_entries!(lists, all => products.of_blocks(all, entries, &diagonal));
            let mut by_lists = products.by_lists(&diagonal);
            let (chosen, by_rows) = (products.of_columns(&diagonal), products.over(&diagonal));
            for matrix in [&mut blocks, &mut by_lists] {
                if has_intercept {
                    *matrix.last_mut().unwrap() = *by_rows.last().unwrap();
                }
                products.mirror(matrix);
            }
            for matrix in [blocks, by_lists, chosen] {
                for (x, y) in matrix.iter().zip(&by_rows) {
                    prop_assert!((x - y).abs() < 1e-10, "{x} {y}");
                }
                prop_assert_eq!(matrix.len(), by_rows.len());
            }
        }
    }
}
