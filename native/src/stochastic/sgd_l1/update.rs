//! One update, and the weights it changes.

use crate::stochastic::inference::Inference;
use crate::stochastic::samples::{Sample, SamplePasses};
use crate::stochastic::sgd_l1::penalty::{ClippingLazy, Cumulative, Penalty, Unpenalised};
use crate::stochastic::steps::{self, Rule};
use crate::stochastic::weights::Weights;
use pulp::Simd;

pub struct Settings<'a> {
    pub penalty: Penalty,
    /// C / N and the L2 penalty over N: what one sample bears of the penalty.
    pub l1: f64,
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

/// What a pass leaves besides weights and received penalties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub u: f64,
    /// Evaluations of a sample's log-probability, with or without its gradient.
    pub evaluations: usize,
}

pub(super) struct Pass<'a> {
    pub inference: Inference<'a>,
    pub penalty: Penalty,
    /// v, and what `penalty` keeps with it.
    pub weights: Weights<'a>,
    pub scale: f64,
    pub u: f64,
    /// Bigram features of the sentence, each once.
    pub bigrams: Vec<u32>,
    pub saved: Vec<f64>,
    pub evaluations: usize,
}

impl<'a> Pass<'a> {
    pub fn new(view: &'a SamplePasses, w: &'a mut [f64], q: &'a mut [f64], u: f64, penalty: Penalty) -> Self {
        Pass {
            inference: Inference::new(&view.objective),
            penalty,
            weights: Weights::new(&view.objective, w, q, f64::NAN, |w, q| (w, penalty.exchange(w, q))),
            scale: 1.0,
            u,
            bigrams: Vec::new(),
            saved: Vec::new(),
            evaluations: 0,
        }
    }

    pub fn finish(mut self) -> Outcome {
        let (u, penalty, scale) = (self.u, self.penalty, self.scale);
        if penalty == Penalty::ClippingLazy {
            self.weights.everywhere(|v, kept| ClippingLazy { u }.finish(v, kept));
        }
        self.weights.store(|v, kept| (scale * v, scale * penalty.exchange(v, kept)));
        Outcome { u: u * scale, evaluations: self.evaluations }
    }

    /// Scores of the sample at the current weights, then the forward recursion; returns -log p(y|x).
    #[inline(always)]
    pub fn evaluate<S: Simd>(&mut self, simd: S, sample: Sample<'_>) -> f64 {
        self.evaluations += 1;
        self.inference.evaluate(simd, &self.weights, self.scale, sample)
    }

    /// UPDATEWEIGHTS (Figure 2): a step of length eta along the sample's gradient, and the penalty.
    #[inline(always)]
    pub fn update<S: Simd>(&mut self, simd: S, sample: Sample<'_>, settings: &Settings<'_>, eta: f64) {
        // Shrinking by 1 / (1 + eta l2 / N) is the proximal step: for small rates the same as 1 - eta l2 / N.
        let factor = 1.0 + eta * settings.l2;
        self.scale /= factor;
        let (step, penalty) = (eta / self.scale, self.penalty);
        let c = step * settings.l1;
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
            // NaN is not small: it has to be seen.
            self.penalise_all(|v| *v = if v.abs() <= c { 0.0 } else { *v - c.copysign(*v) });
        }
    }

    /// The intercept is not shrunk by the L2 penalty, and what it could have received of the other it need not receive.
    #[inline(always)]
    fn spare_intercept(&mut self, factor: f64) {
        if let Some((v, kept)) = self.weights.intercept() {
            v.iter_mut().for_each(|v| *v *= factor);
            match self.penalty {
                Penalty::Cumulative => kept.iter_mut().for_each(|p| *p *= factor),
                Penalty::ClippingLazy => kept.fill(self.u),
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
    fn step<S: Simd>(&mut self, simd: S, sample: Sample<'_>, length: f64, rule: impl Rule) {
        steps::step(simd, &mut self.weights, &self.inference, sample, &self.bigrams, length, rule);
    }

    /// Multiplies the scale into the weights before it leaves the range of a double: O(n_features), and rare.
    pub fn rescale(&mut self) {
        let scale = self.scale;
        self.weights.everywhere(|v, kept| (*v, *kept) = (*v * scale, *kept * scale));
        self.u *= scale;
        self.scale = 1.0;
    }
}
