//! Inference in first and in second order against enumeration of every labelling, and the orders against each other.

use crate::chain::inference::{Edge, Lattice, Links, PairCounts, Transitions, Triples};
use crate::numeric::arch::simd_task;
use crate::numeric::log_sum_exp;
use crate::threads::Interrupt;
use proptest::prelude::*;
use pulp::{Arch, Simd};
use std::num::NonZeroUsize;

#[derive(Clone, Debug)]
pub struct Problem {
    pub labels: usize,
    pub tokens: usize,
    pub states: Vec<f64>,
    pub transitions: Vec<f64>,
    /// Scores of three labels in a row; empty in first order.
    pub triples: Vec<f64>,
    /// (token, from, to, score)
    pub edges: Vec<(usize, u32, u32, f64)>,
}

/// Problems of first order and of second.
pub fn problem(scale: f64) -> impl Strategy<Value = Problem> {
    scored(-scale..scale, scale)
}

/// Problems with these scores of states and transitions; triples have scores of at most `scale`.
pub fn scored(score: impl Strategy<Value = f64> + Clone + 'static, scale: f64) -> impl Strategy<Value = Problem> {
    (1usize..5, 1usize..6, any::<bool>()).prop_flat_map(move |(labels, tokens, second)| {
        let edge = (0..tokens, 0..labels as u32, 0..labels as u32, -3.0..3.0f64);
        (
            prop::collection::vec(score.clone(), labels * tokens),
            prop::collection::vec(score.clone(), labels * labels),
            prop::collection::vec(-scale..scale, if second { labels.pow(3) } else { 0 }),
            prop::collection::vec(edge, 0..6),
        )
            .prop_map(move |(states, transitions, triples, mut edges)| {
                edges.retain(|edge| edge.0 > 0);
                edges.sort_by_key(|edge| edge.0);
                Problem { labels, tokens, states, transitions, triples, edges }
            })
    })
}

/// Expectations of what occurs in a labelling, all in one row: states, pairs at each place, pairs, triples, edges.
#[derive(Clone, Debug)]
struct Answers {
    log_z: f64,
    best: f64,
    path: Vec<u32>,
    states: Vec<f64>,
    pairs_at: Vec<f64>,
    pairs: Vec<f64>,
    triples: Vec<f64>,
    edges: Vec<f64>,
}

impl Problem {
    /// The labels of a triple, by its place among all triples.
    fn triple(&self, at: usize) -> [usize; 3] {
        [at / self.labels.pow(2), at / self.labels % self.labels, at % self.labels]
    }

    pub fn score(&self, path: &[usize]) -> f64 {
        let l = self.labels;
        let states = path.iter().enumerate().map(|(t, &label)| self.states[t * l + label]);
        let pairs = path.windows(2).map(|pair| self.transitions[pair[0] * l + pair[1]]);
        let triples = path.windows(3).filter_map(|t| self.triples.get((t[0] * l + t[1]) * l + t[2]).copied());
        let edges = self.edges.iter().filter(|e| (path[e.0 - 1], path[e.0]) == (e.1 as usize, e.2 as usize));
        states.chain(pairs).chain(triples).sum::<f64>() + edges.map(|e| e.3).sum::<f64>()
    }

    pub fn paths(&self) -> impl Iterator<Item = Vec<usize>> {
        let (l, tokens) = (self.labels, self.tokens as u32);
        (0..l.pow(tokens)).map(move |i| (0..tokens).map(|t| i / l.pow(t) % l).collect())
    }

    fn enumerate(&self) -> Answers {
        let (l, paths) = (self.labels, self.paths().collect::<Vec<_>>());
        let scores: Vec<f64> = paths.iter().map(|path| self.score(path)).collect();
        let log_z = log_sum_exp(scores.iter().copied());
        let mut answers = Answers {
            log_z,
            best: scores.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            path: Vec::new(),
            states: vec![0.0; self.tokens * l],
            pairs_at: vec![0.0; (self.tokens - 1) * l * l],
            pairs: vec![0.0; l * l],
            triples: vec![0.0; self.triples.len()],
            edges: vec![0.0; self.edges.len()],
        };
        for (path, score) in paths.iter().zip(&scores) {
            let p = (score - log_z).exp();
            path.iter().enumerate().for_each(|(t, label)| answers.states[t * l + label] += p);
            for (t, pair) in path.windows(2).enumerate() {
                answers.pairs_at[(t * l + pair[0]) * l + pair[1]] += p;
                answers.pairs[pair[0] * l + pair[1]] += p;
            }
            for triple in path.windows(3).filter(|_| !self.triples.is_empty()) {
                answers.triples[(triple[0] * l + triple[1]) * l + triple[2]] += p;
            }
            for (expected, e) in answers.edges.iter_mut().zip(&self.edges) {
                *expected += if (path[e.0 - 1], path[e.0]) == (e.1 as usize, e.2 as usize) { p } else { 0.0 };
            }
        }
        answers
    }

    fn infer(&self) -> Answers {
        self.infer_in(&mut Lattice::default())
    }

    fn infer_in(&self, lattice: &mut Lattice) -> Answers {
        simd_task!(
            Run<'a>(problem: &'a Problem, lattice: &'a mut Lattice) -> Answers,
            |simd| problem.infer_with(simd, lattice)
        );
        Arch::new().dispatch(Run(self, lattice))
    }

    /// Starts each recursion with an interrupt that is set, or that is set between the way forward and the way back.
    fn interrupt(&self) -> Lattice {
        simd_task!(Run<'a>(problem: &'a Problem) -> Lattice, |simd| problem.interrupt_with(simd));
        Arch::new().dispatch(Run(self))
    }

    #[inline(always)]
    fn interrupt_with<S: Simd>(&self, simd: S) -> Lattice {
        let transitions = self.scores_of_transitions();
        let interrupt = Interrupt::default();
        let mut lattice = Lattice::heeding(&interrupt);
        lattice.prepare(&transitions);
        self.fill(&mut lattice, &transitions);
        assert!(lattice.forward(simd, &transitions).is_finite());
        interrupt.set();
        lattice.backward(simd, &transitions, 1.0, &mut PairCounts::new(&transitions));
        assert!(lattice.marginals.iter().all(|&p| p == 0.0));
        lattice.alpha.fill(0.0);
        self.fill(&mut lattice, &transitions);
        assert_eq!(lattice.forward(simd, &transitions), f64::NEG_INFINITY);
        // The first token's are made before the first look.
        assert!(lattice.alpha.iter().skip(transitions.width).all(|&alpha| alpha == 0.0));
        assert_eq!(lattice.pair_marginals(&transitions), vec![0.0; (self.tokens - 1) * self.labels.pow(2)]);
        self.fill(&mut lattice, &transitions);
        lattice.viterbi(simd, &transitions, &mut Vec::new());
        assert!(lattice.best.iter().skip(transitions.width).all(|&score| score == 0.0));
        assert!(lattice.n_best(simd, &transitions, NonZeroUsize::new(9).unwrap()).len() < 2);
        lattice
    }

    /// The scores of transitions, and of triples if there are any.
    pub fn scores_of_transitions(&self) -> Transitions {
        let mut transitions = Transitions::new(self.labels);
        self.set_scores(&mut transitions);
        transitions
    }

    pub fn set_scores(&self, transitions: &mut Transitions) {
        let l = self.labels;
        transitions.set((0..l * l).map(|at| (at / l, at % l, self.transitions[at])));
        let triples =
            self.triples.iter().enumerate().map(|(at, &score)| (self.triple(at).map(|label| label as u16), score));
        transitions.triples = (!self.triples.is_empty()).then(|| Triples::new(l, triples));
    }

    pub fn fill(&self, lattice: &mut Lattice, transitions: &Transitions) {
        let (l, width) = (self.labels, transitions.width);
        lattice.begin(self.tokens, transitions);
        lattice.overlap = self.edges.len();
        for t in 0..self.tokens {
            lattice.scores[t * width..][..l].copy_from_slice(&self.states[t * l..][..l]);
            for &(_, from, to, score) in self.edges.iter().filter(|e| e.0 == t) {
                lattice.edges.push(Edge { from, to, score, feature: 0, place: 0, marginal: 0.0 });
            }
            lattice.edge_ends.push(lattice.edges.len());
        }
    }

    #[inline(always)]
    fn infer_with<S: Simd>(&self, simd: S, lattice: &mut Lattice) -> Answers {
        let l = self.labels;
        let transitions = self.scores_of_transitions();
        let width = transitions.width;
        lattice.prepare(&transitions);
        self.fill(lattice, &transitions);
        let mut path = Vec::new();
        let best = lattice.viterbi(simd, &transitions, &mut path);
        assert!((lattice.score(&transitions, path.iter().copied()) - best).abs() <= 1e-9 * best.abs().max(1.0));
        let pairs_at = lattice.pair_marginals(&transitions);
        self.fill(lattice, &transitions);
        lattice.forward(simd, &transitions);
        let mut uncounted = PairCounts::without_triples(&transitions);
        lattice.backward(simd, &transitions, 4.0, &mut uncounted);
        // A second sentence in the same buffers adds to the counts; a factor of 2 doubles them.
        let mut counts = PairCounts::new(&transitions);
        let mut sums = PairCounts::new(&transitions);
        let mut log_z = 0.0;
        for _ in 0..2 {
            self.fill(lattice, &transitions);
            log_z = lattice.forward(simd, &transitions);
            counts.clear();
            lattice.backward(simd, &transitions, 2.0, &mut counts);
            sums.add(&counts);
        }
        close(&uncounted.direct, &sums.direct, 1e-9, "pairs without triples");
        assert!(lattice.marginals.chunks_exact(width).all(|row| row[l..].iter().all(|&p| p == 0.0)));
        let of_triple = |triples: &Triples, at| sums.triples.expected(triples, self.triple(at)) / 4.0;
        let triples = transitions.triples.iter().flat_map(|of| (0..l * l * l).map(move |at| of_triple(of, at)));
        Answers {
            log_z,
            best,
            path,
            states: (0..self.tokens * l).map(|i| lattice.marginals[i / l * width + i % l] / 2.0).collect(),
            pairs_at,
            pairs: (0..l * l).map(|i| sums.expected(&transitions, i / l * width + i % l) / 4.0).collect(),
            triples: triples.collect(),
            edges: lattice.edges.iter().map(|edge| edge.marginal / 2.0).collect(),
        }
    }

    fn check(&self, tolerance: f64) {
        let (got, want) = (self.infer(), self.enumerate());
        let path: Vec<usize> = got.path.iter().map(|&label| label as usize).collect();
        close(&[self.score(&path)], &[want.best], tolerance, "score of the path");
        got.check(&want, tolerance);
    }
}

fn close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (a, b) in got.iter().zip(want) {
        assert!(a.is_finite() && (a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: {a}, not {b}");
    }
}

impl Answers {
    fn check(&self, want: &Answers, tolerance: f64) {
        close(&[self.log_z, self.best], &[want.log_z, want.best], tolerance, "log Z, best score");
        close(&self.states, &want.states, tolerance, "states");
        close(&self.pairs_at, &want.pairs_at, tolerance, "pairs at each place");
        close(&self.pairs, &want.pairs, tolerance, "pairs");
        close(&self.triples, &want.triples, tolerance, "triples");
        close(&self.edges, &want.edges, tolerance, "edges");
    }
}

proptest! {
    #[test]
    fn an_interrupt_ends_each_recursion_and_leaves_buffers_that_others_can_use(
        problem in prop_oneof![problem(5.0), problem(1e3)], other in problem(5.0)
    ) {
        let mut lattice = problem.interrupt();
        lattice.heed(&Interrupt::default());
        for problem in [other, problem] {
            let (got, want) = (problem.infer_in(&mut lattice), problem.infer());
            prop_assert_eq!((got.log_z, got.best, &got.path), (want.log_z, want.best, &want.path));
            prop_assert_eq!((got.states, got.pairs, got.triples), (want.states, want.pairs, want.triples));
        }
    }

    #[test]
    fn scaled_inference_equals_enumeration(problem in problem(5.0)) {
        problem.check(1e-11);
    }

    #[test]
    fn large_scores_that_are_still_scaled_equal_enumeration(problem in problem(30.0)) {
        problem.check(1e-10);
    }

    #[test]
    fn scores_of_a_thousand_give_finite_correct_values(problem in problem(1e3)) {
        problem.check(1e-9);
    }

    #[test]
    fn scores_of_ten_thousand_give_finite_correct_values(problem in problem(1e4)) {
        problem.check(1e-9);
    }

    #[test]
    fn scores_of_triples_that_are_0_make_no_difference(mut problem in problem(5.0)) {
        problem.triples.clear();
        let first = problem.infer();
        problem.triples = vec![0.0; problem.labels.pow(3)];
        let second = problem.infer();
        Answers { triples: Vec::new(), ..second.clone() }.check(&first, 1e-11);
        prop_assert_eq!(second.path, first.path);
    }
}

/// Scores in [-scale / 2, scale / 2) that follow no pattern, in second order.
fn long_problem(labels: usize, tokens: usize, scale: f64) -> Problem {
    let score = |i: usize| scale * ((i * 2_654_435_761) % 1000) as f64 / 1000.0 - scale / 2.0;
    Problem {
        labels,
        tokens,
        states: (0..labels * tokens).map(score).collect(),
        transitions: (0..labels * labels).map(|i| score(i + 7)).collect(),
        triples: (0..labels * labels * labels).map(|i| score(i + 11)).collect(),
        edges: Vec::new(),
    }
}

/// The problem, and the problem without triples.
fn of_both_orders(problem: Problem) -> [Problem; 2] {
    [Problem { triples: Vec::new(), ..problem.clone() }, problem]
}

#[test]
fn long_sentences_stay_finite_and_normalised() {
    // The largest scores that are scaled, and larger ones.
    for (scale, tokens) in [(3.0, 100_000), (66.0, 5_000), (2e4, 1_000)] {
        for problem in of_both_orders(long_problem(3, tokens, scale)) {
            let got = problem.infer();
            assert!(got.log_z.is_finite());
            for (what, parts, total) in [("states", &got.states, 3), ("pairs", &got.pairs_at, 9)] {
                for row in parts.chunks(total) {
                    assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{what} at scale {scale}: {row:?}");
                }
            }
            let triples = if problem.triples.is_empty() { 0 } else { tokens - 2 } as f64;
            let counted: f64 = got.triples.iter().sum();
            assert!((counted - triples).abs() <= 1e-6 * triples, "{counted}");
        }
    }
}

/// Answers by the scaled recursions and in log space: larger state scores of one token push the problem beyond the scaled recursions.
fn check_against_log_space(problem: &Problem) -> (Answers, Answers) {
    let mut shifted = problem.clone();
    shifted.states[..problem.labels].iter_mut().for_each(|score| *score += 1e4);
    let (mut a, b) = (problem.infer(), shifted.infer());
    (a.log_z, a.best) = (a.log_z + 1e4, a.best + 1e4);
    a.check(&b, 1e-9);
    (a, b)
}

#[test]
fn scaled_and_log_space_recursions_agree_on_many_labels() {
    // 22 labels fill three vectors.
    let (scaled, log_space) = check_against_log_space(&long_problem(22, 9, 4.0));
    assert_eq!(scaled.path, log_space.path);
}

proptest! {
    #[test]
    fn the_largest_scores_that_are_scaled_do_not_leave_the_range(signs in prop::collection::vec(any::<bool>(), 240)) {
        let score = |i: usize| if signs[i] { 33.0 } else { -33.0 };
        let (labels, tokens) = (4, 40);
        check_against_log_space(&Problem {
            labels,
            tokens,
            states: (0..160).map(score).collect(),
            transitions: (160..176).map(score).collect(),
            triples: (176..240).map(score).collect(),
            edges: Vec::new(),
        });
    }
}

#[test]
fn forbidden_transitions_and_triples_have_probability_zero() {
    for tokens in [1, 4] {
        let mut problem = long_problem(2, tokens, 3.0);
        problem.transitions[1] = f64::NEG_INFINITY;
        problem.triples[5] = f64::NEG_INFINITY;
        for problem in of_both_orders(problem) {
            problem.check(1e-12);
            let got = problem.infer();
            assert_eq!((got.pairs[1], got.triples.get(5).copied().unwrap_or(0.0)), (0.0, 0.0));
        }
    }
}

#[test]
fn sentences_go_abreast_whatever_the_number_of_labels() {
    for (labels, successors) in [(200, 8), (500, 20), (500, 500), (4000, 40)] {
        let next = |from: usize| (0..successors).map(move |to| [from as u16, ((from + to * 7) % labels) as u16]);
        let mut pairs: Vec<_> = (0..labels).flat_map(next).collect();
        pairs.sort_unstable();
        let links = Links::new(&Transitions::new(labels), &pairs, &[]);
        assert!(links.are_few, "{labels} labels, each with {successors} successors");
    }
}
