//! Inference against enumeration of every labelling.

use crate::chain::inference::{Edge, Lattice, PairCounts, Transitions};
use crate::numeric;
use proptest::prelude::*;
use pulp::{Arch, Simd, WithSimd};

#[derive(Clone, Debug)]
struct Problem {
    labels: usize,
    tokens: usize,
    states: Vec<f64>,
    transitions: Vec<f64>,
    /// (token, from, to, score)
    edges: Vec<(usize, u32, u32, f64)>,
}

fn problem(scale: f64) -> impl Strategy<Value = Problem> {
    (1usize..4, 1usize..5).prop_flat_map(move |(labels, tokens)| {
        let score = -scale..scale;
        let edge = (0..tokens, 0..labels as u32, 0..labels as u32, -3.0..3.0f64);
        (
            prop::collection::vec(score.clone(), labels * tokens),
            prop::collection::vec(score, labels * labels),
            prop::collection::vec(edge, 0..6),
        )
            .prop_map(move |(states, transitions, mut edges)| {
                edges.retain(|edge| edge.0 > 0);
                edges.sort_by_key(|edge| (edge.0, edge.1, edge.2));
                Problem { labels, tokens, states, transitions, edges }
            })
    })
}

struct Answers {
    log_z: f64,
    marginals: Vec<f64>,
    pairs: Vec<f64>,
    edges: Vec<f64>,
    best: f64,
    path: Vec<u32>,
}

impl Problem {
    fn score(&self, path: &[u32]) -> f64 {
        let mut total = 0.0;
        for (t, &label) in path.iter().enumerate() {
            total += self.states[t * self.labels + label as usize];
            if t > 0 {
                total += self.transitions[path[t - 1] as usize * self.labels + label as usize];
                let active = self.edges.iter().filter(|e| (e.0, e.1, e.2) == (t, path[t - 1], label));
                total += active.map(|e| e.3).sum::<f64>();
            }
        }
        total
    }

    fn paths(&self) -> Vec<Vec<u32>> {
        let count = self.labels.pow(self.tokens as u32);
        let digit = |i: usize, t: u32| (i / self.labels.pow(t) % self.labels) as u32;
        (0..count).map(|i| (0..self.tokens as u32).map(|t| digit(i, t)).collect()).collect()
    }

    fn enumerate(&self) -> Answers {
        let paths = self.paths();
        let scores: Vec<f64> = paths.iter().map(|path| self.score(path)).collect();
        let log_z = numeric::log_sum_exp(scores.iter().copied());
        let l = self.labels;
        let mut answers = Answers {
            log_z,
            marginals: vec![0.0; self.tokens * l],
            pairs: vec![0.0; l * l],
            edges: vec![0.0; self.edges.len()],
            best: scores.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            path: Vec::new(),
        };
        for (path, score) in paths.iter().zip(&scores) {
            let p = (score - log_z).exp();
            for t in 0..self.tokens {
                answers.marginals[t * l + path[t] as usize] += p;
                if t > 0 {
                    answers.pairs[path[t - 1] as usize * l + path[t] as usize] += p;
                }
            }
            for (k, e) in self.edges.iter().enumerate() {
                if (path[e.0 - 1], path[e.0]) == (e.1, e.2) {
                    answers.edges[k] += p;
                }
            }
        }
        answers
    }

    fn infer(&self) -> Answers {
        struct Run<'a>(&'a Problem);
        impl WithSimd for Run<'_> {
            type Output = Answers;
            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> Answers {
                self.0.infer_with(simd)
            }
        }
        Arch::new().dispatch(Run(self))
    }

    #[inline(always)]
    fn infer_with<S: Simd>(&self, simd: S) -> Answers {
        let l = self.labels;
        let mut transitions = Transitions::new(l);
        transitions.set((0..l * l).map(|at| (at / l, at % l, self.transitions[at])));
        let width = transitions.width;
        let mut lattice = Lattice::default();
        lattice.prepare(&transitions);
        let fill = |lattice: &mut Lattice| {
            lattice.begin(self.tokens, &transitions);
            lattice.overlap = self.edges.len();
            for t in 0..self.tokens {
                lattice.scores[t * width..][..l].copy_from_slice(&self.states[t * l..][..l]);
                for &(_, from, to, score) in self.edges.iter().filter(|e| e.0 == t) {
                    lattice.edges.push(Edge { from, to, score, feature: 0, place: 0, marginal: 0.0 });
                }
                lattice.edge_ends.push(lattice.edges.len());
            }
        };
        fill(&mut lattice);
        let mut path = Vec::new();
        let best = lattice.viterbi(simd, &transitions, &mut path);
        assert!((lattice.score(&transitions, path.iter().copied()) - best).abs() <= 1e-9 * best.abs().max(1.0));
        fill(&mut lattice);
        let mut pairs = PairCounts::new(&transitions);
        let log_z = lattice.forward(simd, &transitions);
        lattice.backward(simd, &transitions, 2.0, &mut pairs);
        for t in 0..self.tokens {
            assert!(lattice.marginals[t * width + l..(t + 1) * width].iter().all(|&p| p == 0.0));
        }
        Answers {
            log_z,
            marginals: (0..self.tokens * l).map(|i| lattice.marginals[i / l * width + i % l] / 2.0).collect(),
            pairs: (0..l * l).map(|i| pairs.expected(&transitions, i / l * width + i % l) / 2.0).collect(),
            edges: lattice.edges.iter().map(|e| e.marginal / 2.0).collect(),
            best,
            path,
        }
    }

    fn check(&self, tolerance: f64) {
        let (got, want) = (self.infer(), self.enumerate());
        let close = |a: f64, b: f64, what: &str| {
            assert!(a.is_finite() && (a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: {a}, enumeration {b}");
        };
        close(got.log_z, want.log_z, "log Z");
        close(got.best, want.best, "best score");
        close(self.score(&got.path), want.best, "score of the path");
        for (which, a, b) in [
            ("marginal", &got.marginals, &want.marginals),
            ("pair", &got.pairs, &want.pairs),
            ("edge", &got.edges, &want.edges),
        ] {
            a.iter().zip(b.iter()).for_each(|(a, b)| close(*a, *b, which));
        }
    }
}

proptest! {
    #[test]
    fn scaled_inference_equals_enumeration(problem in problem(5.0)) {
        problem.check(1e-11);
    }

    #[test]
    fn scores_of_ten_thousand_give_finite_correct_values(problem in problem(1e4)) {
        problem.check(1e-9);
    }
}

#[test]
fn forbidden_transitions_have_probability_zero() {
    let mut problem = Problem {
        labels: 2,
        tokens: 3,
        states: vec![0.5, -0.2, 1.0, 0.3, -0.7, 0.1],
        transitions: vec![0.1, f64::NEG_INFINITY, 0.2, -0.3],
        edges: Vec::new(),
    };
    problem.check(1e-12);
    assert_eq!(problem.infer().pairs[1], 0.0);
    problem.tokens = 1;
    problem.states.truncate(2);
    problem.check(1e-12);
}

#[test]
fn a_sentence_of_100_000_tokens_stays_finite_and_normalised() {
    for scale in [3.0, 1e4] {
        let tokens = if scale > 100.0 { 2_000 } else { 100_000 };
        let score = |i: usize| scale * ((i * 2_654_435_761) % 1000) as f64 / 1000.0 - scale / 2.0;
        let problem = Problem {
            labels: 3,
            tokens,
            states: (0..3 * tokens).map(score).collect(),
            transitions: (0..9).map(score).collect(),
            edges: Vec::new(),
        };
        let got = problem.infer();
        assert!(got.log_z.is_finite());
        for row in got.marginals.chunks(3) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{row:?}");
        }
    }
}
