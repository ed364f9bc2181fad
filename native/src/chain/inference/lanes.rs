//! Operations on eight doubles, one in each lane, in as many registers as the machine needs for them.

use crate::numeric::LANES;
use pulp::Simd;

/// Operations on eight lanes, held in N registers.
#[derive(Clone, Copy)]
pub(super) struct Lanes<S, const N: usize>(pub S);

/// Evaluates an expression in which the constant `$n` is the number of the machine's registers that hold eight doubles.
macro_rules! in_registers {
    ($simd:ident, $n:ident => $work:expr) => {
        match $simd::F64_LANES {
            8 => in_registers!($n = 1, $work),
            4 => in_registers!($n = 2, $work),
            2 => in_registers!($n = 4, $work),
            _ => in_registers!($n = 8, $work),
        }
    };
    ($n:ident = $value:literal, $work:expr) => {{
        const $n: usize = $value;
        $work
    }};
}
pub(super) use in_registers;

/// Operations on two numbers, lane by lane.
macro_rules! lane_by_lane {
    ($($name:ident: $operation:ident),*) => {
        $(
            #[inline(always)]
            pub(super) fn $name(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
                for n in 0..N {
                    a[n] = self.0.$operation(a[n], b[n]);
                }
                a
            }
        )*
    };
}

impl<S: Simd, const N: usize> Lanes<S, N> {
    lane_by_lane!(add: add_f64s, subtract: sub_f64s, multiply: mul_f64s, divide: div_f64s, max: max_f64s);

    #[inline(always)]
    pub(super) fn all(self, x: f64) -> [S::f64s; N] {
        [self.0.splat_f64s(x); N]
    }

    /// a * b + c
    #[inline(always)]
    pub(super) fn multiply_add(self, a: [S::f64s; N], b: [S::f64s; N], mut c: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            c[n] = self.0.mul_add_e_f64s(a[n], b[n], c[n]);
        }
        c
    }

    /// x where it is above the bound, else 0.
    #[inline(always)]
    pub(super) fn above(self, bound: f64, mut x: [S::f64s; N]) -> [S::f64s; N] {
        let (bound, zero) = (self.0.splat_f64s(bound), self.0.splat_f64s(0.0));
        for n in 0..N {
            x[n] = self.0.select_f64s(self.0.greater_than_f64s(x[n], bound), x[n], zero);
        }
        x
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
    pub(super) fn array(self, a: &[S::f64s; N]) -> &[f64; LANES] {
        let lanes: &[f64] = pulp::bytemuck::cast_slice(a);
        lanes.try_into().expect("N registers hold eight doubles")
    }
}
