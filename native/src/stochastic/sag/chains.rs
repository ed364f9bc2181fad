//! Chains as SAG sees them.

use crate::chain::features::Features;
use crate::chain::objective::ChainObjective;
use crate::chain::objective::states::Combined;
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::stochastic::inference::Inference;
use crate::stochastic::sag::averaging::{Accumulate, AveragedView, Averaging, Point, Sizes, subtract};
use crate::stochastic::sag::line_search::LineSearch;
use crate::stochastic::sag::memory::{self, Gradients};
use crate::stochastic::sag::proximal::Steps;
use crate::stochastic::samples::{Sample, SamplePasses};
use crate::stochastic::steps::{self, Rule};
use crate::stochastic::weights::{self, Sparse, Weights};
use crate::threads::Interrupt;
use pulp::{Scalar, Simd};

impl AveragedView for SamplePasses {
    type Averaging<'a> = Chains<'a>;

    fn sizes(&self) -> Sizes {
        memory::sizes(&self.objective)
    }

    fn averaging<'a>(&'a self, stored: [&'a mut [f32]; 3], is_lazy: bool, interrupt: &Interrupt) -> Chains<'a> {
        let objective = &*self.objective;
        Chains {
            inference: Inference::new(objective, interrupt),
            line_search: LineSearch::new(Inference::new(objective, interrupt), present(objective)),
            gradients: Gradients::new(objective, stored),
            steps_made: StepsMade::new(&objective.features, is_lazy),
            transition_scores: Aligned::default(),
        }
    }
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

/// Buffers for the sentences of an objective, with their stored gradients.
pub struct Chains<'a> {
    inference: Inference<'a>,
    line_search: LineSearch<'a>,
    gradients: Gradients<'a>,
    steps_made: StepsMade,
    /// Transition scores at the current weights, labels x width.
    transition_scores: Aligned,
}

impl<'a> Averaging for Chains<'a> {
    type Evaluator = Inference<'a>;

    #[inline(always)]
    fn fetch(&self, i: usize, sample: Sample<'a>) {
        sample.marks.repeats(sample.block, self.inference.features()).fetch(sample.sentence, sample.tokens());
        self.gradients.fetch(i, self.inference.objective);
    }

    #[inline(always)]
    fn fetch_steps(&self, weights: &Weights<'a>, sample: Sample<'a>) {
        self.steps_made.fetch(weights, sample);
    }

    #[inline(always)]
    fn evaluate<S: Simd>(
        &mut self,
        simd: S,
        weights: &Weights<'a>,
        Point { scale, sum }: Point,
        sample: Sample<'a>,
        searches: bool,
    ) -> f64 {
        let Chains { inference, transition_scores, .. } = self;
        if sample.tokens().len() > 1 {
            let (width, stride) = (weights.pairs.width, weights.pairs.stride());
            transition_scores.resize(inference.features().n_labels * width, 0.0);
            let rows = transition_scores.chunks_exact_mut(width).zip(weights.pairs.values.chunks_exact(stride));
            for (scores, row) in rows {
                let (z, d) = row.split_at(width);
                let all = scores.iter_mut().zip(z.iter().zip(d));
                all.for_each(|(score, (z, d))| *score = scale * (z - sum * d));
            }
            inference.transitions.update(simd, transition_scores, width, 1.0);
        }
        inference.scores(simd, Combined(-sum), weights, scale, sample);
        if searches {
            self.line_search.keep(&inference.lattice.scores);
        }
        let nll = inference.nll(simd, sample);
        inference.gradient(simd, sample);
        nll
    }

    #[inline(always)]
    fn nothing(&mut self, sample: Sample<'a>) {
        self.inference.nothing(sample);
    }

    #[inline(always)]
    fn direction<S: Simd>(&mut self, simd: S, sample: Sample<'a>) -> f64 {
        self.line_search.direction(simd, &self.inference, sample)
    }

    #[inline(always)]
    fn trial<S: Simd>(&mut self, simd: S, sample: Sample<'a>, step: f64) -> f64 {
        self.line_search.evaluate(simd, &self.inference, sample, &self.transition_scores, step)
    }

    #[inline(always)]
    fn exchange(&mut self, i: usize, _: Sample<'a>) {
        self.gradients.exchange(i, &mut self.inference);
    }

    #[inline(always)]
    fn subtract<S: Simd>(&mut self, simd: S, snapshot: &Weights<'a>, sample: Sample<'a>) {
        let (here, there) = (&mut self.inference, &mut self.line_search.trial);
        there.evaluate(simd, snapshot, 1.0, sample);
        there.gradient(simd, sample);
        subtract(&mut here.lattice.marginals, &there.lattice.marginals);
        if sample.tokens().len() > 1 {
            subtract(&mut here.expected.direct, &there.expected.direct);
        }
        let edges = here.lattice.edges.iter_mut().zip(&there.lattice.edges);
        edges.for_each(|(here, there)| here.marginal = there.marginal - here.marginal);
    }

    #[inline(always)]
    fn accumulate<S: Simd>(&mut self, simd: S, weights: &mut Weights<'a>, sample: Sample<'a>, rule: Accumulate) {
        let rule = Masked { rule, present: &self.line_search.present };
        steps::step(simd, weights, &self.inference, sample, 1.0, rule);
    }

    #[inline(always)]
    fn catch_up<S: Simd>(&mut self, simd: S, steps: &Steps, weights: &mut Weights<'a>, sample: Sample<'a>) {
        self.inference.find_bigrams(sample);
        self.steps_made.catch_up(simd, steps, weights, sample, &self.inference.bigrams);
    }

    fn flush(&mut self, steps: &Steps, weights: &mut Weights<'a>) {
        self.steps_made.flush(steps, weights);
    }

    #[inline(always)]
    fn spare_intercept(&mut self, steps: &Steps, weights: &mut Weights<'a>, beta: f64) {
        self.steps_made.spare_intercept(steps, weights, beta);
    }
}

/// `Accumulate`, after which both numbers are 0 again where there is no feature.
#[derive(Clone, Copy)]
struct Masked<'a> {
    rule: Accumulate,
    present: &'a [f64],
}

impl Rule for Masked<'_> {
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, z: &mut S::f64s, d: &mut S::f64s, change: S::f64s, last: bool) {
        self.rule.step(simd, z, d, change, last);
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
            self.step(simd, &mut z[n], &mut d[n], change[n], last);
            if last {
                z[n] = simd.mul_f64s(z[n], present[index + n]);
                d[n] = simd.mul_f64s(d[n], present[index + n]);
            }
        }
    }
}

/// How many of the recorded steps each weight has made.
struct StepsMade {
    /// The number of steps that the transitions have made, all together.
    pairs: u32,
    /// Dense row -> the number of steps it has made.
    rows: Vec<u32>,
    /// Cell -> the number of steps it has made.
    cells: Vec<u32>,
    /// Bigram feature -> the number of steps it has made.
    bigrams: Vec<u32>,
    /// A row of notes: 1 where a weight leaves its side of 0, or 0 itself.
    beyond: Aligned,
}

impl StepsMade {
    /// No steps yet; without lazy steps there is nothing to count.
    fn new(features: &Features, is_lazy: bool) -> StepsMade {
        let zeros = |n| vec![0; if is_lazy { n } else { 0 }];
        StepsMade {
            pairs: 0,
            rows: zeros(features.n_dense),
            cells: zeros(features.len() - weights::first_cell(features)),
            bigrams: zeros(features.n_bigrams()),
            beyond: Aligned::new(numeric::padded(features.n_labels), 0.0),
        }
    }

    /// After a step is recorded: the intercept makes it at once, without the L1 penalty.
    #[inline(always)]
    fn spare_intercept(&mut self, steps: &Steps, weights: &mut Weights<'_>, beta: f64) {
        if let Some((v, d)) = weights.intercept() {
            v.iter_mut().zip(d).for_each(|(v, d)| *v -= beta * *d);
            let counts = if self.cells.is_empty() { &mut self.rows } else { &mut self.cells };
            *counts.last_mut().expect("an intercept has a place") = steps.now();
        }
    }

    /// Makes the steps that the sample's weights have missed.
    #[inline(always)]
    fn catch_up<S: Simd>(
        &mut self,
        simd: S,
        steps: &Steps,
        weights: &mut Weights<'_>,
        sample: Sample<'_>,
        bigrams: &[u32],
    ) {
        let now = steps.now();
        if sample.tokens().len() > 1 {
            let from = std::mem::replace(&mut self.pairs, now);
            weights.pairs.rows().for_each(|(v, d)| steps.advance_row(simd, (v, d), from, &mut self.beyond));
        }
        for (entries, &(first, last)) in sample.block.rows.iter().zip(&sample.parts.rows) {
            for &row in &entries.ids[first as usize..last as usize] {
                let from = std::mem::replace(&mut self.rows[row as usize], now);
                if from != now {
                    let (v, d) = weights.rows.row(row as usize);
                    steps.advance_row(simd, (v, d), from, &mut self.beyond);
                }
            }
        }
        for Sparse { entries, part, start, base, .. } in weights.sparse(sample) {
            for &id in &entries.ids[part] {
                let cell = start + id as usize - base;
                let from = std::mem::replace(&mut self.cells[cell], now);
                let [v, d] = &mut weights.cells[cell];
                *v = steps.advance(*v, *d, from);
            }
        }
        for &feature in bigrams {
            let from = std::mem::replace(&mut self.bigrams[feature as usize], now);
            let (v, d) = weights.bigram(feature);
            *v = steps.advance(*v, *d, from);
        }
    }

    /// Prefetches the numbers of steps that the cells of a later sample have made.
    #[inline(always)]
    fn fetch(&self, weights: &Weights<'_>, sample: Sample<'_>) {
        for Sparse { entries, part, start, base, .. } in weights.sparse(sample) {
            entries.ids[part].iter().for_each(|&id| numeric::prefetch(&self.cells, start + id as usize - base));
        }
    }

    /// Makes the missed steps of all weights: O(n_features).
    fn flush(&mut self, steps: &Steps, weights: &mut Weights<'_>) {
        let scalar = Scalar::new();
        let pairs = weights.pairs.rows().map(|row| (row, self.pairs));
        for ((v, d), from) in pairs.chain(weights.rows.rows().zip(self.rows.iter().copied())) {
            steps.advance_row(scalar, (v, d), from, &mut self.beyond);
        }
        for ([v, d], &from) in weights.cells.iter_mut().zip(&self.cells) {
            *v = steps.advance(*v, *d, from);
        }
        for (feature, &from) in self.bigrams.iter().enumerate() {
            let (v, d) = weights.bigram(feature as u32);
            *v = steps.advance(*v, *d, from);
        }
        self.pairs = 0;
        [&mut self.rows, &mut self.cells, &mut self.bigrams].into_iter().for_each(|steps| steps.fill(0));
    }
}
