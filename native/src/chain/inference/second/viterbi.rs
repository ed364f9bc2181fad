//! The table of best scores under second-order scores, and its columns for the way back.

use crate::chain::inference::lattice::Lattice;
use crate::chain::inference::max_plus::max_plus;
use crate::chain::inference::second::buffers::Buffers;
use crate::chain::inference::transitions::Transitions;
use crate::chain::inference::triples::Triples;
use crate::numeric;
use pulp::Simd;

impl Lattice {
    /// Fills the table of best scores, of pairs: `Buffers::alpha`.
    #[inline(always)]
    pub(in crate::chain::inference) fn best_of_pairs<S: Simd>(
        &mut self,
        simd: S,
        transitions: &Transitions,
        triples: &Triples,
    ) {
        let mut buffers = std::mem::take(&mut self.second);
        buffers.begin(self.tokens, self.labels, self.width);
        let (width, labels, of_triples) = (self.width, self.labels, triples.scores());
        for pair in 0..buffers.pairs {
            if self.is_interrupted() {
                break;
            }
            let token = pair + 1;
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let matrix = if edges.is_empty() { &transitions.scores } else { &self.patched.scores };
            for (label, row) in matrix.chunks_exact(width).enumerate() {
                if pair == 0 {
                    buffers.row.fill(self.scores[label]);
                } else {
                    let before = &buffers.alpha[buffers.at(label, pair - 1)..][..labels];
                    max_plus(simd, before, &of_triples[triples.of(label)], &mut buffers.row);
                }
                numeric::add(simd, &mut buffers.row, row);
                numeric::add(simd, &mut buffers.row, &self.scores[token * width..][..width]);
                buffers.scatter(label, pair);
            }
            self.patched.restore(&self.edges[edges], transitions);
        }
        self.second = buffers;
    }
}

impl Buffers {
    /// `Lattice::completions` in second order.
    #[inline(always)]
    pub(in crate::chain::inference) fn completions(
        &self,
        triples: &Triples,
        token: usize,
        path: &[u32],
        scores: &mut [f64],
    ) {
        let best = |label: u32, pair: usize| &self.alpha[self.at(label as usize, pair)..][..self.labels];
        match path[token + 1..] {
            [] => {
                for (label, score) in (0..).zip(scores) {
                    *score = best(label, token - 1).iter().copied().fold(f64::NEG_INFINITY, f64::max);
                }
            }
            [behind] => scores.copy_from_slice(best(behind, token)),
            [behind, last, ..] => {
                let before = best(behind, token).iter().enumerate();
                for ((first, best), score) in before.zip(scores) {
                    *score = best + triples.score([first, behind as usize, last as usize]);
                }
            }
        }
    }
}
