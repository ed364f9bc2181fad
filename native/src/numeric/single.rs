//! Functions of numbers of single precision. Compiled into their caller, which has been dispatched to an instruction set.

use pulp::Simd;

/// a b + c, rounded once where the processor has an instruction for it.
#[inline(always)]
fn mul_add<S: Simd>(a: f32, b: f32, c: f32) -> f32 {
    if S::IS_SCALAR { a * b + c } else { a.mul_add(b, c) }
}

/// exp in place, for |x| <= 80. Relative error below 3e-7.
///
/// exp(x) = 2^k exp(r), where x = k log 2 + r with |r| <= log(2) / 2 (Cody and Waite), and a polynomial of degree 7 for exp(r).
#[inline(always)]
pub fn exp_in_place<S: Simd>(_simd: S, values: &mut [f32]) {
    /// 1.5 * 2^23: the lowest bits of SHIFT + x are the integer nearest to x.
    const SHIFT: f32 = 12_582_912.0;
    /// The upper digits of log 2, with zeros at the end, and the rest.
    const LN2: [f32; 2] = [355.0 / 512.0, -2.121_944_4e-4];
    /// The coefficient of r^i at index i.
    const COEFFICIENTS: [f32; 8] = [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];
    for value in values {
        let x = *value;
        let shifted = mul_add::<S>(x, std::f32::consts::LOG2_E, SHIFT);
        let k = shifted - SHIFT;
        let r = mul_add::<S>(k, -LN2[1], mul_add::<S>(k, -LN2[0], x));
        let mut sum = COEFFICIENTS[7];
        for i in (0..7).rev() {
            sum = mul_add::<S>(sum, r, COEFFICIENTS[i]);
        }
        *value = f32::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << 23));
    }
}

#[cfg(test)]
mod tests {
    use super::exp_in_place;
    use crate::numeric::arch::{arch, simd_task};

    simd_task!(Exp<'a>(values: &'a mut [f32]) -> (), |simd| exp_in_place(simd, values));

    #[test]
    fn exponentials_are_exact_to_single_precision() {
        let x: Vec<f32> = (0..1600).map(|k| k as f32 / 10.0 - 79.9).collect();
        let mut out = x.clone();
        arch().dispatch(Exp(&mut out));
        for (x, out) in x.iter().zip(out) {
            let exact = f64::from(*x).exp();
            assert!((f64::from(out) / exact - 1.0).abs() < 3e-7, "{x}: {out} {exact}");
        }
    }
}
