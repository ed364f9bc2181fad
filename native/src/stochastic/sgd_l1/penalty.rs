//! What the L1 penalty does to a weight (Tsuruoka et al. 2009, sections 3.1 and 3.2).
//!
//! A number is kept with each weight, NaN where a row of labels has no feature:
//!
//! - `Cumulative`: p = w - q, q being the penalty received (Eq. 4). Both cases of Figure 2 come to one soft threshold of z - q
//!   at u, and the q that follows is what the threshold took off, negated. So p is no more than the sum of the weight's steps:
//!   a step adds to p, and w = p - clamp(p, -u, u).
//! - `ClippingLazy`: the u up to which the weight has been penalised.
//! - Others need none.

use crate::numeric;
use pulp::Simd;

/// How the L1 penalty is applied (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Penalty {
    /// A subgradient step on every weight (section 3.1).
    Naive,
    /// Every weight is clipped at zero (section 3.1).
    Clipping,
    /// The same, applied to a weight when it is next used.
    ClippingLazy,
    /// Cumulative penalty (section 3.2, Figure 2).
    Cumulative,
}

impl Penalty {
    /// The number kept, from w and q as they are between passes, or q from w and the number kept.
    #[inline(always)]
    pub(super) fn exchange(self, w: f64, q: f64) -> f64 {
        if self == Penalty::Cumulative { w - q } else { q }
    }
}

/// What a step and its penalty do to a weight and the number kept with it.
pub(super) trait Rule: Copy {
    /// A change along the gradient; if this is the weight's `last` of the sample, the penalty after it.
    fn step(self, v: &mut f64, kept: &mut f64, change: f64, last: bool);

    /// `step` on a row of labels, where there are features: the changes are `step` times the gradient.
    #[inline(always)]
    fn step_row<S: Simd>(
        self,
        simd: S,
        (v, kept): (&mut [f64], &mut [f64]),
        (step, gradient): (f64, &[f64]),
        last: bool,
    ) {
        numeric::add_scaled(simd, v, step, gradient);
        for (v, kept) in v.iter_mut().zip(kept) {
            if kept.is_nan() {
                *v = 0.0;
            } else if last {
                self.step(v, kept, 0.0, true);
            }
        }
    }
}

/// p without what is left of it within u of 0. In this order of comparison, NaN stays NaN.
#[inline(always)]
fn threshold(p: f64, u: f64) -> f64 {
    let below = if p > u { u } else { p };
    p - if below < -u { -u } else { below }
}

/// `Penalty::Cumulative`.
#[derive(Clone, Copy)]
pub(super) struct Cumulative {
    pub u: f64,
}

impl Rule for Cumulative {
    #[inline(always)]
    fn step(self, v: &mut f64, p: &mut f64, change: f64, last: bool) {
        *p += change;
        if last {
            *v = threshold(*p, self.u);
        }
    }

    #[inline(always)]
    fn step_row<S: Simd>(self, simd: S, (v, p): (&mut [f64], &mut [f64]), (step, gradient): (f64, &[f64]), last: bool) {
        if !last {
            return numeric::add_scaled(simd, p, step, gradient);
        }
        let (v, _) = S::as_mut_simd_f64s(v);
        let (p, _) = S::as_mut_simd_f64s(p);
        let (gradient, _) = S::as_simd_f64s(gradient);
        let step = simd.splat_f64s(step);
        let (least, most, zero) = (simd.splat_f64s(-self.u), simd.splat_f64s(self.u), simd.splat_f64s(0.0));
        for ((v, p), &gradient) in v.iter_mut().zip(p).zip(gradient) {
            *p = simd.mul_add_e_f64s(step, gradient, *p);
            let taken = simd.max_f64s(least, simd.min_f64s(most, *p));
            *v = simd.select_f64s(simd.equal_f64s(*p, *p), simd.sub_f64s(*p, taken), zero);
        }
    }
}

/// `Penalty::ClippingLazy`.
#[derive(Clone, Copy)]
pub(super) struct ClippingLazy {
    pub u: f64,
}

impl Rule for ClippingLazy {
    #[inline(always)]
    fn step(self, v: &mut f64, penalised_to: &mut f64, change: f64, last: bool) {
        *v += change;
        if last && !penalised_to.is_nan() {
            *v = threshold(*v, self.u - *penalised_to);
            *penalised_to = self.u;
        }
    }
}

/// No penalty, or one that is applied to all weights at once.
#[derive(Clone, Copy)]
pub(super) struct Unpenalised;

impl Rule for Unpenalised {
    #[inline(always)]
    fn step(self, v: &mut f64, _: &mut f64, change: f64, _: bool) {
        *v += change;
    }
}
