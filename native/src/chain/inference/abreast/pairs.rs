//! Second order over labels, and over the few pairs of labels that are in triples with features.
//!
//! A(k) is the sum of alpha over all pairs (j, k), B(k) is beta of a pair (j, k) that no triple with features begins with, and
//! D(j, k) is beta(j, k) - B(k), not 0 for the pairs in `Pairs` only. T(j, k) is exp of a transition score, e(i, j, k) of a
//! triple score. The sum over triples with features alone is U(j, k) = sum over i of alpha(i, j) (e(i, j, k) - 1). Then
//!
//! alpha_t(j, k) = psi_t(k) r_t T(j, k) (A_{t-1}(j) + U_{t-1}(j, k))
//! A_t(k) = psi_t(k) r_t (sum over j of T(j, k) A_{t-1}(j) + sum over pairs (j, k) of T(j, k) U_{t-1}(j, k))
//! B_{t-1}(j) = sum over k of in_t(k) T(j, k) + sum over pairs (j, k) of psi_t(k) r_t T(j, k) D_t(j, k), where
//! in_t(k) = psi_t(k) r_t B_t(k)
//! D_{t-1}(i, j) = sum over k of (e(i, j, k) - 1) psi_t(k) r_t T(j, k) (B_t(k) + D_t(j, k))
//!
//! and the marginal of k is A(k) B(k) + sum over pairs (j, k) of alpha(j, k) D(j, k). Without the pairs all this is first order.

use crate::chain::inference::lanes::Lanes;
use crate::chain::inference::links::{Links, Pairs};
use crate::numeric::LANES;
use crate::numeric::aligned::Aligned;
use pulp::Simd;

/// Buffers of the pairs, each x lanes.
#[derive(Default)]
pub(super) struct PairBuffers {
    /// (steps + 1) x pairs forward variables.
    alpha: Aligned,
    /// U on the way forward, D on the way back.
    sums: Aligned,
    /// psi r T beta of the next step.
    onward: Aligned,
    /// psi r T D of the next step.
    rises: Aligned,
}

/// A step of the recursions: its number, the potentials of its states, and what they are rescaled by.
pub(super) struct Step<'a, L> {
    pub number: usize,
    pub states: &'a [L],
    pub rescale: L,
}

impl PairBuffers {
    /// Makes room for the variables of all steps, and of the one before the first, where all are 0.
    pub fn begin(&mut self, links: &Links, rows: usize) {
        let pairs = links.pairs.as_ref().map_or(0, |pairs| pairs.labels.len()) * LANES;
        self.alpha.resize(rows * pairs, 0.0);
        self.alpha[..pairs].fill(0.0);
        self.sums.clear();
        self.sums.resize(pairs, 0.0);
    }

    pub fn begin_backward(&mut self) {
        let pairs = self.sums.len();
        for buffer in [&mut self.sums, &mut self.onward, &mut self.rises] {
            buffer.clear();
            buffer.resize(pairs, 0.0);
        }
    }

    /// Sets alpha of the pairs at a step, and adds T U to the sums of their second labels. `before` is A of the step before.
    #[inline(always)]
    pub fn step_forward<S: Simd, const N: usize>(
        &mut self,
        simd: Lanes<S, N>,
        pairs: &Pairs,
        Step { number, states, rescale }: Step<[S::f64s; N]>,
        before: &[[S::f64s; N]],
        sums: &mut [[S::f64s; N]],
    ) {
        let n = pairs.labels.len();
        let (past, row) = simd.of_mut(&mut self.alpha)[(number - 1) * n..(number + 1) * n].split_at_mut(n);
        let rises = simd.of_mut(&mut self.sums);
        simd.sum_lists::<false>(&pairs.into, past, rises);
        for (((&[from, to], &factor), &rise), alpha) in pairs.labels.iter().zip(&pairs.factors).zip(&*rises).zip(row) {
            let (from, to, factor) = (from as usize, to as usize, simd.all(factor));
            sums[to] = simd.multiply_add(factor, rise, sums[to]);
            let total = simd.multiply(factor, simd.add(before[from], rise));
            *alpha = simd.multiply(simd.multiply(states[to], rescale), total);
        }
    }

    /// Sets D of a step, counts triples, and adds psi r T D of the step after to the sums of the pairs' first labels.
    #[inline(always)]
    pub fn begin_step_back<S: Simd, const N: usize>(
        &mut self,
        simd: Lanes<S, N>,
        pairs: &Pairs,
        step: usize,
        counts: &mut Aligned,
        sums: &mut [[S::f64s; N]],
    ) {
        let n = pairs.labels.len();
        let alpha = &simd.of(&self.alpha)[step * n..][..n];
        let (onward, differences) = (simd.of(&self.onward), simd.of_mut(&mut self.sums));
        simd.sum_lists_and_count::<false>(&pairs.out, onward, differences, alpha, simd.of_mut(counts));
        for (&[from, _], &rise) in pairs.labels.iter().zip(simd.of(&self.rises)) {
            sums[from as usize] = simd.add(sums[from as usize], rise);
        }
    }

    /// Adds what the pairs have of the marginals of labels, counts pairs, and sets what the step before needs. `betas` is B.
    #[inline(always)]
    pub fn end_step_back<S: Simd, const N: usize>(
        &mut self,
        simd: Lanes<S, N>,
        pairs: &Pairs,
        Step { number, states, rescale }: Step<[S::f64s; N]>,
        betas: &[[S::f64s; N]],
        marginals: &mut [[S::f64s; N]],
        counts: &mut [[S::f64s; N]],
    ) {
        let n = pairs.labels.len();
        let alpha = &simd.of(&self.alpha)[number * n..][..n];
        let (onward, rises) = (simd.of_mut(&mut self.onward), simd.of_mut(&mut self.rises));
        for (at, (&[_, to], &difference)) in pairs.labels.iter().zip(simd.of(&self.sums)).enumerate() {
            let to = to as usize;
            let beta = simd.add(betas[to], difference);
            marginals[to] = simd.multiply_add(alpha[at], difference, marginals[to]);
            counts[at] = simd.multiply_add(alpha[at], beta, counts[at]);
            let potential = simd.multiply(simd.multiply(states[to], rescale), simd.all(pairs.factors[at]));
            (onward[at], rises[at]) = (simd.multiply(potential, beta), simd.multiply(potential, difference));
        }
    }
}
