//! Operations on eight doubles, one in each lane, in as many registers as the machine needs for them.

use crate::numeric::LANES;
use pulp::Simd;

/// Operations on eight lanes, held in N registers.
#[derive(Clone, Copy)]
pub(super) struct Lanes<S, const N: usize>(pub S);

impl<S: Simd, const N: usize> Lanes<S, N> {
    #[inline(always)]
    pub(super) fn all(self, x: f64) -> [S::f64s; N] {
        [self.0.splat_f64s(x); N]
    }

    #[inline(always)]
    pub(super) fn add(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            a[n] = self.0.add_f64s(a[n], b[n]);
        }
        a
    }

    #[inline(always)]
    pub(super) fn multiply(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            a[n] = self.0.mul_f64s(a[n], b[n]);
        }
        a
    }

    #[inline(always)]
    pub(super) fn divide(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            a[n] = self.0.div_f64s(a[n], b[n]);
        }
        a
    }

    /// a * b + c
    #[inline(always)]
    pub(super) fn multiply_add(self, a: [S::f64s; N], b: [S::f64s; N], mut c: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            c[n] = self.0.mul_add_e_f64s(a[n], b[n], c[n]);
        }
        c
    }

    #[inline(always)]
    pub(super) fn of(self, x: &[f64]) -> &[[S::f64s; N]] {
        S::as_simd_f64s(x).0.as_chunks().0
    }

    #[inline(always)]
    pub(super) fn of_mut(self, x: &mut [f64]) -> &mut [[S::f64s; N]] {
        S::as_mut_simd_f64s(x).0.as_chunks_mut().0
    }

    #[inline(always)]
    pub(super) fn sum(self, x: &[[S::f64s; N]]) -> [S::f64s; N] {
        let mut sums = [self.all(0.0); 4];
        let (fours, rest) = x.as_chunks::<4>();
        for four in fours {
            for k in 0..4 {
                sums[k] = self.add(sums[k], four[k]);
            }
        }
        let [a, b, c, d] = sums;
        let mut sum = self.add(self.add(a, b), self.add(c, d));
        for &x in rest {
            sum = self.add(sum, x);
        }
        sum
    }

    #[inline(always)]
    pub(super) fn subtract(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            a[n] = self.0.sub_f64s(a[n], b[n]);
        }
        a
    }

    #[inline(always)]
    pub(super) fn max(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            a[n] = self.0.max_f64s(a[n], b[n]);
        }
        a
    }

    #[inline(always)]
    pub(super) fn array(self, a: &[S::f64s; N]) -> &[f64; LANES] {
        let lanes: &[f64] = pulp::bytemuck::cast_slice(a);
        lanes.try_into().expect("N registers hold eight doubles")
    }
}
