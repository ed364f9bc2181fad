//! Stochastic average gradient with non-uniform sampling (Schmidt, Clifton & Sarkar 2015, Algorithm 1), and with the same sampling
//! SAGA (Defazio, Bach & Lacoste-Julien 2014) and SVRG (Johnson & Zhang 2013).
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
//! SVRG stores no g_i: d is the gradient at a snapshot of the weights, and D the difference of g_i from the g_i there, which is
//! evaluated again. d does not change.
//!
//! Samples may go in batches, each of consecutive samples. A batch has one L_i, the mean over its samples of what their searches
//! find, and makes one step; m counts samples.
//!
//! g_i is stored as marginals less the gold labelling, in single precision: for the states of each token, for the transitions as
//! a sum over the sentence, and for each edge of a bigram feature. d is the sum of exactly the numbers stored.

pub mod averaging;
mod chains;
mod graphs;
mod line_search;
mod memory;
pub mod proximal;
mod sampler;

pub use sampler::Sampling;

use crate::error::Result;
use crate::numeric::arch::arch;
use crate::stochastic::sag::averaging::{Accumulate, AveragedView, Averaging, Point};
use crate::stochastic::view::{Evaluator, Layout, Visited};
use crate::threads::Interrupt;
use proximal::Steps;
use pulp::{Simd, WithSimd};
use sampler::{Draw, Sampler};

/// Everything that SAG keeps between passes, except the weights.
pub struct Memory<'a> {
    /// The sum of all stored gradients, by feature.
    pub d: &'a mut [f64],
    /// g_i of every sample: of states, of transitions and of edges.
    pub gradients: [&'a mut [f32]; 3],
    /// L_g, or L_i of each sample.
    pub lipschitz: &'a mut [f64],
    pub seen: &'a mut [bool],
    /// Sample -> the number of visits to come without a line search, and the number of searches in a row that found L_i at once.
    /// Empty where every visit searches.
    pub pauses: &'a mut [[u8; 2]],
}

/// Options of a pass.
pub struct Settings<'a> {
    pub sampling: Sampling,
    pub change: Change<'a>,
    /// The number of samples in a batch; 1 except with `Change::Averaged`.
    pub batch_size: usize,
    /// The L1 penalty over n.
    pub l1: f64,
    /// lambda.
    pub l2: f64,
    /// Two random numbers from [0, 1) for each step.
    pub draws: &'a [[f64; 2]],
}

/// What a step does with the change of a g_i.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    /// SAG: nothing more than to change d.
    Averaged,
    /// SAGA: a step along it.
    Added,
    /// SVRG: a step along the difference from these weights, the snapshot.
    FromSnapshot(&'a [f64]),
}

/// Makes a step for each of `draws`: updates w and the memory in place, also when interrupted. Returns the number of evaluations
/// of a sample's log-probability.
pub fn pass<V: AveragedView>(
    view: &V,
    w: &mut [f64],
    memory: Memory<'_>,
    settings: &Settings<'_>,
    interrupt: &Interrupt,
) -> Result<usize> {
    let Memory { d, gradients, lipschitz, seen, pauses } = memory;
    let is_lazy = settings.l1 > 0.0;
    let (mut snapshot, mut no_state) = match settings.change {
        Change::FromSnapshot(w) => (w.to_vec(), vec![0.0; w.len()]),
        _ => (Vec::new(), Vec::new()),
    };
    let taken = !snapshot.is_empty();
    let mut pass = Pass {
        samples: view.averaging(gradients, is_lazy, interrupt),
        sampler: Sampler::new(settings.sampling, settings.l2, lipschitz, seen, pauses),
        steps: is_lazy.then(|| Steps::new(settings.l1)),
        weights: view.weights(w, d, 0.0, |w, d| (w, d)),
        snapshot: taken.then(|| view.weights(&mut snapshot, &mut no_state, 0.0, |w, _| (w, 0.0))),
        n_samples: view.n_samples(),
        scale: 1.0,
        sum: 0.0,
        evaluations: 0,
    };
    let samples = view.samples();
    arch().dispatch(Run { pass: &mut pass, samples: &samples, period: V::PERIOD, settings, interrupt });
    pass.catch_up();
    let Pass { scale, sum, evaluations, weights, .. } = pass;
    weights.store(|z, d| (scale * (z - sum * d), d));
    interrupt.check()?;
    Ok(evaluations)
}

struct Pass<'a, A: Averaging> {
    samples: A,
    sampler: Sampler<'a>,
    /// With an L1 penalty only.
    steps: Option<Steps>,
    /// z and d.
    weights: <A::Evaluator as Evaluator>::Weights,
    /// With `Change::FromSnapshot` only.
    snapshot: Option<<A::Evaluator as Evaluator>::Weights>,
    n_samples: usize,
    scale: f64,
    /// S.
    sum: f64,
    evaluations: usize,
}

type Sample<A> = <<A as Averaging>::Evaluator as Evaluator>::Sample;

impl<A: Averaging> Pass<'_, A> {
    /// The body of Algorithm 1's loop.
    #[inline(always)]
    fn visit<S: Simd>(&mut self, simd: S, draw: Draw, batch: &[Sample<A>], settings: &Settings<'_>) {
        let Draw { sample: number, probability } = draw;
        let (first, searches) = self.sampler.visit(number);
        let mut sum_of_l = 0.0;
        for (i, &sample) in batch.iter().enumerate() {
            sum_of_l += self.evaluate(simd, sample, first, searches);
            match &self.snapshot {
                Some(_) if sample.is_empty() => {}
                Some(snapshot) => {
                    self.samples.subtract(simd, snapshot, sample);
                    self.evaluations += 1;
                }
                None => self.samples.exchange(number * settings.batch_size + i, sample),
            }
            if batch.len() > 1 {
                // The next sample is evaluated at the same w.
                let rule = Accumulate { of_z: self.sum, of_d: 1.0 };
                self.samples.accumulate(simd, &mut self.weights, sample, rule);
            }
        }
        let l = sum_of_l / batch.len() as f64;
        if searches && !batch.iter().all(|sample| sample.is_empty()) {
            self.sampler.searched(number, l == first);
        }
        let shorter = if matches!(settings.change, Change::Averaged) { 1.0 } else { SHORTER };
        let alpha = self.sampler.step_size(number, l, searches) * shorter;
        let shrinkage = 1.0 - alpha * settings.l2;
        self.scale *= shrinkage;
        self.spare_intercept(shrinkage);
        let m = match settings.change {
            Change::FromSnapshot(_) => self.n_samples,
            _ => (self.sampler.m * settings.batch_size).min(self.n_samples),
        };
        let beta = alpha / (m as f64 * self.scale);
        let along = alpha / (self.scale * self.n_samples as f64 * probability);
        // w <- (1 - alpha lambda) w - alpha (D / (n p_i) + (d before) / m), without D in SAG.
        let rule = match settings.change {
            Change::Averaged => Accumulate { of_z: self.sum, of_d: 1.0 },
            Change::Added => Accumulate { of_z: self.sum + (beta - along), of_d: 1.0 },
            Change::FromSnapshot(_) => Accumulate { of_z: -along, of_d: 0.0 },
        };
        if let &[sample] = batch {
            self.samples.accumulate(simd, &mut self.weights, sample, rule);
        }
        match &mut self.steps {
            Some(steps) => {
                steps.record(alpha, m, self.scale);
                self.samples.spare_intercept(steps, &mut self.weights, beta);
            }
            None => self.sum += beta,
        }
    }

    /// Computes a sample's gradient and, if `searches` is set, searches for its L from the one given; returns L.
    #[inline(always)]
    fn evaluate<S: Simd>(&mut self, simd: S, sample: Sample<A>, l: f64, searches: bool) -> f64 {
        if sample.is_empty() {
            self.samples.nothing(sample);
            return l;
        }
        if let Some(steps) = &self.steps {
            self.samples.catch_up(simd, steps, &mut self.weights, sample);
        }
        let point = Point { scale: self.scale, sum: self.sum };
        let nll = self.samples.evaluate(simd, &self.weights, point, sample, searches);
        self.evaluations += 1;
        if searches { self.search(simd, sample, nll, l) } else { l }
    }

    /// Line 9 of Algorithm 1: doubles L until f(w - g / L) <= f(w) - |g|^2 / (2 L); returns L.
    #[inline(always)]
    fn search<S: Simd>(&mut self, simd: S, sample: Sample<A>, nll: f64, mut l: f64) -> f64 {
        let squared = self.samples.direction(simd, sample);
        if squared.is_nan() || squared <= LEAST_SQUARED_NORM {
            return l;
        }
        for _ in 0..MOST_DOUBLINGS {
            self.evaluations += 1;
            let value = self.samples.trial(simd, sample, 1.0 / l);
            if sample.weight() * value <= sample.weight() * nll - squared / (2.0 * l) {
                return l;
            }
            l *= 2.0;
        }
        l
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
        if let Some(steps) = &mut self.steps {
            self.samples.flush(steps, &mut self.weights);
            steps.begin();
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

/// The step size of SAGA and SVRG over SAG's. Their own step along D is noisy: with SAG's step size SAGA halts in a neighbourhood of
/// the optimum.
const SHORTER: f64 = 0.5;
const SMALLEST_SCALE: f64 = 1e-100;
/// The least |g|^2 for which there is a search (line 8).
const LEAST_SQUARED_NORM: f64 = 1e-8;
/// The most doublings of L: more than take any double to infinity.
const MOST_DOUBLINGS: usize = 2000;
/// The number of steps before its visit at which a sample is drawn and its entries are prefetched; its weights are prefetched one
/// step before.
const AHEAD: usize = 2;

struct Run<'a, 'b, A: Averaging> {
    pass: &'a mut Pass<'b, A>,
    samples: &'a [Sample<A>],
    period: usize,
    settings: &'a Settings<'a>,
    interrupt: &'a Interrupt,
}

impl<A: Averaging> WithSimd for Run<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Run { pass, samples, period, settings, interrupt } = self;
        let batches: Vec<&[Sample<A>]> = samples.chunks(settings.batch_size).collect();
        let batch = |draw: Draw| batches[draw.sample];
        let mut drawn = std::collections::VecDeque::with_capacity(AHEAD + 1);
        let mut draws = settings.draws.iter();
        for step in 0..settings.draws.len() {
            if step % period == 0 && interrupt.is_set() {
                return;
            }
            while drawn.len() <= AHEAD
                && let Some(&numbers) = draws.next()
            {
                let draw = pass.sampler.draw(numbers);
                for (i, sample) in batch(draw).iter().enumerate() {
                    sample.fetch();
                    pass.samples.fetch(draw.sample * settings.batch_size + i, *sample);
                }
                drawn.push_back(draw);
            }
            for sample in drawn.get(1).into_iter().flat_map(|&next| batch(next)) {
                pass.weights.fetch(sample);
                if pass.steps.is_some() {
                    pass.samples.fetch_steps(&pass.weights, *sample);
                }
            }
            let draw = drawn.pop_front().expect("one is drawn for each step");
            pass.visit(simd, draw, batch(draw), settings);
            if pass.scale < SMALLEST_SCALE {
                pass.rescale();
            }
        }
    }
}
