//! Pieces against the recursions of single sentences, on every instruction set.

use crate::chain::inference::{
    Lattice, LinkCounts, LinkFactors, PairCounts, Pieces, PrunedLattice, Transitions, Triples,
};
use crate::numeric::LANES;
use crate::numeric::arch::simd_task;
use proptest::prelude::*;
use pulp::{Arch, WithSimd};

const LABELS: usize = 3;

/// Scores of eight sentences of all labels, of transitions and of triples.
#[derive(Clone, Debug)]
struct Problem {
    tokens: usize,
    states: Vec<f64>,
    transitions: Vec<f64>,
    triples: Option<Vec<f64>>,
    weights: [f64; LANES],
}

fn problem(scale: f64) -> impl Strategy<Value = Problem> {
    (1usize..5, any::<bool>()).prop_flat_map(move |(tokens, second)| {
        let scores = |len: usize| prop::collection::vec(-scale..scale, len);
        (
            scores(tokens * LABELS * LANES),
            scores(LABELS * LABELS),
            scores(LABELS.pow(3)),
            prop::array::uniform8(0.0..2.0),
        )
            .prop_map(move |(states, transitions, triples, weights)| {
                let triples = second.then_some(triples);
                Problem { tokens, states, transitions, triples, weights }
            })
    })
}

struct Answers {
    value: f64,
    marginals: Vec<f64>,
    pairs: Vec<f64>,
}

simd_task!(
    Abreast<'a>(problem: &'a Problem, factors: &'a LinkFactors, counts: &'a mut LinkCounts) -> (f64, Vec<f64>),
    |simd| {
        let slots = vec![LABELS as u16; problem.tokens];
        let labels: Vec<[u16; LANES]> =
            (0..problem.tokens * LABELS).map(|row| [(row % LABELS) as u16; LANES]).collect();
        let offsets = vec![[0.0; LANES]; labels.len()];
        let pieces =
            Pieces { slots: &slots, labels: &labels, offsets: &offsets, weights: &[problem.weights], is_single: false };
        let mut lattice = PrunedLattice::default();
        lattice.begin(pieces);
        lattice.scores.copy_from_slice(&problem.states);
        let value = lattice.forward_backward(simd, pieces, factors, counts);
        (value, lattice.scores.to_vec())
    }
);

impl Problem {
    fn transitions(&self) -> Transitions {
        let mut transitions = Transitions::new(LABELS);
        let pairs = (0..LABELS * LABELS).map(|at| (at / LABELS, at % LABELS, self.transitions[at]));
        transitions.set(pairs);
        transitions.triples = self.triples.as_ref().map(|scores| {
            let labels = |at: usize| [at / (LABELS * LABELS), at / LABELS % LABELS, at % LABELS];
            Triples::new(
                LABELS,
                scores.iter().enumerate().map(|(at, &score)| (labels(at).map(|label| label as u16), score)),
            )
        });
        transitions
    }

    fn abreast(&self, scalar: bool) -> Answers {
        let factors = LinkFactors::new(&self.transitions());
        let mut counts = LinkCounts::new(&factors);
        let work = Abreast(self, &factors, &mut counts);
        let (value, marginals) = if scalar { work.with_simd(pulp::Scalar) } else { Arch::new().dispatch(work) };
        let pairs = (0..LABELS * LABELS).map(|at| counts.transition(&factors, at / LABELS, at % LABELS)).collect();
        Answers { value, marginals, pairs }
    }

    fn one_by_one(&self) -> Answers {
        let transitions = self.transitions();
        let mut answers =
            Answers { value: 0.0, marginals: vec![0.0; self.states.len()], pairs: vec![0.0; LABELS * LABELS] };
        let mut counts = PairCounts::new(&transitions);
        for lane in 0..LANES {
            let mut lattice = Lattice::default();
            lattice.prepare(&transitions);
            lattice.begin(self.tokens, &transitions);
            for row in 0..self.tokens * LABELS {
                lattice.scores[row / LABELS * transitions.width + row % LABELS] = self.states[row * LANES + lane];
            }
            answers.value += self.weights[lane] * lattice.forward(pulp::Scalar, &transitions);
            lattice.backward(pulp::Scalar, &transitions, self.weights[lane], &mut counts);
            for row in 0..self.tokens * LABELS {
                answers.marginals[row * LANES + lane] =
                    lattice.marginals[row / LABELS * transitions.width + row % LABELS];
            }
        }
        for (at, pair) in answers.pairs.iter_mut().enumerate() {
            *pair = counts.expected(&transitions, at / LABELS * transitions.width + at % LABELS);
        }
        answers
    }
}

simd_task!(
    Padded<'a>(transitions: &'a Transitions, flush: bool) -> PrunedLattice,
    |simd| {
        // Every second sentence has a single label at every second token: the other slots are empty.
        let (slots, n) = ([LABELS as u16; 6], 6 * LABELS);
        let empty = |row: usize, lane: usize| (row / LABELS).is_multiple_of(2) && !row.is_multiple_of(LABELS) && lane.is_multiple_of(2);
        let cell = |row: usize, lane: usize| if empty(row, lane) { f64::NEG_INFINITY } else { -1.5 * (row % 4) as f64 };
        let offsets: Vec<[f64; LANES]> =
            (0..n).map(|row| std::array::from_fn(|lane| cell(row, lane))).collect();
        let label = |row: usize, lane: usize| if empty(row, lane) { LABELS as u16 } else { (row % LABELS) as u16 };
        let labels: Vec<[u16; LANES]> =
            (0..n).map(|row| std::array::from_fn(|lane| label(row, lane))).collect();
        let pieces =
            Pieces { slots: &slots, labels: &labels, offsets: &offsets, weights: &[[1.0; LANES]], is_single: false };
        let factors = LinkFactors::new(transitions);
        let mut lattice = PrunedLattice::default();
        lattice.begin(pieces);
        let mut counts = LinkCounts::new(&factors);
        let before = flush.then(flush_subnormals);
        lattice.forward_backward(simd, pieces, &factors, &mut counts);
        if let Some(mode) = before {
            set_mode(mode);
        }
        lattice
    }
);

/// Makes the processor take subnormal numbers for 0; returns its mode before.
fn flush_subnormals() -> u32 {
    let mut mode = 0u32;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes four bytes to the variable.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &mut mode)
    };
    set_mode(mode | 0x8040);
    mode
}

fn set_mode(mode: u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: sets the mode of this thread's arithmetic to one that rounds as before.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &mode)
    };
}

#[test]
fn empty_slots_are_exactly_0_so_no_number_is_subnormal_and_flushing_subnormals_changes_nothing() {
    let problem = |triples| Problem {
        tokens: 1,
        states: Vec::new(),
        transitions: vec![0.5; LABELS * LABELS],
        triples,
        weights: [1.0; LANES],
    };
    for triples in [None, Some(vec![-0.25; LABELS.pow(3)])] {
        let transitions = problem(triples).transitions();
        let lattice = Arch::new().dispatch(Padded(&transitions, false));
        let PrunedLattice { scores, alpha, factors, potentials, totals, incoming, beta, before } = &lattice;
        for numbers in [scores, alpha, factors, potentials, totals, incoming, beta, before] {
            assert!(!numbers.iter().any(|x| x.is_subnormal()));
        }
        // The first lane of the second slot is empty.
        assert_eq!(scores[LANES], 0.0);
        assert!(scores[0] > 0.0);
        let flushed = Arch::new().dispatch(Padded(&transitions, true));
        assert_eq!(**scores, *flushed.scores);
    }
}

proptest! {
    #[test]
    fn pieces_with_all_labels_are_sentences(problem in problem(4.0)) {
        let expected = problem.one_by_one();
        for scalar in [true, false] {
            let actual = problem.abreast(scalar);
            prop_assert!((actual.value - expected.value).abs() <= 1e-10 * (1.0 + expected.value.abs()));
            for (a, b) in actual.marginals.iter().zip(&expected.marginals) {
                prop_assert!((a - b).abs() <= 1e-11);
            }
            for (a, b) in actual.pairs.iter().zip(&expected.pairs) {
                prop_assert!((a - b).abs() <= 1e-10);
            }
        }
    }

    #[test]
    fn scores_of_any_size_fit(problem in problem(200.0)) {
        let actual = problem.abreast(false);
        prop_assert!(actual.value.is_finite());
        prop_assert!(actual.marginals.iter().all(|p| (0.0..=2.0 + 1e-9).contains(p)));
    }
}
