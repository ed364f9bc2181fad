//! Forward-backward in log space, in first order and in second: slower than on scaled probabilities, and right for any scores,
//! +-1e4 and forbidden transitions (-inf) among them.
//!
//! The recursion runs over nodes: labels in first order, pairs of neighbouring labels (j, k) in second. Both are numbered
//! j * labels + k, with one group j = 0 in first order. With psi_t(y) for the log potential of a node, lambda(x, y) for the score
//! of the link from a node to the next, and lse for the logarithm of a sum of exponentials,
//!
//! alpha_t(y) = lse over x of (alpha_{t-1}(x) + lambda(x, y)) + psi_t(y)
//! beta_{t-1}(x) = lse over y of (lambda(x, y) + psi_t(y) + beta_t(y))
//!
//! | order | nodes | psi_t(y) | lambda(x, y) |
//! | --- | --- | --- | --- |
//! | 1 | labels | state score | transition score |
//! | 2 | pairs of labels | transition score + state score of the later label | score of the triple |
//!
//! Steps are tokens in first order, and pairs of neighbouring tokens in second: step s leads to token s + 1 there.
//!
//! State scores are relative to the largest of their token, and alpha and beta to the largest of their step: what is subtracted
//! is part of log Z alone. So a score of 1e16 costs no digits of the probabilities of other tokens.

use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::lattice::{LEAST, Lattice, relative};
use crate::chain::inference::transitions::Transitions;
use crate::chain::inference::triples::Triples;
use crate::numeric::log_sum_exp;

/// Z in the units of a step, as exp(most) * sum: log Z itself may be so large that it has no digits for the sum.
struct Total {
    most: f64,
    sum: f64,
}

impl Total {
    /// The sum of exp(alpha + beta).
    fn of(alpha: &[f64], beta: &[f64]) -> Total {
        let logarithms = || alpha.iter().zip(beta).map(|(alpha, beta)| alpha + beta);
        let most = logarithms().fold(LEAST, f64::max);
        Total { most, sum: logarithms().map(|logarithm| (logarithm - most).exp()).sum() }
    }

    /// exp(logarithm) / Z.
    fn share(&self, logarithm: f64) -> f64 {
        (logarithm - self.most).exp() / self.sum
    }
}

/// Scores of the nodes and links of one step. A node is given by its group j, 0 in first order, and its label k.
struct Step<'a, const SECOND: bool> {
    labels: usize,
    width: usize,
    /// State scores of the step's token.
    states: &'a [f64],
    /// Transition scores into the step's token, labels x width.
    transitions: &'a [f64],
    /// In second order only.
    triples: Option<&'a Triples>,
}

impl<const SECOND: bool> Step<'_, SECOND> {
    /// psi of a node in two terms: the score of its transition, 0 in first order, and of its state.
    fn potential(&self, group: usize, label: usize) -> [f64; 2] {
        [if SECOND { self.transitions[group * self.width + label] } else { 0.0 }, self.states[label]]
    }

    /// The i-th node before a node, and the score of their link.
    fn before(&self, group: usize, label: usize, i: usize) -> (usize, f64) {
        match self.triples {
            Some(triples) if SECOND => (i * self.labels + group, triples.score([i, group, label])),
            _ => (i, self.transitions[i * self.width + label]),
        }
    }

    /// The i-th node after a node, and the score of their link.
    fn behind(&self, group: usize, label: usize, i: usize) -> (usize, f64) {
        match self.triples {
            Some(triples) if SECOND => (label * self.labels + i, triples.score([group, label, i])),
            _ => (i, self.transitions[label * self.width + i]),
        }
    }

    /// Groups of nodes.
    fn groups(&self) -> usize {
        if SECOND { self.labels } else { 1 }
    }

    /// onward(y) = psi(y) + beta(y), for all nodes.
    fn add_potentials(&self, beta: &[f64], onward: &mut [f64]) {
        for group in 0..self.groups() {
            for label in 0..self.labels {
                let ([transition, state], node) = (self.potential(group, label), group * self.labels + label);
                onward[node] = transition + state + beta[node];
            }
        }
    }

    /// Sets beta to the backward variables of the step before, of which `previous` is alpha, and adds factor * p(link) to the
    /// counts of links. Returns Z in the units of both steps.
    fn step_back(
        &self,
        previous: &[f64],
        onward: &[f64],
        factor: f64,
        counts: &mut PairCounts,
        beta: &mut [f64],
    ) -> Total {
        let nodes = |at: usize| (at / self.labels, at % self.labels);
        let links = |at: usize| (0..self.labels).map(move |i| self.behind(nodes(at).0, nodes(at).1, i));
        for (at, beta) in beta.iter_mut().enumerate() {
            *beta = log_sum_exp(links(at).map(|(behind, link)| link + onward[behind]));
        }
        let total = Total::of(previous, beta);
        for (at, alpha) in previous.iter().enumerate() {
            if let Some(counts) = counts.links_from(self.triples, nodes(at).0, nodes(at).1) {
                for (count, (behind, link)) in counts.iter_mut().zip(links(at)) {
                    *count += factor * total.share(alpha + link + onward[behind]);
                }
            }
        }
        total
    }
}

impl Lattice {
    /// Forward recursion; returns log Z and leaves alpha, steps x nodes.
    pub(super) fn forward_log(&mut self, transitions: &Transitions, triples: Option<&Triples>) -> f64 {
        match triples {
            None => self.forward_log_in::<false>(transitions, None),
            Some(of_triples) => {
                // From here on scores are looked up in a table, each of them for every token.
                of_triples.scores();
                self.forward_log_in::<true>(transitions, triples)
            }
        }
    }

    /// After `forward_log`: leaves factor * p(y_t = j) in `marginals` and in the edges, and adds the expected counts to `counts`.
    /// Calls `on_step` for every token but the first, from the last on, when that token's pairs of labels have been counted.
    pub(super) fn backward_log(
        &mut self,
        transitions: &Transitions,
        triples: Option<&Triples>,
        factor: f64,
        counts: &mut PairCounts,
        on_step: impl FnMut(&mut PairCounts),
    ) {
        match triples {
            None => self.backward_log_in::<false>(transitions, None, factor, counts, on_step),
            Some(_) => self.backward_log_in::<true>(transitions, triples, factor, counts, on_step),
        }
    }

    /// Groups of nodes.
    fn groups<const SECOND: bool>(&self) -> usize {
        if SECOND { self.labels } else { 1 }
    }

    fn forward_log_in<const SECOND: bool>(&mut self, transitions: &Transitions, triples: Option<&Triples>) -> f64 {
        let (width, labels, groups) = (self.width, self.labels, self.groups::<SECOND>());
        let (nodes, steps) = (groups * labels, self.tokens - usize::from(SECOND));
        self.alpha.resize(steps * nodes, 0.0);
        let mut subtracted = self.make_relative();
        for at in 0..steps {
            if self.is_interrupted() {
                return f64::NEG_INFINITY;
            }
            let token = at + usize::from(SECOND);
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let (before, rest) = self.alpha.split_at_mut(at * nodes);
            let previous = &before[at.saturating_sub(1) * nodes..];
            let states = &self.scores[token * width..][..width];
            let step = Step::<SECOND> { labels, width, states, transitions: &self.patched.scores, triples };
            for group in 0..groups {
                // The state score of the first of two tokens, which no node of a step has in second order.
                let first = if SECOND { self.scores[group] } else { 0.0 };
                for label in 0..labels {
                    let links = (0..labels).map(|i| step.before(group, label, i));
                    let paths = match at {
                        0 => first,
                        _ => log_sum_exp(links.map(|(before, link)| previous[before] + link)),
                    };
                    let [transition, state] = step.potential(group, label);
                    rest[group * labels + label] = paths + transition + state;
                }
            }
            subtracted += relative(&mut rest[..nodes]);
            self.patched.restore(&self.edges[edges], transitions);
        }
        let last = &self.alpha[(steps - 1) * nodes..][..nodes];
        subtracted
            + log_sum_exp((0..labels).flat_map(|label| (0..groups).map(move |group| last[group * labels + label])))
    }

    fn backward_log_in<const SECOND: bool>(
        &mut self,
        transitions: &Transitions,
        triples: Option<&Triples>,
        factor: f64,
        counts: &mut PairCounts,
        mut on_step: impl FnMut(&mut PairCounts),
    ) {
        let (width, labels, groups) = (self.width, self.labels, self.groups::<SECOND>());
        let nodes = groups * labels;
        counts.begin_direct(triples);
        let (mut beta, mut onward) = (vec![0.0; nodes], vec![0.0; nodes]);
        self.marginals.clear();
        self.marginals.resize(self.tokens * width, 0.0);
        for at in (0..self.tokens - usize::from(SECOND)).rev() {
            if self.is_interrupted() {
                return;
            }
            let alpha = &self.alpha[at * nodes..][..nodes];
            self.node_marginals::<SECOND>(at, &beta, (factor, Total::of(alpha, &beta)), counts);
            if SECOND {
                on_step(counts);
            }
            if at == 0 {
                break;
            }
            let token = at + usize::from(SECOND);
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let states = &self.scores[token * width..][..width];
            let step = Step::<SECOND> { labels, width, states, transitions: &self.patched.scores, triples };
            let previous = &self.alpha[(at - 1) * nodes..][..nodes];
            step.add_potentials(&beta, &mut onward);
            let total = step.step_back(previous, &onward, factor, counts, &mut beta);
            if !SECOND {
                for edge in &mut self.edges[edges.clone()] {
                    let (from, to) = (edge.from as usize, edge.to as usize);
                    edge.marginal = factor * total.share(previous[from] + step.behind(0, from, to).1 + onward[to]);
                }
                on_step(counts);
            }
            relative(&mut beta);
            self.patched.restore(&self.edges[edges], transitions);
        }
    }

    /// Adds the marginals of a step's nodes to the marginals of labels. In second order also counts the transitions, which the
    /// nodes are, and sets the edges' marginals.
    fn node_marginals<const SECOND: bool>(
        &mut self,
        at: usize,
        beta: &[f64],
        (factor, total): (f64, Total),
        counts: &mut PairCounts,
    ) {
        let (width, labels) = (self.width, self.labels);
        let (nodes, token) = (beta.len(), at + usize::from(SECOND));
        let alpha = &self.alpha[at * nodes..][..nodes];
        let marginal = |node: usize| factor * total.share(alpha[node] + beta[node]);
        for group in 0..self.groups::<SECOND>() {
            for label in 0..labels {
                let p = marginal(group * labels + label);
                self.marginals[token * width + label] += p;
                if SECOND {
                    counts.direct[group * width + label] += p;
                    if at == 0 {
                        self.marginals[group] += p;
                    }
                }
            }
        }
        if SECOND {
            let edges = self.edges_into(token);
            for edge in &mut self.edges[edges] {
                edge.marginal = marginal(edge.from as usize * labels + edge.to as usize);
            }
        }
    }
}
