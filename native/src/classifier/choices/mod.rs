//! Negative log-likelihood of choices among alternatives, and its gradient: conditional logit (McFadden 1974).
//!
//! The alternatives are the rows x_j of a matrix. In group g, k of its m alternatives were chosen, and any k of them could have been:
//!
//!     p(S | g) = exp(sum over j in S of w . x_j) / sum over all T of k alternatives of exp(sum over j in T of w . x_j).
//!
//! With k = 1 this is a softmax over the group. With more, `subsets` has the sum over T. A row may be in several groups, as in a
//! ranking, which is a series of choices: each among the alternatives that are left.
//!
//! An evaluation goes from rows to scores, from the scores of a group to its residuals, and from residuals and columns to the gradient.
//! The first and the last are those of a classifier with two classes. Groups are cut into fixed pieces, so that results are bitwise
//! the same on any number of threads.

mod hessian;
pub mod newton;
mod subsets;

use crate::classifier::objective::Classifier;
use crate::error::{Error, Result, check_weights};
use crate::numeric::ragged::cut;
use crate::threads::{self, Interrupt, parts};
use std::ops::Range;
use std::sync::Arc;
use subsets::{MOST_CELLS, Subsets, n_cells};

/// The groups of alternatives.
#[derive(Clone)]
pub struct Groups {
    /// The row of each alternative, group by group; in each group those that were chosen come first.
    pub rows: Vec<u32>,
    /// Where each group ends in `rows`.
    pub ends: Vec<usize>,
    /// Number of alternatives that were chosen in each group: at least one, but not all.
    pub n_chosen: Vec<u32>,
    /// Weight of each group; empty when all are 1.
    pub weights: Vec<f64>,
}

impl Groups {
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    pub fn weight(&self, group: usize) -> f64 {
        if self.weights.is_empty() { 1.0 } else { self.weights[group] }
    }

    /// The places in `rows` of some groups.
    fn places(&self, groups: Range<usize>) -> Range<usize> {
        let start = |group: usize| if group == 0 { 0 } else { self.ends[group - 1] };
        start(groups.start)..start(groups.end)
    }

    /// An error unless the groups are those of a matrix with `n_rows` rows.
    fn check(&self, n_rows: usize) -> Result<()> {
        let Groups { rows, ends, n_chosen, weights } = self;
        let ordered = ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ordered || ends.last() != Some(&rows.len()) || n_chosen.len() != ends.len() {
            return Err(Error::Data("the ends of the groups do not fit their alternatives".into()));
        }
        if ![0, ends.len()].contains(&weights.len()) || rows.iter().any(|&row| row as usize >= n_rows) {
            return Err(Error::Data(format!("the groups do not fit a matrix of {n_rows} rows, or their weights")));
        }
        check_weights(weights, "group")?;
        for (group, &k) in n_chosen.iter().enumerate() {
            let (m, k) = (self.places(group..group + 1).len(), k as usize);
            if k == 0 || k >= m {
                return Err(Error::Data(format!("group {group}: {k} of {m} alternatives are chosen")));
            }
            if k > 1 && n_cells(m, k) > MOST_CELLS {
                let message =
                    format!("{k} of {m} alternatives are chosen, which takes too much memory; leave out some");
                return Err(Error::Data(format!("group {group}: {message}")));
            }
        }
        Ok(())
    }
}

/// The negative log-likelihood of choices.
pub struct Choices {
    /// The matrix, with the kernels of two classes without an intercept; its classes and weights are not used.
    linear: Arc<Classifier>,
    pub groups: Groups,
    /// Groups that are evaluated by one thread.
    pieces: Vec<Range<usize>>,
}

/// Alternatives of a piece of groups.
const PIECE: usize = 1 << 13;

/// The residuals of the rows: the sum over groups of weight * (p(row is chosen) - [row was chosen]).
pub struct Residuals {
    pub nll: f64,
    pub of_rows: Vec<f64>,
}

impl Choices {
    /// Checks the groups and makes the objective.
    pub fn new(linear: Arc<Classifier>, groups: Groups) -> Result<Choices> {
        if linear.n_outputs() != 1 || linear.intercept.is_some() {
            return Err(Error::Option("choices need the matrix of two classes without an intercept".into()));
        }
        groups.check(linear.n_samples())?;
        let pieces = cut(&groups.ends, PIECE);
        Ok(Choices { linear, groups, pieces })
    }

    /// The objective on the same groups over some of the columns, given by ascending numbers.
    pub fn restrict(&self, columns: &[usize]) -> Choices {
        Choices {
            linear: Arc::new(self.linear.restrict(columns)),
            groups: self.groups.clone(),
            pieces: self.pieces.clone(),
        }
    }

    /// The objective on some of the groups, whose weights are multiplied by `factor`.
    pub fn batch(&self, groups: &[usize], factor: f64) -> Choices {
        let all = &self.groups;
        let mut some = Groups {
            rows: Vec::new(),
            ends: Vec::with_capacity(groups.len()),
            n_chosen: groups.iter().map(|&group| all.n_chosen[group]).collect(),
            weights: groups.iter().map(|&group| factor * all.weight(group)).collect(),
        };
        let mut chosen = Vec::new();
        for &group in groups {
            chosen.extend(all.rows[all.places(group..group + 1)].iter().map(|&row| row as usize));
            some.ends.push(chosen.len());
        }
        some.rows = (0..chosen.len() as u32).collect();
        let pieces = cut(&some.ends, PIECE);
        Choices { linear: Arc::new(self.linear.batch(&chosen, 1.0)), groups: some, pieces }
    }

    pub fn n_features(&self) -> usize {
        self.linear.n_features()
    }

    pub fn n_rows(&self) -> usize {
        self.linear.n_samples()
    }

    pub fn n_threads(&self) -> usize {
        self.linear.n_threads()
    }

    /// Whether an evaluation takes a few milliseconds at most.
    pub fn is_quick(&self) -> bool {
        self.linear.is_quick() && self.groups.rows.len() < 1 << 16 && self.groups.n_chosen.iter().all(|&k| k == 1)
    }

    /// Writes the gradient at `w` and returns the negative log-likelihood, which is infinite if a weight is not finite.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        if !w.iter().all(|weight| weight.is_finite()) {
            gradient.fill(0.0);
            return Ok(f64::INFINITY);
        }
        let residuals = self.residuals(&self.scores(w), interrupt)?;
        self.gradient(&residuals, gradient, interrupt)?;
        Ok(residuals.nll)
    }

    /// x . w of each row.
    pub fn scores(&self, w: &[f64]) -> Vec<f64> {
        self.linear.scores(w)
    }

    /// Writes the gradient from the residuals.
    pub fn gradient(&self, residuals: &Residuals, gradient: &mut [f64], interrupt: &Interrupt) -> Result<()> {
        self.linear.gradient(&residuals.of_rows, gradient, interrupt);
        interrupt.check()
    }

    /// The residuals at the scores of the rows.
    pub fn residuals(&self, scores: &[f64], interrupt: &Interrupt) -> Result<Residuals> {
        let mut of_places = vec![0.0; self.groups.rows.len()];
        let nlls = self.on_groups(&mut of_places, scores, interrupt, |group, shares, nll| {
            let (weight, k) = (self.groups.weight(group), self.groups.n_chosen[group] as usize);
            if k == 1 {
                shares[0] = -shares[1..].iter().sum::<f64>();
            } else {
                shares[..k].iter_mut().for_each(|share| *share -= 1.0);
            }
            shares.iter_mut().for_each(|share| *share *= weight);
            weight * nll
        })?;
        let mut of_rows = vec![0.0; self.n_rows()];
        self.groups.rows.iter().zip(of_places).for_each(|(&row, residual)| of_rows[row as usize] += residual);
        let nll = nlls.iter().map(|piece| piece.iter().sum::<f64>()).sum::<f64>();
        Ok(Residuals { nll: if nll.is_nan() { f64::INFINITY } else { nll }, of_rows })
    }

    /// -log p of the choice in each group, not times its weight.
    pub fn group_nlls(&self, scores: &[f64], interrupt: &Interrupt) -> Result<Vec<f64>> {
        let mut shares = vec![0.0; self.groups.rows.len()];
        let nlls = self.on_groups(&mut shares, scores, interrupt, |_, _, nll| nll)?;
        Ok(nlls.concat())
    }

    /// Writes into `shares` the probability of each place of a group that it is chosen, and calls `work` with each group, its shares and
    /// its negative log-likelihood. Returns the results of the groups of each piece.
    fn on_groups(
        &self,
        shares: &mut [f64],
        scores: &[f64],
        interrupt: &Interrupt,
        work: impl Fn(usize, &mut [f64], f64) -> f64 + Sync,
    ) -> Result<Vec<Vec<f64>>> {
        let sizes = self.pieces.iter().map(|piece| self.groups.places(piece.clone()).len());
        let pieces = self.pieces.iter().cloned().zip(parts(shares, sizes)).collect();
        let results = threads::share(self.linear.pool, pieces, |(piece, shares): (Range<usize>, &mut [f64])| {
            let (first, mut subsets) = (self.groups.places(piece.clone()).start, Subsets::default());
            let mut of_group = Vec::new();
            piece
                .take_while(|_| !interrupt.is_set())
                .map(|group| {
                    let places = self.groups.places(group..group + 1);
                    let shares = &mut shares[places.start - first..places.end - first];
                    of_group.clear();
                    of_group.extend(self.groups.rows[places].iter().map(|&row| scores[row as usize]));
                    let nll = subsets.evaluate(&of_group, self.groups.n_chosen[group] as usize, shares);
                    work(group, shares, nll)
                })
                .collect()
        });
        interrupt.check().map(|()| results)
    }
}

#[cfg(test)]
mod tests;
