//! State features in an evaluation: adds weights to the scores of tokens, and marginals to the gradient.

use crate::chain::objective::layout::{Block, SentenceEntries, for_each_entry, reach};
use pulp::Simd;

/// The weights of state features as a trainer stores them.
pub(crate) struct Stored<'a, R: Read> {
    pub read: R,
    /// Dense rows, each `stride` after the one before.
    pub rows: &'a [f64],
    pub stride: usize,
    /// Weights of the features that are not in dense rows.
    pub cells: &'a [R::Cell],
    /// The index of the first of the `cells` among the state features.
    pub first_cell: usize,
}

/// How a weight is computed from its stored number or numbers.
pub(crate) trait Read: Copy {
    type Cell: Copy;

    fn cell(self, cell: Self::Cell) -> f64;

    /// The leading vectors of a dense row, and the numbers stored with them, `width` vectors further on.
    #[inline(always)]
    fn row<V>(self, row: &[V], vectors: usize, _width: usize) -> [&[V]; 2] {
        [&row[..vectors]; 2]
    }

    /// The weights of a dense row, from its vector and the vector stored with it.
    #[inline(always)]
    fn vector<S: Simd>(self, _simd: S, first: S::f64s, _second: S::f64s) -> S::f64s {
        first
    }
}

/// Weights stored as they are.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Read for Plain {
    type Cell = f64;

    #[inline(always)]
    fn cell(self, cell: f64) -> f64 {
        cell
    }
}

/// Weights stored unchanged, each followed by another number.
#[derive(Clone, Copy)]
pub(crate) struct First;

impl Read for First {
    type Cell = [f64; 2];

    #[inline(always)]
    fn cell(self, cell: [f64; 2]) -> f64 {
        cell[0]
    }
}

/// Weights stored as two numbers: a weight is the first number plus a factor times the second.
#[derive(Clone, Copy)]
pub(crate) struct Combined(pub f64);

impl Read for Combined {
    type Cell = [f64; 2];

    #[inline(always)]
    fn cell(self, cell: [f64; 2]) -> f64 {
        cell[0] + self.0 * cell[1]
    }

    #[inline(always)]
    fn row<V>(self, row: &[V], vectors: usize, width: usize) -> [&[V]; 2] {
        [&row[..vectors], &row[width..][..vectors]]
    }

    #[inline(always)]
    fn vector<S: Simd>(self, simd: S, first: S::f64s, second: S::f64s) -> S::f64s {
        simd.mul_add_e_f64s(simd.splat_f64s(self.0), second, first)
    }
}

/// Adds the weights of a sentence's entries to its scores, tokens x width.
#[inline(always)]
pub(crate) fn fill_scores<S: Simd, R: Read>(
    simd: S,
    stored: &Stored<'_, R>,
    block: &Block,
    sentence: usize,
    scores: &mut [f64],
    width: usize,
) {
    let &Stored { read, cells, first_cell, .. } = stored;
    let [one, two, three, more] = &block.rows;
    add_rows(simd, stored, one, sentence, scores, reach(0, width), width);
    add_rows(simd, stored, two, sentence, scores, reach(1, width), width);
    add_rows(simd, stored, three, sentence, scores, reach(2, width), width);
    add_rows(simd, stored, more, sentence, scores, reach(3, width), width);
    add_entries(read, &block.shared, sentence, cells, first_cell, scores);
    if !block.own.is_empty() {
        add_entries(read, &block.own, sentence, &cells[block.own_range.start - first_cell..], 0, scores);
    }
}

/// scores += value * row, for the entries of one kind of rows; the first `reach` labels of each row.
#[inline(always)]
fn add_rows<S: Simd, R: Read>(
    simd: S,
    stored: &Stored<'_, R>,
    entries: &SentenceEntries,
    sentence: usize,
    scores: &mut [f64],
    reach: usize,
    width: usize,
) {
    let (read, lanes) = (stored.read, S::F64_LANES);
    let (scores, _) = S::as_mut_simd_f64s(scores);
    let (rows, _) = S::as_simd_f64s(stored.rows);
    let (vectors, stride, width) = (reach / lanes, stored.stride / lanes, width / lanes);
    let (entries, values) = entries.of(sentence);
    for_each_entry!(
        entries,
        values,
        |(&id, &place)| {
            let scores = &mut scores[place as usize / lanes..][..vectors];
            let [first, second] = read.row(&rows[id as usize * stride..], vectors, width);
            for n in 0..vectors {
                scores[n] = simd.add_f64s(scores[n], read.vector(simd, first[n], second[n]));
            }
        },
        |value| {
            let scores = &mut scores[place as usize / lanes..][..vectors];
            let [first, second] = read.row(&rows[id as usize * stride..], vectors, width);
            let value = simd.splat_f64s(value);
            for n in 0..vectors {
                scores[n] = simd.mul_add_e_f64s(value, read.vector(simd, first[n], second[n]), scores[n]);
            }
        }
    );
}

/// gradient of a row += value * the marginals of its token, for all entries of a sentence that are rows; value^2 if `squared`.
/// Marginals are tokens x width.
#[inline(always)]
pub(super) fn spread_rows<S: Simd>(
    simd: S,
    block: &Block,
    sentence: usize,
    (marginals, squared): (&[f64], bool),
    width: usize,
    gradient: &mut [f64],
) {
    let (all, [one, two, three, more]) = ((marginals, squared), &block.rows);
    spread_reaching(simd, one, sentence, all, gradient, reach(0, width), width);
    spread_reaching(simd, two, sentence, all, gradient, reach(1, width), width);
    spread_reaching(simd, three, sentence, all, gradient, reach(2, width), width);
    spread_reaching(simd, more, sentence, all, gradient, reach(3, width), width);
}

/// `spread_rows` for the entries of one kind of rows; the first `reach` labels of each row.
#[inline(always)]
fn spread_reaching<S: Simd>(
    simd: S,
    entries: &SentenceEntries,
    sentence: usize,
    (marginals, squared): (&[f64], bool),
    gradient: &mut [f64],
    reach: usize,
    width: usize,
) {
    let lanes = S::F64_LANES;
    let (marginals, _) = S::as_simd_f64s(marginals);
    let (gradient, _) = S::as_mut_simd_f64s(gradient);
    let (vectors, stride) = (reach / lanes, width / lanes);
    let (entries, values) = entries.of(sentence);
    for_each_entry!(
        entries,
        values,
        |(&id, &place)| {
            let row = &mut gradient[id as usize * stride..][..vectors];
            let marginals = &marginals[place as usize / lanes..][..vectors];
            for n in 0..vectors {
                row[n] = simd.add_f64s(row[n], marginals[n]);
            }
        },
        |value| {
            let row = &mut gradient[id as usize * stride..][..vectors];
            let marginals = &marginals[place as usize / lanes..][..vectors];
            let value = simd.splat_f64s(if squared { value * value } else { value });
            for n in 0..vectors {
                row[n] = simd.mul_add_e_f64s(value, marginals[n], row[n]);
            }
        }
    );
}

/// scores += value * weight, for a sentence's entries of single features; cells[0] is the weight of feature `base`.
#[inline(always)]
fn add_entries<R: Read>(
    read: R,
    entries: &SentenceEntries,
    sentence: usize,
    cells: &[R::Cell],
    base: usize,
    scores: &mut [f64],
) {
    let (entries, values) = entries.of(sentence);
    for_each_entry!(
        entries,
        values,
        |(&id, &place)| scores[place as usize] += read.cell(cells[id as usize - base]),
        |value| scores[place as usize] += value * read.cell(cells[id as usize - base])
    );
}

/// gradient += value * marginal, for a sentence's entries of single features, or value^2 * marginal if `squared`; gradient[0]
/// belongs to feature `base`.
#[inline(always)]
pub(super) fn spread_entries(
    entries: &SentenceEntries,
    sentence: usize,
    (marginals, squared): (&[f64], bool),
    base: usize,
    gradient: &mut [f64],
) {
    let (entries, values) = entries.of(sentence);
    for_each_entry!(
        entries,
        values,
        |(&id, &place)| gradient[id as usize - base] += marginals[place as usize],
        |value| {
            let value = if squared { value * value } else { value };
            gradient[id as usize - base] += value * marginals[place as usize];
        }
    );
}
