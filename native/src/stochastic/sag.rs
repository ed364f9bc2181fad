//! Stochastic average gradient with non-uniform sampling (Schmidt, Clifton & Sarkar 2015, Algorithm 1),
//! and SAGA (Defazio, Bach & Lacoste-Julien 2014) with the same sampling.
//!
//! Symbols as in the paper: f_i = -log p(y_i | x_i, w), g_i its gradient when i was last visited, d the sum of the g_i, m the
//! number of samples visited so far, L_i Lipschitz constants, lambda the L2 penalty over n, alpha the step size.
//!
//! A step of the paper changes every weight: w <- (1 - alpha lambda) w - alpha / m d. Here a step costs what the sample's
//! features cost. All weights are kept as w = scale (z - S d), where S is the sum of alpha / (m scale) over the steps made. A
//! step adds to S and shrinks the scale. Where the sample has features, d changes by D = new g_i - old g_i; z then changes by S
//! D, which leaves w as it was. SAGA takes a separate step along D: z changes by less. With an L1 penalty, S remains 0 and each
//! weight makes its steps when it is needed: see `proximal`.
//!
//! One visit makes lines 4 to 11 of Algorithm 1: gradient, line search, exchange of g_i in d, step. Line 3, the draw, is made
//! `AHEAD` visits before; line 2, the stopping test, after each pass (`src/loglinear/solvers/sag.py`).
//!
//! g_i is stored as marginals less the gold labelling, in single precision: for the states of each token, for the transitions as
//! a sum over the sentence, and for each edge of a bigram feature. d is the sum of exactly the numbers stored.

mod line_search;
mod memory;
mod proximal;
mod sampler;

pub use memory::{Gradients, Memory, Sizes};
pub use sampler::Sampling;

use crate::chain::objective::ChainObjective;
use crate::chain::objective::states::Combined;
use crate::error::Result;
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::arch;
use crate::stochastic::inference::Inference;
use crate::stochastic::samples::{Sample, SamplePasses};
use crate::stochastic::steps::{self, Rule};
use crate::stochastic::visits::PERIOD;
use crate::stochastic::weights::Weights;
use crate::threads::Interrupt;
use line_search::LineSearch;
use proximal::Proximal;
use pulp::{Simd, WithSimd};
use sampler::{Draw, Sampler};

/// Options of a pass.
pub struct Settings<'a> {
    pub sampling: Sampling,
    /// SAGA's step instead of SAG's.
    pub saga: bool,
    /// The L1 penalty over n.
    pub l1: f64,
    /// lambda.
    pub l2: f64,
    /// Two random numbers from [0, 1) for each step.
    pub draws: &'a [[f64; 2]],
}

/// Makes a step for each of `draws`: updates w and the memory in place, also when interrupted. Returns the number of evaluations
/// of a sample's log-probability.
pub fn pass(
    view: &SamplePasses,
    w: &mut [f64],
    memory: Memory<'_>,
    settings: &Settings<'_>,
    interrupt: &Interrupt,
) -> Result<usize> {
    let objective = &*view.objective;
    let Memory { d, gradients, lipschitz, seen, pauses } = memory;
    let present = present(objective);
    let weights = Weights::new(objective, w, d, 0.0, |w, d| (w, d));
    let mut pass = Pass {
        inference: Inference::new(objective),
        line_search: LineSearch::new(Inference::new(objective), &present),
        sampler: Sampler::new(settings.sampling, settings.l2, lipschitz, seen, pauses),
        proximal: (settings.l1 > 0.0).then(|| Proximal::new(&objective.features, settings.l1, weights.cells.len())),
        weights,
        present: &present,
        gradients,
        scale: 1.0,
        sum: 0.0,
        transition_scores: Aligned::default(),
        evaluations: 0,
    };
    arch().dispatch(Run { pass: &mut pass, view, settings, interrupt });
    pass.catch_up();
    let Pass { scale, sum, evaluations, weights, .. } = pass;
    weights.store(|z, d| (scale * (z - sum * d), d));
    interrupt.check()?;
    Ok(evaluations)
}

/// Rows of transitions, then dense rows: 1 where there is a feature, 0 elsewhere.
fn present(objective: &ChainObjective) -> Aligned {
    let features = &objective.features;
    let width = numeric::padded(features.n_labels);
    let mut present = Aligned::new((features.n_labels + features.n_dense) * width, 0.0);
    features.transitions.iter().for_each(|&[from, to]| present[usize::from(from) * width + usize::from(to)] = 1.0);
    let dense = present[features.n_labels * width..].chunks_exact_mut(width).enumerate();
    dense.for_each(|(row, ones)| features.labels(row).iter().for_each(|&label| ones[usize::from(label)] = 1.0));
    present
}

struct Pass<'a> {
    inference: Inference<'a>,
    line_search: LineSearch<'a>,
    sampler: Sampler<'a>,
    /// z and d.
    weights: Weights<'a>,
    /// With an L1 penalty only.
    proximal: Option<Proximal>,
    /// Rows of transitions, then dense rows: 1 where there is a feature, 0 elsewhere.
    present: &'a [f64],
    gradients: Gradients<'a>,
    scale: f64,
    /// S.
    sum: f64,
    /// Transition scores at the current weights, labels x width.
    transition_scores: Aligned,
    evaluations: usize,
}

impl Pass<'_> {
    /// Computes the sample's scores at the current weights.
    #[inline(always)]
    fn scores<S: Simd>(&mut self, simd: S, sample: Sample<'_>) {
        let Pass { inference, weights, scale, sum, transition_scores, .. } = self;
        if sample.tokens().len() > 1 {
            let (width, stride) = (weights.pairs.width, weights.pairs.stride());
            transition_scores.resize(inference.features().n_labels * width, 0.0);
            let rows = transition_scores.chunks_exact_mut(width).zip(weights.pairs.values.chunks_exact(stride));
            for (scores, row) in rows {
                let (z, d) = row.split_at(width);
                let all = scores.iter_mut().zip(z.iter().zip(d));
                all.for_each(|(score, (z, d))| *score = *scale * (z - *sum * d));
            }
            inference.transitions.update(simd, transition_scores, width, 1.0);
        }
        inference.scores(simd, Combined(-*sum), weights, *scale, sample);
    }

    /// The body of Algorithm 1's loop.
    #[inline(always)]
    fn visit<S: Simd>(&mut self, simd: S, draw: Draw, sample: Sample<'_>, settings: &Settings<'_>) {
        let Draw { sample: i, probability } = draw;
        let (mut l, searches) = self.sampler.visit(i);
        if sample.is_empty() {
            self.inference.nothing(sample);
        } else {
            if let Some(proximal) = &mut self.proximal {
                proximal.catch_up(simd, &mut self.weights, &self.inference, sample);
            }
            self.scores(simd, sample);
            if searches {
                self.line_search.keep(&self.inference.lattice.scores);
            }
            let nll = self.inference.nll(simd, sample);
            self.inference.gradient(simd, sample);
            self.evaluations += 1;
            if searches {
                let transitions = &self.transition_scores;
                let (accepted, evaluations) =
                    self.line_search.search(simd, &self.inference, sample, transitions, nll, l);
                self.sampler.searched(i, accepted == l);
                l = accepted;
                self.evaluations += evaluations;
            }
        }
        let alpha = self.sampler.step_size(i, l, searches) * if settings.saga { SAGA_SHORTER } else { 1.0 };
        self.gradients.exchange(i, &mut self.inference);
        let shrinkage = 1.0 - alpha * settings.l2;
        self.scale *= shrinkage;
        self.spare_intercept(shrinkage);
        let m = self.sampler.m;
        let beta = alpha / (m as f64 * self.scale);
        let mut of_z = self.sum;
        if settings.saga {
            // w <- (1 - alpha lambda) w - alpha (D / (n p_i) + (d before) / m)
            of_z += beta - alpha / (self.scale * self.sampler.n() as f64 * probability);
        }
        let rule = Accumulate { of_z, present: self.present };
        steps::step(simd, &mut self.weights, &self.inference, sample, &[], 1.0, rule);
        match &mut self.proximal {
            Some(proximal) => {
                proximal.record(alpha, m, self.scale);
                proximal.spare_intercept(&mut self.weights, beta);
            }
            None => self.sum += beta,
        }
    }

    /// Undoes the shrinkage for the intercept: scale (z - S d) is again as large as before.
    #[inline(always)]
    fn spare_intercept(&mut self, shrinkage: f64) {
        if let Some((z, d)) = self.weights.intercept() {
            z.iter_mut().zip(d).for_each(|(z, d)| *z = self.sum * *d + (*z - self.sum * *d) / shrinkage);
        }
    }

    /// Brings all weights up to date where they are not: O(n_features).
    fn catch_up(&mut self) {
        if let Some(proximal) = &mut self.proximal {
            proximal.flush(&mut self.weights);
        }
    }

    /// Multiplies the scale into the weights before it leaves the range of a double: O(n_features), and rare.
    fn rescale(&mut self) {
        self.catch_up();
        let (scale, sum) = (self.scale, self.sum);
        self.weights.everywhere(|z, d| *z = scale * (*z - sum * *d));
        (self.scale, self.sum) = (1.0, 0.0);
    }
}

/// d <- d + D, z <- z + of_z D.
#[derive(Clone, Copy)]
struct Accumulate<'a> {
    of_z: f64,
    present: &'a [f64],
}

impl Rule for Accumulate<'_> {
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, z: &mut S::f64s, d: &mut S::f64s, change: S::f64s, _: bool) {
        *d = simd.add_f64s(*d, change);
        *z = simd.mul_add_e_f64s(simd.splat_f64s(self.of_z), change, *z);
    }

    #[inline(always)]
    fn step_row<S: Simd, const N: usize>(
        self,
        simd: S,
        (z, d): (&mut [S::f64s], &mut [S::f64s]),
        index: usize,
        change: [S::f64s; N],
        last: bool,
    ) {
        let (present, _) = S::as_simd_f64s(self.present);
        for n in 0..N {
            self.step(simd, &mut z[n], &mut d[n], change[n], false);
            if last {
                z[n] = simd.mul_f64s(z[n], present[index + n]);
                d[n] = simd.mul_f64s(d[n], present[index + n]);
            }
        }
    }
}

/// SAGA's step size over SAG's. SAGA's own step along D is noisy: with SAG's step size the method halts in a neighbourhood of the
/// optimum.
const SAGA_SHORTER: f64 = 0.5;
const SMALLEST_SCALE: f64 = 1e-100;
/// The number of steps before its visit at which a sample is drawn and its entries are prefetched; its weights are prefetched one
/// step before.
const AHEAD: usize = 2;

struct Run<'a, 'b> {
    pass: &'a mut Pass<'b>,
    view: &'a SamplePasses,
    settings: &'a Settings<'a>,
    interrupt: &'a Interrupt,
}

impl WithSimd for Run<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Run { pass, view, settings, interrupt } = self;
        let samples = view.samples();
        let mut drawn = std::collections::VecDeque::with_capacity(AHEAD + 1);
        let mut draws = settings.draws.iter();
        for step in 0..settings.draws.len() {
            if step % PERIOD == 0 && interrupt.is_set() {
                return;
            }
            while drawn.len() <= AHEAD
                && let Some(&numbers) = draws.next()
            {
                let draw = pass.sampler.draw(numbers);
                let sample = &samples[draw.sample];
                sample.fetch();
                sample.marks.repeats(sample.block, pass.inference.features()).fetch(sample.sentence, sample.tokens());
                pass.gradients.fetch(draw.sample, pass.inference.objective);
                drawn.push_back(draw);
            }
            if let Some(next) = drawn.get(1) {
                pass.weights.fetch(&samples[next.sample]);
                pass.proximal.iter().for_each(|proximal| proximal.fetch(&pass.weights, &samples[next.sample]));
            }
            let draw = drawn.pop_front().expect("one is drawn for each step");
            pass.visit(simd, draw, samples[draw.sample], settings);
            if pass.scale < SMALLEST_SCALE {
                pass.rescale();
            }
        }
    }
}
