//! The n best labellings against enumeration of every labelling.

use crate::chain::inference::tests::{Problem, problem};
use crate::chain::inference::{Labelling, Lattice};
use crate::corpus::UNKNOWN;
use crate::numeric::log_sum_exp;
use proptest::prelude::*;
use pulp::{Arch, Simd, WithSimd};
use std::num::NonZeroUsize;

/// Labels in reading order, and their log-probability.
type Found = (Vec<u32>, f64);

impl Problem {
    fn n_best(&self, n: usize) -> Vec<Found> {
        self.n_best_with(n, |_| {})
    }

    /// The n best labellings where `change` has changed the sentence.
    fn n_best_with(&self, n: usize, change: impl Fn(&mut Lattice)) -> Vec<Found> {
        struct Run<'a, F>(&'a Problem, usize, F);
        impl<F: Fn(&mut Lattice)> WithSimd for Run<'_, F> {
            type Output = (Vec<Labelling>, Vec<u32>);
            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
                let Run(problem, n, change) = self;
                let transitions = problem.scores_of_transitions();
                let mut lattice = Lattice::default();
                lattice.prepare(&transitions);
                let mut path = Vec::new();
                problem.fill(&mut lattice, &transitions);
                change(&mut lattice);
                lattice.viterbi(simd, &transitions, &mut path);
                (lattice.n_best(simd, &transitions, NonZeroUsize::new(n).unwrap()), path)
            }
        }
        let (labellings, best) = Arch::new().dispatch(Run(self, n, change));
        let first = labellings.first().map_or(vec![UNKNOWN; self.tokens], |first| first.labels.clone());
        assert_eq!(first, best, "the first is Viterbi's");
        labellings.into_iter().map(|labelling| (labelling.labels, labelling.log_probability)).collect()
    }

    /// All possible labellings, best first; in `paths`, labellings with the first label at the last token come first.
    fn sorted(&self) -> Vec<Found> {
        let score = |path: Vec<usize>| (path.iter().map(|&label| label as u32).collect(), self.score(&path));
        let mut all: Vec<Found> = self.paths().map(score).collect();
        let log_z = log_sum_exp(all.iter().map(|labelling| labelling.1));
        all.iter_mut().for_each(|labelling| labelling.1 -= log_z);
        all.retain(|labelling| labelling.1 > f64::NEG_INFINITY);
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// The problem with scores that are whole numbers, so that labellings tie, and the lowest scores -inf.
    fn coarse(mut self, forbidden_below: f64) -> Problem {
        let coarse =
            |score: &mut f64| *score = if *score < forbidden_below { f64::NEG_INFINITY } else { score.round() };
        [&mut self.states, &mut self.transitions, &mut self.triples].into_iter().flatten().for_each(coarse);
        self.edges.iter_mut().for_each(|edge| edge.3 = edge.3.round());
        self
    }

    /// The n best labellings where a mask forbids the labels whose scores are -inf, which leaves the sentence to fast recursions.
    fn n_best_masked(&self, n: usize) -> Vec<Found> {
        self.n_best_with(n, |lattice| {
            for token in 0..self.tokens {
                let place = token * lattice.width;
                let scores = &mut lattice.scores[place..][..lattice.width];
                let row: Vec<f64> = scores.iter().map(|score| f64::from(score.is_finite())).collect();
                scores.iter_mut().filter(|score| !score.is_finite()).for_each(|score| *score = 3.0);
                lattice.mask.push(place, &row);
            }
        })
    }

    fn in_first_order(mut self) -> Problem {
        self.triples.clear();
        self
    }

    /// Checks labels and log-probabilities, for every n up to one more than there are labellings.
    fn check_all(&self) {
        let all = self.sorted();
        for n in (1..all.len().min(12) + 2).chain([all.len() + 1]) {
            let labellings = self.n_best(n);
            assert_eq!(labellings.len(), n.min(all.len()));
            for (at, (labelling, want)) in labellings.iter().zip(&all).enumerate() {
                assert_eq!(labelling.0, want.0, "labelling {at} of {n}");
                assert!((labelling.1 - want.1).abs() < 1e-9, "log-probability {at}: {}, not {}", labelling.1, want.1);
            }
        }
    }
}

proptest! {
    #[test]
    fn labellings_are_the_best_of_all_with_their_probabilities(problem in problem(5.0)) {
        problem.check_all();
    }

    #[test]
    fn of_labellings_that_tie_the_one_with_the_first_label_at_the_last_difference_comes_first(
        problem in problem(1.5),
    ) {
        problem.coarse(f64::NEG_INFINITY).check_all();
    }

    #[test]
    fn labellings_with_forbidden_labels_or_transitions_are_left_out(problem in problem(2.5)) {
        let problem = problem.coarse(-1.5);
        problem.check_all();
        let (labellings, masked) = (problem.n_best(5), problem.n_best_masked(5));
        prop_assert_eq!(labellings.len(), masked.len());
        for (labelling, masked) in labellings.iter().zip(&masked) {
            prop_assert_eq!(&labelling.0, &masked.0);
            prop_assert!((labelling.1 - masked.1).abs() < 1e-9);
        }
    }

    #[test]
    fn probabilities_of_all_labellings_sum_to_one_and_fall(problem in problem(30.0)) {
        let labellings = problem.n_best(10_000);
        prop_assert_eq!(labellings.len(), problem.labels.pow(problem.tokens as u32));
        let total: f64 = labellings.iter().map(|labelling| labelling.1.exp()).sum();
        prop_assert!((total - 1.0).abs() < 1e-9, "{}", total);
        prop_assert!(labellings.windows(2).all(|two| two[0].1 >= two[1].1));
        prop_assert!(labellings[0].1 <= 0.0);
    }
}

#[test]
fn without_any_scores_labellings_come_in_the_order_of_their_labels() {
    let scores = |n: u32| vec![0.0; 3usize.pow(n)];
    let (states, transitions, triples) = (vec![0.0; 12], scores(2), scores(3));
    let problem = Problem { labels: 3, tokens: 4, states, transitions, triples, edges: Vec::new() };
    for problem in [problem.clone().in_first_order(), problem] {
        problem.check_all();
        assert_eq!(problem.n_best(3).last().unwrap().0, [2, 0, 0, 0]);
    }
}

#[test]
fn a_sentence_without_an_allowed_labelling_has_none() {
    for tokens in 1..5 {
        let states = vec![f64::NEG_INFINITY; 2 * tokens];
        let (transitions, triples) = (vec![0.0; 4], vec![0.0; 8]);
        let mut problem = Problem { labels: 2, tokens, states, transitions, triples, edges: Vec::new() };
        assert_eq!(problem.n_best(3), []);
        assert_eq!(problem.n_best_masked(3), []);
        // One token has no label, or no two labels may follow each other.
        problem.states.fill(0.0);
        problem.states[..2].fill(f64::NEG_INFINITY);
        assert_eq!(problem.clone().in_first_order().n_best(3), []);
        // The last token has no label, but the tokens before it have.
        problem.states.fill(0.0);
        problem.states[2 * tokens - 2..].fill(f64::NEG_INFINITY);
        assert_eq!(problem.n_best(3), []);
        assert_eq!(problem.clone().in_first_order().n_best(3), []);
        problem.states.fill(0.0);
        problem.transitions.fill(f64::NEG_INFINITY);
        assert_eq!(problem.n_best(3).len(), if tokens == 1 { 2 } else { 0 });
    }
}

#[test]
fn a_sentence_without_tokens_has_the_empty_labelling() {
    let problem = Problem {
        labels: 2,
        tokens: 0,
        states: Vec::new(),
        transitions: vec![0.0; 4],
        triples: Vec::new(),
        edges: Vec::new(),
    };
    let transitions = problem.scores_of_transitions();
    let mut lattice = Lattice::default();
    problem.fill(&mut lattice, &transitions);
    let labellings = lattice.n_best(pulp::Scalar, &transitions, NonZeroUsize::MIN);
    assert_eq!(labellings, [Labelling { labels: Vec::new(), log_probability: 0.0 }]);
}

#[test]
fn a_long_sentence_without_scores_takes_no_longer_than_others() {
    // Every labelling ties with every other: 2.2 million deviations from the first.
    let (labels, tokens) = (22, 100_000);
    let (states, transitions) = (vec![0.0; labels * tokens], vec![0.0; labels * labels]);
    let problem = Problem { labels, tokens, states, transitions, triples: Vec::new(), edges: Vec::new() };
    let begin = std::time::Instant::now();
    let labellings = problem.n_best(5);
    assert!(begin.elapsed().as_secs() < 5);
    assert_eq!(labellings[4].0[..2], [4, 0]);
}
