//! Negative log-likelihood of a maximum-entropy classifier and its gradient (Berger, Della Pietra & Della Pietra 1996), over a
//! sparse or a dense matrix.
//!
//! With two classes a column has one weight, and p(y = 1 | x) = 1 / (1 + exp(-x . w)). With more classes a column has a weight
//! for each, and p(y | x) is proportional to exp(x . w_y). The weights of a column stand side by side: w is
//! n_columns x n_outputs. An intercept is one more column, the last, with the same value in every sample.
//!
//! An evaluation goes from rows to scores, from scores to residuals (`residuals`), from residuals and columns to the gradient; over
//! a dense matrix (`dense`) it does all of this block by block of rows. Every number is computed by one thread, or added up in
//! the same order, so that results are bitwise the same on any number of threads.

use crate::classifier::dense::{Pass, Sums, Task};
use crate::classifier::matrix::Design;
use crate::classifier::residuals::{BATCH, Binary, Classes, ColumnSums, Multinomial, Purpose, Scored, Scores};
use crate::classifier::sliced::Sliced;
use crate::classifier::table::Table;
use crate::error::{Error, Result, check_weights};
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::arch;
use crate::numeric::ragged::{Lists, with_entries};
use crate::threads::{self, Interrupt, Pool, locked, parts};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The negative log-likelihood of a classifier on its samples.
pub struct Classifier {
    /// The samples, without the column of the intercept.
    pub design: Arc<Design>,
    /// Sample -> its class.
    pub targets: Vec<u32>,
    /// Sample -> its weight; empty when all are 1.
    pub weights: Vec<f64>,
    pub n_classes: usize,
    /// Value of the intercept's column in every sample; none without an intercept.
    pub intercept: Option<f64>,
    /// The threads that evaluate the objective.
    pub pool: Pool,
    scratch: Mutex<Scratch>,
}

/// Buffers kept from one evaluation to the next.
#[derive(Default)]
struct Scratch {
    /// Weights, a padded row of outputs for each column.
    rows: Aligned,
    /// Scores, then residuals, a padded row of outputs for each sample.
    residuals: Aligned,
}

impl Classifier {
    /// Checks the data and makes the objective, to be evaluated on `n_threads` threads (0: all cores). `scaled` replaces the value
    /// of the intercept by the largest norm of a column.
    pub fn new(
        design: Arc<Design>,
        targets: Vec<u32>,
        weights: Vec<f64>,
        n_classes: usize,
        (intercept, scaled): (Option<f64>, bool),
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
            let message = format!("{n_classes} classes: at least two are needed, and every target must be one of them");
            return Err(Error::Data(message));
        }
        check_weights(&weights, "sample")?;
        if intercept.is_none() && design.n_columns() == 0 {
            return Err(Error::Data("no columns and no intercept: there is nothing to train".into()));
        }
        let (pool, scratch) = (threads::pool(n_threads)?, Mutex::default());
        let mut classifier = Classifier { design, targets, weights, n_classes, intercept, pool, scratch };
        if scaled {
            classifier.scale_intercept();
        }
        Ok(classifier)
    }

    /// The objective of two classes with an intercept, without checks: targets and weights fit the matrix.
    pub(crate) fn with_pool(design: Arc<Design>, targets: Vec<u32>, weights: Vec<f64>, pool: Pool) -> Self {
        Classifier { design, targets, weights, n_classes: 2, intercept: Some(1.0), pool, scratch: Mutex::default() }
    }

    /// The objective with the same classes, intercept and threads on other data.
    pub(super) fn with(&self, design: Arc<Design>, targets: Vec<u32>, weights: Vec<f64>) -> Self {
        let (n_classes, intercept) = (self.n_classes, self.intercept);
        let (pool, scratch) = (self.pool, Mutex::default());
        Classifier { design, targets, weights, n_classes, intercept, pool, scratch }
    }

    /// Number of weights of a column: 1 with two classes, else the number of classes.
    pub fn n_outputs(&self) -> usize {
        if self.n_classes == 2 { 1 } else { self.n_classes }
    }

    /// Number of columns, the intercept included.
    pub fn n_columns(&self) -> usize {
        self.design.n_columns() + usize::from(self.intercept.is_some())
    }

    /// Number of weights of the columns, without those of the intercept.
    pub fn n_penalised(&self) -> usize {
        self.design.n_columns() * self.n_outputs()
    }

    /// Number of weights.
    pub fn n_features(&self) -> usize {
        self.n_columns() * self.n_outputs()
    }

    pub fn n_samples(&self) -> usize {
        self.design.n_samples()
    }

    /// Number of threads that evaluate the objective.
    pub fn n_threads(&self) -> usize {
        self.pool.n_threads()
    }

    /// Runs `work` on the threads that evaluate the objective.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    #[inline(always)]
    pub fn weight(&self, sample: usize) -> f64 {
        self.classes().weight(sample)
    }

    /// Classes and weights of the samples, for the kernels.
    #[inline(always)]
    fn classes(&self) -> Classes<'_> {
        Classes { classes: &self.targets, weights: &self.weights, n_classes: self.n_classes }
    }

    /// Whether an evaluation takes a few milliseconds at most.
    pub fn is_quick(&self) -> bool {
        (self.design.n_entries() + self.n_columns() + self.n_samples()) * self.width() < 4_000_000
    }

    /// Distance in memory from the outputs of a sample to the outputs of the next.
    pub fn width(&self) -> usize {
        if self.n_outputs() == 1 { 1 } else { numeric::padded(self.n_outputs()) }
    }

    /// Writes the gradient at `w` and returns the negative log-likelihood, which is infinite if a weight is not finite.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        assert_eq!((w.len(), gradient.len()), (self.n_features(), self.n_features()));
        if !w.iter().all(|weight| weight.is_finite()) {
            gradient.fill(0.0);
            return Ok(f64::INFINITY);
        }
        if let Some(table) = self.design.table() {
            let scratch = &mut *locked(&self.scratch);
            let sums = self.evaluate(table, w, scratch, Purpose::Residuals, interrupt)?;
            self.write(&sums, gradient);
            return Ok(sums.nll);
        }
        let (sides, scratch) = (self.sides(), &mut *locked(&self.scratch));
        let (columns, intercept) = gradient.split_at_mut(self.design.n_columns() * self.n_outputs());
        let sums = self.forward(sides, w, scratch, Purpose::Residuals, interrupt)?;
        self.backward(sides, &scratch.residuals, columns, interrupt);
        let value = self.value();
        intercept.iter_mut().zip(&sums[1..]).for_each(|(gradient, sum)| *gradient = value * sum);
        interrupt.check()?;
        Ok(sums[0])
    }

    /// Computes residuals or probabilities, into `scratch.residuals`, from a dense matrix.
    fn evaluate(
        &self,
        table: &Table,
        w: &[f64],
        scratch: &mut Scratch,
        purpose: Purpose,
        interrupt: &Interrupt,
    ) -> Result<Sums> {
        scratch.residuals.resize(self.n_samples() * self.width(), 0.0);
        let task = Task::Evaluation { targets: self.classes(), purpose };
        let sums = self.pass(table, task, w, (&mut scratch.residuals, &mut []), interrupt);
        interrupt.check().map(|()| sums)
    }

    /// A pass over a dense matrix at weights `w`; see `Pass::run` for `out`.
    fn pass(
        &self,
        table: &Table,
        task: Task<'_>,
        w: &[f64],
        out: (&mut [f64], &mut [f64]),
        interrupt: &Interrupt,
    ) -> Sums {
        let outputs = self.n_outputs();
        let (columns, of_intercept) = w.split_at(self.design.n_columns() * outputs);
        let mut intercept = vec![0.0; outputs];
        intercept.iter_mut().zip(of_intercept).for_each(|(score, w)| *score = self.value() * w);
        Pass { table, width: self.width(), task, pool: self.pool }.run(columns, &intercept, out, interrupt)
    }

    /// Writes the gradient from the sums of a pass over a dense matrix.
    fn write(&self, sums: &Sums, gradient: &mut [f64]) {
        let (columns, intercept) = gradient.split_at_mut(self.design.n_columns() * self.n_outputs());
        let rows = columns.chunks_exact_mut(self.n_outputs()).zip(sums.gradient.chunks_exact(self.width()));
        rows.for_each(|(to, row)| to.copy_from_slice(&row[..to.len()]));
        intercept.iter_mut().zip(&sums.residuals).for_each(|(to, sum)| *to = self.value() * sum);
    }

    /// The value of the intercept's column; 0 without an intercept.
    pub(super) fn value(&self) -> f64 {
        self.intercept.unwrap_or(0.0)
    }

    /// The forms of the matrix that evaluations use.
    fn sides(&self) -> BothSides<'_> {
        if self.n_outputs() == 1 {
            BothSides::Sliced(self.design.sliced(self.pool))
        } else {
            BothSides::Ragged([self.design.rows(), self.design.columns()])
        }
    }

    /// Writes the residuals weight * (p - y) at the given scores and returns the negative log-likelihood. Both have a padded row of
    /// outputs for each sample.
    pub fn residuals(&self, scores: &[f64], residuals: &mut [f64]) -> f64 {
        residuals.copy_from_slice(scores);
        let width = self.width();
        let samples = (SCORES / width).next_multiple_of(BATCH);
        let pieces = residuals.chunks_mut(samples * width).enumerate().collect();
        let parts = threads::share(self.pool, pieces, |(piece, out)| {
            arch().dispatch(Scored { targets: self.classes(), first: piece * samples, out, width })
        });
        parts.iter().sum()
    }

    /// Writes the gradient at the weights from the residuals of the samples.
    pub fn gradient(&self, residuals: &[f64], gradient: &mut [f64], interrupt: &Interrupt) {
        if let Some(table) = self.design.table() {
            let zeros = vec![0.0; gradient.len()];
            let sums = self.pass(table, Task::Gradient, &zeros, (&mut residuals.to_vec(), &mut []), interrupt);
            return self.write(&sums, gradient);
        }
        let (gradient, intercept) = gradient.split_at_mut(self.n_penalised());
        self.write_intercept(residuals, intercept);
        if self.n_outputs() > 1 {
            return self.backward(self.sides(), residuals, gradient, interrupt);
        }
        let columns = self.design.columns();
        with_entries!(columns, all => {
            threads::share(self.pool, pieces_of(&columns.pieces, gradient, 1), |(piece, out)| {
                if !interrupt.is_set() {
                    piece.zip(out).for_each(|(column, out)| *out = columns.combine_one(column, all, residuals));
                }
            });
        });
    }

    /// Writes the derivatives at the intercept.
    fn write_intercept(&self, residuals: &[f64], intercept: &mut [f64]) {
        let width = self.width();
        for (class, to) in intercept.iter_mut().enumerate() {
            *to = self.value() * residuals[class..].iter().step_by(width).sum::<f64>();
        }
    }

    /// A sparse matrix: writes the derivatives at some of the columns and at the intercept.
    pub fn gradient_of(&self, columns: &[usize], residuals: &[f64], gradient: &mut [f64], interrupt: &Interrupt) {
        let (lists, outputs, width) = (self.design.columns(), self.n_outputs(), self.width());
        let (gradient, intercept) = gradient.split_at_mut(self.n_penalised());
        self.write_intercept(residuals, intercept);
        let at_once = (COLUMNS_AT_ONCE / width).max(1);
        let parts = threads::share(self.pool, columns.chunks(at_once).collect(), |some: &[usize]| {
            let mut sums = vec![0.0; some.len() * outputs];
            if interrupt.is_set() {
                return sums;
            }
            if width == 1 {
                with_entries!(lists, all => {
                    let pairs = sums.iter_mut().zip(some);
                    pairs.for_each(|(to, &column)| *to = lists.combine_one(column, all, residuals));
                });
            } else {
                let (columns, out) = (some.iter().copied(), &mut sums[..]);
                arch().dispatch(ColumnSums { lists, residuals, columns, out, n_classes: outputs, width });
            }
            sums
        });
        for (some, sums) in columns.chunks(at_once).zip(parts) {
            for (&column, sums) in some.iter().zip(sums.chunks_exact(outputs)) {
                gradient[column * outputs..][..outputs].copy_from_slice(sums);
            }
        }
    }

    /// X w, a padded row of outputs for each sample.
    pub fn scores(&self, w: &[f64]) -> Vec<f64> {
        let width = self.width();
        let mut scores = vec![0.0; self.n_samples() * width];
        if let Some(table) = self.design.table() {
            self.pass(table, Task::Scores, w, (&mut scores, &mut []), &Interrupt::default());
            return scores;
        }
        let rows = self.design.rows();
        if width > 1 {
            let mut padded = Aligned::default();
            let (columns, intercept) = self.padded(w, &mut padded);
            threads::share(self.pool, pieces_of(&rows.pieces, &mut scores, width), |(samples, out)| {
                arch().dispatch(Scores { rows, columns, intercept: &intercept, samples, out, width });
            });
            return scores;
        }
        let of_intercept = w[self.design.n_columns()..].iter().sum::<f64>() * self.value();
        with_entries!(rows, all => {
            threads::share(self.pool, pieces_of(&rows.pieces, &mut scores, 1), |(piece, out)| {
                let score = |sample| of_intercept + rows.combine_one(sample, all, w);
                piece.zip(out).for_each(|(sample, out)| *out = score(sample));
            });
        });
        scores
    }

    /// An evaluation at `w`. With two classes it uses only the rows: that spares methods that never evaluate again the making of other
    /// forms of the matrix.
    pub fn start(&self, w: &[f64]) -> Start {
        let n = self.n_samples() * self.width();
        let (mut gradient, mut residuals) = (vec![0.0; w.len()], vec![0.0; n]);
        if let Some(table) = self.design.table() {
            let mut scores = vec![0.0; n];
            let task = Task::Evaluation { targets: self.classes(), purpose: Purpose::Residuals };
            let sums = self.pass(table, task, w, (&mut residuals, &mut scores), &Interrupt::default());
            self.write(&sums, &mut gradient);
            return Start { nll: sums.nll, scores, residuals, gradient };
        }
        let scores = self.scores(w);
        let nll = self.residuals(&scores, &mut residuals);
        if self.n_outputs() > 1 {
            self.gradient(&residuals, &mut gradient, &Interrupt::default());
            return Start { nll, scores, residuals, gradient };
        }
        let (rows, value) = (self.design.rows(), self.value());
        let (columns, intercept) = gradient.split_at_mut(self.design.n_columns());
        intercept.fill(value * residuals.iter().sum::<f64>());
        with_entries!(rows, all => {
            residuals.iter().enumerate().for_each(|(sample, &residual)| rows.add_to(sample, all, residual, columns));
        });
        Start { nll, scores, residuals, gradient }
    }

    /// p(y | x) of every sample, n_samples x n_outputs; with two classes, p(y = 1 | x).
    pub fn probabilities(&self, w: &[f64], interrupt: &Interrupt) -> Result<Vec<f64>> {
        self.shares(w, interrupt).map(|(_, shares)| shares)
    }

    /// The negative log-likelihood and the `probabilities`.
    pub fn shares(&self, w: &[f64], interrupt: &Interrupt) -> Result<(f64, Vec<f64>)> {
        assert_eq!(w.len(), self.n_features());
        let scratch = &mut *locked(&self.scratch);
        let nll = match self.design.table() {
            Some(table) => self.evaluate(table, w, scratch, Purpose::Probabilities, interrupt)?.nll,
            None => self.forward(self.sides(), w, scratch, Purpose::Probabilities, interrupt)?[0],
        };
        let outputs = self.n_outputs();
        Ok((nll, scratch.residuals.chunks_exact(self.width()).flat_map(|row| &row[..outputs]).copied().collect()))
    }

    /// Computes the scores of all samples and from them, into `scratch.residuals`, the residuals or the probabilities. Returns
    /// the negative log-likelihood, then the sum of the residuals of each output.
    fn forward(
        &self,
        sides: BothSides<'_>,
        w: &[f64],
        scratch: &mut Scratch,
        purpose: Purpose,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let (width, outputs) = (self.width(), self.n_outputs());
        scratch.residuals.resize(self.n_samples() * width, 0.0);
        let (columns, intercept) = self.padded(w, &mut scratch.rows);
        let intercept = &intercept[..];
        let pieces = pieces_of(sides.pieces(ROWS), &mut scratch.residuals, width);
        let parts = threads::share(self.pool, pieces, |(samples, out)| match sides {
            _ if interrupt.is_set() => Vec::new(),
            BothSides::Sliced([rows, _]) => {
                rows.combine(samples.clone(), columns, out);
                let intercept = intercept.iter().sum();
                arch().dispatch(Binary { targets: self.classes(), intercept, samples, out, purpose })
            }
            BothSides::Ragged([rows, _]) => {
                let scores = Scores { rows, columns, intercept, samples, out, width };
                arch().dispatch(Multinomial { targets: self.classes(), scores, purpose })
            }
        });
        interrupt.check()?;
        let mut sums = vec![0.0; 1 + outputs];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        Ok(sums)
    }

    /// The weights of the columns in padded rows of outputs, which are whole vectors of the processor, and what the intercept adds to the
    /// score of each output.
    fn padded<'a>(&self, w: &'a [f64], rows: &'a mut Aligned) -> (&'a [f64], Vec<f64>) {
        let (width, outputs) = (self.width(), self.n_outputs());
        let (columns, intercept) = w.split_at(self.n_penalised());
        let intercept = intercept.iter().map(|w| self.value() * w).collect();
        if width == 1 {
            return (columns, intercept);
        }
        rows.resize(self.design.n_columns() * width, 0.0);
        let pairs = rows.par_chunks_exact_mut(width).zip(columns.par_chunks_exact(outputs));
        self.install(|| pairs.with_min_len(1024).for_each(|(row, w)| row[..outputs].copy_from_slice(w)));
        (rows, intercept)
    }

    /// Writes the gradient at the weights of each column: the sum of value * residuals over the column.
    fn backward(&self, sides: BothSides<'_>, residuals: &[f64], gradient: &mut [f64], interrupt: &Interrupt) {
        let pieces = pieces_of(sides.pieces(COLUMNS), gradient, self.n_outputs());
        threads::share(self.pool, pieces, |(columns, out)| match sides {
            _ if interrupt.is_set() => {}
            BothSides::Sliced([_, lists]) => lists.combine(columns, residuals, out),
            BothSides::Ragged([_, lists]) => {
                let (n_classes, width) = (self.n_classes, self.width());
                arch().dispatch(ColumnSums { lists, residuals, columns, out, n_classes, width });
            }
        });
    }
}

/// Pairs each range of rows with its part of `out`, a matrix with `columns` columns.
fn pieces_of<'a>(ranges: &[Range<usize>], out: &'a mut [f64], columns: usize) -> Vec<(Range<usize>, &'a mut [f64])> {
    let places = parts(out, ranges.iter().map(|range| range.len() * columns));
    ranges.iter().cloned().zip(places).collect()
}

/// Derivatives that a thread computes at a time.
const COLUMNS_AT_ONCE: usize = 256;
/// Scores that a thread turns into residuals at a time.
const SCORES: usize = 4096;

/// An evaluation of the objective.
#[derive(Default)]
pub struct Start {
    /// The negative log-likelihood.
    pub nll: f64,
    /// x . w of each sample, the intercept included: a padded row of outputs.
    pub scores: Vec<f64>,
    /// weight * (p - y) of each sample: a padded row of outputs.
    pub residuals: Vec<f64>,
    pub gradient: Vec<f64>,
}

/// Rows and columns of the matrix, in the form that evaluates fastest: with one output the sums over eight lists at a time keep
/// the processor busy, with more outputs the sums over one list do.
#[derive(Clone, Copy)]
enum BothSides<'a> {
    Sliced(&'a [Sliced; 2]),
    Ragged([&'a Lists; 2]),
}

/// The side of `BothSides` that holds the rows.
const ROWS: usize = 0;
/// The side of `BothSides` that holds the columns.
const COLUMNS: usize = 1;

impl<'a> BothSides<'a> {
    /// The pieces of work into which a side is cut.
    fn pieces(self, side: usize) -> &'a [Range<usize>] {
        match self {
            BothSides::Sliced(sides) => &sides[side].pieces,
            BothSides::Ragged(sides) => &sides[side].pieces,
        }
    }
}
