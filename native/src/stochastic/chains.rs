//! Chains as update rules see them: an objective with its marks, sentences, their inference, and weights laid out for it.

use crate::stochastic::inference::Inference;
use crate::stochastic::samples::{Sample, SamplePasses};
use crate::stochastic::steps::{self, Rule};
use crate::stochastic::view::{Evaluator, Layout, View, Visited};
use crate::stochastic::weights::Weights;
use crate::threads::Interrupt;
use pulp::Simd;

impl View for SamplePasses {
    type Evaluator<'a> = Inference<'a>;

    const PERIOD: usize = 64;

    fn n_features(&self) -> usize {
        self.objective.features.len()
    }

    fn n_samples(&self) -> usize {
        self.objective.corpus.n_sentences()
    }

    fn samples(&self) -> Vec<Sample<'_>> {
        SamplePasses::samples(self)
    }

    fn evaluator(&self, interrupt: &Interrupt) -> Inference<'_> {
        Inference::new(&self.objective, interrupt)
    }

    fn weights<'a>(
        &'a self,
        w: &'a mut [f64],
        state: &'a mut [f64],
        nowhere: f64,
        inward: impl Fn(f64, f64) -> (f64, f64),
    ) -> Weights<'a> {
        Weights::new(&self.objective, w, state, nowhere, inward)
    }
}

impl<'a> Evaluator for Inference<'a> {
    type Sample = Sample<'a>;
    type Weights = Weights<'a>;

    #[inline(always)]
    fn begin(&mut self, sample: Sample<'a>) {
        self.find_bigrams(sample);
    }

    #[inline(always)]
    fn evaluate<S: Simd>(&mut self, simd: S, weights: &Weights<'a>, scale: f64, sample: Sample<'a>) -> f64 {
        Inference::evaluate(self, simd, weights, scale, sample)
    }

    #[inline(always)]
    fn trial<S: Simd>(&mut self, simd: S, weights: &Weights<'a>, scale: f64, sample: Sample<'a>) -> f64 {
        // An evaluation overwrites only the edges' part of the gradient.
        std::mem::swap(&mut self.lattice.edges, &mut self.trial_edges);
        let nll = Inference::evaluate(self, simd, weights, scale, sample);
        std::mem::swap(&mut self.lattice.edges, &mut self.trial_edges);
        nll
    }

    #[inline(always)]
    fn gradient<S: Simd>(&mut self, simd: S, sample: Sample<'a>) {
        Inference::gradient(self, simd, sample);
    }

    #[inline(always)]
    fn nothing(&mut self, sample: Sample<'a>) {
        Inference::nothing(self, sample);
    }

    #[inline(always)]
    fn step<S: Simd>(&self, simd: S, weights: &mut Weights<'a>, sample: Sample<'a>, length: f64, rule: impl Rule) {
        steps::step(simd, weights, self, sample, length, rule);
    }

    #[inline(always)]
    fn touched(&self, weights: &mut Weights<'a>, sample: Sample<'a>, work: impl FnMut(&mut [f64], &mut [f64])) {
        weights.touched(sample, &self.bigrams, work);
    }
}

impl Visited for Sample<'_> {
    #[inline(always)]
    fn weight(self) -> f64 {
        self.weight
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        Sample::is_empty(&self)
    }

    #[inline(always)]
    fn fetch(self) {
        Sample::fetch(&self);
    }
}

impl<'a> Layout for Weights<'a> {
    type Sample = Sample<'a>;

    #[inline(always)]
    fn fetch(&self, sample: &Sample<'a>) {
        Weights::fetch(self, sample);
    }

    #[inline(always)]
    fn everywhere(&mut self, work: impl FnMut(&mut f64, &mut f64)) {
        Weights::everywhere(self, work);
    }

    #[inline(always)]
    fn intercept(&mut self) -> Option<(&mut [f64], &mut [f64])> {
        Weights::intercept(self)
    }

    fn store(self, outward: impl Fn(f64, f64) -> (f64, f64)) {
        Weights::store(self, outward);
    }
}
