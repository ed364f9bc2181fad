//! Scores and derivatives for some of the interactions, pairs of columns, with samples side by side. An interaction costs two
//! passes over the samples of a chunk for its scores, and two for its derivative.

use crate::network::pseudolikelihood::samples::{CHUNK, Samples};
use crate::numeric::aligned::Aligned;
use crate::numeric::{self, LANES};
use pulp::{Simd, WithSimd};

/// A pair of columns.
#[derive(Clone, Copy)]
pub struct Interaction {
    pub columns: [u32; 2],
    /// Index of the weight in the vector of weights.
    pub weight: u32,
}

/// Pairs of columns, as a list and by column.
pub struct Interactions {
    /// By ascending feature.
    pub all: Vec<Interaction>,
    /// Column -> end of its neighbours.
    ends: Vec<u32>,
    /// Neighbours of column 0, then of column 1, and so on: the other column and the index of the weight.
    neighbours: Vec<(u32, u32)>,
}

impl Interactions {
    /// The given interactions, each a feature and the index of its weight, by ascending feature.
    pub fn new(samples: &Samples, interactions: impl Iterator<Item = (usize, usize)>) -> Interactions {
        let (d, mut a, mut all) = (samples.n_columns(), 0, Vec::new());
        let mut ends = vec![0u32; d];
        for (feature, weight) in interactions {
            while samples.row[a + 1] <= feature {
                a += 1;
            }
            let b = samples.behind(a).start + feature - samples.row[a];
            all.push(Interaction { columns: [a as u32, b as u32], weight: weight as u32 });
            ends[a] += 1;
            ends[b] += 1;
        }
        for column in 1..d {
            ends[column] += ends[column - 1];
        }
        let mut next: Vec<u32> = std::iter::once(0).chain(ends.iter().copied()).take(d).collect();
        let mut neighbours = vec![(0, 0); 2 * all.len()];
        for edge in &all {
            let [a, b] = edge.columns;
            for (of, other) in [(a, b), (b, a)] {
                let at = &mut next[of as usize];
                neighbours[*at as usize] = (other, edge.weight);
                *at += 1;
            }
        }
        Interactions { all, ends, neighbours }
    }

    /// The neighbours of a column: the other column and the index of the weight.
    fn of(&self, column: usize) -> &[(u32, u32)] {
        let start = if column == 0 { 0 } else { self.ends[column - 1] };
        &self.neighbours[start as usize..self.ends[column] as usize]
    }
}

/// Computes the scores of all columns in the samples of a chunk: singles + sum over neighbours of weight * values.
pub struct InteractionScores<'a> {
    pub samples: &'a Samples,
    pub chunk: usize,
    pub edges: &'a Interactions,
    pub w: &'a [f64],
    /// Column -> its own weight.
    pub singles: &'a [f64],
    /// Becomes the values of the columns with neighbours, n_columns x `CHUNK`.
    pub values: &'a mut Aligned,
    /// Becomes the scores, n_columns x `CHUNK`.
    pub out: &'a mut [f64],
}

/// Vectors that are summed side by side.
const SUMS: usize = 8;

impl WithSimd for InteractionScores<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let InteractionScores { samples, chunk, edges, w, singles, values, out } = self;
        values.resize(samples.n_columns() * CHUNK, 0.0);
        for (column, values) in values.chunks_exact_mut(CHUNK).enumerate() {
            if !edges.of(column).is_empty() {
                samples.values(chunk, column, values);
            }
        }
        for (column, out) in out.chunks_exact_mut(CHUNK).enumerate().take(samples.n_columns()) {
            let (out, _) = S::as_mut_simd_f64s(out);
            for (part, out) in out.as_chunks_mut::<SUMS>().0.iter_mut().enumerate() {
                let mut sums = [simd.splat_f64s(singles[column]); SUMS];
                for &(other, weight) in edges.of(column) {
                    let (values, _) = S::as_simd_f64s(&values[other as usize * CHUNK..][..CHUNK]);
                    let values = &values[part * SUMS..][..SUMS];
                    let weight = simd.splat_f64s(w[weight as usize]);
                    for k in 0..SUMS {
                        sums[k] = simd.mul_add_e_f64s(weight, values[k], sums[k]);
                    }
                }
                *out = sums;
            }
        }
    }
}

/// Adds to the gradient, for each interaction, the sum over the samples of a chunk of the values of either column times the
/// residuals of the other.
pub struct Derivatives<'a> {
    pub edges: &'a [Interaction],
    /// n_columns x `CHUNK`
    pub values: &'a [f64],
    /// n_columns x `CHUNK`
    pub residuals: &'a [f64],
    pub gradient: &'a mut [f64],
}

impl WithSimd for Derivatives<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Derivatives { edges, values, residuals, gradient } = self;
        for edge in edges {
            let [a, b] = edge.columns;
            // Sums of x q and of y r, each over the even and the odd groups of `LANES` samples, which need not wait for each other.
            let mut sums = [[simd.splat_f64s(0.0); LANES]; 4];
            let (x, y) = (groups(values, a), groups(values, b));
            let (r, q) = (groups(residuals, a), groups(residuals, b));
            for at in 0..x.len() {
                for parity in 0..2 {
                    let ((x, _), (q, _)) = (S::as_simd_f64s(&x[at][parity]), S::as_simd_f64s(&q[at][parity]));
                    let ((y, _), (r, _)) = (S::as_simd_f64s(&y[at][parity]), S::as_simd_f64s(&r[at][parity]));
                    for k in 0..LANES / S::F64_LANES {
                        sums[parity][k] = simd.mul_add_e_f64s(x[k], q[k], sums[parity][k]);
                        sums[2 + parity][k] = simd.mul_add_e_f64s(y[k], r[k], sums[2 + parity][k]);
                    }
                }
            }
            let [mut sum, odd, even_y, odd_y] = sums;
            for k in 0..LANES / S::F64_LANES {
                sum[k] = simd.add_f64s(simd.add_f64s(sum[k], odd[k]), simd.add_f64s(even_y[k], odd_y[k]));
            }
            gradient[edge.weight as usize] += numeric::across(simd, sum);
        }
    }
}

/// The part of a column in a matrix of n_columns x `CHUNK`, in pairs of `LANES` samples.
#[inline(always)]
fn groups(matrix: &[f64], column: u32) -> &[[[f64; LANES]; 2]] {
    matrix[column as usize * CHUNK..][..CHUNK].as_chunks().0.as_chunks().0
}
