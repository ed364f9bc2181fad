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

use super::marks::Marks;
use crate::aligned::Aligned;
use crate::error::Result;
use crate::inference::{Lattice, PairCounts, Transitions};
use crate::numeric;
use crate::objective::chain::{ChainObjective, fill_scores};
use crate::objective::layout::{Block, Entries};
use crate::threads::Interrupt;
use penalty::{ClippingLazy, Cumulative, Rule, Unpenalised};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;
use std::slice;

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
    marks: &'a [Marks],
    /// Block of each sentence's place: sentences before `block_ends[b]` are in blocks up to b.
    block_ends: Vec<usize>,
    penalty: Penalty,
    w: &'a mut [f64],
    /// q of Eq. 4 before and after the pass; during it what `penalty` keeps with each weight.
    kept: &'a mut [f64],
    /// v of the sparse state features and what is kept with it, side by side: an update has to fetch both from far away.
    cells: Vec<[f64; 2]>,
    /// Where `cells` starts among all features.
    first_cell: usize,
    scale: f64,
    u: f64,
    /// The dense rows, as in `layout`.
    rows: Matrix,
    /// Transitions, by the label come from.
    pairs: Matrix,
    transitions: Transitions,
    lattice: Lattice,
    expected: PairCounts,
    /// Bigram features of the sentence, each once.
    bigrams: Vec<u32>,
    saved: Vec<f64>,
    evaluations: usize,
}

/// Rows of labels, padded: those of v, each followed by what is kept with it, which is NaN where there is no feature.
struct Matrix {
    width: usize,
    values: Aligned,
}

impl Matrix {
    fn new(rows: usize, width: usize) -> Matrix {
        let mut matrix = Matrix { width, values: Aligned::new(2 * rows * width, 0.0) };
        matrix.rows().for_each(|(_, kept)| kept.fill(f64::NAN));
        matrix
    }

    /// From one row to the next.
    fn stride(&self) -> usize {
        2 * self.width
    }

    #[inline(always)]
    fn row(&mut self, row: usize) -> (&mut [f64], &mut [f64]) {
        let (stride, width) = (self.stride(), self.width);
        self.values[row * stride..][..stride].split_at_mut(width)
    }

    #[inline(always)]
    fn rows(&mut self) -> impl Iterator<Item = (&mut [f64], &mut [f64])> {
        let (stride, width) = (self.stride(), self.width);
        self.values.chunks_exact_mut(stride).map(move |row| row.split_at_mut(width))
    }

    /// Copies features in or out: `places` gives the row and the label of each of them.
    fn exchange(&mut self, places: impl Iterator<Item = (usize, usize)>, w: &mut [f64], kept: &mut [f64], load: bool) {
        for (((row, label), w), kept) in places.zip(w).zip(kept) {
            let (v_row, kept_row) = self.row(row);
            if load {
                (v_row[label], kept_row[label]) = (*w, *kept);
            } else {
                (*w, *kept) = (v_row[label], kept_row[label]);
            }
        }
    }
}

/// A sentence with what belongs to its block.
#[derive(Clone, Copy)]
struct Sample<'a> {
    block: &'a Block,
    marks: &'a Marks,
    first_token: usize,
    end_token: usize,
    weight: f64,
    /// Its part of the block's rows, shared and own entries.
    parts: [(usize, usize); 3],
}

impl<'a> Sample<'a> {
    fn tokens(&self) -> Range<usize> {
        self.first_token..self.end_token
    }

    fn gold(&self, objective: &'a ChainObjective) -> &'a [u32] {
        &objective.corpus.gold[self.block.first_token + self.first_token..][..self.end_token - self.first_token]
    }
}

impl<'a> Pass<'a> {
    fn new(objective: &'a ChainObjective, w: &'a mut [f64], kept: &'a mut [f64], u: f64, penalty: Penalty) -> Self {
        let features = &objective.features;
        let first_cell = features.first_state() + features.state_range(0..features.n_dense).end;
        let transitions = Transitions::new(features.n_labels);
        let width = transitions.width;
        let (leading, sparse) = kept.split_at_mut(first_cell);
        leading.iter_mut().zip(&*w).for_each(|(kept, &w)| *kept = penalty.exchange(w, *kept));
        let mut pass = Pass {
            objective,
            marks: objective.marks(),
            block_ends: objective.blocks.iter().map(|block| block.first_sentence + block.sentence_ends.len()).collect(),
            cells: w[first_cell..].iter().zip(sparse).map(|(&w, &mut q)| [w, penalty.exchange(w, q)]).collect(),
            first_cell,
            penalty,
            w,
            kept,
            scale: 1.0,
            u,
            rows: Matrix::new(features.n_dense, width),
            pairs: Matrix::new(features.n_labels, width),
            lattice: Lattice::default(),
            expected: PairCounts::new(&transitions),
            transitions,
            bigrams: Vec::new(),
            saved: Vec::new(),
            evaluations: 0,
        };
        pass.exchange(true);
        pass
    }

    /// Copies the weights of transitions and dense rows from w and q to the matrices, or back.
    fn exchange(&mut self, load: bool) {
        let features = &self.objective.features;
        let pairs = 0..features.transitions.len();
        let places = features.transitions.iter().map(|&(from, to)| (usize::from(from), usize::from(to)));
        self.pairs.exchange(places, &mut self.w[pairs.clone()], &mut self.kept[pairs], load);
        let dense = features.state_range(0..features.n_dense);
        let states = features.first_state()..features.first_state() + dense.end;
        let mut start = 0;
        let places = features.state_attributes[..features.n_dense].iter().enumerate().flat_map(|(row, &(_, end))| {
            let labels = &features.state_labels[start..end as usize];
            start = end as usize;
            labels.iter().map(move |&label| (row, usize::from(label)))
        });
        self.rows.exchange(places, &mut self.w[states.clone()], &mut self.kept[states], load);
    }

    fn finish(mut self) -> Outcome {
        let (u, penalty, scale) = (self.u, self.penalty, self.scale);
        if penalty == Penalty::ClippingLazy {
            self.everywhere(|v, kept| ClippingLazy { u }.penalise(v, kept));
        }
        self.exchange(false);
        let outward = |v: f64, kept: f64| (scale * v, scale * penalty.exchange(v, kept));
        let (leading, sparse) = self.w.split_at_mut(self.first_cell);
        let (leading_kept, sparse_kept) = self.kept.split_at_mut(self.first_cell);
        leading.iter_mut().zip(leading_kept).for_each(|(w, q)| (*w, *q) = outward(*w, *q));
        for ((w, q), &[v, kept]) in sparse.iter_mut().zip(sparse_kept).zip(&self.cells) {
            (*w, *q) = outward(v, kept);
        }
        Outcome { u: self.u * self.scale, evaluations: self.evaluations }
    }

    /// Calls `work` with every weight and what is kept with it: O(n_features).
    #[inline(always)]
    fn everywhere(&mut self, mut work: impl FnMut(&mut f64, &mut f64)) {
        for matrix in [&mut self.pairs, &mut self.rows] {
            matrix.rows().for_each(|(v, kept)| v.iter_mut().zip(kept).for_each(|(v, kept)| work(v, kept)));
        }
        let bigrams = self.objective.features.transitions.len()..self.objective.features.first_state();
        self.w[bigrams.clone()].iter_mut().zip(&mut self.kept[bigrams]).for_each(|(v, kept)| work(v, kept));
        self.cells.iter_mut().for_each(|[v, kept]| work(v, kept));
    }

    fn sample(&self, sentence: usize) -> Sample<'a> {
        let at = self.block_ends.partition_point(|&end| end <= sentence);
        let block = &self.objective.blocks[at];
        let within = sentence - block.first_sentence;
        let first_token = if within == 0 { 0 } else { block.sentence_ends[within - 1] as usize };
        let end_token = block.sentence_ends[within] as usize;
        let part = |entries: &Entries| match end_token {
            end if end > first_token => (entries.range(first_token).start, entries.range(end - 1).end),
            _ => (0, 0),
        };
        Sample {
            block,
            marks: &self.marks[at],
            first_token,
            end_token,
            weight: self.objective.corpus.weight(sentence),
            parts: [part(&block.rows), part(&block.shared), part(&block.own)],
        }
    }

    /// Calls `work` once with every weight that the sample uses, transitions included.
    #[inline(always)]
    fn touched(&mut self, sample: Sample<'_>, mut work: impl FnMut(&mut [f64], &mut [f64])) {
        if sample.tokens().len() > 1 {
            self.pairs.rows().for_each(|(v, kept)| work(v, kept));
        }
        for token in sample.tokens() {
            for at in sample.block.rows.range(token) {
                if sample.marks.rows[at] {
                    let (v, kept) = self.rows.row(sample.block.rows.ids[at] as usize);
                    work(v, kept);
                }
            }
            for (entries, marks, start, base) in self.sparse(sample) {
                for at in entries.range(token) {
                    if marks[at] {
                        let [v, kept] = &mut self.cells[start + entries.ids[at] as usize - base];
                        work(slice::from_mut(v), slice::from_mut(kept));
                    }
                }
            }
        }
        let base = self.objective.features.transitions.len();
        for &feature in &self.bigrams {
            let id = base + feature as usize;
            work(&mut self.w[id..=id], &mut self.kept[id..=id]);
        }
    }

    /// The sparse entries of a sample's block, their marks, and what to add to and take off an id to find its cell.
    #[inline(always)]
    fn sparse<'b>(&self, sample: Sample<'b>) -> [(&'b Entries, &'b [bool], usize, usize); 2] {
        let dense = self.first_cell - self.objective.features.first_state();
        let own = sample.block.own_range.start - dense;
        [(&sample.block.shared, &sample.marks.shared, 0, dense), (&sample.block.own, &sample.marks.own, own, 0)]
    }

    /// Asks for what a sample soon to come will need: first its entries, later the weights that these name.
    #[inline(always)]
    fn fetch(&self, sample: &Sample<'_>, weights: bool) {
        for ((entries, marks, start, base), (from, to)) in
            self.sparse(*sample).into_iter().zip(sample.parts[1..].iter())
        {
            if weights {
                for &id in &entries.ids[*from..*to] {
                    numeric::prefetch(&self.cells, start + id as usize - base);
                }
                continue;
            }
            numeric::prefetch_range(&entries.ids, *from..*to);
            numeric::prefetch_range(&entries.labels, *from..*to);
            numeric::prefetch_range(marks, *from..*to);
            numeric::prefetch_range(&entries.ends, sample.tokens());
        }
        if !weights {
            let (from, to) = sample.parts[0];
            numeric::prefetch_range(&sample.block.rows.ids, from..to);
            numeric::prefetch_range(&sample.marks.rows, from..to);
            numeric::prefetch_range(&sample.block.rows.ends, sample.tokens());
            numeric::prefetch_range(sample.gold(self.objective), 0..sample.tokens().len());
        }
    }

    /// Scores of the sample at the current weights, then the forward recursion; returns -log p(y|x).
    #[inline(always)]
    fn evaluate<S: Simd>(&mut self, simd: S, sample: Sample<'_>) -> f64 {
        let features = &self.objective.features;
        self.transitions.update(simd, &self.pairs.values, self.pairs.stride(), self.scale);
        let lattice = &mut self.lattice;
        if features.n_bigrams() > 0 {
            lattice.prepare(&self.transitions);
        }
        let tokens = sample.tokens();
        lattice.begin(tokens.len(), &self.transitions);
        let dense = self.first_cell - features.first_state();
        let own = &self.cells[sample.block.own_range.start - dense..];
        fill_scores(
            simd,
            sample.block,
            tokens,
            (&self.rows.values, self.rows.stride()),
            (&self.cells, dense),
            own,
            lattice,
        );
        if features.n_bigrams() > 0 {
            self.objective.fill_edges(self.w, sample.block.first_token + sample.first_token, lattice);
        }
        if self.scale != 1.0 {
            lattice.scores.iter_mut().for_each(|score| *score *= self.scale);
            lattice.edges.iter_mut().for_each(|edge| edge.score *= self.scale);
        }
        let score = lattice.score(&self.transitions, sample.gold(self.objective).iter().copied());
        self.evaluations += 1;
        lattice.forward(simd, &self.transitions) - score
    }

    /// After `evaluate`: the sample's gradient of log p(y|x), times its weight, in marginals, edges and pair counts.
    #[inline(always)]
    fn gradient<S: Simd>(&mut self, simd: S, sample: Sample<'_>) {
        self.expected.clear();
        self.lattice.backward(simd, &self.transitions, sample.weight, &mut self.expected);
        let gold = sample.gold(self.objective);
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
            self.everywhere(|v, _| *v -= if *v == 0.0 { 0.0 } else { c.copysign(*v) });
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
            self.everywhere(|v, _| *v = if v.abs() <= c { 0.0 } else { *v - c.copysign(*v) });
        }
    }

    /// A step along the sample's gradient.
    #[inline(always)]
    fn step<S: Simd>(&mut self, simd: S, sample: Sample<'_>, step: f64, rule: impl Rule) {
        let (width, stride) = (self.rows.width, self.rows.stride());
        if sample.tokens().len() > 1 {
            for (row, gradient) in
                self.pairs.values.chunks_exact_mut(stride).zip(self.expected.direct.chunks_exact(width))
            {
                step_rows(simd, row, gradient, [(0, step, true)].into_iter(), rule);
            }
        }
        let scalar = pulp::Scalar::new();
        let rows = &sample.block.rows;
        let sparse = self.sparse(sample);
        for (token, gradient) in sample.tokens().zip(self.lattice.marginals.chunks_exact(width)) {
            let range = rows.range(token);
            let steps = range.clone().zip(rows.ids[range.clone()].iter().zip(&sample.marks.rows[range]));
            let steps = steps.map(|(at, (&id, &last))| (id as usize, step * rows.value(at), last));
            step_rows(simd, &mut self.rows.values, gradient, steps, rule);
            for (entries, marks, start, base) in sparse {
                let range = entries.range(token);
                let pairs = entries.ids[range.clone()].iter().zip(&entries.labels[range.clone()]);
                for (at, ((&id, &label), &last)) in range.clone().zip(pairs.zip(&marks[range])) {
                    let [v, kept] = &mut self.cells[start + id as usize - base];
                    let change = step * entries.value(at) * gradient[usize::from(label)];
                    rule.step(scalar, v, kept, change, last);
                }
            }
        }
        let base = self.objective.features.transitions.len();
        for edge in &self.lattice.edges {
            let id = base + edge.feature as usize;
            rule.step(scalar, &mut self.w[id], &mut self.kept[id], step * edge.marginal, false);
        }
        for &feature in &self.bigrams {
            let id = base + feature as usize;
            rule.penalise(&mut self.w[id], &mut self.kept[id]);
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
        self.everywhere(|v, kept| (*v, *kept) = (*v * scale, *kept * scale));
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
        let samples: Vec<Sample<'_>> = settings.order.iter().map(|&sentence| pass.sample(sentence)).collect();
        for (k, (&sample, &scheduled)) in samples.iter().zip(settings.rates).enumerate() {
            if k % PERIOD == 0 && interrupt.is_set() {
                return;
            }
            for (ahead, weights) in [(1, true), (2, false)] {
                if let Some(next) = samples.get(k + ahead) {
                    pass.fetch(next, weights);
                }
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
                pass.touched(sample, |v, kept| {
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
