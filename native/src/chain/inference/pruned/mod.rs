//! Forward-backward over pieces of sentences whose tokens keep a few labels each, eight pieces abreast, one in each lane.
//!
//! A token's labels are in slots: slot 0 holds its first label, and so on. The pieces of a group differ in their labels, so the
//! factor exp(score) of a link is looked up lane by lane. Recursions and scaling are as in `abreast`, with every link listed:
//!
//! alpha_t(j) = psi_t(j) r_t sum over i of alpha_{t-1}(i) w(i, j)
//! beta_{t-1}(i) = sum over j of w(i, j) in_t(j), where in_t(j) = psi_t(j) r_t beta_t(j)
//!
//! In second order the recursion runs over pairs of slots (i, j) of neighbouring tokens; w(h, i, j) is exp of the score of a triple,
//! and psi_t(i, j) contains exp of the score of the transition.
//!
//! The potentials of a token are taken over their largest, so that scores of any size fit.

mod first;
mod links;
mod second;
#[cfg(test)]
mod tests;

pub use links::{LinkCounts, LinkFactors};

use crate::chain::inference::lanes::{Lanes, in_registers};
use crate::chain::inference::scaled::LogProduct;
use crate::numeric::aligned::Aligned;
use crate::numeric::{self, LANES};
use pulp::Simd;

/// The least argument that `numeric::exp_in_place` is called with.
const LEAST_FOR_EXP: f64 = -700.0;
/// Potentials up to this one, which is above exp of the least argument, count as 0. Without it, products of two empty slots would
/// be subnormal numbers, on which some processors are a hundred times slower.
const NO_POTENTIAL: f64 = 1e-303;
/// Up to eight pieces: their lengths in slots, and their labels.
#[derive(Clone, Copy)]
pub struct Pieces<'a> {
    /// Token -> its number of slots, the largest of all pieces.
    pub slots: &'a [u16],
    /// Slot of all tokens -> the label in it, piece by piece; `no_label` beyond the end of a piece.
    pub labels: &'a [[u16; LANES]],
    /// Slot of all tokens -> what its score begins at, piece by piece; -inf where the token has fewer labels in this piece.
    pub offsets: &'a [[f64; LANES]],
    /// The factors of the pieces; 0 where there is no piece. Eight, or eight a token of single pieces.
    pub weights: &'a [[f64; LANES]],
    /// Whether every token is a piece by itself.
    pub is_single: bool,
}

impl Pieces<'_> {
    /// The factors of the pieces of each slot.
    pub fn weights_of_slots(&self) -> impl Iterator<Item = [f64; LANES]> {
        let tokens = self.slots.iter().enumerate();
        tokens.flat_map(|(token, &slots)| {
            std::iter::repeat_n(self.weights[if self.is_single { token } else { 0 }], usize::from(slots))
        })
    }
}

/// The scores of a group of pieces and the buffers to work in.
#[derive(Default)]
pub struct PrunedLattice {
    /// Slots x lanes log potentials of the states; after `forward_backward` the marginals times the weights.
    pub scores: Aligned,
    /// Nodes x lanes forward variables; a node is a slot, or in second order a pair of slots.
    alpha: Aligned,
    /// Links x lanes: the factors of links.
    factors: Aligned,
    /// Nodes x lanes, in second order only: the potentials of nodes, times the rescaling.
    potentials: Aligned,
    /// Tokens x lanes sums of alpha.
    totals: Aligned,
    /// Nodes x lanes: beta times potentials of a token, and beta of the token before.
    incoming: Aligned,
    beta: Aligned,
    before: Aligned,
}

impl PrunedLattice {
    /// Starts a group.
    #[inline(always)]
    pub fn begin(&mut self, pieces: Pieces<'_>) {
        let offsets = pieces.offsets.as_flattened();
        self.scores.resize(offsets.len(), 0.0);
        self.scores.copy_from_slice(offsets);
    }

    /// Leaves the marginals times the weights in `scores`, adds to the counts, and returns the sum of weight * log Z. It is not
    /// finite if a number left the range of a double.
    #[inline(always)]
    pub fn forward_backward<S: Simd>(
        &mut self,
        simd: S,
        pieces: Pieces<'_>,
        factors: &LinkFactors,
        counts: &mut LinkCounts,
    ) -> f64 {
        if pieces.is_single {
            in_registers!(S, N => self.independent::<S, N>(Lanes(simd), pieces))
        } else if factors.has_triples() {
            in_registers!(S, N => self.second_order::<S, N>(Lanes(simd), pieces, factors, counts))
        } else {
            in_registers!(S, N => self.first_order::<S, N>(Lanes(simd), pieces, factors, counts))
        }
    }

    /// Exponentiates the scores in place, over the largest of each token; returns the sums over tokens of weight * the largest.
    #[inline(always)]
    fn exponentiate<S: Simd, const N: usize>(
        &mut self,
        simd: Lanes<S, N>,
        pieces: Pieces<'_>,
        weights: &[[S::f64s; N]],
    ) -> [S::f64s; N] {
        let mut shifts = simd.all(0.0);
        let mut rest = simd.of_mut(&mut self.scores);
        let last = weights.len() - 1;
        for (at, &slots) in pieces.slots.iter().enumerate() {
            let (token, following) = rest.split_at_mut(usize::from(slots));
            rest = following;
            let mut most = token[0];
            for score in &token[1..] {
                most = simd.max(most, *score);
            }
            shifts = simd.multiply_add(weights[at.min(last)], most, shifts);
            for score in token {
                *score = simd.max(simd.subtract(*score, most), simd.all(LEAST_FOR_EXP));
            }
        }
        numeric::exp_in_place(simd.0, &mut self.scores);
        for potential in simd.of_mut(&mut self.scores) {
            *potential = simd.above(NO_POTENTIAL, *potential);
        }
        shifts
    }

    /// The sum of weight * log Z, from the totals of all tokens and weight * the sums of what scores were taken over.
    #[inline(always)]
    fn log_z<S: Simd, const N: usize>(&self, simd: Lanes<S, N>, weights: [f64; LANES], shifts: [S::f64s; N]) -> f64 {
        let shifts: &[f64] = pulp::bytemuck::cast_slice(&shifts);
        let mut products: [LogProduct; LANES] = Default::default();
        for totals in self.totals.as_chunks::<LANES>().0 {
            products.iter_mut().zip(totals).for_each(|(product, &total)| product.multiply(total));
        }
        let logs = LogProduct::logs(simd.0, &products);
        let mut sum = 0.0;
        for lane in 0..LANES {
            if weights[lane] != 0.0 {
                sum += weights[lane] * logs[lane] + shifts[lane];
            }
        }
        sum
    }

    /// weight / (sum of the last token's alpha): marginals then come out multiplied by the weight.
    #[inline(always)]
    fn scales(&self, weights: [f64; LANES]) -> [f64; LANES] {
        let mut scales = weights;
        let (totals, _) = self.totals.as_chunks::<LANES>();
        for (scale, total) in scales.iter_mut().zip(totals[totals.len() - 1]) {
            *scale /= total;
        }
        scales
    }

    /// `forward_backward` of single pieces.
    #[inline(always)]
    fn independent<S: Simd, const N: usize>(&mut self, simd: Lanes<S, N>, pieces: Pieces<'_>) -> f64 {
        self.totals.resize(pieces.slots.len() * LANES, 1.0);
        let weights = simd.of(pieces.weights.as_flattened());
        let mut value = self.exponentiate(simd, pieces, weights);
        let totals = simd.of_mut(&mut self.totals);
        let mut rest = simd.of_mut(&mut self.scores);
        for ((&slots, total), &weight) in pieces.slots.iter().zip(&mut *totals).zip(weights) {
            let (token, following) = rest.split_at_mut(usize::from(slots));
            rest = following;
            *total = simd.sum(token);
            let scale = simd.divide(weight, *total);
            for potential in token {
                *potential = simd.multiply(*potential, scale);
            }
        }
        numeric::ln_in_place(simd.0, &mut self.totals);
        for (&log, &weight) in simd.of(&self.totals).iter().zip(weights) {
            value = simd.multiply_add(weight, log, value);
        }
        simd.array(&value).iter().sum()
    }
}
