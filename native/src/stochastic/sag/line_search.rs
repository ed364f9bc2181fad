//! The line search for a sample's Lipschitz constant (Schmidt et al. 2015, Algorithm 1, line 9).
//!
//! With g the sample's gradient, f(w - g / L) is wanted for some L. The scores there are those at w less G / L, where G are the
//! scores that the direction g gives: G is computed once, and a trial costs a forward recursion. |g|^2 = g . g is the sum over
//! all tokens and labels of the residual times G.

use crate::numeric;
use crate::stochastic::inference::Inference;
use crate::stochastic::repeats::Recurrence;
use crate::stochastic::samples::Sample;
use pulp::Simd;

/// A gradient so small says nothing about its constant (line 8).
const LEAST_SQUARED_NORM: f64 = 1e-8;
/// Far more doublings than a double can bear.
const MOST_DOUBLINGS: usize = 2000;

pub struct LineSearch<'a> {
    /// At w - g / L.
    trial: Inference<'a>,
    /// 1 where there is a feature: transitions, then dense rows.
    present: &'a [f64],
    /// Scores at w.
    scores: Vec<f64>,
    /// -G: of the states, of the transitions, and of the bigram features.
    states: Vec<f64>,
    pairs: Vec<f64>,
    bigrams: Vec<f64>,
    /// Sums over the occurrences of recurrent features, by slot.
    row_sums: Vec<f64>,
    sparse_sums: Vec<f64>,
    transition_scores: Vec<f64>,
}

impl<'a> LineSearch<'a> {
    pub fn new(trial: Inference<'a>, present: &'a [f64]) -> Self {
        let bigrams = vec![0.0; trial.features().n_bigrams()];
        LineSearch {
            trial,
            present,
            scores: Vec::new(),
            states: Vec::new(),
            pairs: Vec::new(),
            bigrams,
            row_sums: Vec::new(),
            sparse_sums: Vec::new(),
            transition_scores: Vec::new(),
        }
    }

    /// Keeps the scores at w, which the forward recursion overwrites.
    #[inline(always)]
    pub fn keep(&mut self, scores: &[f64]) {
        self.scores.clear();
        self.scores.extend_from_slice(scores);
    }

    /// Doubles L until f(w - g / L) <= f(w) - |g|^2 / (2 L); returns it with the number of evaluations. `here` has the
    /// sample's gradient of log p, and `nll` is -log p; `transitions` are the scores at w.
    #[inline(always)]
    pub fn search<S: Simd>(
        &mut self,
        simd: S,
        here: &Inference<'_>,
        sample: Sample<'_>,
        transitions: &[f64],
        nll: f64,
        mut l: f64,
    ) -> (f64, usize) {
        let squared = self.direction(simd, here, sample);
        if squared.is_nan() || squared <= LEAST_SQUARED_NORM {
            return (l, 0);
        }
        for evaluations in 1..=MOST_DOUBLINGS {
            let value = self.evaluate(simd, here, sample, transitions, 1.0 / l);
            if sample.weight * value <= sample.weight * nll - squared / (2.0 * l) {
                return (l, evaluations);
            }
            l *= 2.0;
        }
        (l, MOST_DOUBLINGS)
    }

    /// Computes -G; returns |g|^2.
    #[inline(always)]
    fn direction<S: Simd>(&mut self, simd: S, here: &Inference<'_>, sample: Sample<'_>) -> f64 {
        let lattice = &here.lattice;
        let width = lattice.width();
        let n_pairs = here.expected.direct.len();
        let mut squared = 0.0;
        self.pairs.clear();
        if lattice.tokens > 1 {
            let pairs = here.expected.direct.iter().zip(self.present);
            self.pairs.extend(pairs.map(|(&residual, &present)| residual * present));
            squared += numeric::dot(simd, &self.pairs, &self.pairs);
        }
        let present = &self.present[n_pairs..];
        let repeats = sample.marks.repeats(sample.block, here.features());
        self.states.clear();
        self.states.resize(lattice.tokens * width, 0.0);
        let residuals = lattice.marginals.chunks_exact(width);
        for ((once, residual), direction) in
            repeats.once(sample.tokens()).zip(residuals).zip(self.states.chunks_exact_mut(width))
        {
            let all = direction.iter_mut().zip(residual).zip(once);
            all.for_each(|((direction, residual), &once)| *direction = f64::from(once) * residual);
        }
        self.row_sums.clear();
        for (entries, recurrences) in sample.block.rows.iter().zip(&repeats.rows) {
            for &Recurrence { at, slot } in recurrences.of(sample.sentence) {
                let (at, start) = (at as usize, slot as usize * width);
                if self.row_sums.len() < start + width {
                    self.row_sums.resize(start + width, 0.0);
                }
                let residual = &lattice.marginals[entries.places[at] as usize..][..width];
                numeric::add_scaled(simd, &mut self.row_sums[start..start + width], entries.value(at), residual);
            }
        }
        for (entries, recurrences) in sample.block.rows.iter().zip(&repeats.rows) {
            for &Recurrence { at, slot } in recurrences.of(sample.sentence) {
                let at = at as usize;
                let direction = &mut self.states[entries.places[at] as usize..][..width];
                let present = &present[entries.ids[at] as usize * width..][..width];
                let sums = &self.row_sums[slot as usize * width..][..width];
                numeric::add_product(simd, direction, entries.value(at), present, sums);
            }
        }
        self.sparse_sums.clear();
        let sparse = [(&sample.block.shared, &repeats.shared), (&sample.block.own, &repeats.own)];
        for (entries, recurrences) in sparse {
            for &Recurrence { at, slot } in recurrences.of(sample.sentence) {
                let (at, slot) = (at as usize, slot as usize);
                if self.sparse_sums.len() <= slot {
                    self.sparse_sums.resize(slot + 1, 0.0);
                }
                self.sparse_sums[slot] += entries.value(at) * lattice.marginals[entries.places[at] as usize];
            }
        }
        for (entries, recurrences) in sparse {
            for &Recurrence { at, slot } in recurrences.of(sample.sentence) {
                let at = at as usize;
                self.states[entries.places[at] as usize] += entries.value(at) * self.sparse_sums[slot as usize];
            }
        }
        squared += numeric::dot(simd, &self.states, &lattice.marginals);
        lattice.edges.iter().for_each(|edge| self.bigrams[edge.feature as usize] = 0.0);
        lattice.edges.iter().for_each(|edge| self.bigrams[edge.feature as usize] += edge.marginal);
        squared + lattice.edges.iter().map(|edge| edge.marginal * self.bigrams[edge.feature as usize]).sum::<f64>()
    }

    /// -log p at w - g * step.
    #[inline(always)]
    fn evaluate<S: Simd>(
        &mut self,
        simd: S,
        here: &Inference<'_>,
        sample: Sample<'_>,
        transitions: &[f64],
        step: f64,
    ) -> f64 {
        let trial = &mut self.trial;
        if here.lattice.tokens > 1 {
            self.transition_scores.clear();
            self.transition_scores.extend_from_slice(transitions);
            numeric::add_scaled(simd, &mut self.transition_scores, step, &self.pairs);
            trial.transitions.update_forward(simd, &self.transition_scores, here.lattice.width(), 1.0);
        }
        let lattice = &mut trial.lattice;
        if !here.lattice.edges.is_empty() {
            lattice.prepare(&trial.transitions);
        }
        lattice.begin(here.lattice.tokens, &trial.transitions);
        lattice.scores.copy_from_slice(&self.scores);
        numeric::add_scaled(simd, &mut lattice.scores, step, &self.states);
        lattice.overlap = here.lattice.overlap;
        lattice.edge_ends.clone_from(&here.lattice.edge_ends);
        lattice.edges.clone_from(&here.lattice.edges);
        lattice.edges.iter_mut().for_each(|edge| edge.score += step * self.bigrams[edge.feature as usize]);
        trial.nll(simd, sample)
    }
}
