//! Recursions on centred scores against enumeration. All scores are multiples of 1/64: sums of them are exact.

use super::{Answers, Problem, Sentence, close, fill, on_each, problem};
use crate::chain::inference::{LabelSets, Lattice, PairCounts};
use crate::numeric::arch::simd_task;
use proptest::prelude::*;
use pulp::Simd;

/// A problem with these largest scores of states and of links; with every labelling allowed if it is `free`.
fn scaled(mut problem: Problem, states: f64, links: f64, free: bool) -> Problem {
    let times = |score: &mut f64, factor: f64| *score = (*score * factor * 64.0).round() / 64.0;
    for sentence in &mut problem.sentences {
        sentence.states.iter_mut().for_each(|score| times(score, states));
        if free {
            sentence.allowed.fill((0..problem.labels as u32).collect());
        }
    }
    problem.transitions.iter_mut().for_each(|score| times(score, links));
    problem.triples.iter_mut().flatten().for_each(|score| times(score, links));
    if free {
        problem.forbidden.clear();
    }
    problem
}

/// Checks sentences abreast; returns how many are centred.
fn check_abreast<S: Simd>(simd: S, problem: &Problem, want: &[Answers]) -> usize {
    let transitions = problem.transitions();
    let Some(got) = problem.abreast(simd, &transitions, [true, false]) else { return 0 };
    problem.check_abreast(&transitions, &got, want, 1e-12);
    got.sentences.len()
}

/// Checks the sentences one by one; returns how many were centred.
fn check_alone<S: Simd>(simd: S, problem: &Problem, want: &[Answers]) -> usize {
    let (transitions, l, mut lattice) = (problem.transitions(), problem.labels, Lattice::default());
    let width = transitions.width;
    lattice.prepare(&transitions);
    let mut centred = 0;
    for (sentence, want) in problem.sentences.iter().zip(want).filter(|(_, want)| want.log_z.is_finite()) {
        lattice.begin(sentence.allowed.len(), &transitions);
        fill(&mut lattice.scores, &sentence.states, l, width);
        if let Some(sets) = problem.sets(sentence) {
            lattice.mask.add(&sets, width);
        }
        let mut counts = PairCounts::new(&transitions);
        let log_z = lattice.forward(simd, &transitions);
        lattice.backward(simd, &transitions, -2.0, &mut counts);
        centred += usize::from(lattice.centred);
        // Log space has its own error, which grows with log Z.
        let tolerance = if lattice.log_space { 1e-14 * (1.0 + want.log_z.abs()) } else { 1e-12 };
        close(&[log_z], &[want.log_z], 1e-12, "log Z");
        let marginals = lattice.marginals.chunks_exact(width).flat_map(|row| &row[..l]).map(|p| p / -2.0);
        close(&marginals.collect::<Vec<_>>(), &want.marginals, tolerance.max(1e-12), "marginals");
        let pairs = (0..l * l).map(|i| counts.expected(&transitions, i / l * width + i % l) / -2.0);
        let pairs: Vec<f64> = pairs.collect();
        close(&pairs, &want.pairs, tolerance.max(1e-11), "pairs");
        counts.multiply_out(&transitions, -0.5);
        let pairs = (0..l * l).map(|i| counts.direct[i / l * width + i % l]);
        close(&pairs.collect::<Vec<_>>(), &want.pairs, tolerance.max(1e-11), "pairs multiplied out");
    }
    centred
}

simd_task!(
    /// A problem with what enumeration says of its sentences; `all` says that no sentence may be left out.
    Check<'a>(problem: &'a Problem, want: &'a [Answers], all: bool) -> (),
    |simd| {
        let done = check_abreast(simd, problem, want);
        assert!(!all || done == want.len(), "{done} of {} sentences", want.len());
        let centred = check_alone(simd, problem, want);
        let is_large = |sentence: &&Sentence| sentence.states.iter().any(|score| score.abs() > 150.0);
        assert!(!all || centred >= problem.sentences.iter().filter(is_large).count(), "{centred} centred");
    }
);

fn check(problem: &Problem, all: bool) {
    let want: Vec<Answers> = problem.sentences.iter().map(|sentence| problem.enumerate(sentence)).collect();
    on_each(|| Check(problem, &want, all));
}

proptest! {
    #[test]
    fn states_of_any_size_over_small_transitions_are_all_centred(base in problem(1.0), states in 1.0..5000.0f64) {
        check(&scaled(base, states, 5.0, true), true);
    }

    #[test]
    fn large_states_and_links_are_right_or_left_out(
        base in problem(1.0), states in 1.0..5000.0f64, links in 1.0..1500.0f64, free in any::<bool>(),
    ) {
        check(&scaled(base, states, links, free), false);
    }

    #[test]
    fn states_and_links_of_like_size_are_right_or_left_out(base in problem(1.0), size in 50.0..800.0f64) {
        check(&scaled(base, size, size, true), false);
    }

    #[test]
    fn transitions_without_features_take_part(
        base in problem(1.0), has_feature in prop::collection::vec(any::<bool>(), 16), links in 1.0..400.0f64,
        free in any::<bool>(), positive in any::<bool>(),
    ) {
        let mut problem = scaled(base, 1000.0, links, free);
        problem.keep(&has_feature);
        if positive {
            problem.transitions.iter_mut().for_each(|score| *score = score.abs());
            problem.triples.iter_mut().flatten().for_each(|score| *score = score.abs());
        }
        check(&problem, false);
    }

    #[test]
    fn masks_and_forbidden_transitions_at_large_states_are_right_or_left_out(
        base in problem(1.0), states in 150.0..2000.0f64, links in 0.0..30.0f64,
    ) {
        check(&scaled(base, states, links, false), false);
    }

    #[test]
    fn what_all_transitions_from_or_to_a_label_share_does_no_harm(
        base in problem(1.0), shifts in prop::array::uniform10(-1000i32..1000),
    ) {
        let mut problem = scaled(base, 1000.0, 40.0, true);
        problem.triples = None;
        let l = problem.labels;
        for at in 0..l * l {
            problem.transitions[at] += f64::from(shifts[at / l] + shifts[5 + at % l]);
        }
        check(&problem, true);
    }
}

/// One sentence with all labels allowed.
fn single(labels: usize, states: Vec<f64>, transitions: Vec<f64>) -> Problem {
    let allowed = vec![(0..labels as u32).collect(); states.len() / labels];
    Problem { labels, sentences: vec![Sentence { allowed, states }], transitions, triples: None, forbidden: Vec::new() }
}

#[test]
fn a_label_that_a_later_token_alone_makes_best_is_not_lost() {
    // Label 1 trails by 400 at the first token, and only label 1 leads to label 1 at less than 700.
    let problem = single(2, vec![0.0, -400.0, 0.0, 600.0, 0.0, 500.0], vec![0.0, -700.0, -700.0, 0.0]);
    check(&problem, false);
    // Label 1 trails by 900, and its transition makes up for 1,000: no recursion on probabilities can see that.
    let problem = single(2, vec![0.0, -900.0, 0.0, 2000.0], vec![0.0, -1000.0, -1000.0, 0.0]);
    check(&problem, false);
}

#[test]
fn transitions_at_the_largest_spread_of_single_sentences_are_centred() {
    let states: Vec<f64> = (0..12).map(|at| [1500.0, -1500.0, 210.0][at * 7 % 3] + (at % 5) as f64 * 64.0).collect();
    for spread in [209.0, 210.0, 211.0] {
        let problem = single(2, states.clone(), vec![0.0, -spread, -spread, 0.0]);
        let want = vec![problem.enumerate(&problem.sentences[0])];
        let centred = check_alone(pulp::Scalar, &problem, &want);
        assert_eq!(centred, usize::from(spread <= 210.0), "{spread}");
        check(&problem, false);
    }
}

#[test]
fn sentences_in_which_everything_is_forbidden_have_no_probability() {
    let mut problem = single(2, vec![1e3, 0.0, 0.0, 1e3], vec![0.0; 4]);
    problem.sentences[0].allowed[1].clear();
    let (transitions, mut lattice) = (problem.transitions(), Lattice::default());
    lattice.prepare(&transitions);
    lattice.begin(2, &transitions);
    fill(&mut lattice.scores, &problem.sentences[0].states, 2, transitions.width);
    lattice.mask.add(&problem.sets(&problem.sentences[0]).unwrap_or_else(empty_second), transitions.width);
    assert_eq!(lattice.forward(pulp::Scalar, &transitions), f64::NEG_INFINITY);
}

#[test]
fn triples_that_are_all_but_forbidden_are_centred() {
    let mut problem = single(2, (0..10).map(|at| f64::from(at * at)).collect(), vec![1.0, 2.0, 3.0, 4.0]);
    problem.triples = Some((0..8).map(|at| -2000.0 + f64::from(at)).collect());
    let want = vec![problem.enumerate(&problem.sentences[0])];
    assert_eq!(check_abreast(pulp::Scalar, &problem, &want), 1);
}

/// Sets of two labels for two tokens; the second set is empty.
fn empty_second() -> LabelSets {
    let mut sets = LabelSets::full(2, 2);
    sets.set(1, []);
    sets
}
