//! The best labelling under second-order scores. Ties go to the label that comes first.

use crate::chain::inference::lattice::Lattice;
use crate::chain::inference::max_plus::{first_maximum, max_plus};
use crate::chain::inference::transitions::Transitions;
use crate::chain::inference::triples::Triples;
use crate::numeric;
use pulp::Simd;

impl Lattice {
    #[inline(always)]
    pub(in crate::chain::inference) fn viterbi_pairs<S: Simd>(
        &mut self,
        simd: S,
        transitions: &Transitions,
        triples: &Triples,
        path: &mut [u32],
    ) -> f64 {
        let mut buffers = std::mem::take(&mut self.second);
        buffers.begin(self.tokens, self.labels, self.width);
        let (width, labels) = (self.width, self.labels);
        for pair in 0..buffers.pairs {
            let token = pair + 1;
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let matrix = if edges.is_empty() { &transitions.scores } else { &self.patched.scores };
            for (label, row) in matrix.chunks_exact(width).enumerate() {
                if pair == 0 {
                    buffers.row.fill(self.scores[label]);
                } else {
                    let before = &buffers.alpha[buffers.at(label, pair - 1)..][..labels];
                    max_plus(simd, before, &triples.scores[triples.of(label)], &mut buffers.row);
                }
                numeric::add(simd, &mut buffers.row, row);
                numeric::add(simd, &mut buffers.row, &self.scores[token * width..][..width]);
                buffers.scatter(label, pair);
            }
            self.patched.restore(&self.edges[edges], transitions);
        }
        let best = |label: usize, pair: usize| &buffers.alpha[buffers.at(label, pair)..][..labels];
        let last = (0..labels).flat_map(|label| best(label, buffers.pairs - 1)).copied();
        let (at, score) = first_maximum(last);
        let (mut middle, mut label) = (at % labels, at / labels);
        (path[self.tokens - 2], path[self.tokens - 1]) = (middle as u32, label as u32);
        // The predecessors are found again on the way back, as in first order.
        for token in (0..self.tokens - 2).rev() {
            let before = best(middle, token).iter().enumerate();
            let candidates = before.map(|(first, score)| score + triples.score([first, middle, label]));
            (middle, label) = (first_maximum(candidates).0, middle);
            path[token] = middle as u32;
        }
        self.second = buffers;
        score
    }
}
