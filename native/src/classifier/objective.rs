//! Negative log-likelihood of a maximum-entropy classifier and its gradient (Berger, Della Pietra & Della Pietra 1996), over a
//! sparse matrix.
//!
//! With two classes one weight a column, p(y = 1 | x) = 1 / (1 + exp(-x . w)); with more, a weight for each class,
//! p(y | x) proportional to exp(x . w_y). Weights of a column stand side by side: w is n_columns x n_outputs. An intercept is
//! one more column, the last, which is 1 in every sample.
//!
//! Rows give scores, scores give residuals p - [y], columns of residuals give the gradient. Each is written in one place by one
//! thread, so that results are bitwise the same on any number of threads.

use crate::classifier::matrix::Design;
use crate::classifier::sliced::Sliced;
use crate::error::{Error, Result};
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::numeric::ragged::{Entries, Id, Lists, NOWHERE, Value, combine, with_entries};
use crate::threads::{self, Interrupt, locked, parts};
use pulp::{Arch, Simd, WithSimd};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex};

pub struct Classifier {
    pub design: Arc<Design>,
    /// Class of each sample.
    pub targets: Vec<u32>,
    /// Weight of each sample; empty when all are 1.
    pub weights: Vec<f64>,
    pub n_classes: usize,
    /// Value in every sample of one more column, behind those of the design.
    pub intercept: Option<f64>,
    pub pool: Arc<ThreadPool>,
    scratch: Mutex<Scratch>,
}

/// Buffers kept from one evaluation to the next.
#[derive(Default)]
struct Scratch {
    /// Weights, a row of outputs for each column, padded.
    rows: Aligned,
    /// Scores, then residuals, a row of outputs for each sample, padded.
    residuals: Aligned,
}

impl Classifier {
    pub fn new(
        design: Arc<Design>,
        targets: Vec<u32>,
        weights: Vec<f64>,
        n_classes: usize,
        intercept: Option<f64>,
        n_threads: usize,
    ) -> Result<Self> {
        let n = design.n_samples();
        if targets.len() != n || ![0, n].contains(&weights.len()) {
            let message = format!("{n} samples, but {} targets and {} weights", targets.len(), weights.len());
            return Err(Error::Data(message));
        }
        if n == 0 {
            return Err(Error::Data("no samples: there is nothing to train on".into()));
        }
        if n_classes < 2 || targets.iter().any(|&target| target as usize >= n_classes) {
            let message = format!("{n_classes} classes are too few: two or more are needed, and one for each target");
            return Err(Error::Data(message));
        }
        if let Some(at) = weights.iter().position(|weight| !(0.0..f64::INFINITY).contains(weight)) {
            let message = format!("weight {} of sample {at} is not a finite number of at least 0", weights[at]);
            return Err(Error::Data(message));
        }
        if intercept.is_none() && design.n_columns() == 0 {
            return Err(Error::Data("no columns and no intercept: there is nothing to train".into()));
        }
        let (pool, scratch) = (threads::pool(n_threads)?, Mutex::default());
        Ok(Classifier { design, targets, weights, n_classes, intercept, pool, scratch })
    }

    /// Two classes and an intercept, of targets and weights that fit the matrix.
    pub(crate) fn with_pool(design: Arc<Design>, targets: Vec<u32>, weights: Vec<f64>, pool: Arc<ThreadPool>) -> Self {
        Classifier { design, targets, weights, n_classes: 2, intercept: Some(1.0), pool, scratch: Mutex::default() }
    }

    /// The objective on the same pool with other data.
    fn with(&self, design: Arc<Design>, targets: Vec<u32>, weights: Vec<f64>) -> Self {
        let (n_classes, intercept) = (self.n_classes, self.intercept);
        let (pool, scratch) = (Arc::clone(&self.pool), Mutex::default());
        Classifier { design, targets, weights, n_classes, intercept, pool, scratch }
    }

    /// The objective on some of the samples, each of which weighs `factor` times what it does here.
    pub fn batch(&self, samples: &[usize], factor: f64) -> Self {
        let targets = samples.iter().map(|&sample| self.targets[sample]).collect();
        let weights: Vec<f64> = samples.iter().map(|&sample| factor * self.weight(sample)).collect();
        let weights = if weights.iter().all(|&weight| weight == 1.0) { Vec::new() } else { weights };
        self.with(Arc::new(self.design.select(samples)), targets, weights)
    }

    /// One class against all others, on the same samples: shares the matrix.
    pub fn one_against_rest(&self, class: u32) -> Self {
        let targets = self.targets.iter().map(|&target| u32::from(target == class)).collect();
        let mut one = self.with(Arc::clone(&self.design), targets, self.weights.clone());
        one.n_classes = 2;
        one
    }

    /// With two classes: the objective over sums of columns, of which column j goes to map[j] (Mathur & Chakrabarti 2010, Eq. 15).
    /// The intercept remains what it is.
    pub fn aggregate(&self, map: &[u32], n_columns: usize) -> Self {
        let design = self.pool.install(|| self.design.merge(map, n_columns));
        self.with(Arc::new(design), self.targets.clone(), self.weights.clone())
    }

    /// With two classes: the objective over some of the columns, whose numbers ascend. The intercept remains.
    pub fn restrict(&self, columns: &[usize]) -> Self {
        let mut map = vec![NOWHERE; self.design.n_columns()];
        columns.iter().enumerate().for_each(|(to, &column)| map[column] = to as u32);
        self.aggregate(&map, columns.len())
    }

    /// Weights of a column.
    pub fn n_outputs(&self) -> usize {
        if self.n_classes == 2 { 1 } else { self.n_classes }
    }

    pub fn n_columns(&self) -> usize {
        self.design.n_columns() + usize::from(self.intercept.is_some())
    }

    pub fn n_features(&self) -> usize {
        self.n_columns() * self.n_outputs()
    }

    pub fn n_samples(&self) -> usize {
        self.design.n_samples()
    }

    pub fn n_threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs work on the objective's threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// Gives the intercept's column the norm of the largest other: a scale that solvers get along with.
    pub fn scale_intercept(&mut self) {
        let mut squares = vec![0.0; self.design.n_columns()];
        for sample in 0..self.n_samples() {
            let weight = self.weight(sample);
            self.design.rows.entries(sample).for_each(|(column, x)| squares[column as usize] += weight * x * x);
        }
        let largest = squares.into_iter().fold(0.0, f64::max);
        let total: f64 = (0..self.n_samples()).map(|sample| self.weight(sample)).sum();
        let value = (largest / total).sqrt();
        self.intercept = Some(if value.is_finite() && value > 0.0 { value } else { 1.0 });
    }

    #[inline(always)]
    pub fn weight(&self, sample: usize) -> f64 {
        self.weights.get(sample).copied().unwrap_or(1.0)
    }

    /// Whether an evaluation takes a few milliseconds at most.
    pub fn is_quick(&self) -> bool {
        (self.design.rows.n_entries() + self.n_columns() + self.n_samples()) * self.width() < 4_000_000
    }

    /// From one sample's outputs to the next in memory.
    fn width(&self) -> usize {
        if self.n_outputs() == 1 { 1 } else { numeric::padded(self.n_outputs()) }
    }

    /// Writes the gradient at `w` and returns the value. Weights that are not finite give an infinite value.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        assert_eq!((w.len(), gradient.len()), (self.n_features(), self.n_features()));
        if !w.iter().all(|weight| weight.is_finite()) {
            gradient.fill(0.0);
            return Ok(f64::INFINITY);
        }
        let (layout, scratch) = (self.layout(), &mut *locked(&self.scratch));
        let (columns, intercept) = gradient.split_at_mut(self.design.n_columns() * self.n_outputs());
        let sums = self.forward(layout, w, scratch, Link::Residuals, interrupt)?;
        self.backward(layout, &scratch.residuals, columns, interrupt);
        let value = self.intercept.unwrap_or(0.0);
        intercept.iter_mut().zip(&sums[1..]).for_each(|(gradient, sum)| *gradient = value * sum);
        interrupt.check()?;
        Ok(sums[0])
    }

    fn layout(&self) -> Layout<'_> {
        if self.n_outputs() == 1 {
            Layout::Sliced(self.design.sliced(&self.pool))
        } else {
            Layout::Lists([&self.design.rows, self.design.columns()])
        }
    }

    /// Two classes: writes the residuals weight * (p - y) at these scores and returns the NLL.
    pub fn residuals(&self, scores: &[f64], residuals: &mut [f64]) -> f64 {
        residuals.copy_from_slice(scores);
        let pieces = residuals.chunks_mut(SCORES).enumerate().collect();
        let parts = threads::share(&self.pool, pieces, |(piece, out)| {
            Arch::new().dispatch(OfScores { classifier: self, first: piece * SCORES, out })
        });
        parts.iter().sum()
    }

    /// Two classes: writes the gradient that residuals give.
    pub fn gradient(&self, residuals: &[f64], gradient: &mut [f64], interrupt: &Interrupt) {
        let (gradient, intercept) = gradient.split_at_mut(self.design.n_columns());
        intercept.fill(self.intercept.unwrap_or(0.0) * residuals.iter().sum::<f64>());
        let columns = self.design.columns();
        with_entries!(columns, all => {
            threads::share(&self.pool, pieces_of(&columns.pieces, gradient, 1), |(piece, out)| {
                if !interrupt.is_set() {
                    piece.zip(out).for_each(|(column, out)| *out = columns.combine_one(column, all, residuals));
                }
            });
        });
    }

    /// Two classes: the NLL, the scores x . w and the gradient, by rows alone, for methods that keep no other layout.
    pub fn start(&self, w: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let (rows, mut gradient, value) = (&self.design.rows, vec![0.0; w.len()], self.intercept.unwrap_or(0.0));
        let of_intercept = w[self.design.n_columns()..].iter().sum::<f64>() * value;
        let (mut scores, mut residuals) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
        with_entries!(rows, all => {
            threads::share(&self.pool, pieces_of(&rows.pieces, &mut scores, 1), |(piece, out)| {
                let score = |sample| of_intercept + rows.combine_one(sample, all, w);
                piece.zip(out).for_each(|(sample, out)| *out = score(sample));
            });
        });
        let nll = self.residuals(&scores, &mut residuals);
        let (columns, intercept) = gradient.split_at_mut(self.design.n_columns());
        intercept.fill(value * residuals.iter().sum::<f64>());
        with_entries!(rows, all => {
            residuals.iter().enumerate().for_each(|(sample, &residual)| rows.add_to(sample, all, residual, columns));
        });
        (nll, scores, gradient)
    }

    /// p(y | x) of every sample, n_samples x n_outputs; with two classes that of the second.
    pub fn probabilities(&self, w: &[f64], interrupt: &Interrupt) -> Result<Vec<f64>> {
        assert_eq!(w.len(), self.n_features());
        let (layout, scratch) = (self.layout(), &mut *locked(&self.scratch));
        self.forward(layout, w, scratch, Link::Probabilities, interrupt)?;
        let outputs = self.n_outputs();
        Ok(scratch.residuals.chunks_exact(self.width()).flat_map(|row| &row[..outputs]).copied().collect())
    }

    /// Scores, and what `link` makes of them; returns the sum of the values, then those of the residuals by output.
    fn forward(
        &self,
        layout: Layout<'_>,
        w: &[f64],
        scratch: &mut Scratch,
        link: Link,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let (width, outputs) = (self.width(), self.n_outputs());
        scratch.residuals.resize(self.n_samples() * width, 0.0);
        if width > 1 {
            // Rows of weights are padded, so that they are whole vectors.
            scratch.rows.resize(self.n_columns() * width, 0.0);
            let rows = scratch.rows.par_chunks_exact_mut(width).zip(w.par_chunks_exact(outputs));
            self.install(|| rows.with_min_len(1024).for_each(|(row, w)| row[..outputs].copy_from_slice(w)));
        }
        let columns = &(if width > 1 { &*scratch.rows } else { w })[..self.design.n_columns() * width];
        let of_intercept = &w[self.design.n_columns() * outputs..];
        let intercept: Vec<f64> = of_intercept.iter().map(|w| self.intercept.unwrap_or(0.0) * w).collect();
        let intercept = &intercept[..];
        let pieces = pieces_of(layout.pieces(ROWS), &mut scratch.residuals, width);
        let parts = threads::share(&self.pool, pieces, |(samples, out)| match layout {
            _ if interrupt.is_set() => Vec::new(),
            Layout::Sliced([rows, _]) => {
                rows.combine(samples.clone(), columns, out);
                let intercept = intercept.iter().sum();
                Arch::new().dispatch(Binary { classifier: self, intercept, samples, out, link })
            }
            Layout::Lists([rows, _]) => {
                Arch::new().dispatch(Multinomial { classifier: self, rows, columns, intercept, samples, out, link })
            }
        });
        interrupt.check()?;
        let mut sums = vec![0.0; 1 + outputs];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        Ok(sums)
    }

    /// gradient of a column = sum of value * residual over the column.
    fn backward(&self, layout: Layout<'_>, residuals: &[f64], gradient: &mut [f64], interrupt: &Interrupt) {
        let pieces = pieces_of(layout.pieces(COLUMNS), gradient, self.n_outputs());
        pieces.into_par_iter().for_each(|(columns, out)| match layout {
            _ if interrupt.is_set() => {}
            Layout::Sliced([_, lists]) => lists.combine(columns, residuals, out),
            Layout::Lists([_, lists]) => {
                Arch::new().dispatch(Backward { classifier: self, lists, residuals, columns, out });
            }
        });
    }
}

/// Ranges of rows with their parts of a matrix of so many columns.
fn pieces_of<'a>(ranges: &[Range<usize>], out: &'a mut [f64], columns: usize) -> Vec<(Range<usize>, &'a mut [f64])> {
    let places = parts(out, ranges.iter().map(|range| range.len() * columns));
    ranges.iter().cloned().zip(places).collect()
}

/// The matrix as evaluations go over it, by rows and by columns: one output a column wants many lists at a time, many outputs
/// keep the processor busy with one.
#[derive(Clone, Copy)]
enum Layout<'a> {
    Sliced(&'a [Sliced; 2]),
    Lists([&'a Lists; 2]),
}

const ROWS: usize = 0;
const COLUMNS: usize = 1;

impl<'a> Layout<'a> {
    fn pieces(self, side: usize) -> &'a [Range<usize>] {
        match self {
            Layout::Sliced(sides) => &sides[side].pieces,
            Layout::Lists(sides) => &sides[side].pieces,
        }
    }
}

/// What is made of scores.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    /// weight * (p - [y])
    Residuals,
    /// p
    Probabilities,
}

/// Scores that a thread works on at a time.
const SCORES: usize = 4096;

struct OfScores<'a> {
    classifier: &'a Classifier,
    first: usize,
    out: &'a mut [f64],
}

impl WithSimd for OfScores<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let OfScores { classifier, first, out } = self;
        let batches = out.chunks_mut(BATCH).enumerate();
        batches.map(|(batch, out)| logistic(simd, classifier, first + batch * BATCH, out, Link::Residuals)).sum()
    }
}

/// Samples whose scores become residuals together.
const BATCH: usize = 64;

struct Binary<'a> {
    classifier: &'a Classifier,
    intercept: f64,
    samples: Range<usize>,
    out: &'a mut [f64],
    link: Link,
}

impl WithSimd for Binary<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
        let Binary { classifier, intercept, samples, out, link } = self;
        let mut sums = vec![0.0; 2];
        for (batch, out) in out.chunks_mut(BATCH).enumerate() {
            out.iter_mut().for_each(|score| *score += intercept);
            sums[0] += logistic(simd, classifier, samples.start + batch * BATCH, out, link);
            sums[1] += out.iter().sum::<f64>();
        }
        sums
    }
}

struct Multinomial<'a> {
    classifier: &'a Classifier,
    rows: &'a Lists,
    columns: &'a [f64],
    intercept: &'a [f64],
    samples: Range<usize>,
    out: &'a mut [f64],
    link: Link,
}

impl WithSimd for Multinomial<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
        with_entries!(self.rows, all => self.run(simd, all))
    }
}

impl Multinomial<'_> {
    #[inline(always)]
    fn run<S: Simd, I: Id, V: Value>(self, simd: S, all: Entries<'_, I, V>) -> Vec<f64> {
        let Multinomial { classifier, rows, columns, intercept, samples, out, link } = self;
        let mut sums = vec![0.0; 1 + classifier.n_outputs()];
        for (sample, out) in samples.zip(out.chunks_exact_mut(classifier.width())) {
            let (ids, values) = rows.list(sample, all);
            out.fill(0.0);
            out[..intercept.len()].copy_from_slice(intercept);
            combine(simd, ids, values, columns, out);
            sums[0] += softmax(simd, classifier, sample, out, link);
            sums[1..].iter_mut().zip(&*out).for_each(|(sum, residual)| *sum += residual);
        }
        sums
    }
}

/// exp(-700) is nothing beside 1.
const LEAST: f64 = -700.0;

/// Turns a batch of scores z into residuals weight * (p - y), p = 1 / (1 + exp(-z)), or p; returns the sum of the values.
///
/// m is -z where y = 1 and z where y = 0: the value is log(1 + exp(m)), the residual +-1 / (1 + exp(-m)), both to full relative
/// precision whatever m.
#[inline(always)]
fn logistic<S: Simd>(simd: S, classifier: &Classifier, first: usize, out: &mut [f64], link: Link) -> f64 {
    let n = out.len();
    let (mut margins, mut exps, mut logs) = ([0.0; BATCH], [0.0; BATCH], [0.0; BATCH]);
    let targets = &classifier.targets[first..first + n];
    for i in 0..n {
        margins[i] = if targets[i] == 1 { -out[i] } else { out[i] };
        exps[i] = (-margins[i].abs()).max(LEAST);
    }
    numeric::exp_in_place(simd, &mut exps[..n]);
    numeric::ln_one_plus(simd, &exps[..n], &mut logs[..n]);
    let mut value = 0.0;
    for i in 0..n {
        let wrong = if margins[i] >= 0.0 { 1.0 } else { exps[i] } / (1.0 + exps[i]);
        let sign = if targets[i] == 1 { -1.0 } else { 1.0 };
        let weight = classifier.weight(first + i);
        value += weight * (margins[i].max(0.0) + logs[i]);
        out[i] = match link {
            Link::Residuals => weight * sign * wrong,
            Link::Probabilities if targets[i] == 1 => 1.0 - wrong,
            Link::Probabilities => wrong,
        };
    }
    value
}

/// Turns the scores of a sample into residuals weight * (p - [y]), or p; returns the value.
#[inline(always)]
fn softmax<S: Simd>(simd: S, classifier: &Classifier, sample: usize, out: &mut [f64], link: Link) -> f64 {
    let (scores, padding) = out.split_at_mut(classifier.n_classes);
    let target = classifier.targets[sample] as usize;
    let (mut best, mut most) = (0, f64::NEG_INFINITY);
    for (class, &score) in scores.iter().enumerate() {
        if score > most {
            (best, most) = (class, score);
        }
    }
    let behind = most - scores[target];
    scores.iter_mut().for_each(|score| *score = (*score - most).max(LEAST));
    padding.fill(LEAST);
    numeric::exp_in_place(simd, out);
    let (exps, padding) = out.split_at_mut(classifier.n_classes);
    padding.fill(0.0);
    // Without the largest, which is 1, the sum keeps its precision where the others are small.
    exps[best] = 0.0;
    let others: f64 = exps.iter().sum();
    exps[best] = 1.0;
    let weight = classifier.weight(sample);
    let factor = if link == Link::Residuals { weight } else { 1.0 } / (1.0 + others);
    exps.iter_mut().for_each(|p| *p *= factor);
    if link == Link::Residuals {
        let rest: f64 = exps[..target].iter().chain(&exps[target + 1..]).sum();
        exps[target] = -rest;
    }
    weight * (behind + others.ln_1p())
}

struct Backward<'a> {
    classifier: &'a Classifier,
    lists: &'a Lists,
    residuals: &'a [f64],
    columns: Range<usize>,
    out: &'a mut [f64],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_entries!(self.lists, all => self.run(simd, all));
    }
}

impl Backward<'_> {
    #[inline(always)]
    fn run<S: Simd, I: Id, V: Value>(self, simd: S, all: Entries<'_, I, V>) {
        let Backward { classifier, lists, residuals, columns, out } = self;
        let mut sums = Aligned::new(classifier.width(), 0.0);
        for (column, out) in columns.zip(out.chunks_exact_mut(classifier.n_outputs())) {
            let (ids, values) = lists.list(column, all);
            sums.fill(0.0);
            combine(simd, ids, values, residuals, &mut sums);
            out.copy_from_slice(&sums[..out.len()]);
        }
    }
}
