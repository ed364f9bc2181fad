//! The kernels of a classifier's objective: from scores to residuals or probabilities, and from residuals to the gradient.
//!
//! The residual of a sample at class y' is weight * (p(y' | x) - [y' = y]), the derivative of its negative log-likelihood with
//! respect to the score of y'.

use crate::numeric::aligned::Aligned;
use crate::numeric::ragged::{Entries, Id, Lists, Value, combine, with_entries};
use crate::numeric::{self, sum};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// The classes and the weights of the samples.
#[derive(Clone, Copy)]
pub struct Classes<'a> {
    /// Sample -> its class.
    pub classes: &'a [u32],
    /// Sample -> its weight; empty when all are 1.
    pub weights: &'a [f64],
    pub n_classes: usize,
}

impl Classes<'_> {
    #[inline(always)]
    pub fn weight(&self, sample: usize) -> f64 {
        self.weights.get(sample).copied().unwrap_or(1.0)
    }
}

/// What the kernels compute from scores.
#[derive(Clone, Copy, PartialEq)]
pub enum Purpose {
    /// weight * (p - [y])
    Residuals,
    /// p
    Probabilities,
}

/// Turns scores into residuals in place; returns the sum of the samples' negative log-likelihoods.
pub struct Scored<'a> {
    pub targets: Classes<'a>,
    /// Number of the first sample.
    pub first: usize,
    /// Scores of consecutive samples, then their residuals; with three classes or more, a padded row for each sample.
    pub out: &'a mut [f64],
    /// Length of a padded row; 1 with two classes.
    pub width: usize,
}

impl WithSimd for Scored<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Scored { targets, first, out, width } = self;
        let mut value = 0.0;
        // In a closure, the kernels might be compiled for another instruction set.
        for (batch, out) in out.chunks_mut(BATCH * width).enumerate() {
            let first = first + batch * BATCH;
            value += match width {
                1 => logistic(simd, targets, first, out, Purpose::Residuals),
                _ => softmax(simd, targets, first, out, width, Purpose::Residuals),
            };
        }
        value
    }
}

/// Samples whose scores become residuals together.
pub const BATCH: usize = 64;

/// Two classes: adds the intercept to scores and turns them into residuals or probabilities in place. Returns the sum of the
/// samples' negative log-likelihoods, and the sum of the residuals.
pub struct Binary<'a> {
    pub targets: Classes<'a>,
    /// What the intercept adds to every score.
    pub intercept: f64,
    pub samples: Range<usize>,
    /// Scores of the samples without the intercept, then residuals or probabilities.
    pub out: &'a mut [f64],
    pub purpose: Purpose,
}

impl WithSimd for Binary<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
        let Binary { targets, intercept, samples, out, purpose } = self;
        let mut sums = vec![0.0; 2];
        for (batch, out) in out.chunks_mut(BATCH).enumerate() {
            out.iter_mut().for_each(|score| *score += intercept);
            sums[0] += logistic(simd, targets, samples.start + batch * BATCH, out, purpose);
            sums[1] += out.iter().sum::<f64>();
        }
        sums
    }
}

/// Samples whose scores become residuals together, with three classes or more.
const AT_ONCE: usize = 8;

/// Three classes or more, sample by sample: computes the scores of the classes and turns them into residuals or probabilities.
/// Returns the sum of the samples' negative log-likelihoods, then the sum of the residuals of each class.
pub struct Multinomial<'a> {
    pub targets: Classes<'a>,
    /// The scores become residuals or probabilities.
    pub scores: Scores<'a>,
    pub purpose: Purpose,
}

impl WithSimd for Multinomial<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
        with_entries!(self.scores.rows, all => self.run(simd, all))
    }
}

impl Multinomial<'_> {
    /// The kernel for one type of ids and one of values.
    #[inline(always)]
    fn run<S: Simd, I: Id, V: Value>(self, simd: S, all: Entries<'_, I, V>) -> Vec<f64> {
        let Multinomial { targets, scores: Scores { rows, columns, intercept, samples, out, width }, purpose } = self;
        let mut sums = vec![0.0; 1 + targets.n_classes];
        for (first, out) in samples.step_by(AT_ONCE).zip(out.chunks_mut(AT_ONCE * width)) {
            scores(simd, (rows, all), columns, intercept, first, out, width);
            sums[0] += softmax(simd, targets, first, out, width, purpose);
            for row in out.chunks_exact(width) {
                sums[1..].iter_mut().zip(row).for_each(|(sum, residual)| *sum += residual);
            }
        }
        sums
    }
}

/// Three classes or more: computes the scores of some samples.
pub struct Scores<'a> {
    pub rows: &'a Lists,
    /// Weights, a padded row of classes for each column.
    pub columns: &'a [f64],
    /// What the intercept adds to the score of each class.
    pub intercept: &'a [f64],
    pub samples: Range<usize>,
    /// Becomes a padded row of classes for each sample.
    pub out: &'a mut [f64],
    /// Length of a padded row.
    pub width: usize,
}

impl WithSimd for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Scores { rows, columns, intercept, samples, out, width } = self;
        with_entries!(rows, all => scores(simd, (rows, all), columns, intercept, samples.start, out, width));
    }
}

/// Computes the scores of consecutive samples.
#[inline(always)]
fn scores<S: Simd, I: Id, V: Value>(
    simd: S,
    (rows, all): (&Lists, Entries<'_, I, V>),
    columns: &[f64],
    intercept: &[f64],
    first: usize,
    out: &mut [f64],
    width: usize,
) {
    for (at, out) in out.chunks_exact_mut(width).enumerate() {
        let (ids, values) = rows.list(first + at, all);
        out.fill(0.0);
        out[..intercept.len()].copy_from_slice(intercept);
        combine(simd, ids, values, columns, out);
    }
}

/// The least exponent: 1 + exp(-700) is 1.
const LEAST: f64 = -700.0;

/// Turns a batch of scores z into residuals weight * (p - y) or into p, where p = 1 / (1 + exp(-z)). Returns the sum of the
/// samples' negative log-likelihoods.
///
/// Let m = -z if y = 1 and m = z if y = 0. The negative log-likelihood is log(1 + exp(m)), and the residual is
/// -1 / (1 + exp(-m)) or 1 / (1 + exp(-m)); both have full relative precision for every m.
#[inline(always)]
pub fn logistic<S: Simd>(simd: S, targets: Classes<'_>, first: usize, out: &mut [f64], purpose: Purpose) -> f64 {
    let n = out.len();
    let (mut margins, mut exps, mut logs) = ([0.0; BATCH], [0.0; BATCH], [0.0; BATCH]);
    let classes = &targets.classes[first..first + n];
    for i in 0..n {
        margins[i] = if classes[i] == 1 { -out[i] } else { out[i] };
        exps[i] = (-margins[i].abs()).max(LEAST);
    }
    numeric::exp_in_place(simd, &mut exps[..n]);
    numeric::ln_one_plus(simd, &exps[..n], &mut logs[..n]);
    let mut value = 0.0;
    for i in 0..n {
        let wrong = if margins[i] >= 0.0 { 1.0 } else { exps[i] } / (1.0 + exps[i]);
        let sign = if classes[i] == 1 { -1.0 } else { 1.0 };
        let weight = targets.weight(first + i);
        value += weight * (margins[i].max(0.0) + logs[i]);
        out[i] = match purpose {
            Purpose::Residuals => weight * sign * wrong,
            Purpose::Probabilities if classes[i] == 1 => 1.0 - wrong,
            Purpose::Probabilities => wrong,
        };
    }
    value
}

/// Turns the scores of at most `BATCH` consecutive samples, a padded row of classes for each, into residuals weight * (p - [y]) or
/// into p. Returns the sum of the samples' negative log-likelihoods.
#[inline(always)]
pub fn softmax<S: Simd>(
    simd: S,
    targets: Classes<'_>,
    first: usize,
    out: &mut [f64],
    width: usize,
    purpose: Purpose,
) -> f64 {
    // Class of the largest score, and by how much the score of the sample's class is smaller.
    let (mut best, mut behind) = ([0; BATCH], [0.0; BATCH]);
    for (at, row) in out.chunks_exact_mut(width).enumerate() {
        row[targets.n_classes..].fill(f64::NEG_INFINITY);
        let most = largest(simd, row);
        best[at] = row.iter().position(|&score| score == most).unwrap_or(0);
        behind[at] = most - row[targets.classes[first + at] as usize];
        let (most, least) = (simd.splat_f64s(most), simd.splat_f64s(LEAST));
        for scores in S::as_mut_simd_f64s(row).0 {
            *scores = simd.max_f64s(simd.sub_f64s(*scores, most), least);
        }
    }
    numeric::exp_in_place(simd, out);
    let mut value = 0.0;
    for (at, exps) in out.chunks_exact_mut(width).enumerate() {
        exps[targets.n_classes..].fill(0.0);
        // The sum leaves out the largest term, which is 1, so that it keeps its relative precision if all others are small.
        exps[best[at]] = 0.0;
        let others = sum(simd, exps);
        exps[best[at]] = 1.0;
        let weight = targets.weight(first + at);
        value += weight * (behind[at] + others.ln_1p());
        let factor = simd.splat_f64s(if purpose == Purpose::Residuals { weight } else { 1.0 } / (1.0 + others));
        for exps in S::as_mut_simd_f64s(exps).0 {
            *exps = simd.mul_f64s(*exps, factor);
        }
        if purpose == Purpose::Residuals {
            let target = targets.classes[first + at] as usize;
            exps[target] = 0.0;
            exps[target] = -sum(simd, exps);
        }
    }
    value
}

/// The largest number of a padded row.
#[inline(always)]
fn largest<S: Simd>(simd: S, row: &[f64]) -> f64 {
    let mut most = simd.splat_f64s(f64::NEG_INFINITY);
    for &scores in S::as_simd_f64s(row).0 {
        most = simd.max_f64s(most, scores);
    }
    simd.reduce_max_f64s(most)
}

/// Three classes or more: the gradient at the weights of some columns, the sum of value * residuals over each column.
pub struct ColumnSums<'a, C> {
    /// All columns of the matrix.
    pub lists: &'a Lists,
    /// A padded row of classes for each sample.
    pub residuals: &'a [f64],
    pub columns: C,
    /// Becomes the gradient, a row of classes for each of the columns.
    pub out: &'a mut [f64],
    pub n_classes: usize,
    /// Length of a padded row.
    pub width: usize,
}

impl<C: Iterator<Item = usize>> WithSimd for ColumnSums<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_entries!(self.lists, all => self.run(simd, all));
    }
}

impl<C: Iterator<Item = usize>> ColumnSums<'_, C> {
    /// The kernel for one type of ids and one of values.
    #[inline(always)]
    fn run<S: Simd, I: Id, V: Value>(self, simd: S, all: Entries<'_, I, V>) {
        let ColumnSums { lists, residuals, columns, out, n_classes, width } = self;
        let mut sums = Aligned::new(width, 0.0);
        for (column, out) in columns.zip(out.chunks_exact_mut(n_classes)) {
            let (ids, values) = lists.list(column, all);
            sums.fill(0.0);
            combine(simd, ids, values, residuals, &mut sums);
            out.copy_from_slice(&sums[..out.len()]);
        }
    }
}
