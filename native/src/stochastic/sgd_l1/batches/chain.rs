//! The steps of a sentence, by forward-backward on probabilities in single precision.
//!
//! Scores of states are taken less the largest of their token, those of transitions less the largest of all, and none counts as
//! less than -`MOST`: so every number of the recursions, scaled as in `chain::inference::scaled`, keeps within the range of single
//! precision. Labels less likely than exp(-`MOST`) have wrong marginals, which are next to 0.

use crate::numeric::aligned::Aligned;
use crate::numeric::products::{Number, multiply, multiply_in_place, transposed_product, vector_matrix};
use crate::numeric::single;
use crate::stochastic::samples::Sample;
use crate::stochastic::sgd_l1::batches::sums::{LANES, Sums, threshold};
use pulp::Simd;
use std::ops::Range;

/// The largest difference of two scores.
const MOST: f32 = 40.0;

/// Transitions, and buffers for the sentences of a batch.
pub struct Chain {
    labels: usize,
    width: usize,
    /// 1 for labels, 0 for padding.
    ones: Aligned<f32>,
    /// 0 for labels, the lowest number for padding.
    floor: Aligned<f32>,
    /// exp(scores of transitions), and the same transposed; padding is 0.
    exp: Aligned<f32>,
    exp_transposed: Aligned<f32>,
    /// The places of transitions with features in these matrices.
    places: Vec<[u32; 2]>,
    /// Their weights, then exp(scores); padded by at least one transition without a feature.
    listed: Aligned<f32>,
    /// exp(score) of the transitions without features in `exp`.
    unlisted: f32,
    /// Potentials of the sentence, tokens x width.
    potentials: Aligned<f32>,
    alpha: Aligned<f32>,
    beta: Aligned<f32>,
    /// Factors 1 / sum(alpha) that keep the recursions in range.
    rescale: Vec<f32>,
    /// Steps of the cells of all sentences so far, tokens x width each, and their ranges.
    steps: Aligned<f32>,
    ranges: Vec<Range<usize>>,
    /// labels x width: sums of the expected counts of transitions times the step, before they are multiplied by `exp`.
    counts: Aligned<f32>,
    /// The step of each sentence.
    lengths: Vec<f32>,
}

impl Chain {
    /// For rows of `labels` labels, padded to `width`, and `pairs`, the transitions with features.
    pub fn new(labels: usize, width: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Chain {
        let places: Vec<_> =
            pairs.map(|(from, to)| [from * width + to, to * width + from].map(|at| at as u32)).collect();
        let matrix = || Aligned::new(labels * width, 0.0);
        let (mut ones, mut floor) = (Aligned::new(width, 0.0), Aligned::new(width, f32::MIN));
        ones[..labels].fill(1.0);
        floor[..labels].fill(0.0);
        Chain {
            labels,
            width,
            ones,
            floor,
            exp: matrix(),
            exp_transposed: matrix(),
            listed: Aligned::new((places.len() + 1).next_multiple_of(LANES), f32::NAN),
            places,
            unlisted: 0.0,
            potentials: Aligned::default(),
            alpha: Aligned::default(),
            beta: Aligned::new(width, 0.0),
            rescale: Vec::new(),
            steps: Aligned::default(),
            ranges: Vec::new(),
            counts: matrix(),
            lengths: Vec::new(),
        }
    }

    /// Takes over the weights of transitions, scale * threshold(pairs, u). The transitions without features have the same score.
    #[inline(always)]
    pub fn set_transitions<S: Simd>(&mut self, simd: S, pairs: &[f32], u: f32, scale: f32) {
        let Chain { width, exp, exp_transposed, ones, places, listed, unlisted, .. } = self;
        listed[places.len()..].fill(f32::NAN);
        listed.iter_mut().zip(&*places).for_each(|(listed, &[place, _])| *listed = pairs[place as usize]);
        let (u, by) = (simd.splat_f32s(u), simd.splat_f32s(scale));
        let mut most = simd.splat_f32s(0.0);
        for listed in f32::cut_mut::<S>(listed) {
            *listed = simd.mul_f32s(by, threshold(simd, *listed, u));
            most = simd.max_f32s(most, *listed);
        }
        let most = simd.splat_f32s(simd.reduce_max_f32s(most));
        for listed in f32::cut_mut::<S>(listed) {
            *listed = at_least(simd, simd.sub_f32s(*listed, most));
        }
        single::exp_in_place(simd, listed);
        if *unlisted != listed[places.len()] {
            *unlisted = listed[places.len()];
            for matrix in [&mut *exp, &mut *exp_transposed] {
                matrix.fill(*unlisted);
                matrix.chunks_exact_mut(*width).for_each(|row| multiply_in_place(simd, row, ones, 1.0));
            }
        }
        for (&listed, &[place, transposed]) in listed.iter().zip(&*places) {
            exp[place as usize] = listed;
            exp_transposed[transposed as usize] = listed;
        }
    }

    /// Forgets the sentences of the batch before; `has_pairs` if the next batch has labels in a row.
    pub fn begin_batch(&mut self, has_pairs: bool) {
        self.steps.clear();
        self.ranges.clear();
        self.lengths.clear();
        if has_pairs {
            self.counts.fill(0.0);
        }
    }

    /// The steps of the cells of a sentence, by its number in the batch.
    #[inline(always)]
    pub fn steps(&self, number: usize) -> &[f32] {
        &self.steps[self.ranges[number].clone()]
    }

    /// Computes the steps of a sample at the weights scale * threshold(sums, u): `length` times the gradient of log p(y|x).
    #[inline(always)]
    pub fn infer<S: Simd>(&mut self, simd: S, sums: &Sums, sample: Sample<'_>, (u, scale): (f32, f32), length: f32) {
        let size = if length == 0.0 { 0 } else { sample.tokens().len() * self.width };
        let start = self.steps.len();
        self.steps.resize(start + size, 0.0);
        self.ranges.push(start..start + size);
        self.lengths.push(length);
        if size == 0 {
            return;
        }
        self.potentials.resize(size, 0.0);
        self.potentials.chunks_exact_mut(self.width).for_each(|row| row.copy_from_slice(&self.floor));
        sums.add_weights(simd, sample, u, &mut self.potentials);
        let rows = self.potentials.chunks_exact_mut(self.width);
        for ((row, &label), &cost) in rows.zip(sample.gold).zip(sample.costs) {
            row[label as usize] -= cost as f32 / scale;
        }
        self.exponentiate(simd, scale);
        self.forward(simd);
        self.backward(simd, start, length);
        let steps = &mut self.steps[start..];
        for (row, &label) in steps.chunks_exact_mut(self.width).zip(sample.gold) {
            row[label as usize] += length;
        }
    }

    /// Turns scores into potentials.
    #[inline(always)]
    fn exponentiate<S: Simd>(&mut self, simd: S, scale: f32) {
        let Chain { width, ones, potentials, .. } = self;
        let scale = simd.splat_f32s(scale);
        for row in potentials.chunks_exact_mut(*width) {
            let row = f32::cut_mut::<S>(row);
            let most = row.iter().fold(simd.splat_f32s(f32::MIN), |most, &scores| simd.max_f32s(most, scores));
            let most = simd.splat_f32s(simd.reduce_max_f32s(most));
            for scores in row {
                *scores = at_least(simd, simd.mul_f32s(scale, simd.sub_f32s(*scores, most)));
            }
        }
        single::exp_in_place(simd, potentials);
        potentials.chunks_exact_mut(*width).for_each(|row| multiply_in_place(simd, row, ones, 1.0));
    }

    #[inline(always)]
    fn forward<S: Simd>(&mut self, simd: S) {
        let Chain { labels, width, exp, potentials, alpha, rescale, .. } = self;
        let (labels, width) = (*labels, *width);
        alpha.resize(potentials.len(), 0.0);
        rescale.clear();
        rescale.push(1.0);
        alpha[..width].copy_from_slice(&potentials[..width]);
        for (token, row) in potentials.chunks_exact(width).enumerate().skip(1) {
            let (before, rest) = alpha.split_at_mut(token * width);
            let (previous, current) = (&before[(token - 1) * width..], &mut rest[..width]);
            let factor = 1.0 / sum(simd, previous);
            rescale.push(factor);
            vector_matrix(simd, &previous[..labels], exp, current);
            multiply_in_place(simd, current, row, factor);
        }
    }

    /// Writes -length * marginals to the steps from `start` on, and adds the counts of transitions times the length.
    #[inline(always)]
    fn backward<S: Simd>(&mut self, simd: S, start: usize, length: f32) {
        let Chain { labels, width, ones, exp_transposed, potentials, alpha, beta, rescale, counts, .. } = self;
        let (labels, width) = (*labels, *width);
        let last = alpha.len() - width;
        beta.copy_from_slice(ones);
        multiply_in_place(simd, beta, ones, length / sum(simd, &alpha[last..]));
        let steps = self.steps[start..].chunks_exact_mut(width);
        for ((token, alpha), steps) in alpha.chunks_exact(width).enumerate().zip(steps).rev() {
            multiply(simd, steps, alpha, beta, -1.0);
            if token == 0 {
                break;
            }
            let incoming = &mut potentials[token * width..][..width];
            // Not by beta * rescale, which may overflow where the potential is small.
            multiply_in_place(simd, incoming, beta, 1.0);
            multiply_in_place(simd, incoming, ones, rescale[token]);
            vector_matrix(simd, &incoming[..labels], exp_transposed, beta);
        }
        transposed_product(simd, &alpha[..last], &potentials[width..], width, labels, counts);
    }

    /// Makes the steps of all sentences of the batch on the sums of transitions.
    #[inline(always)]
    pub fn step_pairs(&self, pairs: &mut [f32], batch: &[Sample<'_>]) {
        for (&[place, _], exp) in self.places.iter().zip(&*self.listed) {
            pairs[place as usize] -= self.counts[place as usize] * exp;
        }
        for (sample, length) in batch.iter().zip(&self.lengths).filter(|(_, length)| **length != 0.0) {
            for pair in sample.gold.windows(2) {
                pairs[pair[0] as usize * self.width + pair[1] as usize] += length;
            }
        }
    }
}

/// Scores that are not less than -`MOST`.
#[inline(always)]
fn at_least<S: Simd>(simd: S, scores: S::f32s) -> S::f32s {
    simd.max_f32s(simd.splat_f32s(-MOST), scores)
}

/// The sum of a row.
#[inline(always)]
fn sum<S: Simd>(simd: S, row: &[f32]) -> f32 {
    let vectors = f32::cut::<S>(row).iter();
    simd.reduce_sum_f32s(vectors.fold(simd.splat_f32s(0.0), |sum, &vector| simd.add_f32s(sum, vector)))
}
