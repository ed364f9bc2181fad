//! Forward-backward in log space: slower, and right for any scores: +-1e4 and more, and forbidden transitions (-inf).

use crate::chain::inference::{Lattice, PairCounts, Transitions};
use crate::numeric::log_sum_exp;

impl Lattice {
    pub(super) fn forward_log(&mut self, transitions: &Transitions) -> f64 {
        let (width, labels) = (self.width, self.labels);
        self.alpha.resize(self.tokens * width, 0.0);
        self.alpha[..width].copy_from_slice(&self.scores[..width]);
        for token in 1..self.tokens {
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let (before, rest) = self.alpha.split_at_mut(token * width);
            let previous = &before[(token - 1) * width..];
            for to in 0..labels {
                let paths = (0..labels).map(|from| previous[from] + self.patched.scores[from * width + to]);
                rest[to] = self.scores[token * width + to] + log_sum_exp(paths);
            }
            self.patched.restore(&self.edges[edges], transitions);
        }
        let last = (self.tokens - 1) * width;
        log_sum_exp(self.alpha[last..last + labels].iter().copied())
    }

    /// Calls `each` after every token but the first, with the pairs counted so far.
    pub(super) fn backward_log(
        &mut self,
        transitions: &Transitions,
        factor: f64,
        pairs: &mut PairCounts,
        mut each: impl FnMut(&mut PairCounts),
    ) {
        let (width, labels) = (self.width, self.labels);
        let log_z = self.log_z;
        let mut beta = vec![0.0; labels];
        let mut incoming = vec![0.0; labels];
        self.marginals.resize(self.tokens * width, 0.0);
        for token in (0..self.tokens).rev() {
            let alpha = &self.alpha[token * width..];
            let marginals = &mut self.marginals[token * width..(token + 1) * width];
            let scores = &self.scores[token * width..];
            for label in 0..labels {
                incoming[label] = scores[label] + beta[label];
                marginals[label] = factor * (alpha[label] + beta[label] - log_z).exp();
            }
            marginals[labels..].fill(0.0);
            if token == 0 {
                break;
            }
            let previous = &self.alpha[(token - 1) * width..];
            let edges = self.edge_ends.get(token).map_or(0..0, |&end| self.edge_ends[token - 1]..end);
            self.patched.apply(&self.edges[edges.clone()]);
            for from in 0..labels {
                let row = &self.patched.scores[from * width..][..labels];
                for to in 0..labels {
                    let pair = (previous[from] + row[to] + incoming[to] - log_z).exp();
                    pairs.direct[from * width + to] += factor * pair;
                }
                beta[from] = log_sum_exp(row.iter().zip(&incoming).map(|(score, onward)| score + onward));
            }
            for edge in &mut self.edges[edges.clone()] {
                let (from, to) = (edge.from as usize, edge.to as usize);
                let score = self.patched.scores[from * width + to];
                edge.marginal = factor * (previous[from] + score + incoming[to] - log_z).exp();
            }
            self.patched.restore(&self.edges[edges], transitions);
            each(pairs);
        }
    }
}
