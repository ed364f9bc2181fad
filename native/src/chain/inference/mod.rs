//! Inference in a linear chain: what the scores of one sentence say about its labels.
//!
//! `Transitions` holds what all sentences share, `Lattice` the scores of one sentence and the buffers to work in. With
//! scores of triples in the transitions, inference is that of a second-order chain (`second`).

mod abreast;
mod links;
mod log_space;
mod scaled;
mod second;
mod transitions;
mod viterbi;

pub use abreast::Abreast;
pub use links::Links;
pub use second::{TripleCounts, Triples};
pub use transitions::Transitions;

use crate::numeric;
use crate::numeric::aligned::Aligned;
use pulp::Simd;

/// Largest |state score| + |transition score| for which scaled probabilities cannot leave the range of a double:
/// the entries of alpha and beta then stay within exp(+-600).
const SCALED_LIMIT: f64 = 150.0;

/// An addition to the score of one transition into one token, from an attribute-conditioned feature.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    pub score: f64,
    /// The feature it comes from, for the gradient, and where its block adds that up.
    pub feature: u32,
    pub place: u32,
    /// After `backward`: the probability of this transition, times the factor given.
    pub marginal: f64,
}

/// One sentence: its scores, and after inference its marginals.
#[derive(Default)]
pub struct Lattice {
    pub tokens: usize,
    labels: usize,
    width: usize,
    /// tokens x width log potentials of the states; `forward` exponentiates them in place when it can. Padding is 0.
    pub scores: Aligned,
    /// tokens x width forward variables.
    alpha: Aligned,
    /// tokens x width: after `backward` the marginals times the factor given.
    pub marginals: Aligned,
    /// Edges in order of their tokens; `edge_ends[t]` ends those into token t. Empty without bigram features.
    pub edges: Vec<Edge>,
    pub edge_ends: Vec<usize>,
    /// At most so many edges go from one label to another at one token.
    pub overlap: usize,
    /// Factors 1 / sum(alpha) by which the scaled recursions are kept in range.
    rescale: Vec<f64>,
    backward: Aligned,
    log_space: bool,
    log_z: f64,
    /// Of the last token's alpha: Z in units of the scaling.
    last_sum: f64,
    patched: transitions::Patched,
    best: Aligned,
    second: second::Buffers,
}

/// Expected counts of transitions and of triples, gathered over sentences.
pub struct PairCounts {
    /// labels x width sums of alpha(i) x(j), to be multiplied by exp(transition score).
    pub outer: Aligned,
    /// labels x width sums that are probabilities already.
    pub direct: Aligned,
    pub triples: TripleCounts,
}

impl PairCounts {
    pub fn new(transitions: &Transitions) -> Self {
        let triples = transitions.triples.as_ref().map_or_else(TripleCounts::default, TripleCounts::new);
        PairCounts { triples, ..PairCounts::without_triples(transitions) }
    }

    /// For marginals: triples are not counted, whatever the order of the chain.
    pub fn without_triples(transitions: &Transitions) -> Self {
        let size = transitions.labels * transitions.width;
        let (outer, direct) = (Aligned::new(size, 0.0), Aligned::new(size, 0.0));
        PairCounts { outer, direct, triples: TripleCounts::default() }
    }

    pub fn clear(&mut self) {
        self.outer.fill(0.0);
        self.direct.fill(0.0);
        self.triples.clear();
    }

    pub fn add(&mut self, other: &PairCounts) {
        for (mine, theirs) in [(&mut self.outer, &other.outer), (&mut self.direct, &other.direct)] {
            mine.iter_mut().zip(&**theirs).for_each(|(a, b)| *a += b);
        }
        self.triples.add(&other.triples);
    }

    /// The expected count of each transition, by from * width + to.
    pub fn expected(&self, transitions: &Transitions, at: usize) -> f64 {
        // exp may be infinite, but then no sentence went the scaled way.
        let outer = if self.outer[at] == 0.0 { 0.0 } else { self.outer[at] * transitions.exp[at] };
        outer + self.direct[at]
    }
}

impl Lattice {
    /// Starts a sentence with all scores 0.
    #[inline(always)]
    pub fn begin(&mut self, tokens: usize, transitions: &Transitions) {
        self.tokens = tokens;
        self.labels = transitions.labels;
        self.width = transitions.width;
        self.scores.resize(tokens * transitions.width, 0.0);
        self.scores.fill(0.0);
        self.edges.clear();
        self.edge_ends.clear();
        self.overlap = 1;
    }

    /// Sets the buffers of a lattice up for a model's transitions. Call before the first sentence of a pass, and, if there
    /// are edges, whenever the transitions have changed.
    pub fn prepare(&mut self, transitions: &Transitions) {
        self.patched.copy(transitions);
    }

    /// Length of a token's row: the labels, padded.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The edges into a token.
    #[inline(always)]
    pub fn edges_into(&self, token: usize) -> std::ops::Range<usize> {
        match self.edge_ends.get(token) {
            Some(&end) => (if token == 0 { 0 } else { self.edge_ends[token - 1] })..end,
            None => 0..0,
        }
    }

    /// The score of a labelling. To be called before `forward`, which may overwrite the scores.
    pub fn score(&self, transitions: &Transitions, labels: impl Iterator<Item = u32> + Clone) -> f64 {
        let mut total = transitions.score(&self.scores, labels.clone());
        if !self.edges.is_empty() {
            for (token, (from, to)) in labels.clone().zip(labels.skip(1)).enumerate() {
                let edges = &self.edges[self.edges_into(token + 1)];
                let met = edges.iter().filter(|edge| (edge.from, edge.to) == (from, to));
                total += met.map(|edge| edge.score).sum::<f64>();
            }
        }
        total
    }

    /// Forward recursion; returns log Z. Scaled where scores allow it, else in log space.
    #[inline(always)]
    pub fn forward<S: Simd>(&mut self, simd: S, transitions: &Transitions) -> f64 {
        let mut most = numeric::max_abs(simd, &self.scores) + transitions.max_abs;
        if !self.edges.is_empty() {
            let largest = self.edges.iter().fold(0.0f64, |most, edge| most.max(edge.score.abs()));
            most += largest * self.overlap as f64;
        }
        let triples = transitions.triples_of(self.tokens);
        self.log_space = match triples {
            Some(triples) => triples.needs_log_space(most),
            None => most > SCALED_LIMIT || most.is_nan(),
        };
        if self.log_space {
            self.patched.copy(transitions);
        }
        self.log_z = match triples {
            Some(triples) => simd.vectorize(second::Forward(self, transitions, triples)),
            None if self.log_space => self.forward_log(transitions),
            None => self.forward_scaled(simd, transitions),
        };
        self.log_z
    }

    /// After `forward`: leaves factor * p(y_t = j) in `marginals` and in the edges, and adds those of pairs and triples to
    /// `pairs`.
    #[inline(always)]
    pub fn backward<S: Simd>(&mut self, simd: S, transitions: &Transitions, factor: f64, pairs: &mut PairCounts) {
        if let Some(triples) = transitions.triples_of(self.tokens) {
            simd.vectorize(second::Backward { lattice: self, transitions, triples, factor, counts: pairs });
        } else if self.log_space {
            self.backward_log(transitions, factor, pairs, |_| {});
        } else {
            self.backward_scaled(simd, transitions, factor, pairs);
        }
    }
}

impl Lattice {
    /// Marginals of neighbouring labels: (tokens - 1) x labels x labels. In log space throughout: clarity before speed.
    pub fn pair_marginals(&mut self, transitions: &Transitions) -> Vec<f64> {
        let square = self.labels * self.labels;
        let mut all = Vec::with_capacity((self.tokens - 1) * square);
        let mut pairs = PairCounts::without_triples(transitions);
        let collect = |counts: &mut PairCounts| {
            let rows = counts.direct.chunks_exact(transitions.width).rev();
            all.extend(rows.flat_map(|row| row[..transitions.labels].iter().rev()));
            counts.clear();
        };
        if let Some(triples) = transitions.triples_of(self.tokens) {
            self.log_z = self.forward_pairs_log(transitions, triples);
            self.backward_pairs_log(transitions, triples, 1.0, &mut pairs, collect);
        } else {
            self.log_z = self.forward_log(transitions);
            self.backward_log(transitions, 1.0, &mut pairs, collect);
        }
        // The recursion goes from the last token to the first.
        all.reverse();
        all
    }
}

#[cfg(test)]
mod tests;
