//! From scores to residuals weight * (p - [x = state]), variable by variable, with the samples of a chunk side by side.

use crate::network::pseudolikelihood::samples::{CHUNK, MISSING, Samples};
use crate::numeric;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// The least exponent: 1 + exp(-700) is 1.
const LEAST: f64 = -700.0;
/// Normalisers are multiplied while their product stays below 2^1000; then one logarithm is taken for all of them.
const MOST_BITS: u32 = 1000;

/// Turns the scores of consecutive variables into residuals; returns the sum over samples and variables of -weight * log p.
pub struct Residuals<'a> {
    pub samples: &'a Samples,
    pub chunk: usize,
    pub variables: Range<usize>,
    /// Scores, then residuals, n_columns x `CHUNK`.
    pub scores: &'a mut [f64],
}

/// The sum of -log p over the variables done so far, for each sample: `sums` plus the logarithm of `products`.
struct Losses {
    sums: [f64; CHUNK],
    products: [f64; CHUNK],
    /// Every product is below 2^bits.
    bits: u32,
}

impl Losses {
    /// Makes room in the products for normalisers of at most `states`.
    fn expect(&mut self, states: usize) {
        self.bits += states.ilog2() + 1;
        if self.bits > MOST_BITS {
            self.take_logarithms();
            self.bits = states.ilog2() + 1;
        }
    }

    /// Moves the logarithms of the products to the sums.
    fn take_logarithms(&mut self) {
        for (sum, product) in self.sums.iter_mut().zip(&mut self.products) {
            *sum += product.ln();
            *product = 1.0;
        }
    }
}

impl WithSimd for Residuals<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Residuals { samples, chunk, variables, scores } = self;
        let mut losses = Losses { sums: [0.0; CHUNK], products: [1.0; CHUNK], bits: 0 };
        let mut observed_weights = *samples.weights(chunk);
        for i in variables {
            let states = samples.states[i];
            let (codes, weights) = (samples.codes(chunk, i), samples.weights(chunk));
            let observed = if samples.has_missing[i] {
                for s in 0..CHUNK {
                    observed_weights[s] = if codes[s] == MISSING { 0.0 } else { weights[s] };
                }
                &observed_weights
            } else {
                weights
            };
            losses.expect(states);
            let columns = samples.columns(i);
            let scores = &mut scores[columns.start * CHUNK..columns.end * CHUNK];
            if states == 2 {
                let scores = scores.try_into().expect("one column");
                logistic(simd, codes, observed, samples.has_missing[i], scores, &mut losses);
            } else {
                softmax(simd, codes, observed, scores, &mut losses);
            }
        }
        losses.take_logarithms();
        losses
            .sums
            .iter()
            .zip(samples.weights(chunk))
            .map(|(sum, weight)| if *weight > 0.0 { sum * weight } else { 0.0 })
            .sum()
    }
}

/// Residuals of a binary variable.
///
/// Let m = -z if x = 1 and m = z if x = 0, where z is the score. Then -log p = max(m, 0) + log(1 + exp(-|m|)), and the residual
/// is -1 / (1 + exp(-m)) or 1 / (1 + exp(-m)), to full relative precision for every m.
#[inline(always)]
fn logistic<S: Simd>(
    simd: S,
    codes: &[u16; CHUNK],
    weights: &[f64; CHUNK],
    has_missing: bool,
    scores: &mut [f64; CHUNK],
    losses: &mut Losses,
) {
    let (mut signs, mut exps) = ([0.0; CHUNK], [0.0; CHUNK]);
    for s in 0..CHUNK {
        signs[s] = if codes[s] == 0 { 1.0 } else { -1.0 };
        exps[s] = (-scores[s].abs()).max(LEAST);
    }
    numeric::exp_in_place(simd, &mut exps);
    for s in 0..CHUNK {
        let margin = signs[s] * scores[s];
        let normaliser = 1.0 + exps[s];
        let wrong = if margin >= 0.0 { 1.0 } else { exps[s] } / normaliser;
        scores[s] = weights[s] * signs[s] * wrong;
        if has_missing {
            let there = codes[s] != MISSING;
            losses.sums[s] += if there { margin.max(0.0) } else { 0.0 };
            losses.products[s] *= if there { normaliser } else { 1.0 };
        } else {
            losses.sums[s] += margin.max(0.0);
            losses.products[s] *= normaliser;
        }
    }
}

/// Residuals of a variable of three states or more. `scores` leaves out the first state, whose score is 0.
#[inline(always)]
fn softmax<S: Simd>(simd: S, codes: &[u16; CHUNK], weights: &[f64; CHUNK], scores: &mut [f64], losses: &mut Losses) {
    let mut most = [0.0f64; CHUNK];
    for scores in scores.chunks_exact(CHUNK) {
        for s in 0..CHUNK {
            most[s] = most[s].max(scores[s]);
        }
    }
    let mut normalisers = [0.0; CHUNK];
    for s in 0..CHUNK {
        normalisers[s] = (-most[s]).max(LEAST);
    }
    numeric::exp_in_place(simd, &mut normalisers);
    let mut behind = [0.0f64; CHUNK];
    for s in 0..CHUNK {
        behind[s] = if codes[s] == 0 { most[s] } else { 0.0 };
    }
    for (state, scores) in (1..).zip(scores.chunks_exact_mut(CHUNK)) {
        for s in 0..CHUNK {
            let below = most[s] - scores[s];
            behind[s] = if codes[s] == state { below } else { behind[s] };
            scores[s] = (-below).max(LEAST);
        }
        numeric::exp_in_place(simd, scores);
        for s in 0..CHUNK {
            normalisers[s] += scores[s];
        }
    }
    for s in 0..CHUNK {
        let there = codes[s] != MISSING;
        losses.sums[s] += if there { behind[s] } else { 0.0 };
        losses.products[s] *= if there { normalisers[s] } else { 1.0 };
    }
    for (state, scores) in (1..).zip(scores.chunks_exact_mut(CHUNK)) {
        for s in 0..CHUNK {
            let indicator = if codes[s] == state { 1.0 } else { 0.0 };
            scores[s] = weights[s] * (scores[s] / normalisers[s] - indicator);
        }
    }
}
