//! A proximal Newton step for three classes or more, by way of the whole Hessian.
//!
//! Symbols as in `newton`, and p_k the probability of class k, y the class of a sample. The Hessian has a block X' D_kl X for each
//! pair of classes, where D_kl is diagonal: s p_k ([k = l] - p_l). A weight's number is that of its column times the number of
//! classes plus its class; the weights of the intercept are the last.
//!
//! For each sample, D_kl is a sum of two parts: that of y against all other classes, s p_y (1 - p_y) v_k v_l, and that of the others
//! among themselves. Here v_y = 1 and v_k = -p_k / (1 - p_y). As with two classes (`newton`), the first part is raised where a
//! sample is far on the wrong side.
//!
//! If a number is added to the weights of a column in all classes, the probabilities stay the same. Where no penalty tells such
//! weights apart, the Hessian gets a curvature in this direction; as the gradient has no part in it, a step has none either.

use crate::classifier::gram::{Column, Gram};
use crate::classifier::newton::{DAMPING, NewtonSettings, NewtonStep, Subproblem, bound};
use crate::classifier::objective::Classifier;
use crate::classifier::products::Products;
use crate::error::Result;
use crate::threads::Interrupt;

/// Makes a step from `w`, at which the gradient is given, to another point: writes its weights and its gradient.
pub fn step(
    classifier: &Classifier,
    w: &mut [f64],
    gradient: &mut [f64],
    settings: &NewtonSettings,
    interrupt: &Interrupt,
) -> Result<NewtonStep> {
    let (before, shares) = classifier.shares(w, interrupt)?;
    let matrix = hessian(classifier, &shares, settings, interrupt)?;
    let (columns, intercepts) = coordinates(classifier, w, gradient, settings.l2);
    let (n_columns, gram) = (columns.len(), Gram::of_matrix(matrix, w.len()));
    let mut subproblem = Subproblem::over(classifier, settings, (columns, intercepts), Vec::new(), Some(gram));
    let sweeps = subproblem.minimise(interrupt);
    interrupt.check()?;
    let promise = subproblem.promise();
    let mut done =
        NewtonStep { nll: before, working_set: n_columns, sweeps, promised: -promise, ..NewtonStep::default() };
    let (mut point, mut slopes, mut failed) = (w.to_vec(), vec![0.0; w.len()], None);
    let accepted = subproblem.search(promise, before, |length| {
        subproblem.take(length, &mut point);
        let nll = classifier.value_and_gradient(&point, &mut slopes, interrupt);
        nll.unwrap_or_else(|error| {
            failed = Some(error);
            f64::NEG_INFINITY
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    if let Some(accepted) = accepted {
        (done.nll, done.trials, done.moved) = (accepted.nll, accepted.trials, true);
        w.copy_from_slice(&point);
        gradient.copy_from_slice(&slopes);
    }
    Ok(done)
}

/// The coordinates at w: those of the columns, and those of the intercept.
fn coordinates(classifier: &Classifier, w: &[f64], gradient: &[f64], l2: f64) -> (Vec<Column>, Vec<Column>) {
    let n = classifier.design.n_columns() * classifier.n_classes;
    let column = |id: usize| {
        let of_penalty = if id < n { l2 * w[id] } else { 0.0 };
        Column { id, w: w[id], gradient: gradient[id] + of_penalty, curvature: 0.0, delta: 0.0 }
    };
    ((0..n).map(column).collect(), (n..w.len()).map(column).collect())
}

/// The Hessian of the negative log-likelihood, row after row, where `shares` are the p_k of each sample, sample by sample.
fn hessian(
    classifier: &Classifier,
    shares: &[f64],
    settings: &NewtonSettings,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    let all: Vec<usize> = (0..classifier.design.n_columns()).collect();
    let products = Products { classifier, columns: &all, stride: settings.stride };
    let (k, size) = (classifier.n_classes, products.size());
    let spreads = Spreads::of(classifier, shares);
    let (factor, mut matrix) = (products.factor(&spreads.totals()), vec![0.0; (size * k).pow(2)]);
    let mut diagonal = vec![0.0; classifier.n_samples()];
    for a in 0..k {
        for b in a..k {
            spreads.pair(a, b, &mut diagonal);
            let block = products.over(&diagonal);
            for (i, row) in block.chunks_exact(size).enumerate() {
                for (j, product) in row.iter().enumerate() {
                    let product = factor * product;
                    matrix[(i * k + a) * size * k + j * k + b] = product;
                    matrix[(i * k + b) * size * k + j * k + a] = product;
                }
            }
            interrupt.check()?;
        }
    }
    let first = if settings.l1 == 0.0 && settings.l2 == 0.0 { 0 } else { all.len() };
    for column in first..size {
        hold(&mut matrix, size * k, column * k..(column + 1) * k);
    }
    Ok(matrix)
}

/// Adds curvature along the sum of some weights, about as much as there is along each.
fn hold(matrix: &mut [f64], size: usize, weights: std::ops::Range<usize>) {
    let most = weights.clone().map(|at| matrix[at * (size + 1)]).fold(0.0, f64::max);
    for a in weights.clone() {
        for b in weights.clone() {
            matrix[a * size + b] += most / weights.len() as f64;
        }
    }
}

/// The matrices D_kl.
struct Spreads<'a> {
    classifier: &'a Classifier,
    /// p_k, class by class.
    by_class: Vec<f64>,
    /// Samples that are far on the wrong side: the number of a sample, by how much its first part is raised, and 1 - p_y.
    raised: Vec<(usize, f64, f64)>,
}

impl Spreads<'_> {
    fn of<'a>(classifier: &'a Classifier, shares: &[f64]) -> Spreads<'a> {
        let (k, n) = (classifier.n_classes, classifier.n_samples());
        let (mut by_class, mut raised) = (vec![0.0; shares.len()], Vec::new());
        for (sample, row) in shares.chunks_exact(k).enumerate() {
            row.iter().enumerate().for_each(|(class, p)| by_class[class * n + sample] = *p);
            let own = classifier.targets[sample] as usize;
            // Not 1 - p, which has no precision where p is near 1.
            let others: f64 = row.iter().enumerate().filter(|(class, _)| *class != own).map(|(_, p)| p).sum();
            let (newton, weight) = (row[own] * others, classifier.weight(sample));
            if newton < DAMPING * others * bound(0.0) && weight > 0.0 {
                let margin = (others / row[own].max(f64::MIN_POSITIVE)).ln();
                let extra = DAMPING * others * bound(margin.abs()) - newton;
                if extra > 0.0 {
                    raised.push((sample, weight * extra, others));
                }
            }
        }
        Spreads { classifier, by_class, raised }
    }

    /// The p_k of a class.
    fn class(&self, class: usize) -> &[f64] {
        let n = self.classifier.n_samples();
        &self.by_class[class * n..][..n]
    }

    /// Writes D_kl.
    fn pair(&self, k: usize, l: usize, diagonal: &mut [f64]) {
        for (entry, (p, q)) in diagonal.iter_mut().zip(self.class(k).iter().zip(self.class(l))) {
            *entry = if k == l { p * (1.0 - p) } else { -p * q };
        }
        if !self.classifier.weights.is_empty() {
            diagonal.iter_mut().zip(&self.classifier.weights).for_each(|(entry, weight)| *entry *= weight);
        }
        for &(sample, extra, others) in &self.raised {
            let own = self.classifier.targets[sample] as usize;
            let v = |class: usize| if class == own { 1.0 } else { -self.class(class)[sample] / others };
            diagonal[sample] += extra * v(k) * v(l);
        }
    }

    /// The sum of the D_kk of each sample.
    fn totals(&self) -> Vec<f64> {
        let (mut totals, mut diagonal) =
            (vec![0.0; self.classifier.n_samples()], vec![0.0; self.classifier.n_samples()]);
        for class in 0..self.classifier.n_classes {
            self.pair(class, class, &mut diagonal);
            totals.iter_mut().zip(&diagonal).for_each(|(total, entry)| *total += entry);
        }
        totals
    }
}
