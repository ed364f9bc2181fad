//! A proximal Newton step on a working set, for classifiers, most of all with an L1 penalty (Yuan, Ho & Lin 2012,
//! "An improved GLMNET for L1-regularized logistic regression", Algorithms 3 and 4; working set as in Massias, Gramfort &
//! Salmon 2018).
//!
//! Symbols: g the gradient at w; s the weights of the samples; D the diagonal of second derivatives s p (1 - p); H = X' D X +
//! l2 the Hessian; delta the step, which minimises g . delta + 1/2 delta' H delta + the penalty of w + delta over a working set
//! by coordinate descent. With Z = D^1/2 X, `products` holds Z delta: an update of a coordinate then costs one pass over its column
//! of Z. If a few sweeps are not enough and the working set is small, X' D X is written out (`gram`): an update then costs one of its rows. Of a
//! dense matrix it is written out at once, from a part of the samples while w is far from the optimum; without an L1 penalty delta
//! is then the solution of a system of equations. `leap` goes faster where sweeps are slow. `search` has the line search: over a sparse matrix it needs X delta alone; over a
//! dense one it evaluates the objective at each point, which makes one pass, and has the gradient at the end.
//!
//! With three classes or more (`softmax`), a column has a weight for each class, and the Hessian of all weights of the working set is
//! written out in place of X' D X. What is said here of columns holds for weights.
//!
//! Departures from Algorithms 3 and 4:
//! - the subproblem is solved to `precision` of the violation that it begins with; where X' D X is written out at once,
//!   violations divided by the square roots of the curvatures, which do not depend on the units of the columns, have to fall as far;
//! - after some sweeps over all columns, sweeps visit the columns whose weights are not 0, and then leaps take turns with sweeps over
//!   all columns;
//! - with three classes or more, each sweep also adds to the weights of a column in all classes the number that makes their penalty
//!   least (`centring`);
//! - an entry of D is at least `DAMPING` * |residual| * the curvature of a parabola that bounds the loss: where a sample is far on
//!   the wrong side, p (1 - p) is far smaller than the curvature of the loss on the way back. Of a sparse matrix, with an L1
//!   penalty, it is at least the whole curvature: steps may then go beyond w + delta.

use crate::classifier::centring::{best_constant, whole_columns};
use crate::classifier::curvature::{DAMPING, bound};
use crate::classifier::gram::{Column, Gram, Here, KeptGram, is_small, towards, violation, with_steepest};
use crate::classifier::objective::{Classifier, Start};
use crate::classifier::point::{Moving, Point};
use crate::classifier::scaled::Scaled;
use crate::classifier::screen::Screen;
use crate::error::Result;
use crate::numeric::chunks::dispatched;
use crate::numeric::ragged::{Entries, Id, Value, with_entries};
use crate::threads::Interrupt;
use std::ops::Range;

/// The options of a step.
#[derive(Clone)]
pub struct NewtonSettings {
    pub l1: f64,
    pub l2: f64,
    /// Fraction of its first violation to which the subproblem is solved.
    pub precision: f64,
    /// Most sweeps over the working set.
    pub sweeps: usize,
    /// Columns of the smallest working set.
    pub least: usize,
    /// Columns whose weights stay 0.
    pub excluded: Range<usize>,
    /// Of a dense matrix: the curvature is estimated from one of so many blocks of samples.
    pub stride: usize,
    /// A step is not made if it promises to decrease the objective by no more than this, nats.
    pub enough: f64,
    /// Factors and signs of the weights that bear a penalty; none if they are all alike.
    pub varied: Option<Varied>,
}

/// What the penalty of each weight is multiplied by, and its sign: 1 if it may not be negative, -1 if not positive, else 0.
#[derive(Clone)]
pub struct Varied {
    pub factors: Vec<f64>,
    pub signs: Vec<i8>,
}

impl NewtonSettings {
    /// The factor of a weight that bears a penalty, and its sign.
    pub(super) fn of(&self, weight: usize) -> (f64, i8) {
        self.varied.as_ref().map_or((1.0, 0), |varied| (varied.factors[weight], varied.signs[weight]))
    }

    /// Whether weights have signs.
    fn has_signs(&self) -> bool {
        self.varied.as_ref().is_some_and(|varied| varied.signs.iter().any(|&sign| sign != 0))
    }
}

/// What a step did.
#[derive(Clone, Copy, Default)]
pub struct NewtonStep {
    /// The negative log-likelihood at w after the step.
    pub nll: f64,
    /// Columns in the working set.
    pub working_set: usize,
    /// Sweeps over the working set.
    pub sweeps: usize,
    /// Evaluations of the objective in the line search.
    pub trials: usize,
    /// Whether w moved; if not, the line search found no better point along delta.
    pub moved: bool,
    /// The decrease of the objective that the subproblem predicts for the whole step, to the first order: about twice the decrease
    /// of a quadratic objective.
    pub promised: f64,
}

/// Makes a step from a point to another one. It takes X' D X from `grams` if they keep it.
pub fn step(
    classifier: &Classifier,
    at: &mut Point,
    grams: &mut KeptGram,
    settings: &NewtonSettings,
    interrupt: &Interrupt,
) -> Result<NewtonStep> {
    let Point { w, nll, scores, residuals, gradient, screen } = at;
    let before = *nll;
    let among = screen.as_ref().map(Screen::candidates);
    let mut subproblem = Subproblem::new(classifier, among, (w, gradient), (scores, residuals), grams, settings);
    let sweeps = subproblem.minimise(interrupt);
    interrupt.check()?;
    let promise = subproblem.promise();
    let working_set = subproblem.columns.len();
    let mut done = NewtonStep { nll: before, working_set, sweeps, promised: -promise, ..NewtonStep::default() };
    if classifier.design.table().is_some() {
        // An evaluation at each point of the search: it makes one pass, and ends with the scores and the gradient.
        let (mut at, mut point) = (Start::default(), w.clone());
        let accepted = subproblem.search(promise, before, |length| {
            subproblem.take(length, &mut point);
            at = classifier.start(&point);
            at.nll
        });
        if let Some(accepted) = accepted {
            (done.nll, done.trials, done.moved) = (accepted.nll, accepted.trials, true);
            (*w, *nll) = (point, at.nll);
            (*scores, *residuals, *gradient) = (at.scores, at.residuals, at.gradient);
        }
        return Ok(done);
    }
    let direction = subproblem.direction(|_| true);
    let (mut point, mut residuals_there) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
    let accepted = subproblem.search(promise, before, |length| {
        let moved = scores.iter().zip(&direction).map(|(score, x_delta)| score + length * x_delta);
        point.iter_mut().zip(moved).for_each(|(point, moved)| *point = moved);
        classifier.residuals(&point, &mut residuals_there)
    });
    if let Some(accepted) = accepted {
        (done.nll, done.trials, done.moved) = (accepted.nll, accepted.trials, true);
        (*nll, *residuals) = (accepted.nll, residuals_there);
        subproblem.take(accepted.length, w);
        scores.iter_mut().zip(direction).for_each(|(score, x_delta)| *score += accepted.length * x_delta);
        // Beyond w + delta, a weight might lose its sign.
        if accepted.length == 1.0 && is_long(classifier, settings) && !settings.has_signs() {
            done.trials += subproblem.go_on(Moving { w, nll, scores, residuals }, accepted.decrease);
            done.nll = *nll;
        }
        match screen {
            Some(screen) => screen.gradient(classifier, residuals, w, settings.l1, gradient, interrupt),
            None => classifier.gradient(residuals, gradient, interrupt),
        }
        interrupt.check()?;
    }
    Ok(done)
}

/// Most weights of a working set with three classes or more, or of choices, whose Hessian is written out.
pub(super) const MOST_WEIGHTS: usize = 2000;
/// Sweeps over the data before `Gram::worth` is checked.
const FIRST_SWEEPS: usize = 3;
/// Sweeps over the columns whose weights are not 0, between two sweeps over all columns.
const ACTIVE_SWEEPS: usize = 4;

/// A lower bound on the sweeps until the violation meets its goal: it continues to fall at most as fast as in the last `sweeps`,
/// from `before` to `violation`.
fn sweeps_ahead(goal: f64, violation: f64, before: f64, sweeps: usize) -> f64 {
    let fall = (before / violation).ln() / sweeps as f64;
    if fall > 0.0 { (violation / goal).ln() / fall } else { f64::INFINITY }
}

/// The minimisation over delta.
pub struct Subproblem<'a> {
    pub(super) classifier: &'a Classifier,
    pub(super) settings: &'a NewtonSettings,
    /// The working set, by ascending column.
    pub(super) columns: Vec<Column>,
    /// The coordinates of the intercept, which have no penalty.
    pub(super) intercepts: Vec<Column>,
    /// Sample -> its entry of D; empty if X' D X is that of an earlier step.
    curvatures: Vec<f64>,
    /// Z, unless `gram` is there.
    z: Option<Scaled<'a>>,
    /// Sample -> its entry of Z delta.
    pub(super) products: Vec<f64>,
    /// X' D X, if it is known from the beginning; `products` are not used then.
    gram: Option<Gram>,
    /// Largest violation at delta = 0.
    violation: f64,
}

/// Whether a step may go beyond w + delta: with two classes, over a sparse matrix, with an L1 penalty.
fn is_long(classifier: &Classifier, settings: &NewtonSettings) -> bool {
    classifier.design.table().is_none() && settings.l1 > 0.0 && classifier.n_outputs() == 1
}

/// The least H_jj: smaller values are rounding errors.
const LEAST_CURVATURE: f64 = 1e-12;

impl<'a> Subproblem<'a> {
    /// The subproblem at w, where the gradient, the scores and the residuals are given, with delta = 0. The working set is chosen
    /// `among` some columns, or all.
    fn new(
        classifier: &'a Classifier,
        among: Option<&[usize]>,
        (w, gradient): (&[f64], &[f64]),
        (scores, residuals): (&[f64], &[f64]),
        grams: &mut KeptGram,
        settings: &'a NewtonSettings,
    ) -> Subproblem<'a> {
        let damping = if is_long(classifier, settings) { 1.0 } else { DAMPING };
        // |p - y| is p or 1 - p: either gives p (1 - p).
        let curvature = |(sample, (residual, score)): (usize, (&f64, &f64))| {
            let (weight, size) = (classifier.weight(sample), residual.abs());
            let newton = if weight > 0.0 { size * (1.0 - size / weight) } else { 0.0 };
            // No bound is larger than the first one: most samples need no other.
            let least = damping * size * bound(0.0);
            if newton >= least { newton } else { newton.max(damping * size * bound(score.abs())) }
        };
        let n = classifier.n_penalised();
        let column = |id: usize| {
            let (l2, varied) = if id < n { (settings.l2, settings.of(id)) } else { (0.0, (0.0, 0)) };
            Column::at(id, w[id], gradient[id], l2, varied)
        };
        let most = if classifier.n_outputs() > 1 { MOST_WEIGHTS } else { usize::MAX };
        let working_set = working_set(among, &w[..n], gradient, settings, most);
        let old = grams.old(classifier, &working_set);
        let is_binary = classifier.n_outputs() == 1;
        let curvatures: Vec<f64> = match old {
            None if is_binary => residuals.iter().zip(scores).enumerate().map(curvature).collect(),
            _ => Vec::new(),
        };
        // Without an L1 penalty the columns are few: the step is the solution of a system of equations.
        let is_solved = settings.l1 == 0.0
            && !settings.has_signs()
            && !grams.is_on()
            && is_small(working_set.len() + 1)
            && is_binary;
        let (stride, is_spared) = (settings.stride, settings.l1 == 0.0 && settings.l2 == 0.0);
        let here = Here { curvatures: &curvatures, scores, residuals, gradient, stride, is_spared };
        let fresh = || match is_solved {
            true => Some(Gram::estimated(classifier, &working_set, &curvatures, settings.stride)),
            false => grams.fresh(classifier, &working_set, among, here),
        };
        let gram = old.or_else(fresh);
        let columns = working_set.into_iter().map(column).collect();
        let intercepts = (n..w.len()).map(column).collect();
        Subproblem::over(classifier, settings, (columns, intercepts), curvatures, gram)
    }

    /// The subproblem over some coordinates, where delta = 0: those with a penalty, and those of the intercept. Of `curvatures` and
    /// `gram`, one may be missing.
    pub fn over(
        classifier: &'a Classifier,
        settings: &'a NewtonSettings,
        (columns, intercepts): (Vec<Column>, Vec<Column>),
        curvatures: Vec<f64>,
        gram: Option<Gram>,
    ) -> Subproblem<'a> {
        let ids = || columns.iter().map(|column| column.id).collect();
        let z = gram.is_none().then(|| Scaled::new(classifier, ids(), &curvatures));
        let products = if z.is_some() { vec![0.0; curvatures.len()] } else { Vec::new() };
        let mut subproblem =
            Subproblem { classifier, settings, columns, intercepts, curvatures, z, products, gram, violation: 0.0 };
        subproblem.fill_curvatures();
        subproblem.violation = subproblem.largest_violation(|_| 1.0);
        if subproblem.gram.is_some() {
            subproblem.set_units();
        }
        subproblem
    }

    /// The largest violation at delta = 0, where each is multiplied by a number.
    fn largest_violation(&self, by: impl Fn(&Column) -> f64) -> f64 {
        let size =
            |at: &Column| violation(at.w, towards(at.w, at.gradient, at.sign), self.settings.l1 * at.factor).abs();
        let of_columns = self.columns.iter().map(|at| size(at) * by(at));
        let of_intercepts = self.intercepts.iter().map(|at| at.gradient.abs() * by(at));
        of_columns.chain(of_intercepts).fold(0.0, f64::max)
    }

    /// Lets violations count as shares of the largest one, and divided by the square roots of the curvatures as shares of the largest
    /// of these, whichever is larger.
    fn set_units(&mut self) {
        let inverse_root = |at: &Column| 1.0 / at.curvature.sqrt();
        let factor = self.violation / self.largest_violation(inverse_root);
        if factor.is_finite() {
            self.columns
                .iter_mut()
                .chain(&mut self.intercepts)
                .for_each(|at| at.unit = (factor * inverse_root(at)).max(1.0));
        }
    }

    /// Minimises over delta; returns the number of sweeps.
    pub fn minimise(&mut self, interrupt: &Interrupt) -> usize {
        match self.gram.take() {
            Some(gram) if self.settings.l1 == 0.0 && !self.settings.has_signs() && gram.is_small() => self.solve(gram),
            Some(gram) => self.minimise_over(gram, 0, interrupt),
            None => match self.z.take() {
                Some(z) => {
                    with_entries!(self.classifier.design.columns(), all => self.minimise_by_sweeps(&z, all, interrupt))
                }
                None => 0,
            },
        }
    }

    /// The value of the intercept's column; 0 without an intercept.
    pub(super) fn value(&self) -> f64 {
        self.classifier.intercept.unwrap_or(0.0)
    }

    /// Computes H_jj of all coordinates.
    fn fill_curvatures(&mut self) {
        let (n, l2) = (self.columns.len(), self.settings.l2);
        let square = |at: usize| match (&self.gram, &self.z) {
            (_, Some(z)) => z.square(at),
            (Some(gram), None) if at < n || self.curvatures.is_empty() => gram.diagonal(at),
            _ => self.curvatures.iter().sum::<f64>() * self.value() * self.value(),
        };
        let squares: Vec<f64> = (0..n + self.intercepts.len()).map(square).collect();
        for (at, square) in squares.into_iter().enumerate() {
            let column = self.coordinate(at);
            let own = if at < n { square + l2 * column.factor } else { square };
            column.curvature = own.max(LEAST_CURVATURE);
        }
    }

    /// Sweeps over the coordinates until the largest violation falls to `precision` of the first; returns the number of sweeps.
    fn minimise_by_sweeps<I: Id, V: Value>(
        &mut self,
        z: &Scaled,
        all: Entries<'_, I, V>,
        interrupt: &Interrupt,
    ) -> usize {
        let NewtonSettings { precision, sweeps, .. } = *self.settings;
        let goal = precision * self.violation;
        let (mut done, mut worth, mut last) = (0, None, (0, self.violation));
        let mut leaps = true;
        while done < sweeps && !interrupt.is_set() {
            done += 1;
            let violation = self.sweep(z, all, false);
            if violation <= goal {
                break;
            }
            if done == FIRST_SWEEPS {
                worth = Gram::worth(self.classifier, &self.columns);
            }
            let ahead = sweeps_ahead(goal, violation, last.1, done - last.0);
            last = (done, violation);
            if worth.is_some_and(|worth| done as f64 >= worth || ahead >= worth) && sweeps > done {
                let slopes: Vec<f64> = z.roots.iter().zip(&self.products).map(|(root, z)| root * z).collect();
                let ids: Vec<usize> = self.columns.iter().map(|column| column.id).collect();
                let gram = Gram::at(self.classifier, &ids, &self.curvatures, &slopes);
                return self.minimise_over(gram, done, interrupt);
            }
            // Most weights that are 0 remain 0: the others converge first, in cheaper sweeps.
            if done > FIRST_SWEEPS && leaps {
                let (cost, changed) = self.leap_by_products(z, all, goal);
                (done, leaps) = (done + cost, changed);
            } else if done >= FIRST_SWEEPS {
                let end = (done + ACTIVE_SWEEPS).min(sweeps);
                while done < end && !interrupt.is_set() {
                    done += 1;
                    if self.sweep(z, all, true) <= goal {
                        break;
                    }
                }
            }
        }
        done
    }

    /// Minimises the subproblem without an L1 penalty, by a system of equations; returns the number of sweeps, none.
    fn solve(&mut self, gram: Gram) -> usize {
        let slopes: Vec<f64> = self.columns.iter().chain(&self.intercepts).map(|column| -column.gradient).collect();
        let l2 = |at: usize| self.columns.get(at).map_or(0.0, |column| self.settings.l2 * column.factor);
        let deltas = gram.solve(l2, |at| l2(at) == 0.0, slopes.into_iter());
        for (column, delta) in self.columns.iter_mut().chain(&mut self.intercepts).zip(deltas) {
            column.delta = delta;
        }
        0
    }

    /// Sweeps by way of X' D X after the first `done` sweeps, until the largest violation falls to `precision` of the first;
    /// returns the number of all sweeps.
    fn minimise_over(&mut self, mut gram: Gram, mut done: usize, interrupt: &Interrupt) -> usize {
        let goal = self.settings.precision * self.violation;
        let (whole, mut weights) = (self.whole_columns(), vec![0.0; self.classifier.n_outputs()]);
        let mut next = done + Self::SLOW;
        while done < self.settings.sweeps && !interrupt.is_set() {
            done += 1;
            let violation = self.sweep_over_gram(&mut gram);
            self.centre(&whole, &mut weights);
            if violation <= goal {
                break;
            }
            if done >= next {
                next = done + self.leap(&mut gram);
            }
        }
        done
    }

    /// The places of the columns whose weights in all classes are coordinates; none with two classes, or without an L1 penalty.
    /// Weights with signs or different factors are not moved together.
    fn whole_columns(&self) -> Vec<Range<usize>> {
        let (k, ids) = (self.classifier.n_outputs(), self.columns.iter().map(|column| column.id));
        if k == 1 || self.settings.l1 == 0.0 {
            return Vec::new();
        }
        let alike = |places: &Range<usize>| {
            let columns = &self.columns[places.clone()];
            columns.iter().all(|column| column.sign == 0 && column.factor == columns[0].factor)
        };
        let whole = whole_columns(&ids.collect::<Vec<usize>>(), k);
        whole.into_iter().filter(alike).collect()
    }

    /// Adds to the weights of a column in all classes the number that makes their penalty least. H has no curvature in this direction.
    /// `weights` has room for those of a column.
    fn centre(&mut self, whole: &[Range<usize>], weights: &mut [f64]) {
        let NewtonSettings { l1, l2, .. } = *self.settings;
        for places in whole {
            let columns = &mut self.columns[places.clone()];
            weights.iter_mut().zip(&*columns).for_each(|(weight, column)| *weight = column.w + column.delta);
            let constant = best_constant(weights, l1, l2);
            for column in columns.iter_mut().filter(|_| constant != 0.0) {
                let is_0 = column.w + column.delta == constant;
                column.delta = if is_0 { -column.w } else { column.delta - constant };
            }
        }
    }

    /// A sweep by way of the data over all coordinates, or if `active`, over the columns whose weights are not 0 and the
    /// intercept. Returns the largest violation met.
    fn sweep<I: Id, V: Value>(&mut self, z: &Scaled, all: Entries<'_, I, V>, active: bool) -> f64 {
        let NewtonSettings { l1, l2, .. } = *self.settings;
        let (mut most, n) = (0.0f64, self.columns.len());
        for (at, column) in self.columns.iter_mut().enumerate() {
            if active && column.w + column.delta == 0.0 {
                continue;
            }
            let slope = column.gradient + l2 * column.factor * column.delta + z.combine(at, all, &self.products);
            let change = column.change(slope, l1, &mut most);
            if change != 0.0 {
                column.delta += change;
                z.add_to(at, all, change, &mut self.products);
            }
        }
        for (at, intercept) in (n..).zip(&mut self.intercepts) {
            let slope = intercept.gradient + z.combine(at, all, &self.products);
            most = most.max(slope.abs());
            let change = -slope / intercept.curvature;
            intercept.delta += change;
            z.add_to(at, all, change, &mut self.products);
        }
        most
    }

    /// A sweep over all coordinates by way of X' D X; returns the largest violation met. `products` is not updated.
    fn sweep_over_gram(&mut self, gram: &mut Gram) -> f64 {
        dispatched(|| self.sweep_over_rows(gram))
    }

    /// `sweep_over_gram`, for the instruction set of its caller.
    #[inline(always)]
    fn sweep_over_rows(&mut self, gram: &mut Gram) -> f64 {
        let NewtonSettings { l1, l2, .. } = *self.settings;
        let mut most = 0.0f64;
        for (at, column) in self.columns.iter_mut().enumerate() {
            let slope = column.gradient + l2 * column.factor * column.delta + gram.product(at);
            let change = column.change(slope, l1, &mut most);
            if change != 0.0 {
                column.delta += change;
                gram.add(at, change);
            }
        }
        for (place, intercept) in self.intercepts.iter_mut().enumerate() {
            let at = self.columns.len() + place;
            let slope = intercept.gradient + gram.product(at);
            most = most.max(slope.abs() * intercept.unit);
            let change = -slope / intercept.curvature;
            intercept.delta += change;
            gram.add(at, change);
        }
        most
    }
}

/// The working set, by ascending column: all columns whose weights are not 0, and as many others (or more, up to `least` columns
/// in all) with the largest violations. If it is chosen `among` some columns, the weights of all others are at their optimum, 0. Of
/// more than `most`, it has those with the largest violations.
pub(super) fn working_set(
    among: Option<&[usize]>,
    w: &[f64],
    gradient: &[f64],
    settings: &NewtonSettings,
    most: usize,
) -> Vec<usize> {
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    let mut look = |(column, (&w, &g)): (usize, (&f64, &f64))| {
        let (factor, sign) = settings.of(column);
        let l1 = settings.l1 * factor;
        if w != 0.0 || l1 == 0.0 && sign == 0 && !settings.excluded.contains(&column) {
            chosen.push(column);
        } else if towards(w, g, sign).abs() > l1 && !settings.excluded.contains(&column) {
            others.push(column);
        }
    };
    match among {
        Some(columns) => columns.iter().for_each(|&j| look((j, (&w[j], &gradient[j])))),
        None => w.iter().zip(gradient).enumerate().for_each(look),
    }
    if chosen.len() > most {
        let size = |&j: &usize| {
            let (factor, sign) = settings.of(j);
            let slope = gradient[j] + settings.l2 * factor * w[j];
            violation(w[j], towards(w[j], slope, sign), settings.l1 * factor).abs()
        };
        chosen.select_nth_unstable_by(most - 1, |a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
        chosen.truncate(most);
    }
    let room = (2 * chosen.len()).max(settings.least).min(most) - chosen.len();
    with_steepest(chosen, others, room, gradient)
}
