//! Probabilities of spans against enumeration of every labelling, in both orders.

use crate::chain::inference::{ChunkRule, Constraints, Edge, LabelSets, Lattice, Span, Transitions, Triples};
use crate::numeric::log_sum_exp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use pulp::{Arch, Simd, WithSimd};
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Problem {
    labels: usize,
    tokens: usize,
    states: Vec<f64>,
    transitions: Vec<f64>,
    /// Scores of three labels in a row; empty in first order.
    triples: Vec<f64>,
    /// (token, from, to, score)
    edges: Vec<(usize, u32, u32, f64)>,
    /// The type of each label: 0 is outside every chunk.
    types: Vec<u8>,
    /// (labels + 1) x labels
    begins: Vec<bool>,
}

/// Problems of which a share of the scores of states and transitions is -inf: forbidden.
fn problem(scale: f64, forbidden: f64) -> impl Strategy<Value = Problem> {
    (1usize..4, 1usize..6, any::<bool>()).prop_flat_map(move |(labels, tokens, second)| {
        let share = prop::bool::weighted(forbidden);
        let score =
            (share, -scale..scale).prop_map(|(forbidden, score)| if forbidden { f64::NEG_INFINITY } else { score });
        (
            prop::collection::vec(score.clone(), labels * tokens),
            prop::collection::vec(score, labels * labels),
            prop::collection::vec(-scale..scale, if second { labels * labels * labels } else { 0 }),
            prop::collection::vec((0..tokens, 0..labels as u32, 0..labels as u32, -3.0..3.0f64), 0..5),
            prop::collection::vec(0..3u8, labels),
            prop::collection::vec(any::<bool>(), (labels + 1) * labels),
        )
            .prop_map(move |(states, transitions, triples, mut edges, types, begins)| {
                edges.retain(|edge| edge.0 > 0);
                edges.sort_by_key(|edge| (edge.0, edge.1, edge.2));
                Problem { labels, tokens, states, transitions, triples, edges, types, begins }
            })
    })
}

impl Problem {
    fn score(&self, path: &[usize]) -> f64 {
        let l = self.labels;
        let mut total = 0.0;
        for (t, &label) in path.iter().enumerate() {
            total += self.states[t * l + label];
            if t > 0 {
                total += self.transitions[path[t - 1] * l + label];
                let met = |e: &&(usize, u32, u32, f64)| (e.0, e.1 as usize, e.2 as usize) == (t, path[t - 1], label);
                total += self.edges.iter().filter(met).map(|e| e.3).sum::<f64>();
            }
            if t > 1 && !self.triples.is_empty() {
                total += self.triples[(path[t - 2] * l + path[t - 1]) * l + label];
            }
        }
        total
    }

    /// Whether the conditions of a span hold in a labelling, by their definition.
    fn holds(&self, path: &[usize], span: Span) -> bool {
        let begins = |t: usize| {
            let row = if t == 0 { 0 } else { path[t - 1] + 1 };
            self.begins[row * self.labels + path[t]]
        };
        let inside = |t: usize| u32::from(self.types[path[t]]) == span.kind + 1;
        let goes_on = |t: usize| inside(t) && !begins(t);
        begins(span.start)
            && inside(span.start)
            && (span.start + 1..span.end).all(goes_on)
            && (span.end == self.tokens || !goes_on(span.end))
    }

    /// Every span of the types 0 and 1.
    fn spans(&self) -> Vec<Span> {
        let ends = (0..self.tokens).flat_map(|start| (start + 1..=self.tokens).map(move |end| (start, end)));
        ends.flat_map(|(start, end)| (0..2).map(move |kind| Span { kind, start, end })).collect()
    }

    fn enumerate(&self) -> Vec<f64> {
        let count = self.labels.pow(self.tokens as u32);
        let digit = |i: usize, t: u32| i / self.labels.pow(t) % self.labels;
        let paths: Vec<Vec<usize>> =
            (0..count).map(|i| (0..self.tokens as u32).map(|t| digit(i, t)).collect()).collect();
        let log_z = log_sum_exp(paths.iter().map(|path| self.score(path)));
        let p = |path: &Vec<usize>| if log_z.is_finite() { (self.score(path) - log_z).exp() } else { 0.0 };
        let of = |span: Span| paths.iter().filter(|path| self.holds(path, span)).map(p).sum();
        self.spans().into_iter().map(of).collect()
    }

    /// The probabilities of all spans, and for each token the probability that it is in none.
    fn infer(&self) -> (Vec<f64>, Vec<f64>) {
        struct Run<'a>(&'a Problem);
        impl WithSimd for Run<'_> {
            type Output = (Vec<f64>, Vec<f64>);
            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> (Vec<f64>, Vec<f64>) {
                self.0.infer_with(simd)
            }
        }
        Arch::new().dispatch(Run(self))
    }

    #[inline(always)]
    fn infer_with<S: Simd>(&self, simd: S) -> (Vec<f64>, Vec<f64>) {
        let l = self.labels;
        let mut transitions = Transitions::new(l);
        let is_forbidden = |score: &f64| *score == f64::NEG_INFINITY;
        let pairs = (0..l * l).filter(|&at| is_forbidden(&self.transitions[at]));
        let pairs = pairs.map(|at| (Some((at / l) as u32), Some((at % l) as u32)));
        let constraints = Arc::new(Constraints::new(l, pairs.collect()));
        transitions.constrain(Some(constraints.clone()));
        let score = |at: usize| if is_forbidden(&self.transitions[at]) { 0.0 } else { self.transitions[at] };
        transitions.set((0..l * l).map(|at| (at / l, at % l, score(at))));
        if !self.triples.is_empty() {
            let labels = |at: usize| [at / (l * l), at / l % l, at % l];
            transitions.triples = Some(Triples::new(l, (0..l * l * l).map(|at| (labels(at), self.triples[at]))));
        }
        let mut lattice = Lattice::default();
        lattice.prepare(&transitions);
        lattice.begin(self.tokens, &transitions);
        lattice.overlap = self.edges.len();
        let mut allowed = LabelSets::full(self.tokens, l);
        for t in 0..self.tokens {
            for (label, score) in self.states[t * l..][..l].iter().enumerate() {
                if is_forbidden(score) {
                    allowed.remove(t, label);
                } else {
                    lattice.scores[t * transitions.width + label] = *score;
                }
            }
            for &(_, from, to, score) in self.edges.iter().filter(|e| e.0 == t) {
                lattice.edges.push(Edge { from, to, score, feature: 0, place: 0, marginal: 0.0 });
            }
            lattice.edge_ends.push(lattice.edges.len());
        }
        constraints.prune(&mut allowed);
        lattice.mask.add(&allowed, transitions.width);
        let names: Vec<Option<String>> = self.types.iter().map(|&each| (each > 0).then(|| each.to_string())).collect();
        let rule = ChunkRule::new(&names, self.begins.clone()).expect("a rule for the labels");
        let found = lattice.infer_spans(simd, &transitions, &rule);
        let outside = |t: usize| {
            let row = lattice.marginals[t * transitions.width..][..l].iter().zip(&self.types);
            row.filter(|&(_, &each)| each == 0).map(|(p, _)| p).sum()
        };
        let outside = (0..self.tokens).map(outside).collect();
        let of = |span: Span| {
            let kind = rule.types.iter().position(|name| *name == (span.kind + 1).to_string());
            kind.map_or(0.0, |kind| found.of(&mut lattice, Span { kind: kind as u32, ..span }))
        };
        (self.spans().into_iter().map(of).collect(), outside)
    }

    fn check(&self, tolerance: f64) {
        for ((span, got), want) in self.spans().into_iter().zip(self.infer().0).zip(self.enumerate()) {
            assert!((got - want).abs() <= tolerance, "{span:?}: {got}, enumeration {want}");
        }
    }
}

proptest! {
    #[test]
    fn probabilities_of_spans_equal_enumeration(problem in problem(4.0, 0.0)) {
        problem.check(1e-12);
    }

    #[test]
    fn scores_beyond_scaling_give_probabilities_of_spans(problem in problem(1e3, 0.0)) {
        problem.check(1e-9);
    }

    #[test]
    fn forbidden_labels_and_transitions_keep_probabilities_of_spans_right(problem in problem(4.0, 0.3)) {
        problem.check(1e-11);
    }
}

/// Labels O, B-1, I-1, B-2, I-2 in sentences too long for enumeration.
fn entities(scale: f64, second: bool) -> impl Strategy<Value = Problem> {
    let scores = move |n: usize| prop::collection::vec(-scale..scale, n);
    (scores(5 * 9), scores(25), scores(if second { 125 } else { 0 })).prop_map(|(states, transitions, triples)| {
        let types = vec![0, 1, 1, 2, 2];
        // I- begins a chunk at the start, and behind O and another type; B- always does.
        let begins = |previous: usize, label: usize| match label {
            0 => false,
            1 | 3 => true,
            _ => previous == 0 || types[previous - 1] != types[label],
        };
        let begins = (0..6 * 5).map(|at| begins(at / 5, at % 5)).collect();
        Problem { labels: 5, tokens: 9, states, transitions, triples, edges: Vec::new(), types, begins }
    })
}

proptest! {
    #[test]
    fn the_spans_around_a_token_and_no_span_at_all_add_up_to_one(
        problem in prop_oneof![entities(3.0, false), entities(300.0, false), entities(3.0, true)]
    ) {
        let (spans, outside) = problem.infer();
        for (token, outside) in outside.into_iter().enumerate() {
            let around = problem.spans().into_iter().zip(&spans).filter(|(span, _)| (span.start..span.end).contains(&token));
            let total = outside + around.map(|(_, p)| p).sum::<f64>();
            prop_assert!((total - 1.0).abs() < 1e-9, "token {token}: {total}");
        }
    }
}

#[test]
fn the_chunks_of_a_labelling_are_those_whose_conditions_hold() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..50 {
        let problem = entities(1.0, false).new_tree(&mut runner).expect("a problem").current();
        let names: Vec<Option<String>> =
            problem.types.iter().map(|&each| (each > 0).then(|| each.to_string())).collect();
        let rule = ChunkRule::new(&names, problem.begins.clone()).expect("a rule for the labels");
        let path: Vec<usize> = problem.states.chunks(5).map(|row| (row[0].abs() * 1e6) as usize % 5).collect();
        let labels: Vec<u32> = path.iter().map(|&label| label as u32).collect();
        let mut held: Vec<Span> = problem.spans().into_iter().filter(|&span| problem.holds(&path, span)).collect();
        held.sort_by_key(|span| span.start);
        assert_eq!(rule.spans(&labels), held);
    }
}
