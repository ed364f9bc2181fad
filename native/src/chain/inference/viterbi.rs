//! The best labelling (Viterbi 1967): a table of best scores, and the way back through it. Ties go to the label that comes first.
//!
//! The table holds, for each node of each step, the best score of the labellings that end there: `best_of_labels` fills it in first
//! order, `second::viterbi` in second. The way back is the same for both.

use crate::chain::inference::lattice::{Lattice, edges_into};
use crate::chain::inference::max_plus::{first_maximum, max_plus};
use crate::chain::inference::transitions::Transitions;
use crate::numeric;
use pulp::Simd;

impl Lattice {
    /// Fills the table of best scores, tokens x width.
    #[inline(always)]
    pub(super) fn best_of_labels<S: Simd>(&mut self, simd: S, transitions: &Transitions) {
        let (width, labels) = (self.width, self.labels);
        self.best.resize(self.tokens * width, 0.0);
        for (j, best) in self.best[..width].iter_mut().enumerate() {
            *best = if j < labels { self.scores[j] } else { f64::NEG_INFINITY };
        }
        for token in 1..self.tokens {
            if self.is_interrupted() {
                break;
            }
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
    }

    /// Follows the table of best scores backwards: writes to `path` the best labels of the tokens before `end`, given its labels
    /// from `end` on. Returns the best score up to there, which is the score of the labelling if `end` is the number of tokens.
    /// Calls `on_step` for every token with its number, its label, the scores from `completions`, and the path.
    #[inline(always)]
    pub(super) fn trace_back(
        &self,
        transitions: &Transitions,
        end: usize,
        path: &mut [u32],
        mut on_step: impl FnMut(usize, usize, &[f64], &[u32]),
    ) -> f64 {
        let mut scores = vec![0.0; self.labels];
        let mut best = 0.0;
        for token in (0..end).rev() {
            self.completions(transitions, token, path, &mut scores);
            let (label, score) = first_maximum(scores.iter().copied());
            if token + 1 == end {
                best = score;
            }
            path[token] = label as u32;
            on_step(token, label, &scores, path);
        }
        best
    }

    /// For every label of a token the best score of the labellings that have it there and the labels of `path` after it, less a
    /// term that all labels share: the scores of what follows.
    ///
    /// The predecessors of a label are found again in this way, which costs L additions, where storing them costs L^2.
    #[inline(always)]
    fn completions(&self, transitions: &Transitions, token: usize, path: &[u32], scores: &mut [f64]) {
        let (width, labels) = (self.width, self.labels);
        if let Some(triples) = transitions.triples_of(self.tokens) {
            self.second.completions(triples, token, path, scores);
            return;
        }
        let best = &self.best[token * width..][..labels];
        let Some(&behind) = path.get(token + 1) else {
            scores.copy_from_slice(best);
            return;
        };
        let column = transitions.scores[behind as usize..].iter().step_by(width);
        scores.iter_mut().zip(column).for_each(|(score, link)| *score = *link);
        for edge in self.edges[self.edges_into(token + 1)].iter().filter(|edge| edge.to == behind) {
            scores[edge.from as usize] += edge.score;
        }
        scores.iter_mut().zip(best).for_each(|(score, best)| *score += best);
    }
}
