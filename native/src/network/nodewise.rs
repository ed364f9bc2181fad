//! Neighbourhood selection: the L1-penalised logistic regression of each binary variable on all others (Ravikumar, Wainwright &
//! Lafferty 2010, Eq. 9), by proximal Newton. All regressions share one matrix.

use crate::classifier::gram;
use crate::classifier::matrix::Design;
use crate::classifier::newton::{self, NewtonSettings};
use crate::classifier::objective::{Classifier, Start};
use crate::error::Result;
use crate::network::pseudolikelihood::Samples;
use crate::threads::{self, Interrupt, Pool};
use std::sync::Arc;

/// Penalty and stopping rules of the regressions.
pub struct Options {
    pub l1: f64,
    pub l2: f64,
    /// A regression has converged when a step decreases its objective by at most this fraction of the objective.
    pub tolerance: f64,
    /// A regression has converged when its violation is at most this number times max(1, |w|).
    pub gradient_tolerance: f64,
    /// Most steps of a regression.
    pub max_steps: usize,
}

/// The regression of one variable.
pub struct Regression {
    /// Columns whose weights are not 0.
    pub columns: Vec<usize>,
    /// The weights of `columns`.
    pub weights: Vec<f64>,
    pub intercept: f64,
    /// The negative log-likelihood, without the penalty.
    pub nll: f64,
    /// The largest violation of optimality at a weight.
    pub violation: f64,
    /// Newton steps made.
    pub steps: usize,
    pub converged: bool,
}

/// The regressions of the given binary variables on all others, each on one thread.
pub fn nodewise(
    samples: &Samples,
    variables: &[usize],
    options: &Options,
    pool: Pool,
    interrupt: &Interrupt,
) -> Result<Vec<Regression>> {
    let (design, alone) = (Arc::new(samples.design()?), threads::pool(1)?);
    // Makes the columns before the threads start: all would wait for the first of them to do it.
    design.columns();
    threads::share(pool, variables.to_vec(), |variable| {
        regression(samples, variable, Arc::clone(&design), alone, options, interrupt)
    })
    .into_iter()
    .collect()
}

/// Fraction of its first violation to which a step's quadratic model is minimised; see `loglinear.solvers.prox_newton`.
const PRECISION: f64 = 0.1;
/// Most sweeps of coordinate descent in a step.
const SWEEPS: usize = 1000;
/// Columns of the smallest working set.
const LEAST: usize = 32;
/// A promised decrease of less than this fraction of the objective may be hidden by rounding errors of its many terms.
const ROUNDING: f64 = 2.3e-13;

/// The regression of one variable, on the pool `alone` of one thread.
fn regression(
    samples: &Samples,
    variable: usize,
    design: Arc<Design>,
    alone: Pool,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<Regression> {
    let (targets, weights) = samples.targets(variable);
    let sums = targets.iter().zip(&weights).fold([0.5; 2], |mut sums, (&target, weight)| {
        sums[target as usize] += weight;
        sums
    });
    let classifier = Classifier::with_pool(design, targets, weights, alone);
    let d = samples.n_columns();
    let mut w = vec![0.0; d + 1];
    w[d] = (sums[1] / sums[0]).ln();
    let excluded = samples.columns(variable);
    let settings = NewtonSettings {
        l1: options.l1,
        l2: options.l2,
        precision: PRECISION,
        sweeps: SWEEPS,
        least: LEAST,
        excluded,
        stride: 1,
    };
    let Start { mut nll, mut scores, mut gradient } = classifier.start(&w);
    let mut steps = 0;
    let (mut objective, mut violation) = measure(&w, &gradient, nll, &settings);
    let small = |violation: f64, w: &[f64]| violation <= options.gradient_tolerance * norm(&w[..d]).max(1.0);
    let mut converged = small(violation, &w);
    while !converged && steps < options.max_steps {
        steps += 1;
        let done = newton::step(&classifier, &mut w, &mut scores, &mut gradient, &settings, interrupt)?;
        if !done.moved {
            converged = done.promised <= ROUNDING * objective;
            break;
        }
        let before = objective;
        nll = done.nll;
        (objective, violation) = measure(&w, &gradient, nll, &settings);
        converged = small(violation, &w) || before - objective <= options.tolerance * objective;
    }
    let columns: Vec<usize> = (0..d).filter(|&column| w[column] != 0.0).collect();
    let weights = columns.iter().map(|&column| w[column]).collect();
    Ok(Regression { columns, weights, intercept: w[d], nll, violation, steps, converged })
}

/// The Euclidean norm.
fn norm(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum::<f64>().sqrt()
}

/// The penalised objective, and the largest violation of optimality.
fn measure(w: &[f64], gradient: &[f64], nll: f64, settings: &NewtonSettings) -> (f64, f64) {
    let NewtonSettings { l1, l2, .. } = *settings;
    let d = w.len() - 1;
    let columns = (0..d).filter(|column| !settings.excluded.contains(column));
    let of_column = |j: usize| gram::violation(w[j], gradient[j] + l2 * w[j], l1).abs();
    let violation = columns.map(of_column).fold(gradient[d].abs(), f64::max);
    let penalty: f64 = w[..d].iter().map(|w| l1 * w.abs() + 0.5 * l2 * w * w).sum();
    (nll + penalty, violation)
}
