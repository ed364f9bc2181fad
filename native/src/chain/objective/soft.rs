//! Soft labels: a sentence whose tokens have distributions q_t over labels, as the expected counts of its features.
//!
//! The labelling y has the probability q(y), the product of q_t(y_t), given that the constraints allow y. The objective is linear
//! in q: -sum over y of q(y) log p(y | x; w) = log Z(x) - w . E_q[f(x, y)]. So inference under the model is as ever, and only the
//! counts of the features change.
//!
//! Without constraints the labels of tokens are independent under q. With constraints q is a Markov chain, whose marginals
//! forward and backward sums give: alpha_t(b) = q_t(b) sum over a of alpha_{t-1}(a), and beta_{t-1}(a) = sum over b of q_t(b)
//! beta_t(b), over the pairs (a, b) that are allowed.

use crate::chain::inference::{Allowed, LabelSets};
use crate::corpus::Corpus;
use std::ops::Range;

/// The probabilities of labels and of pairs of labels under q.
pub(super) struct Soft<'a> {
    allowed: Option<&'a Allowed>,
    labels: usize,
    /// Tokens x labels: probabilities of single labels.
    pub marginals: Vec<f64>,
    /// Tokens x labels: alpha, which adds up to 1, and q_t(b) beta_t(b), in units in which pairs add up to 1.
    alpha: Vec<f64>,
    beta: Vec<f64>,
}

impl<'a> Soft<'a> {
    /// The probabilities of a sentence none of whose labels is partial.
    pub fn new(corpus: &Corpus, tokens: Range<usize>, allowed: Option<&'a Allowed>) -> Soft<'a> {
        let (n, labels) = (tokens.len(), corpus.labels.len());
        let mut q = vec![0.0; n * labels];
        for (row, token) in q.chunks_exact_mut(labels).zip(tokens) {
            corpus.shares_of(&corpus.gold[token]).for_each(|(label, share)| row[label as usize] = share);
        }
        let Some(rules) = allowed else {
            return Soft { allowed, labels, marginals: q, alpha: Vec::new(), beta: Vec::new() };
        };
        let mut sets = LabelSets::full(n, labels);
        for token in 0..n {
            sets.set(token, (0..labels as u32).filter(|&label| q[token * labels + label as usize] > 0.0));
        }
        rules.prune(&mut sets);
        q.iter_mut().enumerate().for_each(|(at, q)| *q *= f64::from(u8::from(sets.contains(at / labels, at % labels))));
        let (mut alpha, mut beta) = (q.clone(), q.clone());
        for token in 1..n {
            let (before, rest) = alpha.split_at_mut(token * labels);
            let before = &mut before[(token - 1) * labels..];
            scale(before, before.iter().sum());
            for (to, alpha) in rest[..labels].iter_mut().enumerate() {
                let reaching = before.iter().enumerate().filter(|&(from, _)| rules.allows(from, to));
                *alpha *= reaching.map(|(_, alpha)| alpha).sum::<f64>();
            }
        }
        for token in (1..n).rev() {
            let (rest, after) = beta.split_at_mut(token * labels);
            let after = &mut after[..labels];
            scale(after, after.iter().sum());
            for (from, beta) in rest[(token - 1) * labels..].iter_mut().enumerate() {
                let reached = after.iter().enumerate().filter(|&(to, _)| rules.allows(from, to));
                *beta *= reached.map(|(_, beta)| beta).sum::<f64>();
            }
        }
        // Both alpha and beta have the factor q.
        let mut marginals: Vec<f64> =
            alpha.iter().zip(&beta).zip(&q).map(|((a, b), q)| if *q > 0.0 { a * b / q } else { 0.0 }).collect();
        marginals.chunks_exact_mut(labels).for_each(|row| scale(row, row.iter().sum()));
        Soft { allowed, labels, marginals, alpha, beta }
    }

    /// Calls `add` with each pair of labels of a token and the token after it, and the pair's probability.
    pub fn pairs(&self, token: usize, mut add: impl FnMut(usize, usize, f64)) {
        let of = |numbers: &Vec<f64>, token: usize, label: usize| numbers[token * self.labels + label];
        let labels = || 0..self.labels;
        let Some(rules) = self.allowed else {
            for from in labels().filter(|&from| of(&self.marginals, token, from) > 0.0) {
                for to in labels().filter(|&to| of(&self.marginals, token + 1, to) > 0.0) {
                    add(from, to, of(&self.marginals, token, from) * of(&self.marginals, token + 1, to));
                }
            }
            return;
        };
        let product = |from: usize, to: usize| match rules.allows(from, to) {
            true => of(&self.alpha, token, from) * of(&self.beta, token + 1, to),
            false => 0.0,
        };
        let total: f64 = labels().flat_map(|from| labels().map(move |to| (from, to))).map(|(a, b)| product(a, b)).sum();
        for (from, to) in labels().flat_map(|from| labels().map(move |to| (from, to))) {
            let product = product(from, to);
            if product > 0.0 {
                add(from, to, product / total);
            }
        }
    }

    /// Calls `add` with each triple of labels that begins at a token, and the triple's probability: q is a Markov chain.
    pub fn triples(&self, token: usize, mut add: impl FnMut([usize; 3], f64)) {
        let mut second = vec![Vec::new(); self.labels];
        self.pairs(token + 1, |middle, last, p| second[middle].push((last, p)));
        self.pairs(token, |first, middle, p| {
            let share = p / self.marginals[(token + 1) * self.labels + middle];
            second[middle].iter().for_each(|&(last, p)| add([first, middle, last], share * p));
        });
    }
}

/// Divides numbers by a divisor other than 0.
fn scale(numbers: &mut [f64], divisor: f64) {
    if divisor > 0.0 {
        numbers.iter_mut().for_each(|number| *number /= divisor);
    }
}
