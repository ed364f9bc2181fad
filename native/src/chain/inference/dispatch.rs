//! Which recursion a sentence takes: of first or second order, on scaled probabilities or in log space.

use crate::chain::inference::centring;
use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::lattice::Lattice;
use crate::chain::inference::scaled::stays_in_range;
use crate::chain::inference::transitions::Transitions;
use crate::chain::inference::triples::Triples;
use crate::corpus::UNKNOWN;
use crate::numeric;
use crate::numeric::arch::simd_task;
use pulp::Simd;

impl Lattice {
    /// Forward recursion; returns log Z, -inf if every labelling is forbidden. It runs on scaled probabilities where the scores
    /// allow it, else in log space. Interrupted, it returns -inf as well.
    #[inline(always)]
    pub fn forward<S: Simd>(&mut self, simd: S, transitions: &Transitions) -> f64 {
        let triples = transitions.triples_of(self.tokens);
        self.centred = false;
        self.mask.multiply(simd, &mut self.scores);
        let mut most = numeric::max_abs(simd, &self.scores) + transitions.max_abs;
        if !self.edges.is_empty() {
            let largest = self.edges.iter().fold(0.0f64, |most, edge| most.max(edge.score.abs()));
            most += largest * self.overlap as f64;
        }
        most += triples.map_or(0.0, Triples::max_abs);
        self.log_space = !stays_in_range(most, triples.is_some());
        let mut off = 0.0;
        if self.log_space
            && most <= centring::MOST
            && self.edges.is_empty()
            && let Some(taken) = self.centre(simd, transitions, triples)
        {
            (off, self.log_space, self.centred) = (taken, false, true);
        }
        if !self.log_space {
            let log_z = match triples {
                Some(triples) => simd.vectorize(Forward(self, transitions, triples)),
                None => self.forward_scaled(simd, transitions),
            };
            match log_z {
                Some(log_z) => self.log_z = log_z + off,
                // Centred scores are 0 at the end where every labelling is forbidden, and nowhere else.
                None if self.centred => self.log_z = f64::NEG_INFINITY,
                None => {
                    self.log_space = true;
                    // The forward recursion has put exp of the scores in their place.
                    self.scores.iter_mut().for_each(|score| *score = score.ln());
                }
            }
        }
        if self.log_space {
            self.patched.copy(transitions);
            self.mask.replace(self.labels, &mut self.scores, f64::NEG_INFINITY);
            self.log_z = self.forward_log(transitions, triples);
        }
        if self.is_interrupted() {
            self.log_z = f64::NEG_INFINITY;
        }
        self.log_z
    }

    /// Centres the scores, if that makes them fit for recursions on probabilities; returns what log Z is short of then.
    #[inline(always)]
    fn centre<S: Simd>(&mut self, simd: S, transitions: &Transitions, triples: Option<&Triples>) -> Option<f64> {
        let centred = transitions.centred()?;
        let least = centred.least_state(triples)?;
        self.mask.replace(self.labels, &mut self.scores, f64::NEG_INFINITY);
        Some(centred.centring.states(simd, &mut self.scores, least))
    }

    /// After `forward`: leaves factor * p(y_t = j) in `marginals` and factor * p(edge) in the edges, and adds the expected counts
    /// of transitions and triples to `pairs`. All of them are 0 if every labelling is forbidden.
    #[inline(always)]
    pub fn backward<S: Simd>(&mut self, simd: S, transitions: &Transitions, factor: f64, pairs: &mut PairCounts) {
        if self.log_z == f64::NEG_INFINITY {
            self.marginals.clear();
            self.marginals.resize(self.tokens * self.width, 0.0);
            self.edges.iter_mut().for_each(|edge| edge.marginal = 0.0);
            return;
        }
        match transitions.triples_of(self.tokens) {
            triples if self.log_space => self.backward_log(transitions, triples, factor, pairs, |_| {}),
            Some(triples) => simd.vectorize(Backward(self, transitions, triples, factor, pairs)),
            None => self.backward_scaled(simd, transitions, factor, pairs),
        }
    }

    /// Counts for `backward` where only the marginals of single labels are wanted: none, where the recursion makes none on its way.
    pub fn unneeded_counts(&self, transitions: &Transitions) -> PairCounts {
        if self.log_space || !self.edges.is_empty() || transitions.triples_of(self.tokens).is_some() {
            return PairCounts::without_triples(transitions);
        }
        PairCounts::none()
    }

    /// Marginals of neighbouring labels, (tokens - 1) x labels x labels. Always in log space, since no hot code needs them.
    pub fn pair_marginals(&mut self, transitions: &Transitions) -> Vec<f64> {
        let square = self.labels * self.labels;
        let mut all = Vec::with_capacity((self.tokens - 1) * square);
        let mut pairs = PairCounts::without_triples(transitions);
        let collect = |counts: &mut PairCounts| {
            let rows = counts.direct.chunks_exact(transitions.width).rev();
            all.extend(rows.flat_map(|row| row[..transitions.labels].iter().rev()));
            counts.clear();
        };
        let triples = transitions.triples_of(self.tokens);
        self.mask.replace(self.labels, &mut self.scores, f64::NEG_INFINITY);
        self.log_z = self.forward_log(transitions, triples);
        if self.log_z == f64::NEG_INFINITY {
            return vec![0.0; (self.tokens - 1) * square];
        }
        self.backward_log(transitions, triples, 1.0, &mut pairs, collect);
        // An interrupt leaves fewer.
        all.resize((self.tokens - 1) * square, 0.0);
        // The recursion goes from the last token to the first.
        all.reverse();
        all
    }

    /// Writes the best labelling to `path`; returns its score. Needs log potentials, which `forward` overwrites. If every labelling
    /// is forbidden, the score is -inf and the labels are `UNKNOWN`.
    #[inline(always)]
    pub fn viterbi<S: Simd>(&mut self, simd: S, transitions: &Transitions, path: &mut Vec<u32>) -> f64 {
        path.clear();
        path.resize(self.tokens, 0);
        self.best_scores(simd, transitions);
        let score = self.trace_back(transitions, self.tokens, path, |_, _, _, _| {});
        if score == f64::NEG_INFINITY {
            path.fill(UNKNOWN);
        }
        score
    }

    /// Fills the table of best scores that `trace_back` goes through. Needs log potentials, and leaves 0 for labels that are
    /// forbidden, as `forward` does.
    #[inline(always)]
    pub(super) fn best_scores<S: Simd>(&mut self, simd: S, transitions: &Transitions) {
        self.mask.replace(self.labels, &mut self.scores, f64::NEG_INFINITY);
        match transitions.triples_of(self.tokens) {
            Some(triples) => simd.vectorize(BestScores(self, transitions, triples)),
            None => self.best_of_labels(simd, transitions),
        }
        self.mask.replace(self.labels, &mut self.scores, 0.0);
    }
}

// The recursions over pairs are compiled once for each instruction set instead of into every caller.

simd_task!(
    Forward<'a>(lattice: &'a mut Lattice, transitions: &'a Transitions, triples: &'a Triples) -> Option<f64>,
    |simd| lattice.forward_pairs(simd, transitions, triples)
);

simd_task!(
    Backward<'a>(
        lattice: &'a mut Lattice, transitions: &'a Transitions, triples: &'a Triples, factor: f64, counts: &'a mut PairCounts
    ) -> (),
    |simd| lattice.backward_pairs(simd, transitions, triples, factor, counts)
);

simd_task!(
    BestScores<'a>(lattice: &'a mut Lattice, transitions: &'a Transitions, triples: &'a Triples) -> (),
    |simd| lattice.best_of_pairs(simd, transitions, triples)
);
