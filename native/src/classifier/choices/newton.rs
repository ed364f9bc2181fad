//! A proximal Newton step on the negative log-likelihood of choices; see `classifier::newton`, whose subproblem this is, with the
//! Hessian over the working set in place of X' D X.

use crate::classifier::choices::Choices;
use crate::classifier::gram::{Column, Gram};
use crate::classifier::newton::{MOST_WEIGHTS, NewtonSettings, NewtonStep, Subproblem, working_set};
use crate::error::Result;
use crate::threads::Interrupt;

/// Weights, and the evaluation there.
pub struct Point {
    pub w: Vec<f64>,
    /// x . w of each row.
    pub scores: Vec<f64>,
    /// Of the negative log-likelihood.
    pub gradient: Vec<f64>,
}

/// Makes a step from a point to another one.
pub fn step(choices: &Choices, at: &mut Point, settings: &NewtonSettings, interrupt: &Interrupt) -> Result<NewtonStep> {
    let Point { w, scores, gradient } = at;
    let before = choices.residuals(scores, interrupt)?.nll;
    let set = working_set(None, w, gradient, settings, MOST_WEIGHTS);
    let gram = Gram::of_matrix(choices.hessian(scores, &set, settings.stride, interrupt)?, set.len());
    let column = |&id: &usize| Column::at(id, w[id], gradient[id], settings.l2, settings.of(id));
    let columns: Vec<Column> = set.iter().map(column).collect();
    let mut subproblem = Subproblem::over(&choices.linear, settings, (columns, Vec::new()), Vec::new(), Some(gram));
    let sweeps = subproblem.minimise(interrupt);
    interrupt.check()?;
    let promise = subproblem.promise();
    let mut done =
        NewtonStep { nll: before, working_set: set.len(), sweeps, promised: -promise, ..NewtonStep::default() };
    let (mut there, mut scores_there, mut residuals) = (w.clone(), Vec::new(), None);
    let accepted = subproblem.search(promise, before, |length| {
        subproblem.take(length, &mut there);
        scores_there = choices.scores(&there);
        residuals = choices.residuals(&scores_there, interrupt).ok();
        residuals.as_ref().map_or(f64::INFINITY, |residuals| residuals.nll)
    });
    interrupt.check()?;
    if let (Some(accepted), Some(residuals)) = (accepted, residuals) {
        choices.gradient(&residuals, gradient, interrupt)?;
        (done.nll, done.trials, done.moved) = (accepted.nll, accepted.trials, true);
        (*w, *scores) = (there, scores_there);
    }
    Ok(done)
}
