//! Stochastic gradient descent with an L2 penalty, one sample an update, and the average of its iterates: `sg`, `asg` and
//! `pegasos` (Shalev-Shwartz et al. 2011), which differ in their step sizes and in which of the two they report.
//!
//! An update is w <- (1 - alpha lambda) w - alpha g, made lazily: w = scale * v. The sum of all iterates is tau v - a, where tau
//! is the sum of the scales so far. When v changes by D, the earlier iterates do not: a grows by tau D.

use crate::error::Result;
use crate::stochastic::steps::Rule;
use crate::stochastic::view::{Evaluator, Layout, View, Visited};
use crate::stochastic::visits::{Visitor, visit};
use crate::threads::Interrupt;
use pulp::Simd;

/// Options of a pass.
pub struct Settings<'a> {
    /// lambda: the L2 penalty over the number of samples.
    pub l2: f64,
    /// alpha of each update.
    pub rates: &'a [f64],
    /// Number of the sample of each update.
    pub visits: &'a [usize],
}

/// Makes one pass: updates w, and adds all iterates to `sum`.
pub fn pass<V: View>(
    view: &V,
    w: &mut [f64],
    sum: &mut [f64],
    settings: &Settings<'_>,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut pass = Pass {
        inference: view.evaluator(interrupt),
        weights: view.weights(w, sum, f64::NAN, |w, sum| (w, -sum)),
        scale: 1.0,
        tau: 0.0,
        settings,
        spared: Vec::new(),
    };
    visit(&mut pass, view, settings.visits, interrupt)?;
    let Pass { weights, scale, tau, .. } = pass;
    weights.store(|v, a| (scale * v, tau * v - a));
    Ok(())
}

struct Pass<'a, E: Evaluator> {
    inference: E,
    /// v and a.
    weights: E::Weights,
    scale: f64,
    tau: f64,
    settings: &'a Settings<'a>,
    /// The intercept's weights before the update, which shrinks all others.
    spared: Vec<f64>,
}

impl<E: Evaluator> Visitor for Pass<'_, E> {
    type Evaluator = E;

    #[inline(always)]
    fn weights(&self) -> &E::Weights {
        &self.weights
    }

    #[inline(always)]
    fn visit<S: Simd>(&mut self, simd: S, k: usize, sample: E::Sample) {
        let alpha = self.settings.rates[k];
        if sample.is_empty() {
            self.inference.nothing(sample);
        } else {
            self.inference.evaluate(simd, &self.weights, self.scale, sample);
            self.inference.gradient(simd, sample);
        }
        self.spared.clear();
        let (scale, intercept) = (self.scale, self.weights.intercept());
        intercept.iter().for_each(|(v, _)| self.spared.extend(v.iter().map(|v| scale * v)));
        self.scale *= 1.0 - alpha * self.settings.l2;
        if !SCALES.contains(&self.scale.abs()) {
            self.rescale();
        }
        self.spare_intercept();
        let rule = Averaged { tau: self.tau };
        self.inference.step(simd, &mut self.weights, sample, alpha / self.scale, rule);
        self.tau += self.scale;
    }
}

impl<E: Evaluator> Pass<'_, E> {
    /// The intercept is not shrunk: v becomes w / scale again, and the sum of earlier iterates remains.
    #[inline(always)]
    fn spare_intercept(&mut self) {
        if let Some((v, a)) = self.weights.intercept() {
            for ((v, a), w) in v.iter_mut().zip(a).zip(&self.spared) {
                let before = std::mem::replace(v, w / self.scale);
                *a += self.tau * (*v - before);
            }
        }
    }

    /// Multiplies the scale into the weights before it leaves the range of a double: O(n_features), and rare. tau v - a remains.
    fn rescale(&mut self) {
        let (scale, tau) = (self.scale, self.tau);
        self.weights.everywhere(|v, a| (*v, *a) = (*v * scale, *a - tau * *v));
        (self.scale, self.tau) = (1.0, 0.0);
    }
}

/// v <- v + change, a <- a + tau change.
#[derive(Clone, Copy)]
struct Averaged {
    tau: f64,
}

impl Rule for Averaged {
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, v: &mut S::f64s, a: &mut S::f64s, change: S::f64s, _: bool) {
        *v = simd.select_f64s(simd.equal_f64s(*a, *a), simd.add_f64s(*v, change), simd.splat_f64s(0.0));
        *a = simd.mul_add_e_f64s(simd.splat_f64s(self.tau), change, *a);
    }
}

const SCALES: std::ops::Range<f64> = 1e-100..1e100;
