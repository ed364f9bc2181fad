//! The line search for a sample's Lipschitz constant (Schmidt et al. 2015, Algorithm 1, line 9).
//!
//! With g for the sample's gradient, a trial evaluates f(w - g / L). The scores at w - g / L are the scores at w less G / L,
//! where G are the sample's scores with g as weights. G is computed once, and a trial costs a forward recursion. |g|^2 is the sum
//! over all tokens and labels of the residual times G.

use crate::numeric;
use crate::stochastic::inference::Inference;
use crate::stochastic::repeats::Recurrence;
use crate::stochastic::samples::Sample;
use pulp::Simd;

/// The least |g|^2 for which there is a search (line 8).
const LEAST_SQUARED_NORM: f64 = 1e-8;
/// The most doublings of L: more than take any double to infinity.
const MOST_DOUBLINGS: usize = 2000;

/// The search, with its buffers.
pub struct LineSearch<'a> {
    /// Scores and forward recursion at w - g / L.
    trial: Inference<'a>,
    /// Rows of transitions, then dense rows: 1 where there is a feature, 0 elsewhere.
    present: &'a [f64],
    /// Scores at w.
    scores: Vec<f64>,
    /// -G of the states, tokens x width.
    states: Vec<f64>,
    /// -G of the transitions, labels x width.
    pairs: Vec<f64>,
    /// Bigram feature -> -G.
    bigrams: Vec<f64>,
    /// Sums over the occurrences of recurrent rows, by slot.
    row_sums: Vec<f64>,
    /// Sums over the occurrences of recurrent single features, by slot.
    sparse_sums: Vec<f64>,
    /// Transition scores at w - g / L.
    transition_scores: Vec<f64>,
}

impl<'a> LineSearch<'a> {
    /// A search that makes its trials in `trial`.
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

    /// Copies the scores at w, which the forward recursion overwrites.
    #[inline(always)]
    pub fn keep(&mut self, scores: &[f64]) {
        self.scores.clear();
        self.scores.extend_from_slice(scores);
    }

    /// Doubles L until f(w - g / L) <= f(w) - |g|^2 / (2 L); returns L and the number of evaluations. `here` holds the sample's
    /// gradient of log p at w, `nll` is -log p there, and `transitions` are the transition scores there.
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
        let mut squared = 0.0;
        self.pairs.clear();
        if lattice.tokens > 1 {
            let pairs = here.expected.direct.iter().zip(self.present);
            self.pairs.extend(pairs.map(|(&residual, &present)| residual * present));
            squared += numeric::dot(simd, &self.pairs, &self.pairs);
        }
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
        self.add_recurring_rows(simd, here, sample);
        self.add_recurring_entries(here, sample);
        squared += numeric::dot(simd, &self.states, &lattice.marginals);
        lattice.edges.iter().for_each(|edge| self.bigrams[edge.feature as usize] = 0.0);
        lattice.edges.iter().for_each(|edge| self.bigrams[edge.feature as usize] += edge.marginal);
        squared + lattice.edges.iter().map(|edge| edge.marginal * self.bigrams[edge.feature as usize]).sum::<f64>()
    }

    /// Adds to -G of the states the products of rows that recur in the sentence.
    #[inline(always)]
    fn add_recurring_rows<S: Simd>(&mut self, simd: S, here: &Inference<'_>, sample: Sample<'_>) {
        let (lattice, width) = (&here.lattice, here.lattice.width());
        let present = &self.present[here.expected.direct.len()..];
        let repeats = sample.marks.repeats(sample.block, here.features());
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
    }

    /// Adds to -G of the states the products of single features that recur in the sentence.
    #[inline(always)]
    fn add_recurring_entries(&mut self, here: &Inference<'_>, sample: Sample<'_>) {
        let lattice = &here.lattice;
        let repeats = sample.marks.repeats(sample.block, here.features());
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
        let (masks, width) = (&trial.objective.masks, lattice.width());
        masks.rows(sample.free).for_each(|(token, row)| lattice.mask.push(token * width, row));
        trial.nll(simd, sample)
    }
}
