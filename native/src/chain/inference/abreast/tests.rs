//! Sentences abreast against the same sentences one by one.

use crate::chain::inference::abreast::*;
use crate::chain::inference::{Lattice, Transitions, Triples};
use proptest::prelude::*;
use pulp::{Arch, WithSimd};

#[derive(Clone, Debug)]
struct Problem {
    labels: usize,
    /// Scores of the states of each sentence.
    sentences: Vec<Vec<f64>>,
    /// Transitions and triples that have features, and their scores.
    pairs: Vec<(usize, f64)>,
    triples: Vec<(usize, f64)>,
}

/// Some of n things, each with a score: few, many or all.
fn scored(n: usize, low: f64) -> impl Strategy<Value = Vec<(usize, f64)>> {
    let some = prop::sample::subsequence((0..n).collect::<Vec<_>>(), 0..=n);
    let all = Just((0..n).collect::<Vec<_>>());
    let which = prop_oneof![some.boxed(), all.boxed()];
    which.prop_flat_map(move |which| {
        let scores = prop::collection::vec(low..5.0, which.len());
        scores.prop_map(move |scores| which.iter().copied().zip(scores).collect())
    })
}

fn problem(low: f64) -> impl Strategy<Value = Problem> {
    (1usize..6).prop_flat_map(move |labels| {
        let sentence = (1usize..7).prop_flat_map(move |tokens| prop::collection::vec(-5.0..5.0, labels * tokens));
        (prop::collection::vec(sentence, 1..=LANES), scored(labels.pow(2), low), scored(labels.pow(3), low))
            .prop_map(move |(sentences, pairs, triples)| Problem { labels, sentences, pairs, triples })
    })
}

/// log Z and marginals of each sentence, and the expected counts of transitions and triples with features.
#[derive(Debug, PartialEq)]
struct Answers {
    log_z: Vec<f64>,
    marginals: Vec<f64>,
    pairs: Vec<f64>,
    triples: Vec<f64>,
}

impl Problem {
    fn transitions(&self, second_order: bool) -> Transitions {
        let l = self.labels;
        let mut transitions = Transitions::new(l);
        transitions.set(self.pairs.iter().map(|&(at, score)| (at / l, at % l, score)));
        if second_order {
            let scores = self.triples.iter().map(|&(at, score)| ([at / (l * l), at / l % l, at % l], score));
            transitions.triples = Some(Triples::new(l, scores));
        }
        transitions
    }

    fn factor(sentence: usize) -> f64 {
        1.0 + sentence as f64
    }

    fn answers(&self, transitions: &Transitions, log_z: Vec<f64>, marginals: Vec<f64>, counts: &PairCounts) -> Answers {
        let l = self.labels;
        let pair = |at: usize| counts.expected(transitions, at / l * transitions.width + at % l);
        let triple = |at: usize| {
            let labels = [at / (l * l), at / l % l, at % l];
            transitions.triples.as_ref().map_or(0.0, |triples| counts.triples.expected(triples, labels))
        };
        Answers {
            log_z,
            marginals,
            pairs: self.pairs.iter().map(|&(at, _)| pair(at)).collect(),
            triples: self.triples.iter().map(|&(at, _)| triple(at)).collect(),
        }
    }

    fn one_by_one<S: Simd>(&self, simd: S, second_order: bool) -> Answers {
        let (transitions, mut lattice) = (self.transitions(second_order), Lattice::default());
        lattice.prepare(&transitions);
        let mut counts = PairCounts::new(&transitions);
        let (mut log_z, mut marginals) = (Vec::new(), Vec::new());
        for (at, states) in self.sentences.iter().enumerate() {
            lattice.begin(states.len() / self.labels, &transitions);
            fill(&mut lattice.scores, states, self.labels, transitions.width);
            log_z.push(lattice.forward(simd, &transitions));
            lattice.backward(simd, &transitions, Problem::factor(at), &mut counts);
            marginals.extend_from_slice(&lattice.marginals);
        }
        self.answers(&transitions, log_z, marginals, &counts)
    }

    fn abreast<S: Simd>(&self, simd: S, second_order: bool) -> Answers {
        let transitions = self.transitions(second_order);
        let label = |at: usize| at as u16;
        let l = self.labels;
        let pairs: Vec<_> = self.pairs.iter().map(|&(at, _)| [at / l, at % l].map(label)).collect();
        let triples: Vec<_> =
            self.triples.iter().map(|&(at, _)| [at / (l * l), at / l % l, at % l].map(label)).collect();
        let links = Links::new(&transitions, &pairs, &triples);
        assert!(links.are_few);
        let mut counts = PairCounts::new(&transitions);
        let mut abreast = Abreast::default();
        // What comes after must not see what was before.
        for sentences in [&self.sentences[..1], &self.sentences] {
            abreast.begin(sentences.iter().map(|states| states.len() / l), &links);
            for (lane, states) in sentences.iter().enumerate() {
                fill(abreast.rows(lane, &links), states, l, transitions.width);
            }
            assert!(abreast.fits(simd, &links));
            let log_z = abreast.forward(simd, &links).expect("no number leaves the range");
            counts.clear();
            abreast.backward(simd, &links, std::array::from_fn(Problem::factor));
            abreast.take_counts(&links, None, &mut counts);
            if sentences.len() == self.sentences.len() {
                let lanes = 0..sentences.len();
                let marginals = lanes.flat_map(|lane| abreast.rows(lane, &links).to_vec()).collect();
                return self.answers(&transitions, log_z[..sentences.len()].to_vec(), marginals, &counts);
            }
        }
        unreachable!("the second time all sentences are there");
    }
}

fn fill(rows: &mut [f64], states: &[f64], labels: usize, width: usize) {
    for (row, states) in rows.chunks_exact_mut(width).zip(states.chunks_exact(labels)) {
        row[..labels].copy_from_slice(states);
    }
}

struct Check<'a>(&'a Problem, bool);

impl WithSimd for Check<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Check(problem, second_order) = self;
        let (got, want) = (problem.abreast(simd, second_order), problem.one_by_one(simd, second_order));
        for (what, got, want) in [
            ("log Z", &got.log_z, &want.log_z),
            ("marginals", &got.marginals, &want.marginals),
            ("pairs", &got.pairs, &want.pairs),
            ("triples", &got.triples, &want.triples),
        ] {
            assert_eq!(got.len(), want.len(), "{what}");
            for (a, b) in got.iter().zip(want) {
                assert!((a - b).abs() <= 1e-10 * b.abs().max(1.0), "{what}: {a}, one by one {b}");
            }
        }
    }
}

fn check(problem: &Problem) {
    for second_order in [false, true] {
        Arch::new().dispatch(Check(problem, second_order));
        Check(problem, second_order).with_simd(pulp::Scalar);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            Simd::vectorize(simd, Check(problem, second_order));
        }
    }
}

proptest! {
    #[test]
    fn sentences_abreast_are_what_they_are_one_by_one(problem in problem(-5.0)) {
        check(&problem);
    }

    #[test]
    fn transitions_that_are_all_but_forbidden_lose_no_digits(problem in problem(-40.0)) {
        check(&problem);
    }
}
