//! Products of vectors and matrices in either precision, in rows padded to whole vectors. Compiled into their caller, which has been
//! dispatched to an instruction set.

use crate::numeric::in_tiles;
use pulp::Simd;

/// A number of single or double precision.
pub trait Number: Copy {
    type Vector<S: Simd>: Copy;
    const ZERO: Self;

    /// The vectors of a slice, whose length is a multiple of theirs.
    fn cut<S: Simd>(numbers: &[Self]) -> &[Self::Vector<S>];
    fn cut_mut<S: Simd>(numbers: &mut [Self]) -> &mut [Self::Vector<S>];
    fn splat<S: Simd>(simd: S, number: Self) -> Self::Vector<S>;
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn mul<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a b + c, rounded once where the processor has an instruction for it.
    fn mul_add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
}

macro_rules! number {
    ($number:ty, $vector:ident, $cut:ident, $cut_mut:ident, $splat:ident, $add:ident, $mul:ident, $mul_add:ident) => {
        impl Number for $number {
            type Vector<S: Simd> = S::$vector;
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn cut<S: Simd>(numbers: &[Self]) -> &[S::$vector] {
                S::$cut(numbers).0
            }

            #[inline(always)]
            fn cut_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::$vector] {
                S::$cut_mut(numbers).0
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, number: Self) -> S::$vector {
                simd.$splat(number)
            }

            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn mul<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }

            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$mul_add(a, b, c)
            }
        }
    };
}

number!(f32, f32s, as_simd_f32s, as_mut_simd_f32s, splat_f32s, add_f32s, mul_f32s, mul_add_e_f32s);
number!(f64, f64s, as_simd_f64s, as_mut_simd_f64s, splat_f64s, add_f64s, mul_f64s, mul_add_e_f64s);

/// out(i, j) += sum over t of a(t, i) * b(t, j), for i below `rows`; all three have rows of length `width`.
#[inline(always)]
pub fn transposed_product<S: Simd, T: Number>(simd: S, a: &[T], b: &[T], width: usize, rows: usize, out: &mut [T]) {
    let b = T::cut::<S>(b);
    let out = T::cut_mut::<S>(out);
    let stride = out.len() / rows;
    let mut row = 0;
    while row < rows {
        let mut at = 0;
        while at < stride {
            let tile = Tile { row, width, stride, at };
            match (rows - row >= 4, stride - at) {
                (true, 1) => tile.add::<S, T, 4, 1>(simd, a, b, out),
                (true, 2) => tile.add::<S, T, 4, 2>(simd, a, b, out),
                (true, _) => tile.add::<S, T, 4, 3>(simd, a, b, out),
                (false, 1) => tile.add::<S, T, 1, 1>(simd, a, b, out),
                (false, 2) => tile.add::<S, T, 1, 2>(simd, a, b, out),
                (false, _) => tile.add::<S, T, 1, 3>(simd, a, b, out),
            }
            at += 3;
        }
        row += if rows - row >= 4 { 4 } else { 1 };
    }
}

/// A part of the result that stays in registers over all tokens.
struct Tile {
    row: usize,
    width: usize,
    stride: usize,
    at: usize,
}

impl Tile {
    #[inline(always)]
    fn add<S: Simd, T: Number, const R: usize, const N: usize>(
        self,
        simd: S,
        a: &[T],
        b: &[T::Vector<S>],
        out: &mut [T::Vector<S>],
    ) {
        let Tile { row, width, stride, at } = self;
        let mut sums = [[T::splat(simd, T::ZERO); N]; R];
        for (a, b) in a.chunks_exact(width).zip(b.chunks_exact(stride)) {
            let (a, b) = (&a[row..row + R], &b[at..at + N]);
            for r in 0..R {
                let factor = T::splat(simd, a[r]);
                for n in 0..N {
                    sums[r][n] = T::mul_add(simd, factor, b[n], sums[r][n]);
                }
            }
        }
        for r in 0..R {
            let out = &mut out[(row + r) * stride + at..][..N];
            for n in 0..N {
                out[n] = T::add(simd, out[n], sums[r][n]);
            }
        }
    }
}

/// out = a * b * factor, element by element.
#[inline(always)]
pub fn multiply<S: Simd, T: Number>(simd: S, out: &mut [T], a: &[T], b: &[T], factor: T) {
    let factor = T::splat(simd, factor);
    let out = T::cut_mut::<S>(out);
    let a = T::cut::<S>(a);
    let b = T::cut::<S>(b);
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = T::mul(simd, T::mul(simd, a, factor), b);
    }
}

/// target *= a * factor, element by element.
#[inline(always)]
pub fn multiply_in_place<S: Simd, T: Number>(simd: S, target: &mut [T], a: &[T], factor: T) {
    let factor = T::splat(simd, factor);
    let target = T::cut_mut::<S>(target);
    let a = T::cut::<S>(a);
    for (target, &a) in target.iter_mut().zip(a) {
        *target = T::mul(simd, *target, T::mul(simd, a, factor));
    }
}

/// out(j) = sum over i of vector(i) * matrix(i, j); the matrix has rows as long as `out`.
#[inline(always)]
pub fn vector_matrix<S: Simd, T: Number>(simd: S, vector: &[T], matrix: &[T], out: &mut [T]) {
    let out = T::cut_mut::<S>(out);
    let matrix = T::cut::<S>(matrix);
    in_tiles!(out.len(), |at, N| tile::<S, T, N>(simd, vector, matrix, at, out));
}

/// N vectors of columns of a vector-matrix product, in registers. Even and odd rows add up apart, for shorter chains.
#[inline(always)]
fn tile<S: Simd, T: Number, const N: usize>(
    simd: S,
    vector: &[T],
    matrix: &[T::Vector<S>],
    at: usize,
    out: &mut [T::Vector<S>],
) {
    let mut even = [T::splat(simd, T::ZERO); N];
    let mut odd = even;
    let mut rows = matrix.chunks_exact(out.len());
    let mut values = vector.chunks_exact(2);
    for pair in &mut values {
        let (Some(first), Some(second)) = (rows.next(), rows.next()) else { break };
        let (first, second) = (&first[at..at + N], &second[at..at + N]);
        let (a, b) = (T::splat(simd, pair[0]), T::splat(simd, pair[1]));
        for n in 0..N {
            even[n] = T::mul_add(simd, a, first[n], even[n]);
            odd[n] = T::mul_add(simd, b, second[n], odd[n]);
        }
    }
    if let ([value], Some(row)) = (values.remainder(), rows.next()) {
        let value = T::splat(simd, *value);
        let row = &row[at..at + N];
        for n in 0..N {
            even[n] = T::mul_add(simd, value, row[n], even[n]);
        }
    }
    let out = &mut out[at..at + N];
    for n in 0..N {
        out[n] = T::add(simd, even[n], odd[n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::arch::{arch, simd_task};

    simd_task!(
        Both<'a>(a: &'a [f32], b: &'a [f32], rows: usize, product: &'a mut [f32], out: &'a mut [f32]) -> (),
        |simd| {
            let width = product.len();
            vector_matrix(simd, &a[..rows], b, product);
            transposed_product(simd, a, b, width, rows, out);
        }
    );

    #[test]
    fn products_in_single_precision_are_those_in_double_precision() {
        for (width, rows) in [(16, 3), (32, 22), (48, 41), (64, 59), (112, 100)] {
            let a: Vec<f32> = (0..rows * width).map(|k| ((k * 37 % 101) as f32 - 50.0) / 64.0).collect();
            let b: Vec<f32> = (0..rows * width).map(|k| ((k * 53 % 97) as f32 - 48.0) / 64.0).collect();
            let (mut product, mut out) = (vec![0.0; width], vec![1.0; rows * width]);
            arch().dispatch(Both(&a, &b, rows, &mut product, &mut out));
            for j in 0..width {
                let exact = |a: &dyn Fn(usize) -> f32| {
                    (0..rows).map(|t| f64::from(a(t)) * f64::from(b[t * width + j])).sum::<f64>()
                };
                assert!((f64::from(product[j]) - exact(&|t| a[t])).abs() < 1e-4);
                for i in 0..rows {
                    let sum = 1.0 + exact(&|t| a[t * width + i]);
                    assert!((f64::from(out[i * width + j]) - sum).abs() < 1e-4, "{width} {i} {j}");
                }
            }
        }
    }
}
