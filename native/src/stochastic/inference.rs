//! The log-probability of a sample at the current weights, and its gradient.

use crate::chain::features::Features;
use crate::chain::inference::{Edge, Lattice, PairCounts, Transitions};
use crate::chain::objective::ChainObjective;
use crate::chain::objective::costs::lower_right;
use crate::chain::objective::masks::Known;
use crate::chain::objective::pass::fill_edges;
use crate::chain::objective::states::{First, Read, Stored, fill_scores};
use crate::numeric::arch::simd_task;
use crate::stochastic::samples::Sample;
use crate::stochastic::weights::Weights;
use crate::threads::Interrupt;
use pulp::Simd;

/// Buffers to evaluate one sample after the other.
pub struct Inference<'a> {
    pub objective: &'a ChainObjective,
    pub transitions: Transitions,
    /// After `gradient`, `lattice.marginals` and the marginals of its edges are the sample's gradient.
    pub lattice: Lattice,
    /// After `gradient`, `direct` is the gradient of the transitions.
    pub expected: PairCounts,
    /// The sample over the labellings that agree with its partial labels, where labels are partial.
    clamped: Lattice,
    clamped_counts: PairCounts,
    /// The bigram features of the sample for which `find_bigrams` was last called, each once.
    pub bigrams: Vec<u32>,
    /// Buffer for the edges of trials.
    pub trial_edges: Vec<Edge>,
}

impl<'a> Inference<'a> {
    /// Buffers for the samples of an objective.
    /// Once the interrupt is set, a sample contributes nothing.
    pub fn new(objective: &'a ChainObjective, interrupt: &Interrupt) -> Self {
        let transitions = objective.unset_transitions();
        Inference {
            objective,
            lattice: Lattice::heeding(interrupt),
            expected: PairCounts::new(&transitions),
            clamped: Lattice::heeding(interrupt),
            clamped_counts: PairCounts::new(&transitions),
            transitions,
            bigrams: Vec::new(),
            trial_edges: Vec::new(),
        }
    }

    /// The features of the objective.
    pub fn features(&self) -> &'a Features {
        &self.objective.features
    }

    /// Computes the sample's scores at the weights scale * read(stored weight). `transitions` must be set before.
    #[inline(always)]
    pub(crate) fn scores<S: Simd, R: Read<Cell = [f64; 2]>>(
        &mut self,
        simd: S,
        read: R,
        weights: &Weights<'_>,
        scale: f64,
        sample: Sample<'_>,
    ) {
        let has_bigrams = self.features().n_bigrams() > 0;
        let lattice = &mut self.lattice;
        if has_bigrams {
            lattice.prepare(&self.transitions);
        }
        lattice.begin(sample.tokens().len(), &self.transitions);
        let Weights { rows, cells, .. } = weights;
        let (rows, stride, first_cell) = (&*rows.values, rows.stride(), weights.first_sparse());
        let width = lattice.width();
        let stored = Stored { read, rows, stride, cells, first_cell };
        fill_scores(simd, &stored, sample.block, sample.sentence, &mut lattice.scores, width);
        if has_bigrams {
            let weight = |feature: usize| {
                let id = self.objective.features.first_bigram() + feature;
                read.cell([weights.w[id], weights.state[id]])
            };
            fill_edges(sample.block, &self.objective.features, sample.first_token, lattice, weight);
        }
        if scale != 1.0 {
            lattice.scores.iter_mut().for_each(|score| *score *= scale);
            lattice.edges.iter_mut().for_each(|edge| edge.score *= scale);
        }
        let class_weights = self.objective.costs.class_weights();
        lower_right(&self.objective.corpus, sample.gold, sample.costs, class_weights, &mut lattice.scores, width);
        let masks = &self.objective.masks;
        masks.rows(sample.free).for_each(|(token, row)| lattice.mask.push(token * width, row));
        if sample.knowledge == Known::Some {
            let clamped = &mut self.clamped;
            if has_bigrams {
                clamped.prepare(&self.transitions);
            }
            clamped.begin(sample.tokens().len(), &self.transitions);
            clamped.take_scores(lattice);
            masks.rows(sample.clamped).for_each(|(token, row)| clamped.mask.push(token * width, row));
        }
    }

    /// Computes the sample's scores at `scale` times the weights stored, then the forward recursion; returns -log p(y|x), where
    /// y are the known labels.
    #[inline(always)]
    pub fn evaluate<S: Simd>(&mut self, simd: S, weights: &Weights<'_>, scale: f64, sample: Sample<'_>) -> f64 {
        self.transitions.update(simd, &weights.pairs.values, weights.pairs.stride(), scale);
        self.scores(simd, First, weights, scale, sample);
        self.nll(simd, sample)
    }

    /// After `scores`: the forward recursion; returns -log p(y|x), or -inf once the interrupt is set, which every search for a step
    /// accepts at once.
    #[inline(always)]
    pub fn nll<S: Simd>(&mut self, simd: S, sample: Sample<'_>) -> f64 {
        let score = match sample.knowledge {
            Known::All => self.lattice.score(&self.transitions, sample.gold.iter().copied()),
            _ => simd.vectorize(Forward(&mut self.clamped, &self.transitions)),
        };
        let log_z = self.lattice.forward(simd, &self.transitions);
        if self.lattice.is_interrupted() { f64::NEG_INFINITY } else { log_z - score }
    }

    /// After `nll`: the sample's gradient of log p(y|x), times its weight.
    #[inline(always)]
    pub fn gradient<S: Simd>(&mut self, simd: S, sample: Sample<'_>) {
        self.expected.clear();
        self.lattice.backward(simd, &self.transitions, sample.weight, &mut self.expected);
        if self.lattice.is_interrupted() {
            self.nothing(sample);
            return;
        }
        if sample.knowledge == Known::Some {
            self.subtract_clamped(simd, sample.weight);
            return;
        }
        let gold = sample.gold;
        let width = self.lattice.width();
        for (marginals, &label) in self.lattice.marginals.chunks_exact_mut(width).zip(gold) {
            marginals.iter_mut().for_each(|p| *p = -*p);
            marginals[label as usize] += sample.weight;
        }
        self.expected.multiply_out(&self.transitions, -1.0);
        for pair in gold.windows(2) {
            self.expected.direct[pair[0] as usize * width + pair[1] as usize] += sample.weight;
        }
        for token in 1..self.lattice.tokens {
            let range = self.lattice.edges_into(token);
            for edge in &mut self.lattice.edges[range] {
                let is_gold = (edge.from, edge.to) == (gold[token - 1], gold[token]);
                edge.marginal = if is_gold { sample.weight } else { 0.0 } - edge.marginal;
            }
        }
    }

    /// Replaces the expected counts over all labellings by the counts over the labellings that agree with the partial labels, minus the former.
    #[inline(never)]
    fn subtract_clamped<S: Simd>(&mut self, simd: S, weight: f64) {
        let Inference { lattice, clamped, expected, clamped_counts, transitions, .. } = self;
        clamped_counts.clear();
        simd.vectorize(Backward(clamped, transitions, weight, clamped_counts));
        expected.multiply_out(transitions, -1.0);
        clamped_counts.multiply_out(transitions, 1.0);
        let pairs = expected.direct.iter_mut().zip(&*clamped_counts.direct);
        pairs.for_each(|(free, clamped)| *free += clamped);
        let states = lattice.marginals.iter_mut().zip(&*clamped.marginals);
        states.for_each(|(free, clamped)| *free = clamped - *free);
        for (free, clamped) in lattice.edges.iter_mut().zip(&clamped.edges) {
            free.marginal = clamped.marginal - free.marginal;
        }
    }

    /// The gradient of a sample that contributes nothing: zeros for all its tokens.
    pub fn nothing(&mut self, sample: Sample<'_>) {
        self.lattice.begin(sample.tokens().len(), &self.transitions);
        self.lattice.marginals.clear();
        self.lattice.marginals.resize(self.lattice.scores.len(), 0.0);
        self.expected.clear();
    }

    /// Finds the bigram features of the sample.
    #[inline(always)]
    pub fn find_bigrams(&mut self, sample: Sample<'_>) {
        if self.features().n_bigrams() == 0 {
            return;
        }
        self.bigrams.clear();
        for token in sample.tokens().skip(1) {
            sample.block.bigrams.of(token).for_each(|met| self.bigrams.extend(met.features.clone()));
        }
        self.bigrams.sort_unstable();
        self.bigrams.dedup();
    }
}

// The recursions over the labellings that agree with the known labels are compiled once for each instruction set instead of
// into every pass.

simd_task!(
    Forward<'a>(lattice: &'a mut Lattice, transitions: &'a Transitions) -> f64,
    |simd| lattice.forward(simd, transitions)
);

simd_task!(
    Backward<'a>(lattice: &'a mut Lattice, transitions: &'a Transitions, weight: f64, counts: &'a mut PairCounts) -> (),
    |simd| lattice.backward(simd, transitions, weight, counts)
);
