//! The rate of an update by trial (Zhou, Qiu & Huang 2011, Algorithm 1 with Eq. 14).

use crate::stochastic::sgd_l1::update::{LineSearch, Pass, Settings};
use crate::stochastic::view::{Evaluator, Layout, Visited};
use pulp::Simd;

/// |w|_1 and |w|_2 squared of the weights that a sample uses.
#[derive(Clone, Copy, Default)]
struct Norms {
    l1: f64,
    squared: f64,
}

impl Norms {
    #[inline(always)]
    fn add(&mut self, v: &[f64]) {
        for v in v {
            self.l1 += v.abs();
            self.squared += v * v;
        }
    }

    fn subtract(&mut self, v: &[f64]) {
        let mut of_v = Norms::default();
        of_v.add(v);
        (self.l1, self.squared) = (self.l1 - of_v.l1, self.squared - of_v.squared);
    }
}

impl<E: Evaluator> Pass<'_, E> {
    /// LEARNINGRATE of Algorithm 1: returns the rate with the lowest Eq. 14 among the trials. Leaves the weights as they were.
    #[inline(always)]
    pub(super) fn search<S: Simd>(
        &mut self,
        simd: S,
        sample: E::Sample,
        search: LineSearch,
        scheduled: f64,
        nll: f64,
    ) -> f64 {
        let initial = self.sample_objective(sample, nll);
        let (mut rate, mut flag) = (scheduled, false);
        let (mut best, mut best_rate) = (f64::INFINITY, scheduled);
        self.save(sample);
        let before = (self.scale, self.u);
        for _ in 0..search.trials {
            self.update(simd, sample, rate);
            self.evaluations += 1;
            let nll = self.inference.trial(simd, &self.weights, self.scale, sample);
            let objective = self.sample_objective(sample, nll);
            (self.scale, self.u) = before;
            self.restore(sample);
            if objective < best {
                (best, best_rate) = (objective, rate);
            }
            let worse = objective.is_nan() || objective > initial;
            rate = match (worse && !flag, flag) {
                (true, _) => scheduled * search.decay,
                (false, false) => rate / search.decay,
                (false, true) => rate * search.decay,
            };
            flag |= worse;
        }
        best_rate
    }

    /// Eq. 14: -log p(y|x) + C/N |w|_1 (+ l2 / 2N |w|^2) over the weights that the sample uses.
    #[inline(always)]
    fn sample_objective(&mut self, sample: E::Sample, nll: f64) -> f64 {
        let mut norms = Norms::default();
        self.inference.touched(&mut self.weights, sample, |v, _| norms.add(v));
        if let Some((v, _)) = self.weights.intercept() {
            norms.subtract(v);
        }
        let Settings { l1, l2, .. } = *self.settings;
        let scale = self.scale;
        sample.weight() * nll + l1 * scale * norms.l1 + 0.5 * l2 * scale * scale * norms.squared
    }

    #[inline(always)]
    fn save(&mut self, sample: E::Sample) {
        let mut saved = std::mem::take(&mut self.saved);
        saved.clear();
        self.inference.touched(&mut self.weights, sample, |v, state| {
            saved.extend_from_slice(v);
            saved.extend_from_slice(state);
        });
        self.saved = saved;
    }

    #[inline(always)]
    fn restore(&mut self, sample: E::Sample) {
        let saved = std::mem::take(&mut self.saved);
        let mut at = 0;
        self.inference.touched(&mut self.weights, sample, |v, state| {
            let n = v.len();
            v.copy_from_slice(&saved[at..at + n]);
            state.copy_from_slice(&saved[at + n..at + 2 * n]);
            at += 2 * n;
        });
        self.saved = saved;
    }
}
