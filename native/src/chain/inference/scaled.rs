//! Forward-backward on probabilities, rescaled at every token (Rabiner 1989, section V.A).
//!
//! The factor of token t is 1 / sum(alpha_{t-1}), not 1 / sum(alpha_t): the sum is then off the chain of dependent
//! operations. alpha and beta take the same factors, so alpha_t . beta_t is the same number, sum(alpha_last), at every token.

use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::lattice::{Lattice, edges_into};
use crate::chain::inference::transitions::Transitions;
use crate::numeric::products::{multiply, multiply_in_place, transposed_product, vector_matrix};
use crate::numeric::{self, LANES};
use pulp::Simd;

/// Largest |state score| + |transition score| for which scaled probabilities cannot leave the range of a double:
/// the entries of alpha and beta then stay within exp(+-600).
const MOST: f64 = 150.0;
/// `MOST` of second order, where the sum includes a |triple score|. The scores of two pairs can be four such sums apart, where
/// the scores of two labels are two apart.
const MOST_SECOND: f64 = 100.0;

/// Whether scaled probabilities stay within the range of a double, `most` being the largest sum of the |scores| that meet at a
/// token. Not with scores that are not numbers.
#[inline(always)]
pub(super) fn stays_in_range(most: f64, second_order: bool) -> bool {
    most <= if second_order { MOST_SECOND } else { MOST }
}

/// The least ratio of a forward variable to its potential in scaled recursions. It is above exp(-300) where each label can follow
/// each other. Constraints can keep labels apart for many tokens, so that a forward variable becomes smaller at every token.
pub(super) const LEAST: f64 = 1e-200;

/// Whether a forward variable is too small for its potential, which is 0 for what is forbidden.
#[inline(always)]
pub(super) fn has_vanished((&alpha, &potential): (&f64, &f64)) -> bool {
    alpha.is_nan() || alpha < LEAST * potential
}

impl Lattice {
    /// Forward recursion; returns log Z, or None if a number leaves the range of a double. Exponentiates the scores in place.
    #[inline(always)]
    pub(super) fn forward_scaled<S: Simd>(&mut self, simd: S, transitions: &Transitions) -> Option<f64> {
        let width = self.width;
        let exp = self.factors(transitions);
        numeric::exp_in_place(simd, &mut self.scores);
        self.mask.multiply(simd, &mut self.scores);
        self.alpha.resize(self.tokens * width, 0.0);
        self.rescale.resize(self.tokens.max(1), 1.0);
        multiply(simd, &mut self.alpha[..width], &self.scores[..width], &transitions.ones, 1.0);
        let mut product = LogProduct::default();
        for token in 1..self.tokens {
            if self.is_interrupted() {
                return Some(f64::NEG_INFINITY);
            }
            let (before, rest) = self.alpha.split_at_mut(token * width);
            let previous = &before[(token - 1) * width..];
            let current = &mut rest[..width];
            let total = numeric::sum(simd, previous);
            let rescale = 1.0 / total;
            self.rescale[token] = rescale;
            product.multiply(total);
            let potentials = &self.scores[token * width..(token + 1) * width];
            let edges = edges_into(&self.edge_ends, token);
            if edges.is_empty() {
                vector_matrix(simd, &previous[..self.labels], exp, current);
            } else {
                self.patched.apply(&self.edges[edges.clone()]);
                vector_matrix(simd, &previous[..self.labels], &self.patched.exp, current);
                self.patched.restore(&self.edges[edges], transitions);
            }
            multiply_in_place(simd, current, potentials, rescale);
            if transitions.is_constrained() && current[..self.labels].iter().zip(potentials).any(has_vanished) {
                return None;
            }
        }
        self.last_sum = numeric::sum(simd, &self.alpha[(self.tokens - 1) * width..]);
        // If every labelling is forbidden, the sum is 0 or NaN.
        (self.last_sum > 0.0).then(|| product.log() + self.last_sum.ln())
    }

    /// exp of the scores of transitions, which are centred where the scores of the sentence are.
    #[inline(always)]
    pub(super) fn factors<'a>(&self, transitions: &'a Transitions) -> &'a [f64] {
        transitions.centred_if(self.centred).map_or(&transitions.exp, |centred| &centred.exp)
    }

    /// After `forward_scaled`: leaves factor * marginals, and adds the counts of transitions. Overwrites the scores.
    #[inline(always)]
    pub(super) fn backward_scaled<S: Simd>(
        &mut self,
        simd: S,
        transitions: &Transitions,
        factor: f64,
        pairs: &mut PairCounts,
    ) {
        let (width, labels) = (self.width, self.labels);
        let centred = transitions.centred_if(self.centred);
        let exp_transposed = centred.map_or(&transitions.exp_transposed, |centred| &centred.exp_transposed);
        self.backward.resize(width, 0.0);
        // beta of the last token is factor / Z: marginals then come out multiplied by the factor.
        let scale = factor / self.last_sum;
        for (beta, one) in self.backward.iter_mut().zip(&*transitions.ones) {
            *beta = scale * one;
        }
        self.marginals.resize(self.tokens * width, 0.0);
        for token in (0..self.tokens).rev() {
            if self.is_interrupted() {
                return;
            }
            let at = token * width..(token + 1) * width;
            multiply(simd, &mut self.marginals[at.clone()], &self.alpha[at.clone()], &self.backward, 1.0);
            if token == 0 {
                break;
            }
            // psi_t beta_t takes the place of the token's potentials psi_t, which are not needed any more.
            let incoming = &mut self.scores[at];
            multiply_in_place(simd, incoming, &self.backward, self.rescale[token]);
            let edges = edges_into(&self.edge_ends, token);
            if edges.is_empty() {
                vector_matrix(simd, &incoming[..labels], exp_transposed, &mut self.backward);
                continue;
            }
            let previous = &self.alpha[(token - 1) * width..][..labels];
            self.patched.apply(&self.edges[edges.clone()]);
            self.backward.fill(0.0);
            for (from, &alpha) in previous.iter().enumerate() {
                let at = from * width;
                let mut total = 0.0;
                for to in 0..labels {
                    let onward = self.patched.exp[at + to] * incoming[to];
                    total += onward;
                    pairs.direct[at + to] += alpha * onward;
                }
                self.backward[from] = total;
            }
            for edge in &mut self.edges[edges.clone()] {
                let (from, to) = (edge.from as usize, edge.to as usize);
                edge.marginal = previous[from] * self.patched.exp[from * width + to] * incoming[to];
            }
            self.patched.restore(&self.edges[edges], transitions);
            // This token's transitions are counted; the sum over all tokens below must not count them again.
            incoming.fill(0.0);
        }
        if pairs.outer.is_empty() {
            return;
        }
        let before = &self.alpha[..(self.tokens - 1) * width];
        let out = if self.centred {
            pairs.centred.resize(pairs.outer.len(), 0.0);
            &mut pairs.centred
        } else {
            &mut pairs.outer
        };
        transposed_product(simd, before, &self.scores[width..], width, labels, out);
    }
}

/// A product of many positive numbers as mantissa and exponent, so that one logarithm serves them all.
pub(super) struct LogProduct {
    mantissa: f64,
    exponent: i64,
}

impl Default for LogProduct {
    fn default() -> Self {
        LogProduct { mantissa: 1.0, exponent: 0 }
    }
}

impl LogProduct {
    /// Multiplies by a factor above 0.
    #[inline(always)]
    pub(super) fn multiply(&mut self, factor: f64) {
        const EXPONENT: u64 = 0x7ff << 52;
        let product = self.mantissa * factor;
        let bits = product.to_bits();
        self.exponent += ((bits & EXPONENT) >> 52) as i64 - 1023;
        self.mantissa = f64::from_bits(bits & !EXPONENT | 1.0f64.to_bits());
    }

    /// The natural logarithm of the product.
    pub(super) fn log(&self) -> f64 {
        self.mantissa.ln() + self.exponent as f64 * std::f64::consts::LN_2
    }

    /// The natural logarithms of eight products.
    #[inline(always)]
    pub(super) fn logs<S: Simd>(simd: S, products: &[LogProduct; LANES]) -> [f64; LANES] {
        let mut logs = products.each_ref().map(|product| product.mantissa);
        numeric::ln_in_place(simd, &mut logs);
        for (log, product) in logs.iter_mut().zip(products) {
            *log += product.exponent as f64 * std::f64::consts::LN_2;
        }
        logs
    }
}
