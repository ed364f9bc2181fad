//! The scores of one sentence, and the buffers that inference works in.

use crate::chain::inference::mask::Mask;
use crate::chain::inference::second::buffers::Buffers;
use crate::chain::inference::transitions::{Edge, Patched, Transitions};
use crate::corpus::UNKNOWN;
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::threads::Interrupt;
use pulp::Simd;
use std::ops::Range;

/// Scores above this lose digits in sums over a sentence that probabilities need.
const LARGE: f64 = 1e6;
/// The least logarithm that is not -inf: some thousand of them have a finite sum.
pub(super) const LEAST: f64 = -1e304;

/// One sentence with its scores and, after inference, its marginals.
#[derive(Default)]
pub struct Lattice {
    pub tokens: usize,
    pub(super) labels: usize,
    pub(super) width: usize,
    /// tokens x width log potentials of the states; `forward` exponentiates them in place when it can. Padding is 0.
    pub scores: Aligned,
    /// Forward variables: tokens x width, or steps x nodes in log space.
    pub(super) alpha: Aligned,
    /// tokens x width: after `backward` the marginals times the factor given.
    pub marginals: Aligned,
    /// Edges by the token they enter: the edges into token t end at `edge_ends[t]`. Empty without bigram features.
    pub edges: Vec<Edge>,
    pub edge_ends: Vec<usize>,
    /// The largest number of edges from one label to one other at one token.
    pub overlap: usize,
    /// Labels that the tokens may not have.
    pub mask: Mask,
    /// Factors 1 / sum(alpha) that keep the scaled recursions in range.
    pub(super) rescale: Vec<f64>,
    pub(super) backward: Aligned,
    pub(super) log_space: bool,
    /// Whether the last recursion ran on centred scores.
    pub(super) centred: bool,
    pub(super) log_z: f64,
    /// The sum of the last token's alpha: Z in units of the scaling.
    pub(super) last_sum: f64,
    pub(super) patched: Patched,
    pub(super) best: Aligned,
    pub(super) second: Buffers,
    /// Ends recursions between two tokens once it is set. What they leave then means nothing, but is not out of range.
    pub(super) interrupt: Interrupt,
    /// What `keep_in_range` has subtracted from the state scores of each token; empty if nothing.
    offsets: Vec<f64>,
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
        self.mask.clear();
        self.offsets.clear();
        self.overlap = 1;
    }

    /// Makes the state scores relative to the largest of their token where they are so large that sums over a sentence would lose
    /// the digits that matter. Forbidden labels must not be marked yet.
    #[inline(always)]
    pub fn keep_in_range<S: Simd>(&mut self, simd: S) {
        let largest = numeric::max_abs(simd, &self.scores);
        if largest > LARGE || largest.is_nan() {
            self.offsets = self.relative_rows().collect();
        }
    }

    /// What is missing from log Z and from the scores of labellings.
    pub fn offset(&self) -> f64 {
        self.offsets.iter().sum()
    }

    /// Makes the state scores relative to the largest of their token; returns the sum of what is subtracted.
    pub(super) fn make_relative(&mut self) -> f64 {
        self.relative_rows().sum()
    }

    fn relative_rows(&mut self) -> impl Iterator<Item = f64> {
        let labels = self.labels;
        self.scores.chunks_exact_mut(self.width).map(move |row| relative(&mut row[..labels]))
    }

    /// A lattice whose recursions an interrupt ends, however long the sentence. Whoever uses what they leave checks it afterwards.
    pub fn heeding(interrupt: &Interrupt) -> Self {
        Lattice { interrupt: interrupt.clone(), ..Lattice::default() }
    }

    /// Makes the recursions heed an interrupt, as in `heeding`.
    pub fn heed(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    /// Whether the interrupt is set.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    /// Makes the lattice's copy of the transitions, which edges change token by token. Call it before the first sentence of
    /// a pass and, if there are edges, whenever the transitions have changed.
    pub fn prepare(&mut self, transitions: &Transitions) {
        self.patched.copy(transitions);
    }

    /// Takes over the scores and edges of another sentence of the same length.
    pub fn take_scores(&mut self, other: &Lattice) {
        self.scores.copy_from_slice(&other.scores);
        self.edges.extend_from_slice(&other.edges);
        self.edge_ends.extend_from_slice(&other.edge_ends);
        self.overlap = other.overlap;
    }

    /// Whether the last recursion ran in log space.
    pub fn is_in_log_space(&self) -> bool {
        self.log_space
    }

    /// The length of a token's row: the number of labels, padded.
    pub fn width(&self) -> usize {
        self.width
    }

    #[inline(always)]
    pub fn edges_into(&self, token: usize) -> Range<usize> {
        edges_into(&self.edge_ends, token)
    }

    /// The score of a labelling. Call it before `forward`, which may overwrite the scores.
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

    /// What each token adds to the score of a labelling; -inf where every labelling is forbidden.
    pub fn token_scores(&self, transitions: &Transitions, labels: &[u32]) -> Vec<f64> {
        if labels.contains(&UNKNOWN) {
            return vec![f64::NEG_INFINITY; labels.len()];
        }
        let score = |token: usize| {
            let label = labels[token] as usize;
            let mut score = self.scores[token * self.width + label] + self.offsets.get(token).unwrap_or(&0.0);
            if token > 0 {
                let before = labels[token - 1];
                score += transitions.scores[before as usize * self.width + label];
                let edges = &self.edges[self.edges_into(token)];
                let met = edges.iter().filter(|edge| (edge.from, edge.to) == (before, labels[token]));
                score += met.map(|edge| edge.score).sum::<f64>();
            }
            if let (Some(triples), 2..) = (&transitions.triples, token) {
                score += triples.score([token - 2, token - 1, token].map(|at| labels[at] as usize));
            }
            score
        };
        (0..labels.len()).map(score).collect()
    }
}

/// Subtracts the largest of some logarithms from all of them and returns it; 0 if all are -inf. What is not -inf stays finite: a
/// label that turns out to be the only one allowed must not be lost.
pub(super) fn relative(logarithms: &mut [f64]) -> f64 {
    let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return 0.0;
    }
    for value in logarithms.iter_mut().filter(|value| **value != f64::NEG_INFINITY) {
        *value = if *value == most { 0.0 } else { (*value - most).max(LEAST) };
    }
    most
}

/// The range of the edges into a token; empty where a sentence has no `edge_ends`.
#[inline(always)]
pub(super) fn edges_into(edge_ends: &[usize], token: usize) -> Range<usize> {
    match edge_ends.get(token) {
        Some(&end) => (if token == 0 { 0 } else { edge_ends[token - 1] })..end,
        None => 0..0,
    }
}
