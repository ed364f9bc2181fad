//! The loop of proximal Newton steps, for those who need many minima: of paths, or of one regression for each variable of a network.

use crate::classifier::gram::KeptGram;
use crate::classifier::newton::{self, NewtonSettings};
use crate::classifier::objective::Classifier;
use crate::classifier::point::Point;
use crate::classifier::search::ROUNDING;
use crate::error::Result;
use crate::threads::Interrupt;

/// When a minimisation ends.
#[derive(Clone, Copy)]
pub struct Rules {
    /// It has converged when a step decreases the objective by at most this fraction of the objective.
    pub tolerance: f64,
    /// Or when a step promises at most this fraction. Such a step is not made.
    pub promise: f64,
    /// Or when the violation is at most this number times max(1, |w|).
    pub gradient_tolerance: f64,
    /// Most steps.
    pub max_steps: usize,
}

/// How a minimisation ended.
pub struct Ending {
    /// The penalised objective.
    pub objective: f64,
    /// The largest violation of optimality at a weight.
    pub violation: f64,
    /// Newton steps made.
    pub steps: usize,
    /// Evaluations of the objective.
    pub evaluations: usize,
    pub converged: bool,
    /// Whether no step decreases the objective.
    pub failed: bool,
}

/// A step keeps its promise if its decrease is half of what the step promises, give or take this fraction of it.
const KEEPS: f64 = 0.05;

/// Makes steps from a point until one of the rules says that it is the minimum.
pub fn minimise(
    classifier: &Classifier,
    point: &mut Point,
    grams: &mut KeptGram,
    settings: &NewtonSettings,
    rules: &Rules,
    interrupt: &Interrupt,
) -> Result<Ending> {
    let mut settings = settings.clone();
    let d = classifier.n_penalised();
    let small = |violation: f64, w: &[f64]| violation <= rules.gradient_tolerance * norm(&w[..d]).max(1.0);
    let (mut objective, mut violation) = point.measure(classifier, (settings.l1, settings.l2), &settings.excluded);
    let (mut steps, mut evaluations, mut failed) = (0, 0, false);
    let mut converged = small(violation, &point.w);
    while !converged && !failed && steps < rules.max_steps {
        settings.enough = rules.promise.max(ROUNDING) * objective;
        let done = newton::step(classifier, point, grams, &settings, interrupt)?;
        evaluations += done.trials;
        if !done.moved {
            converged = done.promised <= settings.enough;
            failed = !converged && !grams.is_old();
            if !converged {
                grams.forget();
            }
            continue;
        }
        steps += 1;
        let before = objective;
        (objective, violation) = point.measure(classifier, (settings.l1, settings.l2), &settings.excluded);
        let decrease = before - objective;
        if (decrease - 0.5 * done.promised).abs() > KEEPS * done.promised {
            grams.forget();
        }
        converged = small(violation, &point.w) || decrease <= rules.tolerance * objective;
    }
    Ok(Ending { objective, violation, steps, evaluations, converged, failed })
}

/// The Euclidean norm.
fn norm(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum::<f64>().sqrt()
}
