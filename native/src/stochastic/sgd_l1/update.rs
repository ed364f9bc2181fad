//! One update, and the weights it changes.

use crate::stochastic::sgd_l1::penalty::{ClippingLazy, Cumulative, Penalty, Unpenalised};
use crate::stochastic::steps::Rule;
use crate::stochastic::view::{Evaluator, Layout, View};
use crate::threads::Interrupt;
use pulp::Simd;

/// Options of a pass.
pub struct Settings<'a> {
    pub penalty: Penalty,
    /// C / N: the L1 penalty over the number of samples.
    pub l1: f64,
    /// The L2 penalty over the number of samples.
    pub l2: f64,
    /// The learning rate of each update.
    pub rates: &'a [f64],
    /// Number of the sample of each update.
    pub visits: &'a [usize],
    pub line_search: Option<LineSearch>,
}

/// The heuristic line search of Zhou et al. (2011).
#[derive(Clone, Copy, Debug)]
pub struct LineSearch {
    pub trials: usize,
    pub decay: f64,
}

/// The result of a pass, apart from weights and received penalties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub u: f64,
    /// Evaluations of a sample's log-probability, with or without its gradient.
    pub evaluations: usize,
}

/// The state of a pass between two updates.
pub(super) struct Pass<'a, E: Evaluator> {
    pub inference: E,
    pub settings: &'a Settings<'a>,
    /// v, and the number that the penalty keeps with each weight.
    pub weights: E::Weights,
    pub scale: f64,
    pub u: f64,
    pub saved: Vec<f64>,
    pub evaluations: usize,
}

impl<'a, E: Evaluator> Pass<'a, E> {
    /// Lays out w and q for a pass in which u starts as given.
    pub fn new<V: View<Evaluator<'a> = E>>(
        view: &'a V,
        w: &'a mut [f64],
        q: &'a mut [f64],
        u: f64,
        settings: &'a Settings<'a>,
        interrupt: &Interrupt,
    ) -> Self {
        let penalty = settings.penalty;
        Pass {
            inference: view.evaluator(interrupt),
            settings,
            weights: view.weights(w, q, f64::NAN, |w, q| (w, penalty.exchange(w, q))),
            scale: 1.0,
            u,
            saved: Vec::new(),
            evaluations: 0,
        }
    }

    /// Writes w and q back.
    pub fn finish(mut self) -> Outcome {
        let (u, penalty, scale) = (self.u, self.settings.penalty, self.scale);
        if penalty == Penalty::ClippingLazy {
            self.weights.everywhere(|v, state| ClippingLazy { u }.finish(v, state));
        }
        self.weights.store(|v, state| (scale * v, scale * penalty.exchange(v, state)));
        Outcome { u: u * scale, evaluations: self.evaluations }
    }

    /// Lines 6 and 10 to 22 of Figure 2 in one sweep over the sample: u <- u + eta C / N; then for every occurrence of a feature
    /// a step of length eta along its part of the gradient (line 12), and at the last one APPLYPENALTY (lines 15 to 22).
    #[inline(always)]
    pub fn update<S: Simd>(&mut self, simd: S, sample: E::Sample, eta: f64) {
        let Settings { penalty, l1, l2, .. } = *self.settings;
        // Shrinking by 1 / (1 + eta l2 / N) is the proximal step, which stays above 0 for any rate; 1 - eta l2 / N would not.
        let factor = 1.0 + eta * l2;
        self.scale /= factor;
        let step = eta / self.scale;
        let c = step * l1;
        self.u += c;
        let u = self.u;
        self.spare_intercept(factor);
        if penalty == Penalty::Naive && c > 0.0 {
            self.penalise_all(|v| *v -= if *v == 0.0 { 0.0 } else { c.copysign(*v) });
        }
        match penalty {
            Penalty::Cumulative => self.step(simd, sample, step, Cumulative { u }),
            Penalty::ClippingLazy => self.step(simd, sample, step, ClippingLazy { u }),
            Penalty::Naive | Penalty::Clipping => self.step(simd, sample, step, Unpenalised),
        }
        if let (Penalty::Cumulative, Some((v, p))) = (penalty, self.weights.intercept()) {
            v.copy_from_slice(p);
        }
        if penalty == Penalty::Clipping && c > 0.0 {
            // A weight that is NaN stays NaN, so that the pass is seen to have failed.
            self.penalise_all(|v| *v = if v.abs() <= c { 0.0 } else { *v - c.copysign(*v) });
        }
    }

    /// Undoes both penalties for the intercept: the L2 penalty's factor, and the growth of u.
    #[inline(always)]
    fn spare_intercept(&mut self, factor: f64) {
        if let Some((v, state)) = self.weights.intercept() {
            v.iter_mut().for_each(|v| *v *= factor);
            match self.settings.penalty {
                Penalty::Cumulative => state.iter_mut().for_each(|p| *p *= factor),
                Penalty::ClippingLazy => state.fill(self.u),
                Penalty::Naive | Penalty::Clipping => {}
            }
        }
    }

    /// Changes all weights but the intercept.
    #[inline(always)]
    fn penalise_all(&mut self, work: impl Fn(&mut f64)) {
        let spared = self.weights.intercept().map(|(v, _)| v.to_vec());
        self.weights.everywhere(|v, _| work(v));
        if let (Some((v, _)), Some(spared)) = (self.weights.intercept(), spared) {
            v.copy_from_slice(&spared);
        }
    }

    /// A step along the sample's gradient.
    #[inline(always)]
    fn step<S: Simd>(&mut self, simd: S, sample: E::Sample, length: f64, rule: impl Rule) {
        self.inference.step(simd, &mut self.weights, sample, length, rule);
    }

    /// Multiplies the scale into the weights before it leaves the range of a double: O(n_features), and rare.
    pub fn rescale(&mut self) {
        let scale = self.scale;
        self.weights.everywhere(|v, state| (*v, *state) = (*v * scale, *state * scale));
        self.u *= scale;
        self.scale = 1.0;
    }
}
