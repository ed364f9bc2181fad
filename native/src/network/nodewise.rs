//! L1-penalised regressions of binary variables on all others, one for each (Ravikumar, Wainwright & Lafferty 2010, Eq.
//! 9), by proximal Newton on one matrix that all share.

use crate::classifier::matrix::Design;
use crate::classifier::newton::{self, Settings};
use crate::classifier::objective::Classifier;
use crate::error::Result;
use crate::network::pseudolikelihood::Samples;
use crate::threads::{self, Interrupt};
use rayon::ThreadPool;
use std::sync::Arc;

pub struct Options {
    pub l1: f64,
    pub l2: f64,
    /// End when a step decreases the objective by at most this fraction of it,
    pub tolerance: f64,
    /// or when the violation is at most this, times the norm of the weights if that is above 1.
    pub gradient_tolerance: f64,
    pub max_steps: usize,
}

/// The regression of a variable.
pub struct Node {
    /// Columns whose weights are not 0, and those weights.
    pub columns: Vec<usize>,
    pub weights: Vec<f64>,
    pub intercept: f64,
    pub nll: f64,
    pub violation: f64,
    pub steps: usize,
    pub converged: bool,
}

/// Regressions of some binary variables, each on one thread.
pub fn nodewise(
    samples: &Samples,
    variables: &[usize],
    options: &Options,
    pool: &ThreadPool,
    interrupt: &Interrupt,
) -> Result<Vec<Node>> {
    let (design, alone) = (Arc::new(samples.design()?), threads::pool(1)?);
    // Made here, lest all threads wait for the first to make it.
    design.columns();
    threads::share(pool, variables.to_vec(), |variable| {
        regression(samples, variable, Arc::clone(&design), Arc::clone(&alone), options, interrupt)
    })
    .into_iter()
    .collect()
}

/// Share of its first violation to which a step's quadratic model is minimised; see `loglinear.solvers.prox_newton`.
const PRECISION: f64 = 0.1;
const SWEEPS: usize = 1000;
/// Columns in the smallest working set.
const LEAST: usize = 32;
/// A decrease of this fraction can drown in the rounding errors of a sum of many terms.
const ROUNDING: f64 = 2.3e-13;

fn regression(
    samples: &Samples,
    variable: usize,
    design: Arc<Design>,
    alone: Arc<ThreadPool>,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<Node> {
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
    let settings =
        Settings { l1: options.l1, l2: options.l2, precision: PRECISION, sweeps: SWEEPS, least: LEAST, excluded };
    let (mut nll, mut scores, mut gradient) = classifier.start(&w);
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
    Ok(Node { columns, weights, intercept: w[d], nll, violation, steps, converged })
}

fn norm(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum::<f64>().sqrt()
}

/// The penalised objective, and the largest violation of optimality.
fn measure(w: &[f64], gradient: &[f64], nll: f64, settings: &Settings) -> (f64, f64) {
    let Settings { l1, l2, .. } = *settings;
    let d = w.len() - 1;
    let columns = (0..d).filter(|column| !settings.excluded.contains(column));
    let of_column = |j: usize| newton::violation(w[j], gradient[j] + l2 * w[j], l1).abs();
    let violation = columns.map(of_column).fold(gradient[d].abs(), f64::max);
    let penalty: f64 = w[..d].iter().map(|w| l1 * w.abs() + 0.5 * l2 * w * w).sum();
    (nll + penalty, violation)
}
