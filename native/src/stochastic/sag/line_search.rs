//! The trials of the line search for a sentence's Lipschitz constant (Schmidt et al. 2015, Algorithm 1, line 9).
//!
//! With g for the sample's gradient, a trial evaluates f(w - g / L). The scores at w - g / L are the scores at w less G / L,
//! where G are the sample's scores with g as weights. G is computed once, and a trial costs a forward recursion. |g|^2 is the sum
//! over all tokens and labels of the residual times G.

use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::stochastic::inference::Inference;
use crate::stochastic::repeats::Recurrence;
use crate::stochastic::samples::Sample;
use pulp::Simd;

/// The search, with its buffers.
pub struct LineSearch<'a> {
    /// Scores and forward recursion at w - g / L; between searches free for other use.
    pub trial: Inference<'a>,
    /// Rows of transitions, then dense rows: 1 where there is a feature, 0 elsewhere.
    pub present: Aligned,
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
    pub fn new(trial: Inference<'a>, present: Aligned) -> Self {
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

    /// Computes -G; returns |g|^2. `here` holds the sample's gradient of log p at w.
    #[inline(always)]
    pub fn direction<S: Simd>(&mut self, simd: S, here: &Inference<'_>, sample: Sample<'_>) -> f64 {
        let lattice = &here.lattice;
        let width = lattice.width();
        let mut squared = 0.0;
        self.pairs.clear();
        if lattice.tokens > 1 {
            let pairs = here.expected.direct.iter().zip(self.present.iter());
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

    /// -log p at w - g * step. `here` holds the gradient of log p at w, `transitions` are the transition scores there.
    #[inline(always)]
    pub fn evaluate<S: Simd>(
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
