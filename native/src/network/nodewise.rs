//! Neighbourhood selection: the L1-penalised logistic regression of each binary variable on all others (Ravikumar, Wainwright &
//! Lafferty 2010, Eq. 9), by proximal Newton. All regressions share one matrix.

use crate::classifier::descent::{Ending, Rules, minimise};
use crate::classifier::gram::KeptGram;
use crate::classifier::matrix::Design;
use crate::classifier::newton::NewtonSettings;
use crate::classifier::objective::Classifier;
use crate::classifier::point::Point;
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
        enough: 0.0,
        varied: None,
    };
    let Options { tolerance, gradient_tolerance, max_steps, .. } = *options;
    let rules = Rules { tolerance, promise: 0.0, gradient_tolerance, max_steps };
    let mut point = Point::at(&classifier, w);
    let ending = minimise(&classifier, &mut point, &mut KeptGram::default(), &settings, &rules, interrupt)?;
    let (Ending { violation, steps, converged, .. }, Point { w, nll, .. }) = (ending, point);
    let columns: Vec<usize> = (0..d).filter(|&column| w[column] != 0.0).collect();
    let weights = columns.iter().map(|&column| w[column]).collect();
    Ok(Regression { columns, weights, intercept: w[d], nll, violation, steps, converged })
}
