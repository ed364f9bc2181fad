//! The best labelling (Viterbi 1967) in first order. Ties go to the label that comes first.

use crate::chain::inference::lattice::{Lattice, edges_into};
use crate::chain::inference::max_plus::{first_maximum, max_plus};
use crate::chain::inference::transitions::Transitions;
use crate::numeric;
use pulp::Simd;

impl Lattice {
    /// Writes the best labelling to `path`; returns its score.
    #[inline(always)]
    pub(super) fn viterbi_labels<S: Simd>(&mut self, simd: S, transitions: &Transitions, path: &mut [u32]) -> f64 {
        let (width, labels) = (self.width, self.labels);
        self.best.resize(self.tokens * width, 0.0);
        for (j, best) in self.best[..width].iter_mut().enumerate() {
            *best = if j < labels { self.scores[j] } else { f64::NEG_INFINITY };
        }
        for token in 1..self.tokens {
            let edges = edges_into(&self.edge_ends, token);
            let (before, rest) = self.best.split_at_mut(token * width);
            let previous = &before[(token - 1) * width..][..labels];
            let current = &mut rest[..width];
            if edges.is_empty() {
                max_plus(simd, previous, &transitions.scores, current);
            } else {
                self.patched.apply(&self.edges[edges.clone()]);
                max_plus(simd, previous, &self.patched.scores, current);
                self.patched.restore(&self.edges[edges], transitions);
            }
            numeric::add(simd, current, &self.scores[token * width..(token + 1) * width]);
        }
        let last = (self.tokens - 1) * width;
        let (mut label, score) = first_maximum(self.best[last..last + labels].iter().copied());
        path[self.tokens - 1] = label as u32;
        // The predecessors are found again on the way back: L additions a token, where storing them costs L^2.
        for token in (1..self.tokens).rev() {
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let previous = &self.best[(token - 1) * width..][..labels];
            let matrix = if edges.is_empty() { &transitions.scores } else { &self.patched.scores };
            let candidates = previous.iter().enumerate().map(|(from, best)| best + matrix[from * width + label]);
            label = first_maximum(candidates).0;
            self.patched.restore(&self.edges[edges], transitions);
            path[token - 1] = label as u32;
        }
        score
    }
}
