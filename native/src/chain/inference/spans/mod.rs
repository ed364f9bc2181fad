//! Probabilities of spans: that a chunk of a type starts at a token and ends at another, whatever the other labels are. This is
//! forward-backward over the labellings that contain the chunk (Culotta & McCallum, HLT-NAACL 2004), restricted to the tokens
//! of the chunk.
//!
//! Given the label at a token, the labels before it do not depend on the labels after it. With
//!
//! r_t(j | k) = p(y_{t-1} = j | y_t = k), proportional to alpha_{t-1}(j) exp(score of the transition from j to k),
//!
//! c_t(j, k) = 1 if the chunk allows label k at token t after label j, else 0,
//!
//! the probability of the chunk up to token t, given the label at t, is
//!
//! u_t(k) = sum over j of c_t(j, k) u_{t-1}(j) r_t(j | k)
//!
//! from the first token of the chunk to the token after the chunk, where c_t requires a label that does not continue the chunk.
//! The mean of u over the marginals of that token's labels is the probability of the span. In second order, nodes are pairs (j,
//! k) of labels of neighbouring tokens, and r_t(i | j, k) is proportional to alpha_{t-1}(i, j) exp(score of the triple i, j,
//! k).
//!
//! r depends on ratios only: it is correct for any scores, and for alpha in any unit.

use crate::chain::inference::chunks::{ChunkRule, Span};
use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::lattice::Lattice;
use crate::chain::inference::transitions::Transitions;
use crate::chain::inference::triples::Triples;
use pulp::Simd;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// The probabilities of spans in a sentence after forward-backward.
pub struct SpanProbabilities<'a> {
    transitions: &'a Transitions,
    rule: &'a ChunkRule,
    /// Marginals of neighbouring labels, (tokens - 1) x labels x labels, in log space of second order; empty elsewhere.
    pairs: Vec<f64>,
    pub log_z: f64,
}

impl Lattice {
    /// Forward-backward for spans; leaves marginals. Needs log potentials, which are overwritten, and a `prepare`d lattice of at
    /// least one token.
    #[inline(always)]
    pub fn infer_spans<'a, S: Simd>(
        &mut self,
        simd: S,
        transitions: &'a Transitions,
        rule: &'a ChunkRule,
    ) -> SpanProbabilities<'a> {
        let mut pairs = Vec::new();
        let log_z = self.forward(simd, transitions);
        if self.log_space && log_z > f64::NEG_INFINITY && transitions.triples_of(self.tokens).is_some() {
            pairs = self.pair_marginals(transitions);
        } else {
            self.backward(simd, transitions, 1.0, &mut PairCounts::without_triples(transitions));
        }
        SpanProbabilities { transitions, rule, pairs, log_z }
    }
}

impl SpanProbabilities<'_> {
    /// The probability that a span is a chunk of its type; 0 where every labelling is forbidden. The lattice is as `infer_spans`
    /// has left it.
    pub fn of(&self, lattice: &mut Lattice, span: Span) -> f64 {
        if self.log_z == f64::NEG_INFINITY {
            return 0.0;
        }
        match self.transitions.triples_of(lattice.tokens) {
            None => self.over_labels(lattice, span),
            Some(triples) => self.over_pairs(lattice, span, triples),
        }
    }

    /// Whether a label may precede the first of the tokens to check.
    fn may_precede(&self, span: Span, label: usize) -> bool {
        span.start > 0 || self.rule.begins(None, label, span.kind)
    }

    /// c_t(j, k), given that the chunk is there before token t.
    fn allows(&self, span: Span, token: usize, previous: usize, label: usize) -> bool {
        if token == span.start {
            self.rule.begins(Some(previous), label, span.kind)
        } else {
            self.rule.continues(previous, label) == (token < span.end)
        }
    }

    /// The probability in first order.
    fn over_labels(&self, lattice: &mut Lattice, span: Span) -> f64 {
        let (labels, width) = (lattice.labels, lattice.width);
        let tokens = tokens_to_check(lattice, span);
        let last = tokens.end - 1;
        let mut held: Vec<f64> = (0..labels).map(|label| f64::from(self.may_precede(span, label))).collect();
        let (mut next, mut before) = (vec![0.0; labels], vec![0.0; labels]);
        for token in tokens {
            let edges = lattice.edges_into(token);
            lattice.patched.apply(&lattice.edges[edges.clone()]);
            for (label, next) in next.iter_mut().enumerate() {
                let allowed = |&previous: &usize| held[previous] > 0.0 && self.allows(span, token, previous, label);
                *next = 0.0;
                if (0..labels).any(|previous| allowed(&previous)) {
                    lattice.labels_before(self.transitions, token, label, &mut before);
                    *next = (0..labels).filter(allowed).map(|previous| held[previous] * before[previous]).sum();
                }
            }
            lattice.patched.restore(&lattice.edges[edges], self.transitions);
            std::mem::swap(&mut held, &mut next);
        }
        let marginals = &lattice.marginals[last * width..][..labels];
        held.iter().zip(marginals).map(|(held, p)| held * p).sum::<f64>().min(1.0)
    }

    /// The probability in second order.
    fn over_pairs(&self, lattice: &Lattice, span: Span, triples: &Triples) -> f64 {
        let labels = lattice.labels;
        let nodes = labels * labels;
        let mut tokens = tokens_to_check(lattice, span);
        let last = tokens.end - 1;
        let node = |first: usize, second: usize| first * labels + second;
        let (mut held, mut next, mut before) = (vec![0.0; nodes], vec![0.0; nodes], vec![0.0; labels]);
        if let Some(token) = tokens.next() {
            for first in (0..labels).filter(|&first| self.may_precede(span, first)) {
                for second in 0..labels {
                    held[node(first, second)] = f64::from(self.allows(span, token, first, second));
                }
            }
        }
        for token in tokens {
            next.fill(0.0);
            for middle in (0..labels).filter(|&middle| (0..labels).any(|first| held[node(first, middle)] > 0.0)) {
                for label in (0..labels).filter(|&label| self.allows(span, token, middle, label)) {
                    lattice.labels_before_pair(triples, token, [middle, label], &mut before);
                    next[node(middle, label)] =
                        (0..labels).map(|first| held[node(first, middle)] * before[first]).sum();
                }
            }
            std::mem::swap(&mut held, &mut next);
        }
        let nodes = (0..nodes).filter(|&node| held[node] > 0.0);
        let marginal = |node: usize| match self.pairs.is_empty() {
            true => lattice.pair_marginal(triples, last - 1, [node / labels, node % labels]),
            false => self.pairs[(last - 1) * labels * labels + node],
        };
        nodes.map(|node| held[node] * marginal(node)).sum::<f64>().min(1.0)
    }
}

/// The tokens whose labels, with the labels before them, decide whether they form a chunk.
fn tokens_to_check(lattice: &Lattice, span: Span) -> Range<usize> {
    span.start.max(1)..(span.end + 1).min(lattice.tokens)
}

impl Lattice {
    /// Writes p(y_{t-1} = j | y_t = label) for all labels j to `out`; the edges into token t are applied to the transitions.
    fn labels_before(&self, transitions: &Transitions, token: usize, label: usize, out: &mut [f64]) {
        let stride = if self.log_space { self.labels } else { self.width };
        let alpha = &self.alpha[(token - 1) * stride..][..self.labels];
        let links: &[f64] = match (self.log_space, self.centred) {
            (true, _) => &self.patched.scores,
            // Centred scores have no edges.
            (false, true) => self.factors(transitions),
            (false, false) => &self.patched.exp,
        };
        let links = links[label..].iter().step_by(self.width);
        for ((out, alpha), link) in out.iter_mut().zip(alpha).zip(links) {
            *out = if self.log_space { alpha + link } else { alpha * link };
        }
        normalise(out, self.log_space);
    }

    /// Writes p(y_{t-2} = i | y_{t-1} = middle, y_t = label) for all labels i to `out`.
    fn labels_before_pair(&self, triples: &Triples, token: usize, [middle, label]: [usize; 2], out: &mut [f64]) {
        let place = |first: usize| triples.at([first, middle, label]);
        // The pair of tokens t - 2 and t - 1 is step t - 2 in log space, and pair t - 2 elsewhere.
        if self.log_space {
            let nodes = self.labels * self.labels;
            let alpha = self.alpha[(token - 2) * nodes + middle..].iter().step_by(self.labels);
            let weights = alpha.enumerate().map(|(first, alpha)| alpha + triples.scores()[place(first)]);
            out.iter_mut().zip(weights).for_each(|(out, weight)| *out = weight);
        } else {
            let alpha = &self.second.alpha[self.second.at(middle, token - 2)..];
            let weights = alpha.iter().enumerate().map(|(first, alpha)| alpha * triples.exp()[place(first)]);
            out.iter_mut().zip(weights).for_each(|(out, weight)| *out = weight);
        }
        normalise(out, self.log_space);
    }

    /// After `backward` of second order on probabilities: p(y_t = first, y_{t+1} = second), t being the number of the pair.
    fn pair_marginal(&self, triples: &Triples, pair: usize, [first, second]: [usize; 2]) -> f64 {
        let buffers = &self.second;
        let alpha = |pair: usize, earlier: usize, later: usize| buffers.alpha[buffers.at(later, pair) + earlier];
        // Beta times potentials of a pair that is not the first.
        let incoming = |pair: usize, earlier: usize, later: usize| {
            buffers.incoming[(earlier * (buffers.pairs - 1) + pair - 1) * self.width + later]
        };
        let exp = |labels: [usize; 3]| triples.exp()[triples.at(labels)];
        if pair == 0 {
            let beta = (0..self.labels).map(|third| exp([first, second, third]) * incoming(1, second, third));
            return alpha(0, first, second) * beta.sum::<f64>();
        }
        let paths = (0..self.labels).map(|before| alpha(pair - 1, before, first) * exp([before, first, second]));
        paths.sum::<f64>() * incoming(pair, first, second)
    }
}

/// Makes weights, or their logarithms, a distribution; all 0 if every weight is 0.
fn normalise(weights: &mut [f64], logarithms: bool) {
    if logarithms {
        let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shift = if most == f64::NEG_INFINITY { 0.0 } else { most };
        weights.iter_mut().for_each(|weight| *weight = (*weight - shift).exp());
    }
    let total: f64 = weights.iter().sum();
    if total > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= total);
    }
}
