//! A proximal Newton step on a working set, for classifiers of two classes with an L1 penalty (Yuan, Ho & Lin 2012,
//! "An improved GLMNET for L1-regularized logistic regression", Algorithms 3 and 4; working set as in Massias, Gramfort &
//! Salmon 2018).
//!
//! Symbols: g the gradient at w, D the samples' second derivatives s p (1 - p), H = X' D X + l2 the Hessian. Where a sample is far
//! on the wrong side, p (1 - p) tells nothing of the way back, and D is a share of a parabola's curvature that bounds the loss. The step delta
//! minimises g . delta + 1/2 delta' H delta + the penalty of w + delta over a working set, by coordinate descent: with X delta at
//! hand a coordinate costs what its column costs. If a few sweeps are not enough and the working set is small, H is
//! written out (`gram`), and a coordinate then costs a row of it. A line search along delta needs X delta only.

use crate::classifier::objective::Classifier;
use crate::error::Result;
use crate::numeric::ragged::{Entries, Id, Value, with_entries};
use crate::threads::{self, Interrupt};
use std::ops::Range;

pub struct Settings {
    pub l1: f64,
    pub l2: f64,
    /// The subproblem's violation is to fall to this fraction of what it begins with.
    pub precision: f64,
    /// Most sweeps over the working set.
    pub sweeps: usize,
    /// Smallest working set.
    pub least: usize,
    /// Columns whose weights stay 0.
    pub excluded: Range<usize>,
}

/// What a step did.
#[derive(Clone, Copy, Default)]
pub struct Outcome {
    /// Of w after the step.
    pub nll: f64,
    /// Columns in the working set.
    pub working_set: usize,
    pub sweeps: usize,
    /// Evaluations of the objective in the line search.
    pub trials: usize,
    /// Whether w moved; if not, no point along delta was better.
    pub moved: bool,
    /// What the model promised of the step: how much the objective would fall.
    pub promised: f64,
}

/// Makes a step: changes w, its scores X w and the gradient of the NLL, which have to be right before.
pub fn step(
    classifier: &Classifier,
    w: &mut [f64],
    scores: &mut [f64],
    gradient: &mut [f64],
    settings: &Settings,
    interrupt: &Interrupt,
) -> Result<Outcome> {
    let mut residuals = vec![0.0; scores.len()];
    let before = classifier.residuals(scores, &mut residuals);
    let mut subproblem = Subproblem::new(classifier, w, gradient, (&*scores, &residuals), settings);
    let columns = classifier.design.columns();
    let sweeps = with_entries!(columns, all => subproblem.minimise(all, interrupt));
    interrupt.check()?;
    let mut outcome = Outcome { nll: before, working_set: subproblem.columns.len(), sweeps, ..Outcome::default() };
    let direction = with_entries!(columns, all => subproblem.direction(all));
    let (promised, found) = subproblem.search(before, scores, &direction, &mut residuals);
    outcome.promised = promised;
    let Some((length, nll, trials)) = found else { return Ok(outcome) };
    (outcome.nll, outcome.trials, outcome.moved) = (nll, trials, true);
    subproblem.take(length, &direction, w, scores);
    classifier.gradient(&residuals, gradient, interrupt);
    interrupt.check()?;
    Ok(outcome)
}

struct Column {
    id: usize,
    /// w_j, g_j + l2 w_j, H_jj, and delta_j.
    w: f64,
    gradient: f64,
    curvature: f64,
    delta: f64,
}

impl Column {
    /// What coordinate descent adds to the weight; takes up how much it violates optimality.
    #[inline(always)]
    fn change(&self, slope: f64, l1: f64, most: &mut f64) -> f64 {
        let before = self.w + self.delta;
        *most = most.max(violation(before, slope, l1).abs());
        let (z, bound) = (before - slope / self.curvature, l1 / self.curvature);
        z - z.clamp(-bound, bound) - before
    }
}

/// X' D X over the columns of a working set and the intercept, and its product with delta.
struct Gram {
    size: usize,
    matrix: Vec<f64>,
    product: Vec<f64>,
}

/// Sweeps over the data before X' D X is thought of.
const FIRST_SWEEPS: usize = 3;
/// Sweeps over the weights that are not 0, between two over all.
const ACTIVE_SWEEPS: usize = 4;
const MOST_COLUMNS: usize = 3000;

/// Sweeps until a violation meets its goal if it goes on falling as it did in the last `sweeps`; it falls slower and slower.
fn sweeps_ahead(goal: f64, violation: f64, before: f64, sweeps: usize) -> f64 {
    let fall = (before / violation).ln() / sweeps as f64;
    if fall > 0.0 { (violation / goal).ln() / fall } else { f64::INFINITY }
}

impl Gram {
    /// How many sweeps over the data cost as much as the matrix; none if sweeps over it are no cheaper. Whoever has made so
    /// many without an end has reason to think that as many will follow.
    fn worth(classifier: &Classifier, columns: &[Column]) -> Option<f64> {
        let (n, lists) = (columns.len(), classifier.design.columns());
        let entries: usize = columns.iter().map(|column| lists.range(column.id).len()).sum();
        if n > MOST_COLUMNS || n * n > entries {
            return None;
        }
        let mut counts = vec![0u32; classifier.n_samples()];
        with_entries!(lists, all => for column in columns {
            lists.list(column.id, all).0.iter().for_each(|&i| counts[i.at()] += 1);
        });
        let pairs: usize = counts.iter().map(|&count| (count as usize).pow(2)).sum();
        Some(pairs as f64 / (2 * entries) as f64)
    }

    /// `curvatures` are D, `slopes` D X delta.
    fn new(
        classifier: &Classifier,
        columns: &[Column],
        has_intercept: bool,
        curvatures: &[f64],
        slopes: &[f64],
    ) -> Gram {
        let size = columns.len() + usize::from(has_intercept);
        let of_set = classifier.design.columns().select(columns.iter().map(|column| column.id));
        let by_sample = of_set.transposed();
        let (mut matrix, value) = (vec![0.0; size * size], classifier.intercept.unwrap_or(0.0));
        let rows = matrix.chunks_mut(size.max(1)).enumerate().collect();
        let product = with_entries!(of_set, all => with_entries!(by_sample, samples => {
            threads::share(&classifier.pool, rows, |(a, row)| {
                if a == columns.len() {
                    row[a] = value * value * curvatures.iter().sum::<f64>();
                    return value * slopes.iter().sum::<f64>();
                }
                let (ids, values) = of_set.list(a, all);
                for (&i, x) in ids.iter().zip(values) {
                    let factor = curvatures[i.at()] * x.get();
                    let (others, values) = by_sample.list(i.at(), samples);
                    // The upper half is enough.
                    let entries = others.iter().zip(values).rev().take_while(|&(&b, _)| b.at() >= a);
                    entries.for_each(|(&b, y)| row[b.at()] += factor * y.get());
                    if has_intercept {
                        row[columns.len()] += factor * value;
                    }
                }
                of_set.combine_one(a, all, slopes)
            })
        }));
        for a in 0..size {
            for b in 0..a {
                matrix[a * size + b] = matrix[b * size + a];
            }
        }
        Gram { size, matrix, product }
    }

    fn product(&self, at: usize) -> f64 {
        self.product[at]
    }

    /// After delta has changed at one place.
    fn add(&mut self, at: usize, change: f64) {
        let row = &self.matrix[at * self.size..][..self.size];
        self.product.iter_mut().zip(row).for_each(|(product, h)| *product += change * h);
    }
}

struct Subproblem<'a> {
    classifier: &'a Classifier,
    settings: &'a Settings,
    columns: Vec<Column>,
    /// The same of the intercept.
    intercept: Option<Column>,
    /// D_i and D_i (X delta)_i of each sample.
    curvatures: Vec<f64>,
    slopes: Vec<f64>,
    /// Largest violation at delta = 0.
    violation: f64,
}

/// Share of the bound below which no second derivative falls, for a sample that is on the wrong side.
const DAMPING: f64 = 0.1;

/// The curvature of the parabola that touches log(1 + exp(m)) at m and lies above it everywhere (Jaakkola & Jordan 2000,
/// twice their lambda).
fn bound(m: f64) -> f64 {
    if m < 1e-6 { 0.25 } else { 0.5 * (0.5 * m).tanh() / m }
}

/// Below it a second derivative says nothing.
const LEAST_CURVATURE: f64 = 1e-12;

impl<'a> Subproblem<'a> {
    fn new(
        classifier: &'a Classifier,
        w: &[f64],
        gradient: &[f64],
        (scores, residuals): (&[f64], &[f64]),
        settings: &'a Settings,
    ) -> Subproblem<'a> {
        // p (1 - p) from |p - y|, which is one of the two.
        let curvature = |(sample, (residual, score)): (usize, (&f64, &f64))| {
            let (weight, size) = (classifier.weight(sample), residual.abs());
            let newton = if weight > 0.0 { size * (1.0 - size / weight) } else { 0.0 };
            newton.max(DAMPING * size * bound(score.abs()))
        };
        let curvatures: Vec<f64> = residuals.iter().zip(scores).enumerate().map(curvature).collect();
        let n = classifier.design.n_columns();
        let column = |id: usize| Column {
            id,
            w: w[id],
            gradient: gradient[id] + if id < n { settings.l2 * w[id] } else { 0.0 },
            curvature: 0.0,
            delta: 0.0,
        };
        let mut subproblem = Subproblem {
            classifier,
            settings,
            columns: working_set(&w[..n], gradient, settings).into_iter().map(column).collect(),
            intercept: classifier.intercept.map(|_| column(n)),
            slopes: vec![0.0; curvatures.len()],
            curvatures,
            violation: 0.0,
        };
        with_entries!(classifier.design.columns(), all => subproblem.fill_curvatures(all));
        let violations =
            subproblem.columns.iter().map(|column| violation(column.w, column.gradient, settings.l1).abs());
        let of_intercept = subproblem.intercept.as_ref().map_or(0.0, |column| column.gradient.abs());
        subproblem.violation = violations.fold(of_intercept, f64::max);
        subproblem
    }

    /// That of the intercept's column.
    fn value(&self) -> f64 {
        self.classifier.intercept.unwrap_or(0.0)
    }

    fn fill_curvatures<I: Id, V: Value>(&mut self, all: Entries<'_, I, V>) {
        let lists = self.classifier.design.columns();
        for column in &mut self.columns {
            let (ids, values) = lists.list(column.id, all);
            let sum: f64 = ids.iter().zip(values).map(|(&i, x)| self.curvatures[i.at()] * x.get() * x.get()).sum();
            column.curvature = (sum + self.settings.l2).max(LEAST_CURVATURE);
        }
        let x = self.value();
        if let Some(intercept) = &mut self.intercept {
            let sum: f64 = self.curvatures.iter().sum();
            intercept.curvature = (sum * x * x).max(LEAST_CURVATURE);
        }
    }

    /// Sweeps over the columns until none violates optimality much; returns how many there were.
    fn minimise<I: Id, V: Value>(&mut self, all: Entries<'_, I, V>, interrupt: &Interrupt) -> usize {
        let Settings { precision, sweeps, .. } = *self.settings;
        let goal = precision * self.violation;
        let (mut done, mut worth, mut last) = (0, None, (0, self.violation));
        while done < sweeps && !interrupt.is_set() {
            done += 1;
            let violation = self.sweep(all, false);
            if violation <= goal {
                break;
            }
            if done == FIRST_SWEEPS {
                worth = Gram::worth(self.classifier, &self.columns);
            }
            let ahead = sweeps_ahead(goal, violation, last.1, done - last.0);
            last = (done, violation);
            if worth.is_some_and(|worth| done as f64 >= worth || ahead >= worth) && sweeps > done {
                let (curvatures, slopes) = (&self.curvatures, &self.slopes);
                let mut gram = Gram::new(self.classifier, &self.columns, self.intercept.is_some(), curvatures, slopes);
                while done < sweeps && !interrupt.is_set() {
                    done += 1;
                    if self.sweep_over_gram(&mut gram) <= goal {
                        break;
                    }
                }
                break;
            }
            // Weights that are 0 mostly remain so: the others are brought into order first.
            if done >= FIRST_SWEEPS {
                let end = (done + ACTIVE_SWEEPS).min(sweeps);
                while done < end && !interrupt.is_set() {
                    done += 1;
                    if self.sweep(all, true) <= goal {
                        break;
                    }
                }
            }
        }
        done
    }

    /// A sweep over the data, or over the columns whose weights are not 0; returns the largest violation met.
    fn sweep<I: Id, V: Value>(&mut self, all: Entries<'_, I, V>, active: bool) -> f64 {
        let lists = self.classifier.design.columns();
        let Settings { l1, l2, .. } = *self.settings;
        let mut most = 0.0f64;
        for column in self.columns.iter_mut().filter(|column| !active || column.w + column.delta != 0.0) {
            let slope = column.gradient + l2 * column.delta + lists.combine_one(column.id, all, &self.slopes);
            let change = column.change(slope, l1, &mut most);
            if change != 0.0 {
                column.delta += change;
                let (ids, values) = lists.list(column.id, all);
                for (&i, x) in ids.iter().zip(values) {
                    self.slopes[i.at()] += change * x.get() * self.curvatures[i.at()];
                }
            }
        }
        let x = self.value();
        if let Some(intercept) = &mut self.intercept {
            let slope = intercept.gradient + x * self.slopes.iter().sum::<f64>();
            most = most.max(slope.abs());
            let change = -slope / intercept.curvature;
            intercept.delta += change;
            self.slopes.iter_mut().zip(&self.curvatures).for_each(|(slope, d)| *slope += change * x * d);
        }
        most
    }

    /// The same over H; what belongs to the samples is left behind.
    fn sweep_over_gram(&mut self, gram: &mut Gram) -> f64 {
        let Settings { l1, l2, .. } = *self.settings;
        let mut most = 0.0f64;
        for (at, column) in self.columns.iter_mut().enumerate() {
            let slope = column.gradient + l2 * column.delta + gram.product(at);
            let change = column.change(slope, l1, &mut most);
            if change != 0.0 {
                column.delta += change;
                gram.add(at, change);
            }
        }
        if let Some(intercept) = &mut self.intercept {
            let at = self.columns.len();
            let slope = intercept.gradient + gram.product(at);
            most = most.max(slope.abs());
            let change = -slope / intercept.curvature;
            intercept.delta += change;
            gram.add(at, change);
        }
        most
    }

    /// X delta.
    fn direction<I: Id, V: Value>(&self, all: Entries<'_, I, V>) -> Vec<f64> {
        let of_intercept = self.intercept.as_ref().map_or(0.0, |intercept| intercept.delta * self.value());
        let mut direction = vec![of_intercept; self.slopes.len()];
        for column in self.columns.iter().filter(|column| column.delta != 0.0) {
            self.classifier.design.columns().add_to(column.id, all, column.delta, &mut direction);
        }
        direction
    }

    /// Halves the step until the objective decreases enough (Eq. 20); returns the decrease promised, and of the point found the
    /// length of the step, the NLL and the trials. The residuals become those of the point found.
    fn search(
        &self,
        before: f64,
        scores: &[f64],
        direction: &[f64],
        residuals: &mut [f64],
    ) -> (f64, Option<(f64, f64, usize)>) {
        let Settings { l1, l2, .. } = *self.settings;
        let l1_change = |t: f64| {
            let each = |column: &Column| (column.w + t * column.delta).abs() - column.w.abs();
            l1 * self.columns.iter().map(each).sum::<f64>()
        };
        let all = self.columns.iter().chain(&self.intercept);
        let slope: f64 = all.map(|column| column.gradient * column.delta).sum();
        let promised = slope + l1_change(1.0);
        if promised.is_nan() || promised >= -ROUNDING * before {
            return (-promised, None);
        }
        let crossed: f64 = self.columns.iter().map(|column| column.w * column.delta).sum();
        let squared: f64 = self.columns.iter().map(|column| column.delta * column.delta).sum();
        let mut point = vec![0.0; scores.len()];
        let mut t = 1.0;
        for trial in 1..=MOST_TRIALS {
            let moved = scores.iter().zip(direction).map(|(score, x_delta)| score + t * x_delta);
            point.iter_mut().zip(moved).for_each(|(point, moved)| *point = moved);
            let nll = self.classifier.residuals(&point, residuals);
            let change = nll - before + l1_change(t) + l2 * t * (crossed + 0.5 * t * squared);
            if change <= DECREASE * t * promised {
                return (-promised, Some((t, nll, trial)));
            }
            t *= 0.5;
        }
        (-promised, None)
    }

    fn take(&self, length: f64, direction: &[f64], w: &mut [f64], scores: &mut [f64]) {
        for column in self.columns.iter().chain(&self.intercept) {
            // At length 1 a weight that was set to 0 is 0.
            w[column.id] = column.w + length * column.delta;
        }
        scores.iter_mut().zip(direction).for_each(|(score, x_delta)| *score += length * x_delta);
    }
}

const MOST_TRIALS: usize = 40;
/// A decrease of this fraction can drown in the rounding errors of a sum of many terms.
const ROUNDING: f64 = 2.3e-13;
const DECREASE: f64 = 1e-4;

/// The derivative, or where w is 0 what of it exceeds the L1 penalty.
#[inline(always)]
pub fn violation(w: f64, slope: f64, l1: f64) -> f64 {
    if w == 0.0 { (slope.abs() - l1).max(0.0) } else { slope + l1.copysign(w) }
}

/// All columns whose weight is not 0, and of the others those with the largest violations: twice as many in all. In order.
fn working_set(w: &[f64], gradient: &[f64], settings: &Settings) -> Vec<usize> {
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    for (column, (&w, &g)) in w.iter().zip(gradient).enumerate() {
        if w != 0.0 {
            chosen.push(column);
        } else if g.abs() > settings.l1 && !settings.excluded.contains(&column) {
            others.push(column);
        }
    }
    let room = (2 * chosen.len()).max(settings.least) - chosen.len();
    if room < others.len() {
        let order = |&a: &usize, &b: &usize| gradient[b].abs().total_cmp(&gradient[a].abs()).then(a.cmp(&b));
        others.select_nth_unstable_by(room, order);
        others.truncate(room);
    }
    chosen.extend(others);
    chosen.sort_unstable();
    chosen
}
