//! The penalty of single weights: the same for all of them, or each with a factor and a sign of its own.
//!
//! The penalty of weight i is factor_i (l1 |w_i| + (l2 / 2) w_i^2), and infinite where w_i does not have its sign.

use crate::numeric::chunks::CHUNK;

/// The penalty l1 |w|_1 + (l2 / 2) |w|^2 over all weights except the last `unpenalised`.
#[derive(Clone, Copy, Debug)]
pub struct Penalty<'a> {
    pub l1: f64,
    pub l2: f64,
    /// Number of weights at the end without a penalty.
    pub unpenalised: usize,
    /// What the others have of their own; none if they are all alike.
    pub varied: Option<Each<'a>>,
}

impl Penalty<'_> {
    /// Splits n weights into the part with and the part without penalty: the length of the first part, and the penalty of
    /// each. None if all weights bear the penalty.
    pub fn parts(self, n: usize) -> Option<(usize, [Self; 2])> {
        let free = Penalty { l1: 0.0, l2: 0.0, unpenalised: 0, varied: None };
        (self.unpenalised > 0).then(|| (n.saturating_sub(self.unpenalised), [Penalty { unpenalised: 0, ..self }, free]))
    }
}

/// What the penalty is at each weight of a chunk.
pub trait Strengths: Copy {
    /// What the penalty of weight i is multiplied by.
    fn factor(self, i: usize) -> f64;
    /// The curvature of the penalty of weight i.
    fn l2(self, i: usize) -> f64;
    /// Entry i of the pseudo-gradient (Andrew & Gao 2007, Eq. 4) where weight i is w; `smooth` is the derivative of the objective
    /// without its kinks.
    fn derivative(self, i: usize, w: f64, smooth: f64) -> f64;
    /// Whether no weight has a kink at 0.
    fn is_smooth(self) -> bool;
    /// Whether weight i has no kink at 0, while others have.
    fn is_free(self, i: usize) -> bool;
}

/// The same penalty for all weights.
#[derive(Clone, Copy)]
pub struct Same {
    pub l1: f64,
    pub l2: f64,
}

impl Strengths for Same {
    #[inline(always)]
    fn factor(self, _: usize) -> f64 {
        1.0
    }

    #[inline(always)]
    fn l2(self, _: usize) -> f64 {
        self.l2
    }

    #[inline(always)]
    fn derivative(self, _: usize, w: f64, smooth: f64) -> f64 {
        let at_zero = (smooth.abs() - self.l1).max(0.0).copysign(smooth);
        if w == 0.0 { at_zero } else { smooth + self.l1.copysign(w) }
    }

    #[inline(always)]
    fn is_smooth(self) -> bool {
        self.l1 == 0.0
    }

    #[inline(always)]
    fn is_free(self, _: usize) -> bool {
        false
    }
}

/// The factor of each weight, and its sign: 1 if it is never negative, -1 if it is never positive, 0 for any.
#[derive(Clone, Copy, Debug)]
pub struct Each<'a> {
    pub factors: &'a [f64],
    pub signs: &'a [i8],
}

impl<'a> Each<'a> {
    /// The penalty of the weights of a chunk, which has `len` weights.
    #[inline(always)]
    pub fn chunk(self, (l1, l2): (f64, f64), chunk: usize, len: usize) -> Own<'a> {
        let range = chunk * CHUNK..chunk * CHUNK + len;
        Own { l1, l2, factors: &self.factors[range.clone()], signs: &self.signs[range] }
    }
}

/// The penalty of the weights of a chunk, each with its own factor and sign.
#[derive(Clone, Copy)]
pub struct Own<'a> {
    l1: f64,
    l2: f64,
    factors: &'a [f64],
    signs: &'a [i8],
}

impl Strengths for Own<'_> {
    #[inline(always)]
    fn factor(self, i: usize) -> f64 {
        self.factors[i]
    }

    #[inline(always)]
    fn l2(self, i: usize) -> f64 {
        self.l2 * self.factors[i]
    }

    #[inline(always)]
    fn derivative(self, i: usize, w: f64, smooth: f64) -> f64 {
        let (l1, sign) = (self.l1 * self.factors[i], self.signs[i]);
        // A derivative in a direction in which the weight may not go counts as 0 at most.
        let to_the_right = if sign < 0 { 0.0 } else { (smooth + l1).min(0.0) };
        let to_the_left = if sign > 0 { 0.0 } else { (smooth - l1).max(0.0) };
        if w == 0.0 { to_the_right + to_the_left } else { smooth + l1.copysign(w) }
    }

    #[inline(always)]
    fn is_smooth(self) -> bool {
        false
    }

    #[inline(always)]
    fn is_free(self, i: usize) -> bool {
        self.signs[i] == 0 && self.l1 * self.factors[i] == 0.0
    }
}
