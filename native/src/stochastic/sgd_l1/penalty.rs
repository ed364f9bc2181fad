//! What the L1 penalty does to a weight (Tsuruoka et al. 2009, sections 3.1 and 3.2).

use pulp::Simd;

/// How the L1 penalty is applied (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Penalty {
    /// A subgradient step on every weight (section 3.1).
    Naive,
    /// Every weight is clipped at zero (section 3.1).
    Clipping,
    /// The same, applied to a weight when it is next used. `q` then holds the u up to which a weight has been penalised.
    ClippingLazy,
    /// Cumulative penalty (section 3.2, Figure 2).
    Cumulative,
}

/// A weight and what is kept with it, after its penalty. Where q is NaN there is no feature, and the weight stays 0.
///
/// Cumulative: |q| <= u at all times, so that both cases of Figure 2 are one soft threshold of z - q at u, and the q that
/// follows is what the threshold took off, negated.
#[inline(always)]
pub(super) fn penalised(penalty: Penalty, z: f64, q: f64, u: f64) -> (f64, f64) {
    let (p, bound) = if penalty == Penalty::Cumulative { (z - q, u) } else { (z, u - q) };
    // In this order of comparison, NaN stays NaN.
    let below = if p > bound { bound } else { p };
    let taken = if below < -bound { -bound } else { below };
    let w = if q.is_nan() { 0.0 } else { p - taken };
    (w, if penalty == Penalty::Cumulative { -taken } else { u + 0.0 * q })
}

#[inline(always)]
pub(super) fn penalise(penalty: Penalty, v: &mut [f64], q: &mut [f64], u: f64) {
    for (v, q) in v.iter_mut().zip(q) {
        (*v, *q) = penalised(penalty, *v, *q, u);
    }
}

/// A step on a row and `penalised` in one sweep.
#[inline(always)]
pub(super) fn step_and_penalise<S: Simd>(
    simd: S,
    lazy: bool,
    v: &mut [f64],
    q: &mut [f64],
    step: f64,
    gradient: &[f64],
    u: f64,
) {
    let (v, _) = S::as_mut_simd_f64s(v);
    let (q, _) = S::as_mut_simd_f64s(q);
    let (gradient, _) = S::as_simd_f64s(gradient);
    let (step, u, zero) = (simd.splat_f64s(step), simd.splat_f64s(u), simd.splat_f64s(0.0));
    for ((v, q), &gradient) in v.iter_mut().zip(q).zip(gradient) {
        let z = simd.mul_add_e_f64s(step, gradient, *v);
        let (p, bound) = if lazy { (z, simd.sub_f64s(u, *q)) } else { (simd.sub_f64s(z, *q), u) };
        let taken = simd.max_f64s(simd.neg_f64s(bound), simd.min_f64s(bound, p));
        let is_feature = simd.equal_f64s(*q, *q);
        *v = simd.select_f64s(is_feature, simd.sub_f64s(p, taken), zero);
        *q = simd.select_f64s(is_feature, if lazy { u } else { simd.neg_f64s(taken) }, *q);
    }
}

/// Sets v back to 0 where there is no feature.
#[inline(always)]
pub(super) fn clear_missing(v: &mut [f64], q: &[f64]) {
    for (v, q) in v.iter_mut().zip(q) {
        *v = if q.is_nan() { 0.0 } else { *v };
    }
}
