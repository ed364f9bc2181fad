//! The kernels of a classifier's objective over a dense matrix: scores, residuals and gradient in one pass over memory, and the
//! matrix X' D X.
//!
//! A pass goes block by block of rows. While the rows of a block are in the cache, their scores become residuals, and the
//! residuals become their part of the gradient. Each piece of rows has a gradient of its own; the gradients are added up in the
//! order of the pieces, so that results are the same on any number of threads.

use crate::classifier::residuals::{Classes, Purpose, logistic, softmax};
use crate::classifier::table::{Columns, Table, stride};
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::{arch, simd_task};
use crate::numeric::{LANES, across, padded};
use crate::threads::{self, Interrupt, Pool};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Most rows of a block.
pub const MOST_ROWS: usize = 64;
/// Numbers of a block, which stays in the first level of the cache together with what is read from memory meanwhile.
const CACHED: usize = 1 << 10;
/// Numbers of a piece of work with one output, and its fewest rows: each piece has a gradient, which takes the memory of a row.
/// With many outputs each number makes more work, and a piece has fewer of them.
const PIECE: usize = 1 << 17;
const FEWEST_ROWS: usize = 16;
/// Rows or columns whose sums are computed together.
const TOGETHER: usize = 8;

/// What a pass computes.
#[derive(Clone, Copy)]
pub enum Task<'a> {
    /// Scores.
    Scores,
    /// Residuals or probabilities from scores, and the sums of what comes out.
    Evaluation { targets: Classes<'a>, purpose: Purpose },
    /// The sums of the residuals that are given in place of scores.
    Gradient,
}

/// What a pass over some rows adds up.
pub struct Sums {
    /// The negative log-likelihood.
    pub nll: f64,
    /// The sums of the residuals of each output.
    pub residuals: Vec<f64>,
    /// X' residuals, a padded row of outputs for each column.
    pub gradient: Aligned,
}

/// A pass over a matrix.
pub struct Pass<'a> {
    pub table: &'a Table,
    /// Length of a padded row of outputs; 1 with one output.
    pub width: usize,
    pub task: Task<'a>,
    pub pool: Pool,
}

impl Pass<'_> {
    /// Makes the pass. `w` is a row of outputs for each column, `intercept` what each output begins with. `out` is a padded row of
    /// outputs for each row of the matrix, and becomes scores, residuals or probabilities; `scores`, unless it is empty, become the
    /// scores in any case.
    pub fn run(
        &self,
        w: &[f64],
        intercept: &[f64],
        (out, scores): (&mut [f64], &mut [f64]),
        interrupt: &Interrupt,
    ) -> Sums {
        let (width, n_rows, n_columns) = (self.width, self.table.n_rows(), self.table.n_columns());
        let stride = stride(n_columns);
        let mut padded_intercept = Aligned::new(width, 0.0);
        padded_intercept[..intercept.len()].copy_from_slice(intercept);
        let mut weights = Aligned::new(stride * width, 0.0);
        let rows_of_w = w.chunks_exact(intercept.len().max(1));
        weights.chunks_exact_mut(width).zip(rows_of_w).for_each(|(row, w)| row[..w.len()].copy_from_slice(w));
        let size =
            (PIECE / width.min(LANES) / stride).max(FEWEST_ROWS).max(TOGETHER * width).next_multiple_of(height(stride));
        let (rows, mut scores) = ((0..n_rows).step_by(size), scores.chunks_mut(size * width));
        let pieces = rows.zip(out.chunks_mut(size * width)).map(|(first, out)| (first, out, scores.next())).collect();
        let parts = threads::share(self.pool, pieces, |(start, out, scores)| {
            let rows = start..n_rows.min(start + size);
            let piece = Piece { pass: self, weights: &weights, intercept: &padded_intercept, rows, out, scores };
            if interrupt.is_set() { self.nothing() } else { arch().dispatch(piece) }
        });
        parts.into_iter().fold(self.nothing(), |mut sums, part| {
            sums.nll += part.nll;
            sums.residuals.iter_mut().zip(&part.residuals).for_each(|(sum, part)| *sum += part);
            sums.gradient.iter_mut().zip(&*part.gradient).for_each(|(sum, part)| *sum += part);
            sums
        })
    }

    /// Sums of no rows. There is a gradient only of residuals.
    fn nothing(&self) -> Sums {
        let of_residuals = match self.task {
            Task::Scores => false,
            Task::Evaluation { purpose, .. } => purpose == Purpose::Residuals,
            Task::Gradient => true,
        };
        let n = if of_residuals { stride(self.table.n_columns()) * self.width } else { 0 };
        Sums { nll: 0.0, residuals: vec![0.0; self.width], gradient: Aligned::new(n, 0.0) }
    }
}

/// Rows of a block whose rows have this length.
fn height(stride: usize) -> usize {
    (CACHED / stride).clamp(TOGETHER, MOST_ROWS) / TOGETHER * TOGETHER
}

/// A pass over a piece of the rows.
struct Piece<'a> {
    pass: &'a Pass<'a>,
    /// A padded row of outputs for each column, and zeros up to `stride` rows.
    weights: &'a [f64],
    /// A padded row of outputs.
    intercept: &'a [f64],
    rows: Range<usize>,
    /// A padded row of outputs for each of the rows.
    out: &'a mut [f64],
    /// Likewise for the scores, if they are asked for.
    scores: Option<&'a mut [f64]>,
}

impl WithSimd for Piece<'_> {
    type Output = Sums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums {
        let Piece { pass, weights, intercept, rows, out, scores: mut all_scores } = self;
        let start = rows.start;
        let (width, table) = (pass.width, pass.table);
        let (stride, mut sums) = (stride(table.n_columns()), pass.nothing());
        let height = height(stride);
        let mut copy = Aligned::new(height * stride, 0.0);
        for (first, out) in rows.step_by(height).zip(out.chunks_mut(height * width)) {
            let rows = first..first + out.len() / width;
            // The copy reads memory in the order in which it lies there, which is three times as fast as four rows at a time.
            Columns::all(table, None).copy(simd, rows.clone(), 0..table.n_columns(), stride, &mut copy);
            let block = Rows { numbers: &copy[..rows.len() * stride], length: stride };
            if !matches!(pass.task, Task::Gradient) {
                if width == 1 {
                    scores(simd, block, weights, intercept, out);
                } else {
                    rows_of_scores(simd, block, weights, intercept, out);
                }
            }
            if let Some(all_scores) = &mut all_scores {
                all_scores[(first - start) * width..][..out.len()].copy_from_slice(out);
            }
            if let Task::Evaluation { targets, purpose } = pass.task {
                sums.nll += match width {
                    1 => logistic(simd, targets, first, out, purpose),
                    _ => softmax(simd, targets, first, out, width, purpose),
                };
            }
            match width {
                _ if sums.gradient.is_empty() => {}
                1 => add_rows(simd, block, out, &mut sums.gradient),
                _ => add_outer(simd, block, out, width, &mut sums.gradient),
            }
            for row in out.chunks_exact(width) {
                for (sum, residual) in sums.residuals.iter_mut().zip(row) {
                    *sum += residual;
                }
            }
        }
        sums
    }
}

/// Rows of a block.
#[derive(Clone, Copy)]
struct Rows<'a> {
    numbers: &'a [f64],
    /// Numbers of a row, padding included.
    length: usize,
}

impl<'a> Rows<'a> {
    /// N rows from row `first` on.
    #[inline(always)]
    fn group<const N: usize>(self, first: usize) -> [&'a [f64]; N] {
        let mut group = [&self.numbers[..0]; N];
        for k in 0..N {
            group[k] = &self.numbers[(first + k) * self.length..][..self.length];
        }
        group
    }
}

/// Evaluates an expression for groups of rows: `TOGETHER` at a time, then one by one. `$first` is the first row of a group, the
/// constant `$n` their number.
macro_rules! in_groups {
    ($rows:expr, |$first:ident, $n:ident| $work:expr) => {{
        let (rows, mut $first) = ($rows, 0);
        while $first + TOGETHER <= rows {
            const $n: usize = TOGETHER;
            $work;
            $first += TOGETHER;
        }
        while $first < rows {
            const $n: usize = 1;
            $work;
            $first += 1;
        }
    }};
}

/// Evaluates an expression for vectors two at a time, the last one by itself if it is alone: with a group of rows they fill the
/// registers. `$at` is the first vector, the constant `$n` their number.
macro_rules! in_pairs {
    ($vectors:expr, |$at:ident, $n:ident| $work:expr) => {{
        let (vectors, mut $at) = ($vectors, 0);
        while $at < vectors {
            if vectors - $at == 1 {
                const $n: usize = 1;
                $work
            } else {
                const $n: usize = 2;
                $work
            }
            $at += 2;
        }
    }};
}

/// One output: out[i] = row i . w + intercept. Rows are whole `LANES`, and are added up in this order by vectors of every width.
#[inline(always)]
fn scores<S: Simd>(simd: S, rows: Rows<'_>, w: &[f64], intercept: &[f64], out: &mut [f64]) {
    match LANES / S::F64_LANES {
        1 => scores_of::<S, 1>(simd, rows, w, intercept, out),
        2 => scores_of::<S, 2>(simd, rows, w, intercept, out),
        4 => scores_of::<S, 4>(simd, rows, w, intercept, out),
        _ => scores_of::<S, LANES>(simd, rows, w, intercept, out),
    }
}

/// `scores` where V vectors have `LANES` numbers.
#[inline(always)]
fn scores_of<S: Simd, const V: usize>(simd: S, rows: Rows<'_>, w: &[f64], intercept: &[f64], out: &mut [f64]) {
    let (w, _) = S::as_simd_f64s(w);
    let intercept = intercept.iter().sum::<f64>();
    in_groups!(out.len(), |first, N| {
        let vectors = rows.group::<N>(first).map(|row| S::as_simd_f64s(row).0);
        let mut sums = [[simd.splat_f64s(0.0); V]; N];
        for at in (0..w.len()).step_by(V) {
            for k in 0..N {
                for v in 0..V {
                    sums[k][v] = simd.mul_add_e_f64s(vectors[k][at + v], w[at + v], sums[k][v]);
                }
            }
        }
        for k in 0..N {
            out[first + k] = across(simd, sums[k]) + intercept;
        }
    });
}

/// Several outputs: row i of out = row i . w + intercept, where w is a row of outputs for each column.
#[inline(always)]
fn rows_of_scores<S: Simd>(simd: S, rows: Rows<'_>, w: &[f64], intercept: &[f64], out: &mut [f64]) {
    let ((w, _), (intercept, _), (out, _)) = (S::as_simd_f64s(w), S::as_simd_f64s(intercept), S::as_mut_simd_f64s(out));
    let vectors = intercept.len();
    in_groups!(out.len() / vectors, |first, N| {
        let group = rows.group::<N>(first);
        in_pairs!(vectors, |at, M| {
            let mut sums = [[simd.splat_f64s(0.0); M]; N];
            for k in 0..N {
                sums[k].copy_from_slice(&intercept[at..at + M]);
            }
            for column in 0..rows.length {
                let w = &w[column * vectors + at..][..M];
                for k in 0..N {
                    let x = simd.splat_f64s(group[k][column]);
                    for m in 0..M {
                        sums[k][m] = simd.mul_add_e_f64s(x, w[m], sums[k][m]);
                    }
                }
            }
            for k in 0..N {
                out[(first + k) * vectors + at..][..M].copy_from_slice(&sums[k]);
            }
        });
    });
}

/// One output: sums += the rows, each times its residual.
#[inline(always)]
fn add_rows<S: Simd>(simd: S, rows: Rows<'_>, residuals: &[f64], sums: &mut [f64]) {
    in_groups!(residuals.len(), |first, N| {
        let group = rows.group::<N>(first);
        let vectors = group.map(|row| S::as_simd_f64s(row).0);
        let mut factors = [simd.splat_f64s(0.0); N];
        for k in 0..N {
            factors[k] = simd.splat_f64s(residuals[first + k]);
        }
        let (totals, _) = S::as_mut_simd_f64s(sums);
        for at in 0..vectors[0].len() {
            let mut total = totals[at];
            for k in 0..N {
                total = simd.mul_add_e_f64s(factors[k], vectors[k][at], total);
            }
            totals[at] = total;
        }
    });
}

/// Several outputs: row j of sums += the residuals of the rows, each times number j of the row.
#[inline(always)]
fn add_outer<S: Simd>(simd: S, rows: Rows<'_>, residuals: &[f64], width: usize, sums: &mut [f64]) {
    let ((sums, _), (residuals, _)) = (S::as_mut_simd_f64s(sums), S::as_simd_f64s(residuals));
    let vectors = width / S::F64_LANES;
    in_groups!(residuals.len() / vectors, |first, N| {
        let group = rows.group::<N>(first);
        in_pairs!(vectors, |at, M| {
            let mut factors = [[simd.splat_f64s(0.0); M]; N];
            for k in 0..N {
                factors[k].copy_from_slice(&residuals[(first + k) * vectors + at..][..M]);
            }
            for column in 0..rows.length {
                let (to, mut totals) = (&mut sums[column * vectors + at..][..M], [simd.splat_f64s(0.0); M]);
                totals.copy_from_slice(to);
                for k in 0..N {
                    let x = simd.splat_f64s(group[k][column]);
                    for m in 0..M {
                        totals[m] = simd.mul_add_e_f64s(x, factors[k][m], totals[m]);
                    }
                }
                to.copy_from_slice(&totals);
            }
        });
    });
}

/// Columns of a block of X' D X.
const TILE: usize = 128;
/// Numbers in the blocks of X' D X of all pieces of rows together: more pieces keep more threads busy and take more memory.
const MOST_PARTS: usize = 1 << 21;
/// Most pieces of rows, and the products of the smallest.
const PIECES: usize = 16;
const FEW_PRODUCTS: usize = 1 << 22;

/// The matrix X' D X over some columns, row after row, where `diagonal` is that of D. The sum runs over one of `stride` blocks of
/// rows, the first and every `stride`-th one.
pub fn gram(columns: Columns<'_>, diagonal: &[f64], stride: usize, pool: Pool) -> Vec<f64> {
    let (size, n_rows) = (columns.count(), columns.table.n_rows());
    let n_pieces =
        (MOST_PARTS / (size * size).max(1)).min(n_rows / stride * size * size / FEW_PRODUCTS).clamp(1, PIECES);
    let tiles = size.div_ceil(TILE);
    let per_piece = n_rows.div_ceil(n_pieces).next_multiple_of(MOST_ROWS * stride);
    let blocks = || (0..tiles).flat_map(|a| (a..tiles).map(move |b| (a, b)));
    let work = (0..n_rows).step_by(per_piece).flat_map(|first| {
        blocks().map(move |tiles| Block {
            columns,
            diagonal,
            stride,
            rows: first..n_rows.min(first + per_piece),
            tiles,
        })
    });
    let parts = threads::share(pool, work.collect(), |block| arch().dispatch(block));
    let mut matrix = vec![0.0; size * size];
    for (part, (a, b)) in parts.iter().zip(blocks().cycle()) {
        let n = TILE.min(size - b * TILE);
        for (i, row) in part.chunks_exact(padded(n)).enumerate().take(size - a * TILE.min(size)) {
            let to = &mut matrix[(a * TILE + i) * size + b * TILE..][..n];
            to.iter_mut().zip(row).for_each(|(sum, part)| *sum += part);
        }
    }
    for a in 0..size {
        for b in a..size {
            matrix[b * size + a] = matrix[a * size + b];
        }
    }
    matrix
}

/// A block of X' D X, summed over some rows.
struct Block<'a> {
    columns: Columns<'a>,
    diagonal: &'a [f64],
    stride: usize,
    rows: Range<usize>,
    /// Numbers of the tiles of columns, the rows of the block first.
    tiles: (usize, usize),
}

impl WithSimd for Block<'_> {
    type Output = Aligned;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Aligned {
        let Block { columns, diagonal, stride, rows, tiles } = self;
        let places = |tile: usize| tile * TILE..columns.count().min((tile + 1) * TILE);
        let (left, right) = (places(tiles.0), places(tiles.1));
        let (height, width) = (padded(left.len()), padded(right.len()));
        let mut sums = Aligned::new(height * width, 0.0);
        let (mut a, mut b) = (Aligned::new(MOST_ROWS * height, 0.0), Aligned::new(MOST_ROWS * width, 0.0));
        for first in rows.clone().step_by(MOST_ROWS * stride) {
            let block = first..rows.end.min(first + MOST_ROWS);
            let n = block.len();
            columns.copy(simd, block.clone(), right.clone(), width, &mut b);
            if tiles.0 == tiles.1 {
                a[..n * height].copy_from_slice(&b[..n * width]);
            } else {
                columns.copy(simd, block.clone(), left.clone(), height, &mut a);
            }
            for (row, &d) in a.chunks_exact_mut(height).zip(&diagonal[block]) {
                row.iter_mut().for_each(|x| *x *= d);
            }
            let b = (S::as_simd_f64s(&b[..n * width]).0, width / S::F64_LANES);
            add_products(simd, (&a[..n * height], height), b, tiles.0 == tiles.1, &mut sums);
        }
        sums
    }
}

/// Adds a' b to a block of sums, where rows of a are `height` long, and those of b and of the sums `vectors` vectors. If the sums are
/// symmetric, those below the diagonal are left out.
#[inline(always)]
fn add_products<S: Simd>(
    simd: S,
    (a, height): (&[f64], usize),
    (b, vectors): (&[S::f64s], usize),
    is_symmetric: bool,
    sums: &mut [f64],
) {
    let (sums, _) = S::as_mut_simd_f64s(sums);
    in_pairs!(vectors, |at, M| {
        let end = if is_symmetric { height.min((at + M) * S::F64_LANES) } else { height };
        for first in (0..end).step_by(TOGETHER) {
            if is_symmetric && M == 2 && first >= (at + 1) * S::F64_LANES {
                add_tile::<S, 1>(simd, (a, height), (b, vectors), (first, at + 1), sums);
            } else {
                add_tile::<S, M>(simd, (a, height), (b, vectors), (first, at), sums);
            }
        }
    });
}

/// Adds a' b to a tile of the sums: `TOGETHER` rows of M vectors.
#[inline(always)]
fn add_tile<S: Simd, const M: usize>(
    simd: S,
    (a, height): (&[f64], usize),
    (b, vectors): (&[S::f64s], usize),
    (first, at): (usize, usize),
    sums: &mut [S::f64s],
) {
    let mut totals = [[simd.splat_f64s(0.0); M]; TOGETHER];
    for k in 0..TOGETHER {
        totals[k].copy_from_slice(&sums[(first + k) * vectors + at..][..M]);
    }
    for (a, b) in a.chunks_exact(height).zip(b.chunks_exact(vectors)) {
        let (a, b) = (&a[first..][..TOGETHER], &b[at..][..M]);
        for k in 0..TOGETHER {
            let x = simd.splat_f64s(a[k]);
            for m in 0..M {
                totals[k][m] = simd.mul_add_e_f64s(x, b[m], totals[k][m]);
            }
        }
    }
    for k in 0..TOGETHER {
        sums[(first + k) * vectors + at..][..M].copy_from_slice(&totals[k]);
    }
}

/// The sum over rows of weight x^2 for each column, without the intercept, and the largest |x|.
pub fn norms(table: &Table, weight: impl Fn(usize) -> f64 + Sync, pool: Pool) -> (Vec<f64>, Vec<f64>) {
    let (columns, stride) = (Columns::all(table, None), stride(table.n_columns()));
    let height = height(stride);
    let size = (PIECE / stride).max(FEWEST_ROWS).next_multiple_of(height);
    let pieces = (0..table.n_rows()).step_by(size).map(|first| first..table.n_rows().min(first + size)).collect();
    let parts = threads::share(pool, pieces, |rows: Range<usize>| {
        let (mut squares, mut largest) = (vec![0.0; table.n_columns()], vec![0.0f64; table.n_columns()]);
        let mut block = Aligned::new(height * stride, 0.0);
        for first in rows.clone().step_by(height) {
            let end = rows.end.min(first + height);
            arch().dispatch(Copied(columns, first..end, stride, &mut block));
            for (row, x) in (first..end).zip(block.chunks_exact(stride)) {
                let weight = weight(row);
                for ((square, largest), &x) in squares.iter_mut().zip(&mut largest).zip(x) {
                    *square += weight * x * x;
                    *largest = largest.max(x.abs());
                }
            }
        }
        (squares, largest)
    });
    let zeros = (vec![0.0; table.n_columns()], vec![0.0; table.n_columns()]);
    parts.into_iter().fold(zeros, |(mut squares, mut largest), part| {
        squares.iter_mut().zip(part.0).for_each(|(sum, part)| *sum += part);
        largest.iter_mut().zip(part.1).for_each(|(most, part): (&mut f64, f64)| *most = most.max(part));
        (squares, largest)
    })
}

simd_task!(
    /// A block of rows, copied.
    pub Copied<'a>(columns: Columns<'a>, rows: Range<usize>, stride: usize, out: &'a mut [f64]) -> (),
    |simd| columns.copy(simd, rows, 0..columns.count(), stride, out)
);

#[cfg(test)]
mod tests;
