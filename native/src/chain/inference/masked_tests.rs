//! Inference with forbidden transitions and masks, sentence by sentence and abreast, against enumeration of the labellings
//! that they allow.

use crate::chain::inference::{Abreast, Allowed, LabelSets, Lattice, Links, Pair, PairCounts, Transitions, Triples};
use crate::corpus::UNKNOWN;
use crate::numeric::arch::simd_task;
use crate::numeric::{LANES, log_sum_exp};
use proptest::prelude::*;
use pulp::{Arch, Simd, WithSimd};
use serde_json::Value;
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
    (1usize..6).prop_flat_map(move |labels| {
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
            prop::collection::vec(sentence, 1..=LANES),
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
    /// Expected counts of triples; empty in first order.
    triples: Vec<f64>,
}

/// Sentences that were inferred abreast.
struct Together {
    log_z: [f64; LANES],
    /// The sentences whose numbers are meaningful: all but sentences whose scores cannot be centred.
    sentences: Vec<usize>,
    /// Sentence -> marginals times `factor`.
    marginals: Vec<Vec<f64>>,
    /// Expected counts of all sentences, each times its `factor`.
    counts: PairCounts,
}

/// The factor of a sentence's marginals and counts.
fn factor(sentence: usize) -> f64 {
    (1.0 + sentence as f64) * if sentence.is_multiple_of(2) { 1.0 } else { -1.0 }
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
        let triples = self.triples.as_ref().map_or_else(Vec::new, |triples| vec![0.0; triples.len()]);
        let mut answers = Answers { log_z, best, marginals: vec![0.0; tokens * l], pairs: vec![0.0; l * l], triples };
        // By the best score and not by log Z, whose rounding error grows with it.
        let total: f64 = scores.iter().map(|score| (score - best).exp()).sum();
        for (path, score) in paths.iter().zip(&scores) {
            let p = (score - best).exp() / total;
            path.iter().enumerate().for_each(|(t, &label)| answers.marginals[t * l + label as usize] += p);
            path.windows(2).for_each(|pair| answers.pairs[pair[0] as usize * l + pair[1] as usize] += p);
            for triple in path.windows(3).filter(|_| self.triples.is_some()) {
                answers.triples[(triple[0] as usize * l + triple[1] as usize) * l + triple[2] as usize] += p;
            }
        }
        answers
    }

    /// Sets the scores of transitions and triples without features to 0.
    fn keep(&mut self, has_feature: &[bool]) {
        for scores in [&mut self.transitions].into_iter().chain(&mut self.triples) {
            scores
                .iter_mut()
                .zip(has_feature.iter().cycle())
                .filter(|(_, has)| !**has)
                .for_each(|(score, _)| *score = 0.0);
        }
    }

    /// The largest |score|.
    fn most(&self) -> f64 {
        let states = self.sentences.iter().flat_map(|sentence| &sentence.states);
        states
            .chain(&self.transitions)
            .chain(self.triples.iter().flatten())
            .fold(0.0, |most, score| most.max(score.abs()))
    }

    /// The labels of a triple, by its place among all triples.
    fn triple(&self, at: usize) -> [usize; 3] {
        [at / self.labels.pow(2), at / self.labels % self.labels, at % self.labels]
    }

    fn transitions(&self) -> Transitions {
        let l = self.labels;
        let mut transitions = Transitions::new(l);
        transitions.constrain(
            (!self.forbidden.is_empty()).then(|| Arc::new(Allowed::new(l, self.forbidden.clone(), Value::Null))),
        );
        transitions.set((0..l * l).map(|at| (at / l, at % l, self.transitions[at])));
        transitions.triples = self.triples.as_ref().map(|triples| {
            Triples::new(
                l,
                triples.iter().enumerate().map(|(at, &score)| (self.triple(at).map(|label| label as u16), score)),
            )
        });
        transitions
    }

    /// The labels that each token of a sentence may have; None if no labelling is allowed.
    fn sets(&self, sentence: &Sentence) -> Option<LabelSets> {
        let mut sets = LabelSets::full(sentence.allowed.len(), self.labels);
        sentence.allowed.iter().enumerate().for_each(|(t, allowed)| sets.set(t, allowed.iter().copied()));
        Allowed::new(self.labels, self.forbidden.clone(), Value::Null).prune(&mut sets).then_some(sets)
    }

    /// Each sentence by itself; all scores of the first token are `shift` higher.
    fn one_by_one<S: Simd>(&self, simd: S, shift: f64) -> Vec<Answers> {
        let (transitions, l) = (self.transitions(), self.labels);
        let width = transitions.width;
        let mut lattice = Lattice::default();
        lattice.prepare(&transitions);
        let answers = self.sentences.iter().map(|sentence| {
            let tokens = sentence.allowed.len();
            let begin = |lattice: &mut Lattice| {
                lattice.begin(tokens, &transitions);
                fill(&mut lattice.scores, &sentence.states, l, width);
                lattice.scores[..l].iter_mut().for_each(|score| *score += shift);
                let mut nothing = LabelSets::full(1, l);
                nothing.set(0, []);
                lattice.mask.add(self.sets(sentence).as_ref().unwrap_or(&nothing), width);
            };
            begin(&mut lattice);
            let mut path = Vec::new();
            let best = lattice.viterbi(simd, &transitions, &mut path);
            if best == f64::NEG_INFINITY {
                assert_eq!(path, vec![UNKNOWN; tokens]);
            } else {
                assert!(self.is_allowed(sentence, &path));
                assert!((self.score(sentence, &path) + shift - best).abs() <= 1e-9 * best.abs().max(1.0));
            }
            begin(&mut lattice);
            let mut pairs = PairCounts::new(&transitions);
            let log_z = lattice.forward(simd, &transitions);
            lattice.backward(simd, &transitions, -2.0, &mut pairs);
            let marginal = |i: usize| lattice.marginals[i / l * width + i % l] / -2.0;
            let marginals: Vec<f64> = (0..tokens * l).map(marginal).collect();
            begin(&mut lattice);
            let all = lattice.pair_marginals(&transitions);
            let at_each: Vec<f64> = (0..l * l).map(|pair| all.iter().skip(pair).step_by(l * l).sum()).collect();
            let pairs: Vec<f64> =
                (0..l * l).map(|i| pairs.expected(&transitions, i / l * width + i % l) / -2.0).collect();
            pairs.iter().zip(&at_each).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{pairs:?}, {at_each:?}"));
            Answers { log_z: log_z - shift, best: best - shift, marginals, pairs, triples: Vec::new() }
        });
        answers.collect()
    }

    /// The transitions and triples with features, whose scores are not 0.
    fn featured(&self) -> (Vec<[u16; 2]>, Vec<[u16; 3]>) {
        let l = self.labels;
        let pairs = (0..l * l).filter(|&at| self.transitions[at] != 0.0);
        let triples = (0..l.pow(3)).filter(|&at| self.triples.as_ref().is_some_and(|triples| triples[at] != 0.0));
        let labels = |at: usize| self.triple(at).map(|label| label as u16);
        (pairs.map(|at| [(at / l) as u16, (at % l) as u16]).collect(), triples.map(labels).collect())
    }

    /// The sentences abreast, on centred scores or not; `over_labels` even if labels are few. None if a number leaves the range, or if no labelling of a sentence is
    /// allowed.
    fn abreast<S: Simd>(
        &self,
        simd: S,
        transitions: &Transitions,
        [centred, over_labels]: [bool; 2],
    ) -> Option<Together> {
        let (l, width) = (self.labels, transitions.width);
        let (pairs, triples) = self.featured();
        let plain = if over_labels { Links::over_labels } else { Links::new }(transitions, &pairs, &triples);
        let of_centred = centred.then(|| Links::centred(transitions, &pairs, &triples));
        let links = of_centred.as_ref().unwrap_or(&plain);
        let (mut abreast, mut together) = (Abreast::default(), None);
        // What comes after must not see what was before.
        for sentences in [&self.sentences[..1], &self.sentences] {
            abreast.begin(sentences.iter().map(|sentence| sentence.allowed.len()), &plain);
            for (lane, sentence) in sentences.iter().enumerate() {
                fill(abreast.rows(lane, links), &sentence.states, l, width);
                let sets = self.sets(sentence)?;
                for token in 0..sentence.allowed.len() {
                    let mut row = vec![0.0; width];
                    sets.labels(token).for_each(|label| row[label] = 1.0);
                    abreast.forbid(lane, token, &row);
                }
            }
            if !abreast.fits(simd, links) {
                assert!(!centred, "all scores can be tried to be centred");
                return None;
            }
            let log_z = abreast.forward(simd, links)?;
            let are_right = abreast.backward(simd, links, std::array::from_fn(factor));
            let mut counts = PairCounts::new(transitions);
            abreast.take_counts(&plain, of_centred.as_ref(), &mut counts);
            let mut marginals =
                |lane| abreast.rows(lane, links).chunks_exact(width).flat_map(|row| &row[..l]).copied().collect();
            together = Some(Together {
                log_z,
                sentences: (0..sentences.len()).filter(|&at| are_right[at]).collect(),
                marginals: (0..sentences.len()).map(&mut marginals).collect(),
                counts,
            });
        }
        together
    }

    /// Checks sentences abreast. Transitions and triples without a feature are not counted.
    fn check_abreast(&self, transitions: &Transitions, got: &Together, want: &[Answers], tolerance: f64) {
        let l = self.labels;
        for &at in &got.sentences {
            let marginals: Vec<f64> = got.marginals[at].iter().map(|p| p / factor(at)).collect();
            close(&[got.log_z[at]], &[want[at].log_z], tolerance, "log Z abreast");
            close(&marginals, &want[at].marginals, tolerance, "marginals abreast");
        }
        let total = |count: &dyn Fn(&Answers) -> f64| -> f64 {
            got.sentences.iter().map(|&at| factor(at) * count(&want[at])).sum()
        };
        for pair in (0..l * l).filter(|&pair| self.transitions[pair] != 0.0) {
            let count = got.counts.expected(transitions, pair / l * transitions.width + pair % l);
            close(&[count], &[total(&|want| want.pairs[pair])], 10.0 * tolerance, "pairs abreast");
        }
        let (Some(scores), Some(triples)) = (&self.triples, &transitions.triples) else { return };
        for at in (0..scores.len()).filter(|&at| scores[at] != 0.0) {
            let count = got.counts.triples.expected(triples, self.triple(at));
            close(&[count], &[total(&|want| want.triples[at])], 10.0 * tolerance, "triples abreast");
        }
    }
}

fn fill(rows: &mut [f64], states: &[f64], labels: usize, width: usize) {
    for (row, states) in rows.chunks_exact_mut(width).zip(states.chunks_exact(labels)) {
        row[..labels].copy_from_slice(states);
    }
}

fn close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (a, b) in got.iter().zip(want) {
        assert!(a == b || (a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: {a}, not {b}");
    }
}

simd_task!(
    /// A problem with what enumeration says of its sentences.
    Check<'a>(problem: &'a Problem, want: &'a [Answers]) -> (),
    |simd| {
        // The second time in log space.
        for shift in [0.0, 1e3] {
            for (got, want) in problem.one_by_one(simd, shift).iter().zip(want) {
                close(&[got.log_z, got.best], &[want.log_z, want.best], 1e-9, "log Z, best");
                close(&got.pairs, &want.pairs, 1e-9, "pairs");
                if want.log_z != f64::NEG_INFINITY {
                    close(&got.marginals, &want.marginals, 1e-9, "marginals");
                }
            }
        }
        let transitions = problem.transitions();
        for over_labels in [false, true] {
            let got = problem.abreast(simd, &transitions, [false, over_labels]);
            let possible = want.iter().all(|want| want.log_z != f64::NEG_INFINITY);
            // No mask keeps a sentence off the fast recursion: scores that are too large do.
            assert!(got.is_some() || !possible || problem.most() > 50.0, "a mask keeps sentences from going abreast");
            if let Some(got) = got {
                assert_eq!(got.sentences.len(), want.len());
                problem.check_abreast(&transitions, &got, want, 1e-10);
            }
        }
    }
);

/// Runs `check` on every instruction set.
fn on_each<'a, C: WithSimd<Output = ()>>(check: impl Fn() -> C + 'a) {
    Arch::new().dispatch(check());
    check().with_simd(pulp::Scalar);
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        Simd::vectorize(simd, check());
    }
}

fn check(problem: &Problem) {
    let want: Vec<Answers> = problem.sentences.iter().map(|sentence| problem.enumerate(sentence)).collect();
    on_each(|| Check(problem, &want));
}

proptest! {
    #[test]
    fn inference_over_what_is_allowed_equals_enumeration(problem in problem(4.0)) {
        check(&problem);
    }

    #[test]
    fn links_without_features_take_part(mut problem in problem(4.0), has_feature in prop::collection::vec(any::<bool>(), 16)) {
        problem.keep(&has_feature);
        check(&problem);
    }

    #[test]
    fn links_that_are_all_but_forbidden_lose_no_digits(mut problem in problem(4.0), has_feature in prop::collection::vec(any::<bool>(), 16)) {
        let scores = problem.transitions.iter_mut().chain(problem.triples.iter_mut().flatten());
        scores.for_each(|score| *score = 5.0 * *score - 18.0);
        problem.keep(&has_feature);
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
    simd_task!(Run<'a>(problem: &'a Problem) -> (), |simd| {
        let answers = &problem.one_by_one(simd, 0.0)[0];
        close(&answers.marginals[..2], &[0.5, 0.5], 1e-9, "marginals");
        close(&[answers.log_z], &[30.0 * 40.0 + 5.9 + 2f64.ln()], 1e-9, "log Z");
        assert!(problem.abreast(simd, &problem.transitions(), [false; 2]).is_none());
    });
    for problem in [apart(false), apart(true)] {
        Arch::new().dispatch(Run(&problem));
    }
}

#[test]
fn low_transitions_and_triples_between_high_states_lose_no_digits() {
    for (transition, triple) in [(-11.4, -11.4), (-8.0, -8.0), (-5.0, -11.4), (-11.4, -1.0), (-3.4, -4.0), (3.0, -5.7)]
    {
        // Labels follow each other by turns, through all links that have a score.
        let high = |t: usize| (0..4).map(move |label| if label == t % 4 { 65.0 } else { 0.0 });
        let next = |from: usize, to: usize| to == (from + 1) % 4;
        let of_pair = |at: usize| if next(at / 4, at % 4) { transition } else { 0.0 };
        let of_triple = |at: usize| if next(at / 16, at / 4 % 4) && next(at / 4 % 4, at % 4) { triple } else { 0.0 };
        check(&Problem {
            labels: 4,
            sentences: vec![Sentence { allowed: vec![vec![0, 1, 2, 3]; 6], states: (0..6).flat_map(high).collect() }],
            transitions: (0..16).map(of_pair).collect(),
            triples: Some((0..64).map(of_triple).collect()),
            forbidden: Vec::new(),
        });
    }
}
