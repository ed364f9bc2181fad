//! Probabilities of spans against enumeration of every labelling, in both orders.

use crate::chain::inference::tests::{Problem, scored};
use crate::chain::inference::{Allowed, ChunkRule, LabelSets, Lattice, Span, Transitions};
use crate::numeric::arch::simd_task;
use crate::numeric::log_sum_exp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use pulp::{Arch, Simd};
use serde_json::Value;
use std::sync::Arc;

/// A sentence and a chunk rule.
#[derive(Clone, Debug)]
struct Chunked {
    problem: Problem,
    /// The type of each label: 0 is outside every chunk.
    types: Vec<u8>,
    /// (labels + 1) x labels
    begins: Vec<bool>,
}

/// Sentences in which a share of the state and transition scores is -inf: forbidden.
fn chunked(scale: f64, forbidden: f64) -> impl Strategy<Value = Chunked> {
    let share = prop::bool::weighted(forbidden);
    let score = (share, -scale..scale).prop_map(|(forbidden, score)| if forbidden { f64::NEG_INFINITY } else { score });
    scored(score, scale).prop_flat_map(|problem| {
        let labels = problem.labels;
        let begins = prop::collection::vec(any::<bool>(), (labels + 1) * labels);
        (Just(problem), prop::collection::vec(0..3u8, labels), begins).prop_map(|(problem, types, begins)| Chunked {
            problem,
            types,
            begins,
        })
    })
}

impl Chunked {
    /// Whether the conditions of a span hold in a labelling, by their definition.
    fn holds(&self, path: &[usize], span: Span) -> bool {
        let begins = |t: usize| {
            let row = if t == 0 { 0 } else { path[t - 1] + 1 };
            self.begins[row * self.problem.labels + path[t]]
        };
        let inside = |t: usize| u32::from(self.types[path[t]]) == span.kind + 1;
        let goes_on = |t: usize| inside(t) && !begins(t);
        begins(span.start)
            && inside(span.start)
            && (span.start + 1..span.end).all(goes_on)
            && (span.end == self.problem.tokens || !goes_on(span.end))
    }

    /// Every span of the types 0 and 1.
    fn spans(&self) -> Vec<Span> {
        let tokens = self.problem.tokens;
        let ends = (0..tokens).flat_map(|start| (start + 1..=tokens).map(move |end| (start, end)));
        ends.flat_map(|(start, end)| (0..2).map(move |kind| Span { kind, start, end })).collect()
    }

    fn enumerate(&self) -> Vec<f64> {
        let paths: Vec<Vec<usize>> = self.problem.paths().collect();
        let log_z = log_sum_exp(paths.iter().map(|path| self.problem.score(path)));
        let p = |path: &Vec<usize>| if log_z.is_finite() { (self.problem.score(path) - log_z).exp() } else { 0.0 };
        let of = |span: Span| paths.iter().filter(|path| self.holds(path, span)).map(p).sum();
        self.spans().into_iter().map(of).collect()
    }

    /// The probabilities of all spans, and for each token the probability that it is in none.
    fn infer(&self) -> (Vec<f64>, Vec<f64>) {
        simd_task!(Run<'a>(chunked: &'a Chunked) -> (Vec<f64>, Vec<f64>), |simd| chunked.infer_with(simd));
        Arch::new().dispatch(Run(self))
    }

    #[inline(always)]
    fn infer_with<S: Simd>(&self, simd: S) -> (Vec<f64>, Vec<f64>) {
        let (problem, l) = (&self.problem, self.problem.labels);
        let is_forbidden = |score: &f64| *score == f64::NEG_INFINITY;
        let pairs = (0..l * l).filter(|&at| is_forbidden(&problem.transitions[at]));
        let pairs = pairs.map(|at| (Some((at / l) as u32), Some((at % l) as u32)));
        let transitions_allowed = Arc::new(Allowed::new(l, pairs.collect(), Value::Null));
        let mut allowed = LabelSets::full(problem.tokens, l);
        for at in (0..problem.states.len()).filter(|&at| is_forbidden(&problem.states[at])) {
            allowed.remove(at / l, at % l);
        }
        transitions_allowed.prune(&mut allowed);
        let mut finite = problem.clone();
        let scores = finite.states.iter_mut().chain(&mut finite.transitions);
        scores.filter(|score| is_forbidden(score)).for_each(|score| *score = 0.0);
        let mut transitions = Transitions::new(l);
        transitions.constrain(Some(transitions_allowed));
        finite.set_scores(&mut transitions);
        let mut lattice = Lattice::default();
        lattice.prepare(&transitions);
        finite.fill(&mut lattice, &transitions);
        lattice.mask.add(&allowed, transitions.width);
        let names: Vec<Option<String>> = self.types.iter().map(|&kind| (kind > 0).then(|| kind.to_string())).collect();
        let rule = ChunkRule::new(&names, self.begins.clone()).expect("a rule for the labels");
        let spans = lattice.infer_spans(simd, &transitions, &rule);
        let outside = |t: usize| {
            let row = lattice.marginals[t * transitions.width..][..l].iter().zip(&self.types);
            row.filter(|&(_, &kind)| kind == 0).map(|(p, _)| p).sum()
        };
        let outside = (0..problem.tokens).map(outside).collect();
        let of = |span: Span| {
            let kind = rule.types.iter().position(|name| *name == (span.kind + 1).to_string());
            kind.map_or(0.0, |kind| spans.of(&mut lattice, Span { kind: kind as u32, ..span }))
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
    fn probabilities_of_spans_equal_enumeration(chunked in chunked(4.0, 0.0)) {
        chunked.check(1e-12);
    }

    #[test]
    fn scores_beyond_scaling_give_probabilities_of_spans(chunked in chunked(1e3, 0.0)) {
        chunked.check(1e-9);
    }

    #[test]
    fn forbidden_labels_and_transitions_keep_probabilities_of_spans_right(chunked in chunked(4.0, 0.3)) {
        chunked.check(1e-11);
    }
}

/// Labels O, B-1, I-1, B-2, I-2 in sentences too long for enumeration.
fn entities(scale: f64, second: bool) -> impl Strategy<Value = Chunked> {
    let scores = move |n: usize| prop::collection::vec(-scale..scale, n);
    (scores(5 * 9), scores(25), scores(if second { 125 } else { 0 })).prop_map(|(states, transitions, triples)| {
        let types = vec![0, 1, 1, 2, 2];
        // I- begins a chunk at the start, and after O and another type; B- always does.
        let begins = |previous: usize, label: usize| match label {
            0 => false,
            1 | 3 => true,
            _ => previous == 0 || types[previous - 1] != types[label],
        };
        let begins = (0..6 * 5).map(|at| begins(at / 5, at % 5)).collect();
        let problem = Problem { labels: 5, tokens: 9, states, transitions, triples, edges: Vec::new() };
        Chunked { problem, types, begins }
    })
}

proptest! {
    #[test]
    fn the_spans_around_a_token_and_no_span_at_all_add_up_to_one(
        chunked in prop_oneof![entities(3.0, false), entities(300.0, false), entities(3.0, true)]
    ) {
        let (spans, outside) = chunked.infer();
        for (token, outside) in outside.into_iter().enumerate() {
            let around = chunked.spans().into_iter().zip(&spans).filter(|(span, _)| (span.start..span.end).contains(&token));
            let total = outside + around.map(|(_, p)| p).sum::<f64>();
            prop_assert!((total - 1.0).abs() < 1e-9, "token {token}: {total}");
        }
    }
}

#[test]
fn the_chunks_of_a_labelling_are_those_whose_conditions_hold() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..50 {
        let chunked = entities(1.0, false).new_tree(&mut runner).expect("a problem").current();
        let names: Vec<Option<String>> =
            chunked.types.iter().map(|&kind| (kind > 0).then(|| kind.to_string())).collect();
        let rule = ChunkRule::new(&names, chunked.begins.clone()).expect("a rule for the labels");
        let path: Vec<usize> = chunked.problem.states.chunks(5).map(|row| (row[0].abs() * 1e6) as usize % 5).collect();
        let labels: Vec<u32> = path.iter().map(|&label| label as u32).collect();
        let mut held: Vec<Span> = chunked.spans().into_iter().filter(|&span| chunked.holds(&path, span)).collect();
        held.sort_by_key(|span| span.start);
        assert_eq!(rule.spans(&labels), held);
    }
}
