//! Elementary functions and loops over vectors, compiled for every instruction set and chosen at run time.
//!
//! Every function of this file is `inline(always)` and generic over `pulp::Simd`: it is compiled into its caller, which has been
//! dispatched to an instruction set.
//!
//! Length: the file has 400 lines because a third of them test each function on each instruction set.

pub mod aligned;
pub mod arch;
pub mod chunks;
pub mod moments;
pub mod powers;
pub mod products;
pub mod ragged;
pub mod random;
pub mod single;
pub mod store;
pub mod strengths;
pub mod vectors;

use pulp::Simd;

/// Numbers to a multiple of which rows are padded: the width of the widest vectors.
pub const LANES: usize = 8;

/// The length of a row of n numbers with its padding.
pub fn padded(n: usize) -> usize {
    n.div_ceil(LANES) * LANES
}

/// Evaluates an expression for tiles of vectors, which stay in registers: four at a time, then the rest. `$at` is the place of a
/// tile's first vector, the constant `$n` their number.
macro_rules! in_tiles {
    ($vectors:expr, |$at:ident, $n:ident| $work:expr) => {{
        let (vectors, mut $at) = ($vectors, 0);
        while $at < vectors {
            match vectors - $at {
                1 => in_tiles!($n = 1, $work),
                2 => in_tiles!($n = 2, $work),
                3 => in_tiles!($n = 3, $work),
                _ => in_tiles!($n = 4, $work),
            }
            $at += 4;
        }
    }};
    ($n:ident = $value:literal, $work:expr) => {{
        const $n: usize = $value;
        $work
    }};
}
pub(crate) use in_tiles;

/// Transposes eight rows of eight numbers: `columns[j][i]` is `rows[i][j]`.
#[inline(always)]
pub fn transpose<S: Simd>(_simd: S, rows: [&[f64; 8]; 8]) -> [[f64; 8]; 8] {
    let mut columns = [[0.0; 8]; 8];
    #[cfg(target_arch = "x86_64")]
    {
        if S::F64_LANES == 8 {
            // SAFETY: `pulp` has vectors of eight doubles only on processors with AVX-512.
            unsafe { x86::transpose_by_8(rows, &mut columns) };
            return columns;
        }
        if S::F64_LANES == 4 {
            // SAFETY: `pulp` has vectors of four doubles only on processors with AVX.
            unsafe { x86::transpose_by_4(rows, &mut columns) };
            return columns;
        }
    }
    for (i, row) in rows.into_iter().enumerate() {
        for j in 0..8 {
            columns[j][i] = row[j];
        }
    }
    columns
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Transposes by 128-bit quarters. `unpacklo` of rows 2 i and 2 i + 1 holds their columns 0, 2, 4, 6, one a quarter;
    /// `unpackhi` their columns 1, 3, 5, 7. Quarter q of the four unpacked vectors, joined, is column 2 q or 2 q + 1.
    ///
    /// # Safety
    ///
    /// The processor must have AVX-512.
    #[inline(always)]
    pub unsafe fn transpose_by_8(rows: [&[f64; 8]; 8], columns: &mut [[f64; 8]; 8]) {
        unsafe {
            for odd in 0..2 {
                let mut pairs = [_mm512_setzero_pd(); 4];
                for i in 0..4 {
                    let (a, b) = (_mm512_loadu_pd(rows[2 * i].as_ptr()), _mm512_loadu_pd(rows[2 * i + 1].as_ptr()));
                    pairs[i] = if odd == 0 { _mm512_unpacklo_pd(a, b) } else { _mm512_unpackhi_pd(a, b) };
                }
                let [a, b, c, d] = pairs;
                let (low, high) = (_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0x88>(c, d));
                _mm512_storeu_pd(columns[odd].as_mut_ptr(), _mm512_shuffle_f64x2::<0x88>(low, high));
                _mm512_storeu_pd(columns[4 + odd].as_mut_ptr(), _mm512_shuffle_f64x2::<0xdd>(low, high));
                let (low, high) = (_mm512_shuffle_f64x2::<0xdd>(a, b), _mm512_shuffle_f64x2::<0xdd>(c, d));
                _mm512_storeu_pd(columns[2 + odd].as_mut_ptr(), _mm512_shuffle_f64x2::<0x88>(low, high));
                _mm512_storeu_pd(columns[6 + odd].as_mut_ptr(), _mm512_shuffle_f64x2::<0xdd>(low, high));
            }
        }
    }

    /// Transposes each quarter of four rows and four columns.
    ///
    /// # Safety
    ///
    /// The processor must have AVX.
    #[inline(always)]
    pub unsafe fn transpose_by_4(rows: [&[f64; 8]; 8], columns: &mut [[f64; 8]; 8]) {
        unsafe {
            for (i, j) in [(0, 0), (0, 4), (4, 0), (4, 4)] {
                let mut quarter = [_mm256_setzero_pd(); 4];
                for k in 0..4 {
                    quarter[k] = _mm256_loadu_pd(rows[i + k][j..].as_ptr());
                }
                let [a, b, c, d] = quarter;
                let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
                let (more_even, more_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
                _mm256_storeu_pd(columns[j][i..].as_mut_ptr(), _mm256_permute2f128_pd::<0x20>(even, more_even));
                _mm256_storeu_pd(columns[j + 1][i..].as_mut_ptr(), _mm256_permute2f128_pd::<0x20>(odd, more_odd));
                _mm256_storeu_pd(columns[j + 2][i..].as_mut_ptr(), _mm256_permute2f128_pd::<0x31>(even, more_even));
                _mm256_storeu_pd(columns[j + 3][i..].as_mut_ptr(), _mm256_permute2f128_pd::<0x31>(odd, more_odd));
            }
        }
    }
}

/// Asks the processor to load the cache line of x[at], which will be read soon. `at` may be beyond the end of x.
#[inline(always)]
pub fn prefetch<T>(x: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and does not fault, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(x.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (x, at);
}

/// Asks the processor to load all cache lines of a range of x.
#[inline(always)]
pub fn prefetch_range<T>(x: &[T], range: std::ops::Range<usize>) {
    for at in range.step_by(64 / size_of::<T>()) {
        prefetch(x, at);
    }
}

/// a b + c, rounded once where the processor has an instruction for it.
#[inline(always)]
fn mul_add<S: Simd>(a: f64, b: f64, c: f64) -> f64 {
    // On processors without the instruction `f64::mul_add` is a slow function call.
    if S::IS_SCALAR { a * b + c } else { a.mul_add(b, c) }
}

/// The upper digits of log 2, with zeros at the end: k * LN2_HIGH is exact for small integers k.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
/// log 2 - LN2_HIGH
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// exp in place, for |x| <= 700. Relative error below 3e-16.
///
/// exp(x) = 2^k exp(r), where x = k log 2 + r with |r| <= log(2) / 2 (Cody and Waite). A polynomial of degree 11 approximates
/// exp(r) to 2e-17: 1 + r + r^2 q(r), where q interpolates (exp(r) - 1 - r) / r^2 at the zeros of a Chebyshev polynomial.
#[inline(always)]
pub fn exp_in_place<S: Simd>(_simd: S, values: &mut [f64]) {
    /// 1.5 * 2^52: the lowest bits of SHIFT + x are the integer nearest to x.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    /// The coefficient of r^i at index i.
    const COEFFICIENTS: [f64; 12] = [
        1.0,
        1.0,
        0.500_000_000_000_000_1,
        0.166_666_666_666_666_69,
        0.041_666_666_666_624_13,
        0.008_333_333_333_330_062,
        0.001_388_888_891_721_371_7,
        1.984_126_986_305_361_8e-4,
        2.480_152_129_595_437_6e-5,
        2.755_726_845_999_706_4e-6,
        2.762_008_844_540_974_6e-7,
        2.510_038_549_551_032e-8,
    ];
    for value in values {
        let x = *value;
        let shifted = mul_add::<S>(x, std::f64::consts::LOG2_E, SHIFT);
        let k = shifted - SHIFT;
        let r = mul_add::<S>(k, -LN2_LOW, mul_add::<S>(k, -LN2_HIGH, x));
        let mut sum = COEFFICIENTS[11];
        for i in (0..11).rev() {
            sum = mul_add::<S>(sum, r, COEFFICIENTS[i]);
        }
        *value = f64::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << 52));
    }
}

/// log(1 + x) for 0 <= x <= 1. Relative error below 1e-15, for small x too.
///
/// log(1 + x) = 2 artanh(s) with s = x / (2 + x) <= 1/3, by the first terms of its series.
#[inline(always)]
pub fn ln_one_plus<S: Simd>(_simd: S, values: &[f64], out: &mut [f64]) {
    /// Terms of the series that count.
    const TERMS: i32 = 16;
    for (out, &x) in out.iter_mut().zip(values) {
        let s = x / (2.0 + x);
        let squared = s * s;
        let mut sum = 0.0;
        for k in (0..TERMS).rev() {
            sum = mul_add::<S>(sum, squared, 1.0 / f64::from(2 * k + 1));
        }
        *out = 2.0 * s * sum;
    }
}

/// log in place, for positive normal numbers. Relative error below 1e-15.
///
/// log x = k log 2 + log m, where x = 2^k m with m from [sqrt(1/2), sqrt(2)); log m = 2 artanh(s) with s = (m - 1) / (m + 1),
/// by the first terms of its series.
#[inline(always)]
pub fn ln_in_place<S: Simd>(_simd: S, values: &mut [f64]) {
    /// The bits of sqrt(1/2).
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    /// 2^52: the mantissa of 2^52 + k, for an integer k from [0, 2^52), is k.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    /// Terms of the series that count.
    const TERMS: i32 = 11;
    for value in values {
        let bits = value.to_bits();
        let k = bits.wrapping_sub(SQRT_HALF).wrapping_add(1023 << 52) >> 52;
        let m = f64::from_bits(bits.wrapping_sub(k.wrapping_sub(1023) << 52));
        let k = f64::from_bits(k | SHIFT.to_bits()) - (SHIFT + 1023.0);
        let s = (m - 1.0) / (m + 1.0);
        let squared = s * s;
        let mut sum = 0.0;
        for j in (0..TERMS).rev() {
            sum = mul_add::<S>(sum, squared, 1.0 / f64::from(2 * j + 1));
        }
        *value = mul_add::<S>(k, LN2_HIGH, mul_add::<S>(k, LN2_LOW, 2.0 * s * sum));
    }
}

/// The largest absolute value; 0 for an empty vector.
#[inline(always)]
pub fn max_abs<S: Simd>(simd: S, values: &[f64]) -> f64 {
    let (body, tail) = S::as_simd_f64s(values);
    let (fours, rest) = body.as_chunks::<4>();
    let zero = simd.splat_f64s(0.0);
    // `abs_f64s` calls a function for each vector where the caller is large: it is not inlined there.
    let abs = |v: S::f64s| simd.max_f64s(v, simd.sub_f64s(zero, v));
    let mut most = [zero; 4];
    for four in fours {
        for k in 0..4 {
            most[k] = simd.max_f64s(most[k], abs(four[k]));
        }
    }
    for &v in rest {
        most[0] = simd.max_f64s(most[0], abs(v));
    }
    let most = simd.max_f64s(simd.max_f64s(most[0], most[1]), simd.max_f64s(most[2], most[3]));
    tail.iter().fold(simd.reduce_max_f64s(most), |most, v| most.max(v.abs()))
}

/// The sum of all values, of any length.
#[inline(always)]
pub fn sum<S: Simd>(simd: S, values: &[f64]) -> f64 {
    let (eights, tail) = values.as_chunks::<LANES>();
    let mut totals = [simd.splat_f64s(0.0); LANES];
    for eight in eights {
        let (vectors, _) = S::as_simd_f64s(eight);
        for k in 0..LANES / S::F64_LANES {
            totals[k] = simd.add_f64s(totals[k], vectors[k]);
        }
    }
    tail.iter().fold(across(simd, totals), |total, v| total + v)
}

/// The sum of `LANES` sums in the first vectors: halves are added until one number is left. The order is
/// the same for vectors of every width.
#[inline(always)]
pub fn across<S: Simd, const V: usize>(simd: S, mut totals: [S::f64s; V]) -> f64 {
    let mut half = LANES / S::F64_LANES / 2;
    while half > 0 {
        for k in 0..half {
            totals[k] = simd.add_f64s(totals[k], totals[k + half]);
        }
        half /= 2;
    }
    simd.reduce_sum_f64s(totals[0])
}

/// target += source, of any length.
#[inline(always)]
pub fn add<S: Simd>(simd: S, target: &mut [f64], source: &[f64]) {
    let (target, target_tail) = S::as_mut_simd_f64s(target);
    let (source, source_tail) = S::as_simd_f64s(source);
    for (t, &s) in target.iter_mut().zip(source) {
        *t = simd.add_f64s(*t, s);
    }
    for (t, &s) in target_tail.iter_mut().zip(source_tail) {
        *t += s;
    }
}

/// target += factor * source. Lengths are multiples of `LANES`.
#[inline(always)]
pub fn add_scaled<S: Simd>(simd: S, target: &mut [f64], factor: f64, source: &[f64]) {
    let (target, _) = S::as_mut_simd_f64s(target);
    let (source, _) = S::as_simd_f64s(source);
    let factor = simd.splat_f64s(factor);
    for (t, &s) in target.iter_mut().zip(source) {
        *t = simd.mul_add_e_f64s(factor, s, *t);
    }
}

/// target += factor * a * b, element by element. Lengths are multiples of `LANES`.
#[inline(always)]
pub fn add_product<S: Simd>(simd: S, target: &mut [f64], factor: f64, a: &[f64], b: &[f64]) {
    let (target, _) = S::as_mut_simd_f64s(target);
    let (a, _) = S::as_simd_f64s(a);
    let (b, _) = S::as_simd_f64s(b);
    let factor = simd.splat_f64s(factor);
    for ((t, &a), &b) in target.iter_mut().zip(a).zip(b) {
        *t = simd.mul_add_e_f64s(simd.mul_f64s(factor, a), b, *t);
    }
}

/// The inner product of a and b, whose lengths are multiples of `LANES`.
#[inline(always)]
pub fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let mut totals = [simd.splat_f64s(0.0); LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        let ((a, _), (b, _)) = (S::as_simd_f64s(a), S::as_simd_f64s(b));
        for k in 0..LANES / S::F64_LANES {
            totals[k] = simd.mul_add_e_f64s(a[k], b[k], totals[k]);
        }
    }
    across(simd, totals)
}

/// target = factor * source. Lengths are multiples of `LANES`.
#[inline(always)]
pub fn scale_into<S: Simd>(simd: S, target: &mut [f64], factor: f64, source: &[f64]) {
    let (target, _) = S::as_mut_simd_f64s(target);
    let (source, _) = S::as_simd_f64s(source);
    let factor = simd.splat_f64s(factor);
    for (t, &s) in target.iter_mut().zip(source) {
        *t = simd.mul_f64s(factor, s);
    }
}

/// log of the sum of exp(v) over the values v; -inf if all values are -inf.
pub fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + values.map(|v| (v - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::arch::simd_task;
    use pulp::{Arch, WithSimd};

    simd_task!(Transpose(rows: [[f64; 8]; 8]) -> [[f64; 8]; 8], |simd| transpose(simd, rows.each_ref()));

    #[test]
    fn rows_become_columns_on_every_instruction_set() {
        let rows = std::array::from_fn(|i| std::array::from_fn(|j| (8 * i + j) as f64));
        let columns: [[f64; 8]; 8] = std::array::from_fn(|i| std::array::from_fn(|j| (8 * j + i) as f64));
        assert_eq!(Arch::new().dispatch(Transpose(rows)), columns);
        assert_eq!(Transpose(rows).with_simd(pulp::Scalar), columns);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            assert_eq!(Simd::vectorize(simd, Transpose(rows)), columns);
        }
    }

    simd_task!(Sums<'a>(values: &'a [f64]) -> [u64; 2], |simd| {
        let whole = &values[..values.len() / LANES * LANES];
        [sum(simd, values).to_bits(), dot(simd, whole, whole).to_bits()]
    });

    #[test]
    fn sums_have_the_same_bits_whatever_the_width_of_vectors() {
        // Squares are exact, for numbers have 20 bits; sums of such different numbers are not.
        let values: Vec<f64> = (1..100).map(|i| f64::from(i * 7919 % 104_729) * 2f64.powi(i % 60 - 30)).collect();
        let bits = Sums(&values).with_simd(pulp::Scalar);
        assert_eq!(Sums(&values).with_simd(pulp::Scalar128b), bits);
        assert_eq!(Sums(&values).with_simd(pulp::Scalar256b), bits);
        assert_eq!(Sums(&values).with_simd(pulp::Scalar512b), bits);
        assert_eq!(Arch::new().dispatch(Sums(&values)), bits);
        assert_ne!(values.iter().sum::<f64>().to_bits(), bits[0]);
    }

    simd_task!(Exp<'a>(values: &'a mut [f64]) -> (), |simd| exp_in_place(simd, values));

    #[test]
    fn exp_is_exact_to_two_units_in_the_last_place_on_every_instruction_set() {
        let inputs: Vec<f64> =
            (-70_000..=70_000).map(|i| f64::from(i) * 0.010_000_37).filter(|x| x.abs() <= 700.0).collect();
        let mut dispatched = inputs.clone();
        Arch::new().dispatch(Exp(&mut dispatched));
        let mut scalar = inputs.clone();
        Exp(&mut scalar).with_simd(pulp::Scalar);
        for ((x, a), b) in inputs.iter().zip(&dispatched).zip(&scalar) {
            let exact = x.exp();
            assert!((a - exact).abs() <= 4e-16 * exact, "exp({x}) = {a}, not {exact}");
            assert!((b - exact).abs() <= 1e-15 * exact, "scalar exp({x}) = {b}, not {exact}");
        }
    }

    simd_task!(Log<'a>(values: &'a [f64], out: &'a mut [f64]) -> (), |simd| ln_one_plus(simd, values, out));

    #[test]
    fn log_of_one_plus_is_exact_to_a_few_units_in_the_last_place() {
        let inputs: Vec<f64> = (0..=100_000).map(|i| f64::from(i) / 1e5).chain([1e-300, 1e-17, 3e-9]).collect();
        let (mut dispatched, mut scalar) = (vec![0.0; inputs.len()], vec![0.0; inputs.len()]);
        Arch::new().dispatch(Log(&inputs, &mut dispatched));
        Log(&inputs, &mut scalar).with_simd(pulp::Scalar);
        for ((x, a), b) in inputs.iter().zip(&dispatched).zip(&scalar) {
            let exact = x.ln_1p();
            assert!((a - exact).abs() <= 1e-15 * exact && (b - exact).abs() <= 1e-15 * exact, "{x}: {a} {b} {exact}");
        }
    }

    simd_task!(NaturalLog<'a>(values: &'a mut [f64]) -> (), |simd| ln_in_place(simd, values));

    #[test]
    fn log_is_exact_to_a_few_units_in_the_last_place_from_the_smallest_normal_number_to_the_largest() {
        let near_one = (-1000..=1000).map(|i| 1.0 + f64::from(i) * 1e-5);
        let all = (-10_000..=10_000).map(|i| (f64::from(i) * 0.0708).exp());
        let inputs: Vec<f64> = near_one.chain(all).chain([f64::MIN_POSITIVE, f64::MAX, 0.5, 1.0]).collect();
        let (mut dispatched, mut scalar) = (inputs.clone(), inputs.clone());
        Arch::new().dispatch(NaturalLog(&mut dispatched));
        NaturalLog(&mut scalar).with_simd(pulp::Scalar);
        for ((x, a), b) in inputs.iter().zip(&dispatched).zip(&scalar) {
            let exact = x.ln();
            let allowed = 1e-15 * exact.abs();
            assert!((a - exact).abs() <= allowed && (b - exact).abs() <= allowed, "{x}: {a} {b} {exact}");
        }
    }

    #[test]
    fn log_sum_exp_survives_extremes() {
        let all = |values: &[f64]| log_sum_exp(values.iter().copied());
        assert_eq!(all(&[f64::NEG_INFINITY; 3]), f64::NEG_INFINITY);
        assert!((all(&[1e4, 1e4]) - (1e4 + 2f64.ln())).abs() < 1e-9);
        assert_eq!(all(&[-1e4, f64::NEG_INFINITY]), -1e4);
    }
}
