//! Forward-backward over pairs of labels in log space: slower, and right for any scores.

use crate::chain::inference::second::{Buffers, Triples};
use crate::chain::inference::{Lattice, PairCounts, Transitions};
use crate::numeric::log_sum_exp;

impl Lattice {
    pub(in crate::chain::inference) fn forward_pairs_log(
        &mut self,
        transitions: &Transitions,
        triples: &Triples,
    ) -> f64 {
        let mut buffers = std::mem::take(&mut self.second);
        buffers.begin(self);
        let (width, labels) = (self.width, self.labels);
        for pair in 0..buffers.pairs {
            let token = pair + 1;
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            for j in 0..labels {
                for k in 0..labels {
                    let paths = if pair == 0 {
                        self.scores[j]
                    } else {
                        let before = &buffers.alpha[buffers.at(j, pair - 1)..];
                        log_sum_exp((0..labels).map(|i| before[i] + triples.score([i, j, k])))
                    };
                    buffers.row[k] = paths + self.patched.scores[j * width + k] + self.scores[token * width + k];
                }
                buffers.scatter(j, pair);
            }
            self.patched.restore(&self.edges[edges], transitions);
        }
        let last = |label: usize| buffers.alpha[buffers.at(label, buffers.pairs - 1)..][..labels].iter().copied();
        let log_z = log_sum_exp((0..labels).flat_map(last));
        self.second = buffers;
        log_z
    }

    /// Calls `each` after every token but the first, with the pairs and triples counted so far.
    pub(in crate::chain::inference) fn backward_pairs_log(
        &mut self,
        transitions: &Transitions,
        triples: &Triples,
        factor: f64,
        counts: &mut PairCounts,
        mut each: impl FnMut(&mut PairCounts),
    ) {
        let mut buffers = std::mem::take(&mut self.second);
        let (width, labels, log_z) = (self.width, self.labels, self.log_z);
        buffers.beta.fill(0.0);
        self.marginals.clear();
        self.marginals.resize(self.tokens * width, 0.0);
        if !counts.triples.is_empty() {
            counts.triples.direct.resize(triples.scores.len(), 0.0);
        }
        for pair in (0..buffers.pairs).rev() {
            self.pair_marginals_log(&buffers, pair, factor, counts);
            if pair == 0 {
                each(counts);
                break;
            }
            let token = pair + 1;
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            for j in 0..labels {
                for k in 0..labels {
                    let potential = self.patched.scores[j * width + k] + self.scores[token * width + k];
                    buffers.row[k] = potential + buffers.beta[k * width + j];
                }
                buffers.step_back_log(triples, j);
                if !counts.triples.is_empty() {
                    buffers.count_log(triples, j, pair, factor, log_z, counts);
                }
            }
            self.patched.restore(&self.edges[edges], transitions);
            std::mem::swap(&mut buffers.beta, &mut buffers.next);
            each(counts);
        }
        self.second = buffers;
    }

    /// Marginals of the labels and edges of a pair, from its alpha and beta; adds to those of labels and to the counts.
    fn pair_marginals_log(&mut self, buffers: &Buffers, pair: usize, factor: f64, counts: &mut PairCounts) {
        let (width, token, log_z) = (self.width, pair + 1, self.log_z);
        let marginal = |j: usize, k: usize| {
            factor * (buffers.alpha[buffers.at(k, pair) + j] + buffers.beta[k * width + j] - log_z).exp()
        };
        for j in 0..self.labels {
            for k in 0..self.labels {
                let p = marginal(j, k);
                counts.direct[j * width + k] += p;
                self.marginals[token * width + k] += p;
                if pair == 0 {
                    self.marginals[j] += p;
                }
            }
        }
        let edges = self.edges_into(token);
        for edge in &mut self.edges[edges] {
            edge.marginal = marginal(edge.from as usize, edge.to as usize);
        }
    }
}

impl Buffers {
    /// beta of the pairs that end in label j, from `row`: what comes in over the pairs (j, k) that follow.
    fn step_back_log(&mut self, triples: &Triples, j: usize) {
        for i in 0..self.labels {
            let onward = (0..self.labels).map(|k| triples.score([i, j, k]) + self.row[k]);
            self.next[j * self.width + i] = log_sum_exp(onward);
        }
    }

    /// Counts the triples with label j in the middle that end in a pair, from `row`.
    fn count_log(&self, triples: &Triples, j: usize, pair: usize, factor: f64, log_z: f64, counts: &mut PairCounts) {
        for i in 0..self.labels {
            let before = self.alpha[self.at(j, pair - 1) + i];
            for k in 0..self.labels {
                let p = (before + triples.score([i, j, k]) + self.row[k] - log_z).exp();
                counts.triples.direct[triples.at([i, j, k])] += factor * p;
            }
        }
    }
}
