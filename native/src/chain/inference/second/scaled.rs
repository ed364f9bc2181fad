//! Forward-backward over pairs of labels on probabilities, rescaled at every token by 1 / sum(alpha_{t-1}), as in first order.

use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::lattice::Lattice;
use crate::chain::inference::scaled::{LogProduct, has_vanished};
use crate::chain::inference::second::buffers::Buffers;
use crate::chain::inference::transitions::Transitions;
use crate::chain::inference::triples::Triples;
use crate::numeric;
use crate::numeric::products::{multiply, multiply_in_place, transposed_product, vector_matrix};
use pulp::Simd;

impl Lattice {
    /// Forward recursion; returns log Z, or None if a number leaves the range of a double. Exponentiates the scores in place.
    #[inline(always)]
    pub(in crate::chain::inference) fn forward_pairs<S: Simd>(
        &mut self,
        simd: S,
        transitions: &Transitions,
        triples: &Triples,
    ) -> Option<f64> {
        let mut buffers = std::mem::take(&mut self.second);
        buffers.begin(self.tokens, self.labels, self.width);
        numeric::exp_in_place(simd, &mut self.scores);
        self.mask.multiply(simd, &mut self.scores);
        self.rescale.resize(self.tokens, 1.0);
        let (width, factors, exp) = (self.width, self.factors(transitions), triples.exp());
        let mut product = LogProduct::default();
        let mut total: f64 = self.scores[..self.labels].iter().sum();
        let (is_constrained, mut in_range) = (transitions.is_constrained(), true);
        for pair in 0..buffers.pairs {
            if self.is_interrupted() {
                total = f64::NAN;
                break;
            }
            let token = pair + 1;
            product.multiply(total);
            self.rescale[token] = 1.0 / total;
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let matrix = if edges.is_empty() { factors } else { &self.patched.exp };
            let states = &self.scores[token * width..][..width];
            buffers.total.fill(0.0);
            for (label, row) in matrix.chunks_exact(width).enumerate() {
                if pair == 0 {
                    multiply(simd, &mut buffers.row, row, states, self.scores[label] * self.rescale[token]);
                } else {
                    let before = &buffers.alpha[buffers.at(label, pair - 1)..][..self.labels];
                    vector_matrix(simd, before, &exp[triples.of(label)], &mut buffers.row);
                    multiply_in_place(simd, &mut buffers.row, row, self.rescale[token]);
                    multiply_in_place(simd, &mut buffers.row, states, 1.0);
                }
                numeric::add(simd, &mut buffers.total, &buffers.row);
                if is_constrained && self.scores[pair * width + label] != 0.0 {
                    let potentials = row[..self.labels].iter().zip(states).map(|(row, state)| row * state);
                    in_range &= !buffers.row.iter().zip(potentials).any(|(alpha, psi)| has_vanished((alpha, &psi)));
                }
                buffers.scatter(label, pair);
            }
            self.patched.restore(&self.edges[edges], transitions);
            total = numeric::sum(simd, &buffers.total);
        }
        self.last_sum = total;
        self.second = buffers;
        // If every labelling is forbidden, the total is 0 or NaN.
        (in_range && total > 0.0).then(|| product.log() + total.ln())
    }

    /// After `forward_pairs`: leaves factor * marginals, and adds the counts of transitions and triples.
    #[inline(always)]
    pub(in crate::chain::inference) fn backward_pairs<S: Simd>(
        &mut self,
        simd: S,
        transitions: &Transitions,
        triples: &Triples,
        factor: f64,
        counts: &mut PairCounts,
    ) {
        let mut buffers = std::mem::take(&mut self.second);
        let (width, labels, factors) = (self.width, self.labels, self.factors(transitions));
        let exp = triples.exp_transposed();
        // beta of the last pair is factor / Z: marginals then come out multiplied by the factor.
        let scale = factor / self.last_sum;
        buffers.beta.chunks_exact_mut(width).for_each(|row| numeric::scale_into(simd, row, scale, &transitions.ones));
        self.marginals.resize(self.tokens * width, 0.0);
        for pair in (0..buffers.pairs).rev() {
            if self.is_interrupted() {
                self.second = buffers;
                return;
            }
            self.pair_marginals_scaled(simd, &mut buffers, pair);
            if pair == 0 {
                break;
            }
            let token = pair + 1;
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let matrix = if edges.is_empty() { factors } else { &self.patched.exp };
            let states = &self.scores[token * width..][..width];
            for (label, row) in matrix.chunks_exact(width).enumerate() {
                let at = (label * (buffers.pairs - 1) + pair - 1) * width;
                let incoming = &mut buffers.incoming[at..at + width];
                let column = buffers.beta[label..].iter().step_by(width);
                incoming.iter_mut().zip(column).for_each(|(incoming, &beta)| *incoming = beta);
                multiply_in_place(simd, incoming, states, self.rescale[token]);
                multiply_in_place(simd, incoming, row, 1.0);
                let before = &mut buffers.next[label * width..][..width];
                vector_matrix(simd, &incoming[..labels], &exp[triples.of(label)], before);
            }
            self.patched.restore(&self.edges[edges], transitions);
            std::mem::swap(&mut buffers.beta, &mut buffers.next);
        }
        buffers.count(simd, triples, counts);
        self.second = buffers;
    }

    /// Writes the marginals of the labels and edges of a pair of tokens, from its alpha and beta.
    #[inline(always)]
    fn pair_marginals_scaled<S: Simd>(&mut self, simd: S, buffers: &mut Buffers, pair: usize) {
        let (width, labels) = (self.width, self.labels);
        let (first, marginals) = self.marginals[pair * width..].split_at_mut(width);
        if pair == 0 {
            first.fill(0.0);
        }
        for label in 0..labels {
            let at = buffers.at(label, pair);
            let (alpha, beta) = (&buffers.alpha[at..at + width], &buffers.beta[label * width..][..width]);
            marginals[label] = numeric::dot(simd, alpha, beta);
            numeric::add_product(simd, &mut buffers.sums[label * width..][..width], 1.0, alpha, beta);
            if pair == 0 {
                numeric::add_product(simd, first, 1.0, alpha, beta);
            }
        }
        marginals[labels..width].fill(0.0);
        let edges = self.edges_into(pair + 1);
        for edge in &mut self.edges[edges] {
            let (from, to) = (edge.from as usize, edge.to as usize);
            edge.marginal = buffers.alpha[buffers.at(to, pair) + from] * buffers.beta[to * width + from];
        }
    }
}

impl Buffers {
    /// Adds the sums of the marginals of pairs to the counts, and the sums of triples in units of exp(score).
    #[inline(always)]
    fn count<S: Simd>(&self, simd: S, triples: &Triples, counts: &mut PairCounts) {
        let (width, labels, pairs) = (self.width, self.labels, self.pairs);
        for (from, row) in counts.direct.chunks_exact_mut(width).enumerate() {
            let column = self.sums[from..].iter().step_by(width);
            row.iter_mut().zip(column).for_each(|(count, sum)| *count += sum);
        }
        if counts.triples.is_empty() {
            return;
        }
        let outer = counts.triples.outer(triples);
        for middle in 0..labels {
            let alpha = &self.alpha[self.at(middle, 0)..][..(pairs - 1) * width];
            let incoming = &self.incoming[middle * (pairs - 1) * width..][..(pairs - 1) * width];
            transposed_product(simd, alpha, incoming, width, labels, &mut outer[triples.of(middle)]);
        }
    }
}
