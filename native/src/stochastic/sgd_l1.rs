//! Stochastic gradient descent with an L1 penalty (Tsuruoka, Tsujii & Ananiadou 2009), one sentence an update, and the
//! heuristic line search for its rate (Zhou et al. 2011, Algorithm 1).
//!
//! Symbols as in the papers: eta the learning rate, u the penalty that any weight could have received so far (Eq. 3), q the
//! penalty that a weight has received (Eq. 4), z a weight before its penalty. An L2 penalty is applied lazily: w = scale * v,
//! so that shrinking every weight is one multiplication. v, q and u are then all in units of w / scale.
//!
//! `Pass` and the update are here, what the penalty does to a weight in `penalty`, the choice of a rate in `line_search`.
//!
//! An update costs what the features of the sentence cost, but for `Naive` and `Clipping`, which by definition touch all.

mod line_search;
mod penalty;

pub use line_search::LineSearch;
pub use penalty::Penalty;

use super::samples::{Sample, samples};
use super::weights::Weights;
use crate::error::Result;
use crate::inference::{Lattice, PairCounts, Transitions};
use crate::objective::chain::{ChainObjective, fill_scores};
use crate::threads::Interrupt;
use penalty::{ClippingLazy, Cumulative, Rule, Unpenalised};
use pulp::{Arch, Simd, WithSimd};

pub struct Settings<'a> {
    pub penalty: Penalty,
    /// C / N and the L2 penalty over N: what one sample bears of the penalty.
    pub l1: f64,
    pub l2: f64,
    /// The learning rate of each update.
    pub rates: &'a [f64],
    /// Sentences in the order of the updates.
    pub order: &'a [usize],
    pub line_search: Option<LineSearch>,
}

/// What a pass leaves besides weights and received penalties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub u: f64,
    /// Evaluations of a sample's log-probability, with or without its gradient.
    pub evaluations: usize,
}

/// One pass: updates w and q in place.
pub fn pass(
    objective: &ChainObjective,
    w: &mut [f64],
    q: &mut [f64],
    u: f64,
    settings: &Settings<'_>,
    interrupt: &Interrupt,
) -> Result<Outcome> {
    let mut pass = Pass::new(objective, w, q, u, settings.penalty);
    Arch::new().dispatch(Run { pass: &mut pass, settings, interrupt });
    interrupt.check()?;
    Ok(pass.finish())
}

struct Pass<'a> {
    objective: &'a ChainObjective,
    penalty: Penalty,
    /// v, and what `penalty` keeps with it.
    weights: Weights<'a>,
    scale: f64,
    u: f64,
    transitions: Transitions,
    lattice: Lattice,
    expected: PairCounts,
    /// Bigram features of the sentence, each once.
    bigrams: Vec<u32>,
    saved: Vec<f64>,
    evaluations: usize,
}

impl<'a> Pass<'a> {
    fn new(objective: &'a ChainObjective, w: &'a mut [f64], q: &'a mut [f64], u: f64, penalty: Penalty) -> Self {
        let transitions = Transitions::new(objective.features.n_labels);
        Pass {
            objective,
            penalty,
            weights: Weights::new(&objective.features, w, q, |w, q| (w, penalty.exchange(w, q))),
            scale: 1.0,
            u,
            lattice: Lattice::default(),
            expected: PairCounts::new(&transitions),
            transitions,
            bigrams: Vec::new(),
            saved: Vec::new(),
            evaluations: 0,
        }
    }

    fn finish(mut self) -> Outcome {
        let (u, penalty, scale) = (self.u, self.penalty, self.scale);
        if penalty == Penalty::ClippingLazy {
            self.weights.everywhere(|v, kept| ClippingLazy { u }.penalise(v, kept));
        }
        self.weights.store(|v, kept| (scale * v, scale * penalty.exchange(v, kept)));
        Outcome { u: u * scale, evaluations: self.evaluations }
    }

    /// Scores of the sample at the current weights, then the forward recursion; returns -log p(y|x).
    #[inline(always)]
    fn evaluate<S: Simd>(&mut self, simd: S, sample: Sample<'_>) -> f64 {
        let features = &self.objective.features;
        let pairs = &self.weights.pairs;
        self.transitions.update(simd, &pairs.values, pairs.stride(), self.scale);
        let lattice = &mut self.lattice;
        if features.n_bigrams() > 0 {
            lattice.prepare(&self.transitions);
        }
        let tokens = sample.tokens();
        lattice.begin(tokens.len(), &self.transitions);
        let Weights { rows, cells, .. } = &self.weights;
        let first = self.weights.first_sparse();
        let own = &cells[sample.block.own_range.start - first..];
        fill_scores(simd, sample.block, tokens, (&rows.values, rows.stride()), (cells, first), own, lattice);
        if features.n_bigrams() > 0 {
            self.objective.fill_edges(self.weights.w, sample.block.first_token + sample.first_token, lattice);
        }
        if self.scale != 1.0 {
            lattice.scores.iter_mut().for_each(|score| *score *= self.scale);
            lattice.edges.iter_mut().for_each(|edge| edge.score *= self.scale);
        }
        let score = lattice.score(&self.transitions, sample.gold.iter().copied());
        self.evaluations += 1;
        lattice.forward(simd, &self.transitions) - score
    }

    /// After `evaluate`: the sample's gradient of log p(y|x), times its weight, in marginals, edges and pair counts.
    #[inline(always)]
    fn gradient<S: Simd>(&mut self, simd: S, sample: Sample<'_>) {
        self.expected.clear();
        self.lattice.backward(simd, &self.transitions, sample.weight, &mut self.expected);
        let gold = sample.gold;
        let width = self.lattice.width();
        for (marginals, &label) in self.lattice.marginals.chunks_exact_mut(width).zip(gold) {
            marginals.iter_mut().for_each(|p| *p = -*p);
            marginals[label as usize] += sample.weight;
        }
        let counts = self.expected.direct.iter_mut().zip(&*self.expected.outer).zip(&*self.transitions.exp);
        for ((direct, &outer), &exp) in counts {
            // exp may be infinite, but then outer is 0.
            let outer = if outer == 0.0 { 0.0 } else { outer * exp };
            *direct = -(*direct + outer);
        }
        for pair in gold.windows(2) {
            self.expected.direct[pair[0] as usize * width + pair[1] as usize] += sample.weight;
        }
        for token in 1..self.lattice.tokens {
            let range = self.lattice.edges_into(token);
            for edge in &mut self.lattice.edges[range] {
                let is_gold = (edge.from, edge.to) == (gold[token - 1], gold[token]);
                edge.marginal = if is_gold { sample.weight } else { 0.0 } - edge.marginal;
            }
        }
    }

    /// UPDATEWEIGHTS (Figure 2): a step of length eta along the sample's gradient, and the penalty.
    #[inline(always)]
    fn update<S: Simd>(&mut self, simd: S, sample: Sample<'_>, settings: &Settings<'_>, eta: f64) {
        // Shrinking by 1 / (1 + eta l2 / N) is the proximal step: for small rates the same as 1 - eta l2 / N.
        self.scale /= 1.0 + eta * settings.l2;
        let (step, penalty) = (eta / self.scale, self.penalty);
        let c = step * settings.l1;
        if penalty == Penalty::Naive && c > 0.0 {
            self.weights.everywhere(|v, _| *v -= if *v == 0.0 { 0.0 } else { c.copysign(*v) });
        }
        self.u += c;
        let u = self.u;
        match penalty {
            Penalty::Cumulative => self.step(simd, sample, step, Cumulative { u }),
            Penalty::ClippingLazy => self.step(simd, sample, step, ClippingLazy { u }),
            Penalty::Naive | Penalty::Clipping => self.step(simd, sample, step, Unpenalised),
        }
        if penalty == Penalty::Clipping && c > 0.0 {
            // NaN is not small: it has to be seen.
            self.weights.everywhere(|v, _| *v = if v.abs() <= c { 0.0 } else { *v - c.copysign(*v) });
        }
    }

    /// A step along the sample's gradient.
    #[inline(always)]
    fn step<S: Simd>(&mut self, simd: S, sample: Sample<'_>, step: f64, rule: impl Rule) {
        let weights = &mut self.weights;
        let (width, stride) = (weights.rows.width, weights.rows.stride());
        if sample.tokens().len() > 1 {
            for (row, gradient) in
                weights.pairs.values.chunks_exact_mut(stride).zip(self.expected.direct.chunks_exact(width))
            {
                step_rows(simd, row, gradient, [(0, step, true)].into_iter(), rule);
            }
        }
        let scalar = pulp::Scalar::new();
        let rows = &sample.block.rows;
        let sparse = weights.sparse(sample);
        for (token, gradient) in sample.tokens().zip(self.lattice.marginals.chunks_exact(width)) {
            let range = rows.range(token);
            let steps = range.clone().zip(rows.ids[range.clone()].iter().zip(&sample.marks.rows[range]));
            let steps = steps.map(|(at, (&id, &last))| (id as usize, step * rows.value(at), last));
            step_rows(simd, &mut weights.rows.values, gradient, steps, rule);
            for (entries, marks, start, base) in sparse {
                let range = entries.range(token);
                let pairs = entries.ids[range.clone()].iter().zip(&entries.labels[range.clone()]);
                for (at, ((&id, &label), &last)) in range.clone().zip(pairs.zip(&marks[range])) {
                    let [v, kept] = &mut weights.cells[start + id as usize - base];
                    let change = step * entries.value(at) * gradient[usize::from(label)];
                    rule.step(scalar, v, kept, change, last);
                }
            }
        }
        for edge in &self.lattice.edges {
            let (v, kept) = weights.bigram(edge.feature);
            rule.step(scalar, v, kept, step * edge.marginal, false);
        }
        for &feature in &self.bigrams {
            let (v, kept) = weights.bigram(feature);
            rule.penalise(v, kept);
        }
    }
}

/// Steps on some rows of a matrix, all along the same gradient: `steps` gives the row, the step and whether it is the last.
#[inline(always)]
fn step_rows<S: Simd>(
    simd: S,
    matrix: &mut [f64],
    gradient: &[f64],
    steps: impl Iterator<Item = (usize, f64, bool)> + Clone,
    rule: impl Rule,
) {
    let (matrix, _) = S::as_mut_simd_f64s(matrix);
    let (gradient, _) = S::as_simd_f64s(gradient);
    let mut at = 0;
    while at < gradient.len() {
        match gradient.len() - at {
            1 => step_tile::<S, 1>(simd, matrix, gradient, at, steps.clone(), rule),
            2 => step_tile::<S, 2>(simd, matrix, gradient, at, steps.clone(), rule),
            3 => step_tile::<S, 3>(simd, matrix, gradient, at, steps.clone(), rule),
            _ => step_tile::<S, 4>(simd, matrix, gradient, at, steps.clone(), rule),
        }
        at += 4;
    }
}

/// N vectors of columns.
#[inline(always)]
fn step_tile<S: Simd, const N: usize>(
    simd: S,
    matrix: &mut [S::f64s],
    gradient: &[S::f64s],
    at: usize,
    steps: impl Iterator<Item = (usize, f64, bool)>,
    rule: impl Rule,
) {
    let width = gradient.len();
    let mut columns = [simd.splat_f64s(0.0); N];
    columns.copy_from_slice(&gradient[at..at + N]);
    for (row, step, last) in steps {
        let (v, kept) = matrix[row * 2 * width..][..2 * width].split_at_mut(width);
        let (v, kept) = (&mut v[at..at + N], &mut kept[at..at + N]);
        let step = simd.splat_f64s(step);
        for n in 0..N {
            rule.step(simd, &mut v[n], &mut kept[n], simd.mul_f64s(step, columns[n]), last);
        }
    }
}

impl Pass<'_> {
    /// The bigram features of the sample, each once.
    fn collect_bigrams(&mut self, sample: Sample<'_>) {
        let features = &self.objective.features;
        if features.n_bigrams() == 0 {
            return;
        }
        self.bigrams.clear();
        for token in sample.tokens().skip(1) {
            for &attribute in self.objective.corpus.bigrams_of(sample.block.first_token + token) {
                self.bigrams.extend(features.bigram_ranges[attribute as usize].clone());
            }
        }
        self.bigrams.sort_unstable();
        self.bigrams.dedup();
    }

    /// Multiplies the scale into the weights before it leaves the range of a double: O(n_features), and rare.
    fn rescale(&mut self) {
        let scale = self.scale;
        self.weights.everywhere(|v, kept| (*v, *kept) = (*v * scale, *kept * scale));
        self.u *= scale;
        self.scale = 1.0;
    }
}

/// Sentences between two looks at the interrupt flag.
const PERIOD: usize = 64;
const SMALLEST_SCALE: f64 = 1e-100;

struct Run<'a, 'b> {
    pass: &'a mut Pass<'b>,
    settings: &'a Settings<'a>,
    interrupt: &'a Interrupt,
}

impl WithSimd for Run<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Run { pass, settings, interrupt } = self;
        let all = samples(pass.objective);
        let samples: Vec<Sample<'_>> = settings.order.iter().map(|&sentence| all[sentence]).collect();
        for (k, (&sample, &scheduled)) in samples.iter().zip(settings.rates).enumerate() {
            if k % PERIOD == 0 && interrupt.is_set() {
                return;
            }
            if let Some(later) = samples.get(k + 2) {
                later.fetch();
            }
            if let Some(next) = samples.get(k + 1) {
                pass.weights.fetch(next);
            }
            pass.collect_bigrams(sample);
            if sample.tokens().is_empty() {
                pass.lattice.begin(0, &pass.transitions);
                pass.expected.clear();
                pass.update(simd, sample, settings, scheduled);
                continue;
            }
            if pass.penalty == Penalty::ClippingLazy {
                let u = pass.u;
                pass.weights.touched(sample, &pass.bigrams, |v, kept| {
                    v.iter_mut().zip(kept).for_each(|(v, kept)| ClippingLazy { u }.penalise(v, kept));
                });
            }
            let nll = pass.evaluate(simd, sample);
            pass.gradient(simd, sample);
            let eta = match settings.line_search {
                Some(search) => pass.search(simd, sample, settings, search, scheduled, nll),
                None => scheduled,
            };
            pass.update(simd, sample, settings, eta);
            if pass.scale < SMALLEST_SCALE {
                pass.rescale();
            }
        }
    }
}
