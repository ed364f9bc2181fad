//! Inference under constraints and masks against enumeration of the labellings that they allow.

use crate::chain::inference::{
    Abreast, Constraints, LabelSets, Lattice, Links, Pair, PairCounts, Transitions, Triples,
};
use crate::corpus::UNKNOWN;
use crate::numeric::{LANES, log_sum_exp};
use proptest::prelude::*;
use pulp::{Arch, Simd, WithSimd};
use std::sync::Arc;

mod centred;

/// The labels that each token may have, and their scores, tokens x labels.
#[derive(Clone, Debug)]
struct Sentence {
    allowed: Vec<Vec<u32>>,
    states: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Problem {
    labels: usize,
    sentences: Vec<Sentence>,
    transitions: Vec<f64>,
    /// Scores of triples, in a chain of second order.
    triples: Option<Vec<f64>>,
    forbidden: Vec<Pair>,
}

fn problem(scale: f64) -> impl Strategy<Value = Problem> {
    (1usize..5).prop_flat_map(move |labels| {
        let score = -scale..scale;
        let pairs: Vec<Pair> = (0..labels as u32 + 1)
            .flat_map(|from| (0..labels as u32 + 1).map(move |to| (from, to)))
            .map(|(from, to)| (Some(from).filter(|&x| x < labels as u32), Some(to).filter(|&x| x < labels as u32)))
            .filter(|pair| *pair != (None, None))
            .collect();
        let n = pairs.len();
        let set = prop::sample::subsequence((0..labels as u32).collect::<Vec<_>>(), 1..=labels);
        let any = Just((0..labels as u32).collect::<Vec<_>>());
        let state = score.clone();
        let sentence = (1usize..5).prop_flat_map(move |tokens| {
            let sets = prop::collection::vec(prop_oneof![2 => any.clone().boxed(), 1 => set.clone().boxed()], tokens);
            (sets, prop::collection::vec(state.clone(), labels * tokens))
                .prop_map(|(allowed, states)| Sentence { allowed, states })
        });
        (
            prop::collection::vec(sentence, 1..4),
            prop::collection::vec(score.clone(), labels * labels),
            prop::option::of(prop::collection::vec(score, labels.pow(3))),
            prop::sample::subsequence(pairs, 0..=n / 2),
        )
            .prop_map(move |(sentences, transitions, triples, forbidden)| Problem {
                labels,
                sentences,
                transitions,
                triples,
                forbidden,
            })
    })
}

/// What inference says of a sentence.
#[derive(Debug)]
struct Answers {
    log_z: f64,
    best: f64,
    marginals: Vec<f64>,
    pairs: Vec<f64>,
}

impl Problem {
    fn is_allowed(&self, sentence: &Sentence, path: &[u32]) -> bool {
        let edges = [(None, path.first()), (path.last(), None)];
        let inside = path.windows(2).map(|pair| (Some(&pair[0]), Some(&pair[1])));
        let mut pairs = edges.into_iter().chain(inside).map(|(from, to)| (from.copied(), to.copied()));
        let tokens = path.iter().zip(&sentence.allowed).all(|(label, allowed)| allowed.contains(label));
        tokens && !pairs.any(|pair| self.forbidden.contains(&pair))
    }

    fn score(&self, sentence: &Sentence, path: &[u32]) -> f64 {
        let l = self.labels;
        let at = |labels: &[u32]| labels.iter().fold(0, |at, &label| at * l + label as usize);
        let states = path.iter().enumerate().map(|(t, &label)| sentence.states[t * l + label as usize]);
        let pairs = path.windows(2).map(|pair| self.transitions[at(pair)]);
        let triples = self.triples.iter().flat_map(|triples| path.windows(3).map(move |triple| triples[at(triple)]));
        states.chain(pairs).chain(triples).sum()
    }

    fn enumerate(&self, sentence: &Sentence) -> Answers {
        let (l, tokens) = (self.labels, sentence.allowed.len());
        let digit = |i: usize, t: usize| (i / l.pow(t as u32) % l) as u32;
        let all = (0..l.pow(tokens as u32)).map(|i| (0..tokens).map(|t| digit(i, t)).collect::<Vec<_>>());
        let paths: Vec<Vec<u32>> = all.filter(|path| self.is_allowed(sentence, path)).collect();
        let scores: Vec<f64> = paths.iter().map(|path| self.score(sentence, path)).collect();
        let log_z = log_sum_exp(scores.iter().copied());
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut answers = Answers { log_z, best, marginals: vec![0.0; tokens * l], pairs: vec![0.0; l * l] };
        for (path, score) in paths.iter().zip(&scores) {
            let p = (score - log_z).exp();
            path.iter().enumerate().for_each(|(t, &label)| answers.marginals[t * l + label as usize] += p);
            path.windows(2).for_each(|pair| answers.pairs[pair[0] as usize * l + pair[1] as usize] += p);
        }
        answers
    }

    /// The largest |score|.
    fn most(&self) -> f64 {
        let states = self.sentences.iter().flat_map(|sentence| &sentence.states);
        states
            .chain(&self.transitions)
            .chain(self.triples.iter().flatten())
            .fold(0.0, |most, score| most.max(score.abs()))
    }

    fn transitions(&self) -> Transitions {
        let l = self.labels;
        let mut transitions = Transitions::new(l);
        let constraints = Constraints::new(l, self.forbidden.clone());
        transitions.constrain((!self.forbidden.is_empty()).then(|| Arc::new(constraints)));
        transitions.set((0..l * l).map(|at| (at / l, at % l, self.transitions[at])));
        transitions.triples = self.triples.as_ref().map(|triples| {
            let of = |at: usize| [at / (l * l), at / l % l, at % l];
            Triples::new(l, triples.iter().enumerate().map(|(at, &score)| (of(at), score)))
        });
        transitions
    }

    /// The labels that each token of a sentence may have; None if no labelling is allowed.
    fn sets(&self, sentence: &Sentence) -> Option<LabelSets> {
        let mut sets = LabelSets::full(sentence.allowed.len(), self.labels);
        sentence.allowed.iter().enumerate().for_each(|(t, allowed)| sets.set(t, allowed.iter().copied()));
        Constraints::new(self.labels, self.forbidden.clone()).prune(&mut sets).then_some(sets)
    }

    /// Each sentence by itself; all scores of the first token are `shift` higher.
    fn one_by_one<S: Simd>(&self, simd: S, shift: f64) -> Vec<Answers> {
        let (transitions, l) = (self.transitions(), self.labels);
        let width = transitions.width;
        let mut lattice = Lattice::default();
        lattice.prepare(&transitions);
        let answers = self.sentences.iter().map(|sentence| {
            let tokens = sentence.allowed.len();
            let fill = |lattice: &mut Lattice| {
                lattice.begin(tokens, &transitions);
                for (row, states) in lattice.scores.chunks_exact_mut(width).zip(sentence.states.chunks_exact(l)) {
                    row[..l].copy_from_slice(states);
                }
                lattice.scores[..l].iter_mut().for_each(|score| *score += shift);
                let mut nothing = LabelSets::full(1, l);
                nothing.set(0, []);
                lattice.mask.add(self.sets(sentence).as_ref().unwrap_or(&nothing), width);
            };
            fill(&mut lattice);
            let mut path = Vec::new();
            let best = lattice.viterbi(simd, &transitions, &mut path);
            if best == f64::NEG_INFINITY {
                assert_eq!(path, vec![UNKNOWN; tokens]);
            } else {
                assert!(self.is_allowed(sentence, &path));
                assert!((self.score(sentence, &path) + shift - best).abs() <= 1e-9 * best.abs().max(1.0));
            }
            fill(&mut lattice);
            let mut pairs = PairCounts::new(&transitions);
            let log_z = lattice.forward(simd, &transitions);
            lattice.backward(simd, &transitions, -2.0, &mut pairs);
            let marginal = |i: usize| lattice.marginals[i / l * width + i % l] / -2.0;
            let marginals: Vec<f64> = (0..tokens * l).map(marginal).collect();
            fill(&mut lattice);
            let all = lattice.pair_marginals(&transitions);
            let at_each: Vec<f64> = (0..l * l).map(|pair| all.iter().skip(pair).step_by(l * l).sum()).collect();
            let pairs: Vec<f64> =
                (0..l * l).map(|i| pairs.expected(&transitions, i / l * width + i % l) / -2.0).collect();
            pairs.iter().zip(&at_each).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{pairs:?}, {at_each:?}"));
            Answers { log_z: log_z - shift, best: best - shift, marginals, pairs }
        });
        answers.collect()
    }

    /// The transitions and triples with features: those with a score other than 0.
    fn featured(&self) -> (Vec<[u16; 2]>, Vec<[u16; 3]>) {
        let l = self.labels;
        let pairs = (0..l * l).filter(|&at| self.transitions[at] != 0.0);
        let triples = (0..l.pow(3)).filter(|&at| self.triples.as_ref().is_some_and(|triples| triples[at] != 0.0));
        let labels = |at: usize| [at / (l * l), at / l % l, at % l].map(|label| label as u16);
        (pairs.map(|at| [(at / l) as u16, (at % l) as u16]).collect(), triples.map(labels).collect())
    }

    /// The sentences abreast, with the counts of all of them in the first one's answers; none if a number leaves the range.
    fn abreast<S: Simd>(&self, simd: S) -> Option<Vec<Answers>> {
        let (transitions, l) = (self.transitions(), self.labels);
        let width = transitions.width;
        let (featured, triples) = self.featured();
        let links = Links::new(&transitions, &featured, &triples);
        let mut abreast = Abreast::default();
        abreast.begin(self.sentences.iter().map(|sentence| sentence.allowed.len()), &links);
        for (lane, sentence) in self.sentences.iter().enumerate() {
            let rows = abreast.rows(lane, &links).chunks_exact_mut(width);
            rows.zip(sentence.states.chunks_exact(l)).for_each(|(row, states)| row[..l].copy_from_slice(states));
            let sets = self.sets(sentence)?;
            for token in 0..sentence.allowed.len() {
                let mut row = vec![0.0; width];
                sets.labels(token).for_each(|label| row[label] = 1.0);
                abreast.forbid(lane, token, &row);
            }
        }
        if !abreast.fits(simd, &links) {
            return None;
        }
        let log_z = abreast.forward(simd, &links)?;
        abreast.backward(simd, &links, [2.0; LANES]);
        let mut counts = PairCounts::new(&transitions);
        abreast.take_counts(&links, None, &mut counts);
        let pairs = (0..l * l).map(|i| counts.expected(&transitions, i / l * width + i % l) / 2.0);
        let mut pairs = Some(pairs.collect::<Vec<f64>>());
        let mut answers = |lane: usize| {
            let row = abreast.rows(lane, &links);
            let marginals = row.chunks_exact(width).flat_map(|row| &row[..l]).map(|p| p / 2.0).collect();
            Answers { log_z: log_z[lane], best: 0.0, marginals, pairs: pairs.take().unwrap_or_default() }
        };
        Some((0..self.sentences.len()).map(&mut answers).collect())
    }
}

fn fill(rows: &mut [f64], states: &[f64], labels: usize, width: usize) {
    for (row, states) in rows.chunks_exact_mut(width).zip(states.chunks_exact(labels)) {
        row[..labels].copy_from_slice(states);
    }
}

fn close(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (a, b) in got.iter().zip(want) {
        assert!(a == b || (a - b).abs() <= 1e-9 * b.abs().max(1.0), "{what}: {a}, not {b}");
    }
}

struct Check<'a>(&'a Problem);

impl WithSimd for Check<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Check(problem) = self;
        let want: Vec<Answers> = problem.sentences.iter().map(|sentence| problem.enumerate(sentence)).collect();
        // The second time in log space.
        for shift in [0.0, 1e3] {
            for (got, want) in problem.one_by_one(simd, shift).iter().zip(&want) {
                close(&[got.log_z, got.best], &[want.log_z, want.best], "log Z, best");
                close(&got.pairs, &want.pairs, "pairs");
                if want.log_z != f64::NEG_INFINITY {
                    close(&got.marginals, &want.marginals, "marginals");
                }
            }
        }
        let (got, possible) = (problem.abreast(simd), want.iter().all(|want| want.log_z != f64::NEG_INFINITY));
        // No mask keeps a sentence off the fast recursion: scores that are too large do.
        assert!(got.is_some() || !possible || problem.most() > 20.0, "a mask keeps sentences from going abreast");
        let Some(got) = got else { return };
        for (got, want) in got.iter().zip(&want) {
            close(&[got.log_z], &[want.log_z], "log Z abreast");
            close(&got.marginals, &want.marginals, "marginals abreast");
        }
        // Transitions without a feature are not counted.
        let l = problem.labels;
        for pair in (0..l * l).filter(|&pair| problem.triples.is_some() || problem.transitions[pair] != 0.0) {
            close(&[got[0].pairs[pair]], &[want.iter().map(|want| want.pairs[pair]).sum()], "pairs abreast");
        }
    }
}

fn check(problem: &Problem) {
    Arch::new().dispatch(Check(problem));
    Check(problem).with_simd(pulp::Scalar);
}

proptest! {
    #[test]
    fn inference_over_what_is_allowed_equals_enumeration(problem in problem(4.0)) {
        check(&problem);
    }

    #[test]
    fn transitions_without_features_take_part(mut problem in problem(4.0), kept in prop::collection::vec(any::<bool>(), 16)) {
        problem.transitions.iter_mut().zip(kept).filter(|(_, kept)| !kept).for_each(|(score, _)| *score = 0.0);
        check(&problem);
    }

    #[test]
    fn large_scores_go_to_log_space(problem in problem(200.0)) {
        check(&problem);
    }
}

/// Two labels that cannot follow each other, one of which falls behind for 30 tokens and catches up in the next 30.
fn apart(order_2: bool) -> Problem {
    let states = (0..60).flat_map(|t| if t < 30 { [40.0, 0.0] } else { [0.0, 40.0] }).collect();
    Problem {
        labels: 2,
        sentences: vec![Sentence { allowed: vec![vec![0, 1]; 60], states }],
        transitions: vec![0.1, 0.0, 0.0, 0.1],
        triples: order_2.then(|| vec![0.0; 8]),
        forbidden: vec![(Some(0), Some(1)), (Some(1), Some(0))],
    }
}

#[test]
fn a_label_that_falls_behind_for_long_is_not_lost() {
    struct Run<'a>(&'a Problem);
    impl WithSimd for Run<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let answers = &self.0.one_by_one(simd, 0.0)[0];
            close(&answers.marginals[..2], &[0.5, 0.5], "marginals");
            close(&[answers.log_z], &[30.0 * 40.0 + 5.9 + 2f64.ln()], "log Z");
            assert!(self.0.abreast(simd).is_none());
        }
    }
    let first = apart(false);
    Arch::new().dispatch(Run(&first));
    let mut second = apart(true);
    second.transitions = vec![0.1, 0.0, 0.0, 0.1];
    Arch::new().dispatch(Run(&second));
}
