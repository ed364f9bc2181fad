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

    /// Applied to the weights that a sample uses, where it uses them for the last time.
    pub(super) fn is_lazy(self) -> bool {
        matches!(self, Penalty::Cumulative | Penalty::ClippingLazy)
    }
}

/// Lazy penalties: a weight after its penalty, and the number kept with it.
#[inline(always)]
pub(super) fn penalised(penalty: Penalty, v: f64, kept: f64, u: f64) -> (f64, f64) {
    let (z, bound) = if penalty == Penalty::Cumulative { (kept, u) } else { (v, u - kept) };
    // In this order of comparison, NaN stays NaN.
    let below = if z > bound { bound } else { z };
    let taken = if below < -bound { -bound } else { below };
    (z - taken, if penalty == Penalty::Cumulative { kept } else { u })
}

/// `penalised` on a row, where there are features.
#[inline(always)]
pub(super) fn penalise(penalty: Penalty, v: &mut [f64], kept: &mut [f64], u: f64) {
    for (v, kept) in v.iter_mut().zip(kept) {
        (*v, *kept) = if kept.is_nan() { (0.0, *kept) } else { penalised(penalty, *v, *kept, u) };
    }
}

/// A row's step along its gradient; then its penalty if that is lazy, and this the row's last step of the sample.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the row, the step and the penalty are three things to the caller")]
pub(super) fn step_row<S: Simd>(
    simd: S,
    penalty: Penalty,
    last: bool,
    v: &mut [f64],
    kept: &mut [f64],
    step: f64,
    gradient: &[f64],
    u: f64,
) {
    match (penalty, last) {
        (Penalty::Cumulative, true) => step_and_threshold(simd, v, kept, step, gradient, u),
        (Penalty::Cumulative, false) => numeric::add_scaled(simd, kept, step, gradient),
        (Penalty::ClippingLazy, true) => {
            numeric::add_scaled(simd, v, step, gradient);
            penalise(penalty, v, kept, u);
        }
        _ => {
            numeric::add_scaled(simd, v, step, gradient);
            v.iter_mut().zip(kept).for_each(|(v, kept)| *v = if kept.is_nan() { 0.0 } else { *v });
        }
    }
}

/// `Cumulative`, in one sweep.
#[inline(always)]
fn step_and_threshold<S: Simd>(simd: S, v: &mut [f64], p: &mut [f64], step: f64, gradient: &[f64], u: f64) {
    let (v, _) = S::as_mut_simd_f64s(v);
    let (p, _) = S::as_mut_simd_f64s(p);
    let (gradient, _) = S::as_simd_f64s(gradient);
    let (step, least, most, zero) =
        (simd.splat_f64s(step), simd.splat_f64s(-u), simd.splat_f64s(u), simd.splat_f64s(0.0));
    for ((v, p), &gradient) in v.iter_mut().zip(p).zip(gradient) {
        *p = simd.mul_add_e_f64s(step, gradient, *p);
        let taken = simd.max_f64s(least, simd.min_f64s(most, *p));
        *v = simd.select_f64s(simd.equal_f64s(*p, *p), simd.sub_f64s(*p, taken), zero);
    }
}
