//! The L1 penalty on a weight (Tsuruoka et al. 2009, sections 3.1 and 3.2).
//!
//! The solver state of a weight is a number, NaN where a row of labels has no feature:
//!
//! - `Cumulative`: p = w - q, where q is the penalty received (Eq. 4). Both cases of Figure 2 are one soft threshold of z - q at
//!   u, and the new q is the part taken off, negated. So p is the sum of the weight's steps: a step adds to p, and w = p -
//!   clamp(p, -u, u).
//! - `ClippingLazy`: the u up to which the weight has been penalised.
//! - `Naive` and `Clipping` have no state.

use crate::stochastic::steps::Rule;
use pulp::Simd;

/// How the L1 penalty is applied (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Penalty {
    /// A subgradient step on every weight (section 3.1).
    Naive,
    /// Every weight is clipped at zero (section 3.1).
    Clipping,
    /// Clipping, applied to a weight when a sample next uses it.
    ClippingLazy,
    /// Cumulative penalty (section 3.2, Figure 2).
    Cumulative,
}

impl Penalty {
    /// The solver state of a weight, from w and q as they are between passes; or q, from w and the state.
    #[inline(always)]
    pub(super) fn exchange(self, w: f64, q: f64) -> f64 {
        if self == Penalty::Cumulative { w - q } else { q }
    }
}

/// z moved towards 0 by `bound`, but not across; 0 where there is no feature.
#[inline(always)]
fn threshold<S: Simd>(simd: S, z: S::f64s, bound: S::f64s, is_feature: S::m64s) -> S::f64s {
    let taken = simd.max_f64s(simd.neg_f64s(bound), simd.min_f64s(bound, z));
    simd.select_f64s(is_feature, simd.sub_f64s(z, taken), simd.splat_f64s(0.0))
}

/// `Penalty::Cumulative`.
#[derive(Clone, Copy)]
pub(super) struct Cumulative {
    pub u: f64,
}

impl Rule for Cumulative {
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, v: &mut S::f64s, p: &mut S::f64s, change: S::f64s, last: bool) {
        *p = simd.add_f64s(*p, change);
        if last {
            *v = threshold(simd, *p, simd.splat_f64s(self.u), simd.equal_f64s(*p, *p));
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
    fn step<S: Simd>(self, simd: S, v: &mut S::f64s, penalised_to: &mut S::f64s, change: S::f64s, last: bool) {
        *v = simd.add_f64s(*v, change);
        if last {
            let (u, is_feature) = (simd.splat_f64s(self.u), simd.equal_f64s(*penalised_to, *penalised_to));
            *v = threshold(simd, *v, simd.sub_f64s(u, *penalised_to), is_feature);
            *penalised_to = simd.select_f64s(is_feature, u, *penalised_to);
        }
    }
}

/// No penalty, or one that is applied to all weights at once.
#[derive(Clone, Copy)]
pub(super) struct Unpenalised;

impl Rule for Unpenalised {
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, v: &mut S::f64s, state: &mut S::f64s, change: S::f64s, _: bool) {
        *v = simd.select_f64s(simd.equal_f64s(*state, *state), simd.add_f64s(*v, change), simd.splat_f64s(0.0));
    }
}
