//! Transition scores, padded and exponentiated once for all sentences.

use crate::chain::inference::allowed::Allowed;
use crate::chain::inference::centring::{Centred, Square};
use crate::chain::inference::triples::Triples;
use crate::numeric::aligned::Aligned;
use crate::numeric::{self, padded};
use pulp::Simd;
use std::sync::{Arc, OnceLock};

/// The largest argument of `numeric::exp_in_place`.
const MOST_FOR_EXP: f64 = 700.0;

/// Scores of transitions from label to label, and of three labels in a row in a chain of second order.
pub struct Transitions {
    pub labels: usize,
    /// Labels padded to a multiple of `numeric::LANES`: the length of a row.
    pub width: usize,
    /// labels x width, a row for the label that a transition leaves; padding and forbidden transitions are -inf.
    pub scores: Aligned,
    /// exp(scores); padding and forbidden transitions are 0.
    pub exp: Aligned,
    /// exp(scores) transposed: a row for the label that a transition enters.
    pub exp_transposed: Aligned,
    /// 1 for labels, 0 for padding.
    pub ones: Aligned,
    /// The largest |score| of the transitions that are allowed.
    pub max_abs: f64,
    pub triples: Option<Triples>,
    /// The transitions that are allowed; all without it.
    pub allowed: Option<Arc<Allowed>>,
    /// Where the forbidden transitions are in `scores` and `exp`.
    forbidden: Vec<u32>,
    /// The centred transitions, made when a sentence needs them; None if they cannot be centred.
    centred: OnceLock<Option<Centred>>,
}

impl Transitions {
    /// Scores of 0.
    pub fn new(labels: usize) -> Self {
        let width = padded(labels);
        let mut transitions = Transitions {
            labels,
            width,
            scores: Aligned::new(labels * width, f64::NEG_INFINITY),
            exp: Aligned::new(labels * width, 0.0),
            exp_transposed: Aligned::new(labels * width, 0.0),
            ones: Aligned::new(width, 0.0),
            max_abs: 0.0,
            triples: None,
            allowed: None,
            forbidden: Vec::new(),
            centred: OnceLock::new(),
        };
        transitions.ones[..labels].fill(1.0);
        transitions.set(std::iter::empty());
        transitions
    }

    /// Whether some transitions are forbidden, or labels at the ends of a sentence.
    pub fn is_constrained(&self) -> bool {
        self.allowed.is_some()
    }

    /// Forbids what is not allowed, from the next time on that scores are set.
    pub fn constrain(&mut self, allowed: Option<Arc<Allowed>>) {
        let pairs = allowed.iter().flat_map(|allowed| allowed.forbidden_transitions());
        self.forbidden = pairs.map(|(from, to)| (from * self.width + to) as u32).collect();
        self.allowed = allowed;
    }

    /// Sets the scores given as (from, to, score), and all other scores to 0.
    pub fn set(&mut self, scores: impl Iterator<Item = (usize, usize, f64)>) {
        let (labels, width) = (self.labels, self.width);
        for row in self.scores.chunks_exact_mut(width) {
            row[..labels].fill(0.0);
        }
        for (from, to, score) in scores {
            self.scores[from * width + to] = score;
        }
        self.forbidden.iter().for_each(|&place| self.scores[place as usize] = f64::NEG_INFINITY);
        self.centred.take();
        self.max_abs = 0.0;
        for from in 0..labels {
            for to in 0..labels {
                let score = self.scores[from * width + to];
                if score != f64::NEG_INFINITY {
                    self.max_abs = self.max_abs.max(score.abs());
                }
                self.exp[from * width + to] = score.exp();
                self.exp_transposed[to * width + from] = score.exp();
            }
        }
    }
}

impl Transitions {
    /// The largest |score| of a transition or a triple.
    pub fn max_abs_of_links(&self) -> f64 {
        self.triples.as_ref().map_or(self.max_abs, |triples| self.max_abs.max(triples.max_abs()))
    }

    /// The centred transitions, if they can be centred.
    pub(super) fn centred(&self) -> Option<&Centred> {
        let centre = || if self.allowed.is_some() { None } else { Centred::new(self.square()) };
        self.centred.get_or_init(centre).as_ref()
    }

    /// Only the scores.
    pub(super) fn square(&self) -> Square<'_> {
        Square { labels: self.labels, width: self.width, scores: &self.scores }
    }

    /// The centred transitions for a sentence whose scores are centred; None for others.
    #[inline(always)]
    pub(super) fn centred_if(&self, centred: bool) -> Option<&Centred> {
        if centred { self.centred() } else { None }
    }

    /// The score of a labelling; `states` has the scores of the labels of each token, as rows.
    pub fn score(&self, states: &[f64], labels: impl Iterator<Item = u32>) -> f64 {
        let mut labels = labels.map(|label| label as usize);
        let mut rows = states.chunks_exact(self.width);
        let (Some(mut previous), Some(first)) = (labels.next(), rows.next()) else { return 0.0 };
        let mut total = first[previous];
        let mut before = None;
        for (row, label) in rows.zip(labels) {
            total += row[label] + self.scores[previous * self.width + label];
            if let Some(triples) = &self.triples {
                total += before.map_or(0.0, |before| triples.score([before, previous, label]));
                before = Some(previous);
            }
            previous = label;
        }
        total
    }

    /// Sets all scores to `scale` times `scores`, which has a row for the label that a transition leaves, `stride` apart.
    #[inline(always)]
    pub fn update<S: Simd>(&mut self, simd: S, scores: &[f64], stride: usize, scale: f64) {
        self.update_forward(simd, scores, stride, scale);
        for (to, row) in self.exp_transposed.chunks_exact_mut(self.width).enumerate() {
            let column = self.exp[to..].iter().step_by(self.width);
            row.iter_mut().zip(column).for_each(|(transposed, &exp)| *transposed = exp);
        }
    }

    /// `update` without `exp_transposed`, which the forward recursion does not need.
    #[inline(always)]
    pub fn update_forward<S: Simd>(&mut self, simd: S, scores: &[f64], stride: usize, scale: f64) {
        let (labels, width) = (self.labels, self.width);
        self.centred.take();
        let mine = self.scores.chunks_exact_mut(width).zip(self.exp.chunks_exact_mut(width));
        for ((score, exp), row) in mine.zip(scores.chunks_exact(stride)) {
            numeric::scale_into(simd, exp, scale, &row[..width]);
            score[..labels].copy_from_slice(&exp[..labels]);
        }
        self.forbidden.iter().for_each(|&place| self.exp[place as usize] = 0.0);
        // Padding is 0 up to this line.
        self.max_abs = numeric::max_abs(simd, &self.exp);
        if self.max_abs <= MOST_FOR_EXP {
            numeric::exp_in_place(simd, &mut self.exp);
        } else {
            self.exp.iter_mut().for_each(|exp| *exp = exp.exp());
        }
        self.exp.chunks_exact_mut(width).for_each(|row| row[labels..].fill(0.0));
        for &place in &self.forbidden {
            (self.scores[place as usize], self.exp[place as usize]) = (f64::NEG_INFINITY, 0.0);
        }
    }
}

/// An addition to the score of one transition into one token, made by a bigram feature.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    pub score: f64,
    /// The bigram feature.
    pub feature: u32,
    pub place: u32,
    /// After `backward`: the probability of this transition, times the factor given.
    pub marginal: f64,
}

/// Transition matrices that edges change for one token; a change, and its undoing, cost as much as there are edges.
#[derive(Default)]
pub struct Patched {
    pub scores: Aligned,
    pub exp: Aligned,
    width: usize,
}

impl Patched {
    /// Takes over the transitions, without any edges.
    pub fn copy(&mut self, transitions: &Transitions) {
        self.scores.clone_from(&transitions.scores);
        self.exp.clone_from(&transitions.exp);
        self.width = transitions.width;
    }

    fn at(&self, edge: &Edge) -> usize {
        edge.from as usize * self.width + edge.to as usize
    }

    /// Adds the scores of some edges, all into one token.
    pub fn apply(&mut self, edges: &[Edge]) {
        for edge in edges {
            let at = self.at(edge);
            self.scores[at] += edge.score;
        }
        if self.are_many(edges) {
            self.exp.iter_mut().zip(&*self.scores).for_each(|(exp, score)| *exp = score.exp());
            return;
        }
        for edge in edges {
            let at = self.at(edge);
            self.exp[at] = self.scores[at].exp();
        }
    }

    /// Whether going through all transitions costs less than going through the edges.
    fn are_many(&self, edges: &[Edge]) -> bool {
        edges.len() > self.scores.len()
    }

    /// Takes the scores of the edges off again.
    pub fn restore(&mut self, edges: &[Edge], transitions: &Transitions) {
        if self.are_many(edges) {
            self.scores.copy_from_slice(&transitions.scores);
            self.exp.copy_from_slice(&transitions.exp);
            return;
        }
        for edge in edges {
            let at = self.at(edge);
            self.scores[at] = transitions.scores[at];
            self.exp[at] = transitions.exp[at];
        }
    }
}

impl Transitions {
    /// The scores of triples, if the chain has any and a sentence of `tokens` tokens meets them: shorter ones are served by first
    /// order.
    #[inline(always)]
    pub(super) fn triples_of(&self, tokens: usize) -> Option<&Triples> {
        self.triples.as_ref().filter(|_| tokens > 2)
    }
}
