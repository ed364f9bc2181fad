//! Costs of wrong labels: the softmax margin (Gimpel & Smith, "Softmax-margin CRFs: training log-linear models with cost
//! functions", NAACL-HLT 2010, Eqs. 6 and 7).
//!
//! `value(w)` = sum over sentences of weight * (log sum over y' of exp(w . f(x, y') + cost(y, y')) - w . f(x, y))
//! cost(y, y') = sum over the tokens t whose label y'_t is wrong of c_t, in nats
//!
//! Departures: where a label is partial, all its possible labels are right, and where it is unknown, no label is wrong. Where it
//! is soft, with probabilities q, a label k has its expected cost, the sum over the labels j other than k of q_j c_j. The
//! scores of right labels are lowered by c_t instead of raising the scores of all others: every labelling of a sentence then has
//! a score that is smaller by the same number, which neither the value nor the gradient depends on.

use crate::corpus::{Corpus, MOST_COST};
use std::sync::Arc;

/// The cost beyond which a token adds the rest of it to the value, as long as its margin is small.
const FELT: f64 = 10.0;

/// What a wrong label of each token costs.
#[derive(Clone, Default)]
pub struct Costs {
    /// Label -> factor of the costs of its tokens, if there are class weights.
    pub class_weights: Option<Arc<Vec<f64>>>,
    /// Token of the corpus -> c_t; empty if all are 0.
    of_tokens: Arc<Vec<f64>>,
}

impl Costs {
    /// The costs of a corpus times the class weights of the labels, at most `MOST_COST`; without costs of their own, tokens cost 1 with class weights
    /// and 0 otherwise. A partial or soft label has the mean weight of its labels.
    pub fn new(corpus: &Corpus, class_weights: Option<Arc<Vec<f64>>>) -> Costs {
        if corpus.costs.is_empty() && class_weights.is_none() {
            return Costs::default();
        }
        let usual = if class_weights.is_some() { 1.0 } else { 0.0 };
        let mean = |token: usize, of: &[f64]| {
            let pairs = corpus.shares_of(&corpus.gold[token]);
            let sums = pairs.fold([0.0, 0.0], |[sum, total], (label, q)| [sum + q * of[label as usize], total + q]);
            if sums[1] > 0.0 { sums[0] / sums[1] } else { 0.0 }
        };
        let of_token = |token: usize| {
            let cost = corpus.costs.get(token).copied().filter(|cost| !cost.is_nan()).unwrap_or(usual);
            (cost * class_weights.as_ref().map_or(1.0, |of| mean(token, of))).min(MOST_COST)
        };
        let of_tokens: Vec<f64> = (0..corpus.gold.len()).map(of_token).collect();
        let has_costs = of_tokens.iter().any(|&cost| cost != 0.0);
        Costs { class_weights, of_tokens: Arc::new(if has_costs { of_tokens } else { Vec::new() }) }
    }

    /// What costs beyond `FELT` add to the value at scores of 0, and at all scores that are small beside them.
    pub fn constant(&self, corpus: &Corpus, weight: impl Fn(usize) -> f64) -> f64 {
        let n_labels = corpus.labels.len();
        if self.of_tokens.iter().all(|&cost| cost <= FELT) {
            return 0.0;
        }
        let mut scores = vec![0.0; n_labels];
        let mut of_token = |token: usize| {
            scores.fill(0.0);
            let gold = corpus.gold[token];
            lower_right(corpus, &[gold], self.of(token..token + 1), self.class_weights(), &mut scores, n_labels);
            let lowered = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let is_known = corpus.shares_of(&gold).next().is_some();
            if is_known { (self.of_tokens[token] + lowered - FELT).max(0.0) } else { 0.0 }
        };
        let of_sentence = |sentence| weight(sentence) * corpus.tokens(sentence).map(&mut of_token).sum::<f64>();
        (0..corpus.n_sentences()).map(of_sentence).sum()
    }

    /// Label -> factor of the costs of its tokens.
    #[inline(always)]
    pub fn class_weights(&self) -> Option<&[f64]> {
        self.class_weights.as_ref().map(|weights| &weights[..])
    }

    /// The costs of some tokens of the corpus in a row; empty if no token has any.
    #[inline(always)]
    pub fn of(&self, tokens: std::ops::Range<usize>) -> &[f64] {
        if self.of_tokens.is_empty() { &[] } else { &self.of_tokens[tokens] }
    }
}

/// Lowers the scores, tokens x width, of the right labels of a sentence: `gold` are its entries of `Corpus::gold`. The costs of
/// its tokens have the mean of the class weights in them, of which each label of a distribution has its own part.
#[inline(always)]
pub fn lower_right(
    corpus: &Corpus,
    gold: &[u32],
    costs: &[f64],
    class_weights: Option<&[f64]>,
    scores: &mut [f64],
    width: usize,
) {
    for ((scores, entry), cost) in scores.chunks_exact_mut(width).zip(gold).zip(costs) {
        let of = class_weights.filter(|_| corpus.is_soft(*entry));
        let mean = of.map_or(1.0, |of| corpus.shares_of(entry).map(|(label, q)| q * of[label as usize]).sum());
        let factor = |label: usize| of.map_or(1.0, |of| of[label] / mean);
        if mean > 0.0 {
            corpus.shares_of(entry).for_each(|(label, q)| scores[label as usize] -= cost * q * factor(label as usize));
        }
    }
}
