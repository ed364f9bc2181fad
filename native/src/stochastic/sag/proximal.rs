//! The L1 penalty of SAG: after each step every weight moves towards 0, applied lazily and exactly.
//!
//! With w = scale v, a step of Algorithm 1 followed by the proximal map of alpha l1 |w| is v <- soft(v - beta_k d, gamma_k), where
//! beta_k = alpha / (m scale), gamma_k = alpha l1 / scale, and soft moves a number by gamma towards 0, but not across. d changes
//! only when a sample with the feature is visited, and the weight makes all steps since its last visit at once:
//!
//! - As long as the weight keeps its sign, its steps add up to differences of the sums B = sum of beta_k and G = sum of gamma_k.
//! - It meets 0 at most once: the ratio gamma_k / beta_k = l1 m never shrinks, so a distance from 0 that has begun to shrink goes
//!   on shrinking. The step at which it meets 0 is found by interpolation and bisection, and made on its own.
//! - At 0 it stays if |d| <= l1 m; else it leaves 0 for the other side.
//!
//! So a weight that has missed any number of steps makes them in three stretches at most.

use pulp::Simd;

/// B and G between two steps.
#[derive(Clone, Copy, Default)]
struct StepSums {
    /// B.
    beta: f64,
    /// G.
    gamma: f64,
    /// l1 m in the step that follows: a weight leaves 0 if |d| is larger.
    threshold: f64,
}

/// The steps recorded since all weights were up to date.
pub struct Steps {
    /// The L1 penalty over n.
    l1: f64,
    /// The sums before each step, and after the last one.
    sums: Vec<StepSums>,
}

impl Steps {
    /// No steps yet.
    pub fn new(l1: f64) -> Steps {
        Steps { l1, sums: vec![StepSums::default()] }
    }

    /// Forgets the steps, which all weights have made.
    pub fn begin(&mut self) {
        self.sums.truncate(1);
        self.sums[0] = StepSums::default();
    }

    /// Records a step of length alpha for all weights, with m samples seen, after which w = scale v.
    #[inline(always)]
    pub fn record(&mut self, alpha: f64, m: usize, scale: f64) {
        let last = self.sums.last_mut().expect("there is always one");
        last.threshold = self.l1 * m as f64;
        let (beta, gamma) = (alpha / (m as f64 * scale), alpha * self.l1 / scale);
        let next = StepSums { beta: last.beta + beta, gamma: last.gamma + gamma, threshold: 0.0 };
        self.sums.push(next);
    }

    /// The number of steps recorded.
    #[inline(always)]
    pub fn now(&self) -> u32 {
        self.sums.len() as u32 - 1
    }

    /// Makes the steps from `from` on for a row of weights; `beyond` is a row for notes.
    #[inline(always)]
    pub fn advance_row<S: Simd>(&self, simd: S, (row, d): (&mut [f64], &[f64]), from: u32, beyond: &mut [f64]) {
        let (first, last) = (self.sums[from as usize], self.sums[self.now() as usize]);
        let [beta, gamma, opposite, threshold, zero, one] =
            [last.beta - first.beta, last.gamma - first.gamma, first.gamma - last.gamma, first.threshold, 0.0, 1.0]
                .map(|x| simd.splat_f64s(x));
        let mut any = zero;
        let vectors = S::as_mut_simd_f64s(row).0.iter_mut().zip(S::as_simd_f64s(d).0);
        for ((v, &d), beyond) in vectors.zip(S::as_mut_simd_f64s(beyond).0) {
            let shrinkage = simd.select_f64s(simd.greater_than_f64s(*v, zero), gamma, opposite);
            let x = simd.sub_f64s(simd.sub_f64s(*v, simd.mul_f64s(beta, d)), shrinkage);
            let stays = simd.less_than_or_equal_f64s(simd.abs_f64s(d), threshold);
            let stays = simd.and_m64s(simd.equal_f64s(*v, zero), stays);
            let moves = simd.greater_than_f64s(simd.mul_f64s(*v, x), zero);
            *beyond = simd.select_f64s(simd.or_m64s(stays, moves), zero, one);
            any = simd.add_f64s(any, *beyond);
            *v = simd.select_f64s(moves, x, *v);
        }
        if simd.reduce_sum_f64s(any) > 0.0 {
            for ((v, &d), _) in row.iter_mut().zip(d).zip(&*beyond).filter(|&(_, &beyond)| beyond > 0.0) {
                *v = self.advance_by_stretches(*v, d, from);
            }
        }
    }

    /// Returns a weight after the steps from `from` on.
    #[inline(always)]
    pub fn advance(&self, v: f64, d: f64, from: u32) -> f64 {
        let (first, last) = (self.sums[from as usize], self.sums[self.now() as usize]);
        let x = moved(v, d, last.beta - first.beta, last.gamma - first.gamma);
        if keeps_side(v, d, x, first.threshold) { x } else { self.advance_by_stretches(v, d, from) }
    }

    /// `advance` for a weight that leaves its side of 0, or 0 itself.
    #[inline(never)]
    fn advance_by_stretches(&self, mut v: f64, d: f64, from: u32) -> f64 {
        let (mut from, now) = (from as usize, self.now() as usize);
        while from < now {
            let first = self.sums[from];
            let at = |step: usize| moved(v, d, self.sums[step].beta - first.beta, self.sums[step].gamma - first.gamma);
            let keeps = |step: usize| keeps_side(v, d, at(step), first.threshold);
            if keeps(now) {
                return at(now);
            }
            // `step`: the last step after which the weight is known to keep its side; `beyond`: the first after which it is known
            // not to. The guess is good, for steps are much alike.
            let (mut step, mut beyond) = (from, now);
            if v != 0.0 {
                let share = v / (v - at(now));
                let guess = (from + (share * (now - from) as f64) as usize).min(now - 1);
                let mut reach = 1;
                if keeps(guess) {
                    step = guess;
                    while step + reach < now && keeps(step + reach) {
                        step += reach;
                        reach *= 2;
                    }
                    beyond = now.min(step + reach);
                } else {
                    beyond = guess;
                    while beyond > from + reach && !keeps(beyond - reach) {
                        beyond -= reach;
                        reach *= 2;
                    }
                    step = from.max(beyond.saturating_sub(reach));
                }
            }
            while v != 0.0 && beyond - step > 1 {
                let middle = step + (beyond - step) / 2;
                *(if keeps(middle) { &mut step } else { &mut beyond }) = middle;
            }
            let before = if step == from { v } else { at(step) };
            let (this, next) = (self.sums[step], self.sums[step + 1]);
            v = soft(before - (next.beta - this.beta) * d, next.gamma - this.gamma);
            from = step + 1;
        }
        v
    }
}

/// A weight after steps in which it keeps its side of 0, or stays at 0.
#[inline(always)]
fn moved(v: f64, d: f64, beta: f64, gamma: f64) -> f64 {
    if v == 0.0 { 0.0 } else { v - beta * d - gamma.copysign(v) }
}

/// Whether a weight is still on its side of 0 after it has moved to x; at 0, whether it stays there.
#[inline(always)]
fn keeps_side(v: f64, d: f64, x: f64, threshold: f64) -> bool {
    ((v > 0.0) & (x > 0.0)) | ((v < 0.0) & (x < 0.0)) | ((v == 0.0) & (d.abs() <= threshold))
}

/// The proximal map of gamma |x|.
#[inline(always)]
fn soft(x: f64, gamma: f64) -> f64 {
    if x.abs() <= gamma { 0.0 } else { x - gamma.copysign(x) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pulp::Scalar;

    proptest! {
        /// Any number of steps at once are the same as one by one, with m growing.
        #[test]
        fn catching_up_is_the_same_as_step_by_step(
            steps in prop::collection::vec((0.001..1.0_f64, 0_usize..3), 1..40),
            v in prop_oneof![Just(0.0), -2.0..2.0_f64],
            d in prop_oneof![Just(0.0), -30.0..30.0_f64],
            l1 in 0.0..1.0_f64,
        ) {
            let mut m = 1;
            let mut all = Steps::new(l1);
            let mut expected = v;
            for (alpha, seen) in steps {
                m += seen;
                let scale = 1.0 / (1.0 + alpha);
                all.record(alpha, m, scale);
                expected = soft(expected - alpha / (m as f64 * scale) * d, alpha * l1 / scale);
            }
            let actual = all.advance(v, d, 0);
            prop_assert!((actual - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{actual} {expected}");
            prop_assert_eq!(actual == 0.0, expected == 0.0);
            let mut row = [v, 0.0, -v, v, v, -v, -v, 0.0];
            let directions = [d, 0.0, -d, d, d, -d, -d, 0.0];
            all.advance_row(Scalar::new(), (&mut row, &directions), 0, &mut [0.0; 8]);
            prop_assert_eq!(row, [actual, 0.0, -actual, actual, actual, -actual, -actual, 0.0]);
        }
    }
}
