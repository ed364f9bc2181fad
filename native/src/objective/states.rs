//! State features in an evaluation: from weights to the scores of tokens, and from marginals to the gradient.

use super::layout::{Block, Entries};
use pulp::Simd;
use std::ops::Range;

/// State weights as a trainer stores them.
pub(crate) struct Stored<'a, R: Read> {
    pub read: R,
    /// Dense rows, `stride` apart.
    pub rows: &'a [f64],
    pub stride: usize,
    /// Sparse features.
    pub cells: &'a [R::Cell],
    /// Where `cells` starts among the state features.
    pub first_cell: usize,
}

/// How weights are read off what is stored of them.
pub(crate) trait Read: Copy {
    type Cell: Copy;

    fn cell(self, cell: Self::Cell) -> f64;

    /// N vectors of weights of a dense row, from `at` on; a second number is stored `width` after the first.
    #[inline(always)]
    fn row<S: Simd, const N: usize>(self, _simd: S, rows: &[S::f64s], at: usize, _width: usize) -> [S::f64s; N] {
        *rows[at..].first_chunk().expect("rows are whole")
    }
}

/// Nothing but weights.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Read for Plain {
    type Cell = f64;

    #[inline(always)]
    fn cell(self, cell: f64) -> f64 {
        cell
    }
}

/// Weights, with another number beside each.
#[derive(Clone, Copy)]
pub(crate) struct First;

impl Read for First {
    type Cell = [f64; 2];

    #[inline(always)]
    fn cell(self, cell: [f64; 2]) -> f64 {
        cell[0]
    }
}

/// Weights that are the first number plus the factor times the second.
#[derive(Clone, Copy)]
pub(crate) struct Combined(pub f64);

impl Read for Combined {
    type Cell = [f64; 2];

    #[inline(always)]
    fn cell(self, cell: [f64; 2]) -> f64 {
        cell[0] + self.0 * cell[1]
    }

    #[inline(always)]
    fn row<S: Simd, const N: usize>(self, simd: S, rows: &[S::f64s], at: usize, width: usize) -> [S::f64s; N] {
        let factor = simd.splat_f64s(self.0);
        let first: &[S::f64s; N] = rows[at..].first_chunk().expect("rows are whole");
        let second: &[S::f64s; N] = rows[at + width..].first_chunk().expect("rows are whole");
        std::array::from_fn(|n| simd.mul_add_e_f64s(factor, second[n], first[n]))
    }
}

/// Scores of the states of a sentence, `width` to a token.
#[inline(always)]
pub(crate) fn fill_scores<S: Simd, R: Read>(
    simd: S,
    stored: &Stored<'_, R>,
    block: &Block,
    tokens: Range<usize>,
    scores: &mut [f64],
    width: usize,
) {
    let &Stored { read, cells, first_cell, .. } = stored;
    let own = &cells[block.own_range.start - first_cell..];
    for (token, scores) in tokens.zip(scores.chunks_exact_mut(width)) {
        add_rows(simd, &block.rows, token, stored, scores);
        add_entries(read, &block.shared, token, cells, first_cell, scores);
        if !block.own.is_empty() {
            add_entries(read, &block.own, token, own, 0, scores);
        }
    }
}

/// scores += the token's rows, times their values if there are any.
#[inline(always)]
fn add_rows<S: Simd, R: Read>(simd: S, entries: &Entries, token: usize, stored: &Stored<'_, R>, scores: &mut [f64]) {
    let range = entries.range(token);
    let ids = &entries.ids[range.clone()];
    let values = if entries.values.is_empty() { &[] } else { &entries.values[range] };
    let width = scores.len();
    let (scores, _) = S::as_mut_simd_f64s(scores);
    let stride = scores.len() * (stored.stride / width);
    let (rows, _) = S::as_simd_f64s(stored.rows);
    let table = Table { read: stored.read, rows, stride };
    let mut at = 0;
    while at < scores.len() {
        match scores.len() - at {
            1 => table.add::<S, 1>(simd, ids, values, at, scores),
            2 => table.add::<S, 2>(simd, ids, values, at, scores),
            3 => table.add::<S, 3>(simd, ids, values, at, scores),
            _ => table.add::<S, 4>(simd, ids, values, at, scores),
        }
        at += 4;
    }
}

/// Dense rows as vectors.
struct Table<'a, R: Read, V> {
    read: R,
    rows: &'a [V],
    stride: usize,
}

impl<R: Read, V> Table<'_, R, V> {
    /// N vectors of columns of a sum of rows, in registers.
    #[inline(always)]
    fn add<S: Simd<f64s = V>, const N: usize>(&self, simd: S, ids: &[u32], values: &[f64], at: usize, scores: &mut [V])
    where
        V: Copy,
    {
        let width = scores.len();
        let scores = &mut scores[at..at + N];
        let mut sums = [simd.splat_f64s(0.0); N];
        sums.copy_from_slice(scores);
        if values.is_empty() {
            for &id in ids {
                let row: [V; N] = self.read.row(simd, self.rows, id as usize * self.stride + at, width);
                for n in 0..N {
                    sums[n] = simd.add_f64s(sums[n], row[n]);
                }
            }
        } else {
            for (&id, &value) in ids.iter().zip(values) {
                let row: [V; N] = self.read.row(simd, self.rows, id as usize * self.stride + at, width);
                let value = simd.splat_f64s(value);
                for n in 0..N {
                    sums[n] = simd.mul_add_e_f64s(value, row[n], sums[n]);
                }
            }
        }
        scores.copy_from_slice(&sums);
    }
}

/// The gradient of the token's rows += marginals.
#[inline(always)]
pub(super) fn spread_rows<S: Simd>(simd: S, entries: &Entries, token: usize, marginals: &[f64], rows: &mut [f64]) {
    let range = entries.range(token);
    let ids = &entries.ids[range.clone()];
    let values = if entries.values.is_empty() { &[] } else { &entries.values[range] };
    let (marginals, _) = S::as_simd_f64s(marginals);
    let (rows, _) = S::as_mut_simd_f64s(rows);
    let stride = marginals.len();
    let mut at = 0;
    while at < stride {
        match stride - at {
            1 => spread_vectors::<S, 1>(simd, ids, values, &marginals[at..], stride, &mut rows[at..]),
            2 => spread_vectors::<S, 2>(simd, ids, values, &marginals[at..], stride, &mut rows[at..]),
            3 => spread_vectors::<S, 3>(simd, ids, values, &marginals[at..], stride, &mut rows[at..]),
            _ => spread_vectors::<S, 4>(simd, ids, values, &marginals[at..], stride, &mut rows[at..]),
        }
        at += 4;
    }
}

/// N vectors of columns of the same, with the marginals in registers.
#[inline(always)]
fn spread_vectors<S: Simd, const N: usize>(
    simd: S,
    ids: &[u32],
    values: &[f64],
    marginals: &[S::f64s],
    stride: usize,
    rows: &mut [S::f64s],
) {
    let mut from = [simd.splat_f64s(0.0); N];
    from.copy_from_slice(&marginals[..N]);
    if values.is_empty() {
        for &id in ids {
            let row = &mut rows[id as usize * stride..][..N];
            for n in 0..N {
                row[n] = simd.add_f64s(row[n], from[n]);
            }
        }
    } else {
        for (&id, &value) in ids.iter().zip(values) {
            let (row, value) = (&mut rows[id as usize * stride..][..N], simd.splat_f64s(value));
            for n in 0..N {
                row[n] = simd.mul_add_e_f64s(value, from[n], row[n]);
            }
        }
    }
}

/// scores(label) += weight of each of the token's entries; cells[0] is that of the entry `base`.
#[inline(always)]
fn add_entries<R: Read>(read: R, entries: &Entries, token: usize, cells: &[R::Cell], base: usize, scores: &mut [f64]) {
    let range = entries.range(token);
    let pairs = entries.ids[range.clone()].iter().zip(&entries.labels[range.clone()]);
    if entries.values.is_empty() {
        for (&id, &label) in pairs {
            scores[usize::from(label)] += read.cell(cells[id as usize - base]);
        }
    } else {
        for ((&id, &label), &value) in pairs.zip(&entries.values[range]) {
            scores[usize::from(label)] += value * read.cell(cells[id as usize - base]);
        }
    }
}

/// The gradient of each of the token's entries += marginal(label).
#[inline(always)]
pub(super) fn spread_entries(entries: &Entries, token: usize, marginals: &[f64], base: usize, gradient: &mut [f64]) {
    let range = entries.range(token);
    let pairs = entries.ids[range.clone()].iter().zip(&entries.labels[range.clone()]);
    if entries.values.is_empty() {
        for (&id, &label) in pairs {
            gradient[id as usize - base] += marginals[usize::from(label)];
        }
    } else {
        for ((&id, &label), &value) in pairs.zip(&entries.values[range]) {
            gradient[id as usize - base] += value * marginals[usize::from(label)];
        }
    }
}
