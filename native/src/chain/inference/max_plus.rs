//! Products of a vector and a matrix in which a sum is a maximum and a product is a sum.

use crate::numeric::in_tiles;
use pulp::Simd;

/// The largest value and its place; the first place if there are several.
#[inline(always)]
pub(super) fn first_maximum(values: impl Iterator<Item = f64>) -> (usize, f64) {
    values.enumerate().fold((0, f64::NEG_INFINITY), |best, (at, value)| if value > best.1 { (at, value) } else { best })
}

/// out(j) = max over i of vector(i) + matrix(i, j).
#[inline(always)]
pub(super) fn max_plus<S: Simd>(simd: S, vector: &[f64], matrix: &[f64], out: &mut [f64]) {
    let (out, _) = S::as_mut_simd_f64s(out);
    let (matrix, _) = S::as_simd_f64s(matrix);
    in_tiles!(out.len(), |at, N| max_tile::<S, N>(simd, vector, matrix, at, out));
}

#[inline(always)]
fn max_tile<S: Simd, const N: usize>(simd: S, vector: &[f64], matrix: &[S::f64s], at: usize, out: &mut [S::f64s]) {
    // Rows of even and of odd number apart, for a maximum waits for the one before it.
    let mut best = [[simd.splat_f64s(f64::NEG_INFINITY); N]; 2];
    for (values, rows) in vector.chunks(2).zip(matrix.chunks(2 * out.len())) {
        for ((best, &value), row) in best.iter_mut().zip(values).zip(rows.chunks_exact(out.len())) {
            let value = simd.splat_f64s(value);
            let row = &row[at..at + N];
            for n in 0..N {
                best[n] = simd.max_f64s(best[n], simd.add_f64s(value, row[n]));
            }
        }
    }
    for n in 0..N {
        out[at + n] = simd.max_f64s(best[0][n], best[1][n]);
    }
}
