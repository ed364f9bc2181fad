//! What update rules need of samples. Each rule is written once, against these traits; chains (`chains`) and graphs (`graphs`)
//! implement them.

use crate::stochastic::steps::Rule;
use crate::threads::Interrupt;
use pulp::Simd;

/// The samples of an objective, as passes visit them one by one, in any sequence.
pub trait View: Sync + Sized {
    type Evaluator<'a>: Evaluator
    where
        Self: 'a;

    /// The number of samples between two looks at the interrupt flag.
    const PERIOD: usize;

    fn n_features(&self) -> usize;

    fn n_samples(&self) -> usize;

    /// All samples, in the sequence of the data.
    fn samples(&self) -> Vec<SampleOf<'_, Self>>;

    /// Buffers to evaluate one sample after the other. Once `interrupt` is set, a sample that takes long may count as one that
    /// contributes nothing.
    fn evaluator(&self, interrupt: &Interrupt) -> Self::Evaluator<'_>;

    /// Lays out w and its state; `inward` converts both to the numbers that the loops use. Where the layout has a place without a
    /// feature, the weight is 0 and its state `nowhere`.
    fn weights<'a>(
        &'a self,
        w: &'a mut [f64],
        state: &'a mut [f64],
        nowhere: f64,
        inward: impl Fn(f64, f64) -> (f64, f64),
    ) -> WeightsOf<'a, Self>;
}

pub type SampleOf<'a, V> = <<V as View>::Evaluator<'a> as Evaluator>::Sample;
pub type WeightsOf<'a, V> = <<V as View>::Evaluator<'a> as Evaluator>::Weights;

/// The log-probability of a sample at the current weights, and its gradient.
pub trait Evaluator {
    type Sample: Visited;
    type Weights: Layout<Sample = Self::Sample>;

    /// Begins work on a sample: finds what `touched` and `step` visit once, however often it occurs.
    fn begin(&mut self, sample: Self::Sample);

    /// Returns -log p(y|x) at `scale` times the weights stored, where y are the known labels.
    fn evaluate<S: Simd>(&mut self, simd: S, weights: &Self::Weights, scale: f64, sample: Self::Sample) -> f64;

    /// `evaluate` that leaves the gradient of `gradient` as it is.
    fn trial<S: Simd>(&mut self, simd: S, weights: &Self::Weights, scale: f64, sample: Self::Sample) -> f64;

    /// After `evaluate`: computes the sample's gradient of log p(y|x), times its weight.
    fn gradient<S: Simd>(&mut self, simd: S, sample: Self::Sample);

    /// Makes the gradient that of a sample that contributes nothing: zeros.
    fn nothing(&mut self, sample: Self::Sample);

    /// Makes a step of a length along the gradient.
    fn step<S: Simd>(&self, simd: S, weights: &mut Self::Weights, sample: Self::Sample, length: f64, rule: impl Rule);

    /// Calls `work` once with every weight that the sample uses. Weights that come together are always together.
    fn touched(&self, weights: &mut Self::Weights, sample: Self::Sample, work: impl FnMut(&mut [f64], &mut [f64]));
}

/// A sample that a pass visits.
pub trait Visited: Copy {
    fn weight(self) -> f64;

    /// Whether the sample contributes nothing.
    fn is_empty(self) -> bool;

    /// Prefetches the sample.
    fn fetch(self);
}

/// Weights, each with a number of the solver's state, laid out for a pass.
pub trait Layout {
    type Sample;

    /// Prefetches the weights that a later sample uses.
    fn fetch(&self, sample: &Self::Sample);

    /// Calls `work` with every weight and its solver state: O(n_features).
    fn everywhere(&mut self, work: impl FnMut(&mut f64, &mut f64));

    /// The weights of the intercept, which have no penalty and which every sample uses, and their solver state.
    fn intercept(&mut self) -> Option<(&mut [f64], &mut [f64])>;

    /// Writes all weights and their state back; `outward` undoes `inward`.
    fn store(self, outward: impl Fn(f64, f64) -> (f64, f64));
}
