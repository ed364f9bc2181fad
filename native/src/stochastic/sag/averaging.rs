//! What SAG needs of samples besides `Evaluator`: weights z - S d, gradients that are stored, the search for L_i, and lazy steps.

use crate::stochastic::sag::proximal::Steps;
use crate::stochastic::steps::Rule;
use crate::stochastic::view::{Evaluator, View};
use crate::threads::Interrupt;
use pulp::Simd;

/// The lengths of the arrays that hold the gradients of all samples.
#[derive(Clone, Copy, Default)]
pub struct Sizes {
    pub states: usize,
    pub transitions: usize,
    pub edges: usize,
}

/// Samples over which SAG can make passes.
pub trait AveragedView: View {
    type Averaging<'a>: Averaging<Evaluator = Self::Evaluator<'a>>
    where
        Self: 'a;

    fn sizes(&self) -> Sizes;

    /// Takes the stored gradients, slices with the lengths that `sizes` gives. `is_lazy` says whether weights will make steps later.
    /// `interrupt` is as in `View::evaluator`.
    fn averaging<'a>(&'a self, stored: [&'a mut [f32]; 3], is_lazy: bool, interrupt: &Interrupt)
    -> Self::Averaging<'a>;
}

/// The weights scale (z - sum d).
#[derive(Clone, Copy)]
pub struct Point {
    pub scale: f64,
    /// S.
    pub sum: f64,
}

type Sample<T> = <<T as Averaging>::Evaluator as Evaluator>::Sample;
type Weights<T> = <<T as Averaging>::Evaluator as Evaluator>::Weights;

/// Buffers to visit one sample after the other, with the stored gradients and the number of steps that each weight has made.
pub trait Averaging: Sized {
    type Evaluator: Evaluator;

    /// Prefetches what a later visit to sample i needs, except weights.
    fn fetch(&self, i: usize, sample: Sample<Self>);

    /// Prefetches the numbers of steps that the weights of a later sample have made.
    fn fetch_steps(&self, weights: &Weights<Self>, sample: Sample<Self>);

    /// Computes the sample's gradient of log p(y|x) at a point, times its weight; returns -log p(y|x). `direction` may follow only
    /// if `searches` is set.
    fn evaluate<S: Simd>(
        &mut self,
        simd: S,
        weights: &Weights<Self>,
        point: Point,
        sample: Sample<Self>,
        searches: bool,
    ) -> f64;

    /// Makes the gradient that of a sample that contributes nothing: zeros.
    fn nothing(&mut self, sample: Sample<Self>);

    /// After `evaluate`: prepares trials along g, the gradient of -log p(y|x); returns |g|^2.
    fn direction<S: Simd>(&mut self, simd: S, sample: Sample<Self>) -> f64;

    /// After `direction`: -log p(y|x) at w - g * step.
    fn trial<S: Simd>(&mut self, simd: S, sample: Sample<Self>, step: f64) -> f64;

    /// Stores the gradient of sample i, rounded; the gradient becomes the change of the stored g_i.
    fn exchange(&mut self, i: usize, sample: Sample<Self>);

    /// After `evaluate`: the gradient becomes g_i less the g_i at a snapshot of the weights. Nothing is stored.
    fn subtract<S: Simd>(&mut self, simd: S, snapshot: &Weights<Self>, sample: Sample<Self>);

    /// After `exchange` or `subtract`: z and d move along the change D.
    fn accumulate<S: Simd>(&mut self, simd: S, weights: &mut Weights<Self>, sample: Sample<Self>, rule: Accumulate);

    /// Makes the steps that the sample's weights have missed.
    fn catch_up<S: Simd>(&mut self, simd: S, steps: &Steps, weights: &mut Weights<Self>, sample: Sample<Self>);

    /// Makes the missed steps of all weights and sets their numbers of steps to 0: O(n_features).
    fn flush(&mut self, steps: &Steps, weights: &mut Weights<Self>);

    /// The intercept makes the step just recorded at once, without the L1 penalty.
    fn spare_intercept(&mut self, steps: &Steps, weights: &mut Weights<Self>, beta: f64);
}

/// z <- z + of_z D, d <- d + of_d D.
#[derive(Clone, Copy)]
pub struct Accumulate {
    pub of_z: f64,
    pub of_d: f64,
}

impl Rule for Accumulate {
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, z: &mut S::f64s, d: &mut S::f64s, change: S::f64s, _: bool) {
        *d = simd.mul_add_e_f64s(simd.splat_f64s(self.of_d), change, *d);
        *z = simd.mul_add_e_f64s(simd.splat_f64s(self.of_z), change, *z);
    }
}

/// Each current number, of the gradient of log p, becomes the change of g_i = -current from its number at a snapshot.
#[inline(always)]
pub fn subtract(current: &mut [f64], snapshot: &[f64]) {
    current.iter_mut().zip(snapshot).for_each(|(current, snapshot)| *current = snapshot - *current);
}

/// Stores -current, rounded; current becomes the change.
#[inline(always)]
pub fn swap(stored: &mut f32, current: &mut f64) {
    let new = -*current as f32;
    *current = f64::from(new) - f64::from(*stored);
    *stored = new;
}
