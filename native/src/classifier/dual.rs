//! Dual coordinate descent for classifiers of two classes with an L2 penalty and no intercept (Yu, Huang & Lin 2011, "Dual
//! coordinate descent methods for logistic regression and maximum entropy models", sections 2.2 and 3).
//!
//! Symbols: y_i = +-1, C_i = weight / l2, alpha_i in (0, C_i) the dual variable of sample i, w = sum of alpha_i y_i x_i. A step
//! minimises the dual over one alpha_i, given a = |x_i|^2 and b = y_i x_i . w:
//! a / 2 (z - alpha_i)^2 + b (z - alpha_i) + z log z + (C_i - z) log(C_i - z).
//!
//! `alpha[2 i]` holds alpha_i and `alpha[2 i + 1]` its log-odds t_i = log(alpha_i / (C_i - alpha_i)): near C_i, alpha_i has no
//! digits left that tell C_i - alpha_i, and t_i has.
//!
//! Departures from the paper:
//! - the problem of one variable is solved for t_i, by Newton's method in a bracket, in place of Algorithm 4;
//! - a t_i within `Pass::near` of its optimum is left as it is.

use crate::classifier::objective::Classifier;
use crate::error::Result;
use crate::numeric;
use crate::numeric::ragged::{Entries, Id, Value, total, with_entries};
use crate::threads::Interrupt;

/// Samples between two looks at the interrupt flag.
const PERIOD: usize = 64;
/// Visits between the request for the entries of a sample and their use; its weights are requested half as many visits ahead.
const AHEAD: usize = 4;

/// The weights w = sum of alpha_i y_i x_i, and |x_i|^2 of each sample.
pub fn start(classifier: &Classifier, alpha: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut w, mut squares) = (vec![0.0; classifier.n_features()], vec![0.0; classifier.n_samples()]);
    let rows = classifier.design.rows();
    with_entries!(rows, all => {
        for (i, squared) in squares.iter_mut().enumerate() {
            let of_x = if classifier.targets[i] == 1 { alpha[2 * i] } else { -alpha[2 * i] };
            rows.add_to(i, all, of_x, &mut w);
            let (ids, values) = rows.list(i, all);
            *squared = total(ids, values, |_, x| x.get() * x.get());
        }
    });
    (w, squares)
}

/// A pass: a step for each sample of `visits`, first to last, which changes w and alpha (Algorithm 3, one outer iteration).
pub struct Pass<'a> {
    pub classifier: &'a Classifier,
    pub w: &'a mut [f64],
    pub alpha: &'a mut [f64],
    /// |x_i|^2 of each sample.
    pub squares: &'a [f64],
    pub visits: &'a [usize],
    pub l2: f64,
    /// Distance from its optimum, in log-odds, at which a t_i is left as it is: the next pass looks at the sample again.
    pub near: f64,
    pub interrupt: &'a Interrupt,
}

impl Pass<'_> {
    /// Returns the largest |b + t_i| met: at an optimum b = -t_i for every sample.
    pub fn run(self) -> Result<f64> {
        let (rows, interrupt) = (self.classifier.design.rows(), self.interrupt);
        let most = with_entries!(rows, all => self.steps(all));
        interrupt.check()?;
        Ok(most)
    }

    fn steps<I: Id, V: Value>(self, all: Entries<'_, I, V>) -> f64 {
        let Pass { classifier, w, alpha, squares, visits, l2, near, interrupt } = self;
        let rows = classifier.design.rows();
        let far = w.len() > NEAR;
        let mut most = 0.0f64;
        for (k, &i) in visits.iter().enumerate() {
            if k % PERIOD == 0 && interrupt.is_set() {
                break;
            }
            if let Some(&later) = visits.get(k + AHEAD) {
                let (ids, values) = rows.list(later, all);
                numeric::prefetch_range(ids, 0..ids.len());
                if size_of::<V>() > 0 {
                    numeric::prefetch_range(values, 0..values.len());
                }
            }
            if let Some(&next) = visits.get(k + AHEAD / 2).filter(|_| far) {
                rows.list(next, all).0.iter().for_each(|&id| numeric::prefetch(w, id.at()));
            }
            let c = classifier.weight(i) / l2;
            if c <= 0.0 {
                continue;
            }
            let y = if classifier.targets[i] == 1 { 1.0 } else { -1.0 };
            let b = y * rows.combine_one(i, all, w);
            let [before, t] = [alpha[2 * i], alpha[2 * i + 1]];
            let apart = b + t;
            most = most.max(apart.abs());
            if apart.abs() <= near {
                continue;
            }
            let [after, t] = solve(squares[i], b, c, [before, t], near);
            (alpha[2 * i], alpha[2 * i + 1]) = (after, t);
            rows.add_to(i, all, y * (after - before), w);
        }
        most
    }
}

/// The number of weights that the second-level cache holds: no more than these need no requests ahead.
const NEAR: usize = 1 << 17;
/// Most steps of Newton's method for one variable.
const MOST_NEWTON_STEPS: usize = 100;

/// The alpha_i that minimises the dual over one variable, and its log-odds within `near`, by Newton's method in a bracket.
///
/// The derivative as a function of the log-odds, t + a (C s(t) - alpha) + b with the logistic function s, rises at least as
/// fast as t: the root is no further from a point than the value of the derivative there, which gives the bracket.
fn solve(a: f64, b: f64, c: f64, [alpha, t]: [f64; 2], near: f64) -> [f64; 2] {
    let (mut z, mut t) = (alpha, t);
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
    for _ in 0..MOST_NEWTON_STEPS {
        let value = t + a * (z - alpha) + b;
        if value.abs() <= near {
            break;
        }
        (least, most) = if value > 0.0 { (least.max(t - value), t) } else { (t, most.min(t - value)) };
        t -= value / (1.0 + a * z * (c - z) / c);
        if !(least..=most).contains(&t) {
            t = 0.5 * (least + most);
        }
        t = t.clamp(-FURTHEST, FURTHEST);
        z = c / (1.0 + (-t).exp());
    }
    [z, t]
}

/// The largest |t|: exp(-t) is finite and alpha does not become 0.
const FURTHEST: f64 = 700.0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_derivative_vanishes_at_the_solution(
            a in 0.0..1e4f64, b in -1e3..1e3f64, c in 1e-6..1e6f64, t in -40.0..40.0f64, digits in 3..12i32,
        ) {
            let before = c / (1.0 + (-t).exp());
            let near = 10f64.powi(-digits);
            let [alpha, after] = solve(a, b, c, [before, t], near);
            prop_assert!(alpha > 0.0 && alpha <= c);
            prop_assert!((alpha - c / (1.0 + (-after).exp())).abs() <= 1e-15 * c);
            let slope = after + a * (alpha - before) + b;
            let tolerance = 2.0 * near + 1e-12 * (a * c + b.abs());
            prop_assert!(slope.abs() <= tolerance || after.abs() >= FURTHEST, "{slope} {alpha} {after}");
        }
    }
}
