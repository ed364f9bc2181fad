//! Dual coordinate descent for classifiers of two classes with an L2 penalty and no intercept (Yu, Huang & Lin 2011, "Dual
//! coordinate descent methods for logistic regression and maximum entropy models", sections 2.2 and 3).
//!
//! Symbols: y_i = +-1, C_i = weight / l2, alpha_i in (0, C_i) the dual variable of sample i, w = sum of alpha_i y_i x_i. A step
//! minimises the dual over one alpha_i, given a = |x_i|^2 and b = y_i x_i . w:
//! a / 2 (z - alpha_i)^2 + b (z - alpha_i) + z log z + (C_i - z) log(C_i - z).

use super::classifier::Classifier;
use crate::design::{Entries, Id, Value, with_entries};
use crate::error::Result;
use crate::numeric;
use crate::threads::Interrupt;

/// Samples between two looks at the interrupt flag.
const PERIOD: usize = 64;
/// How many samples ahead the entries, and half as many the weights, are asked for.
const AHEAD: usize = 4;

/// w = sum of alpha_i y_i x_i, and |x_i|^2.
pub fn start(classifier: &Classifier, alpha: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut w, mut squares) = (vec![0.0; classifier.n_features()], vec![0.0; classifier.n_samples()]);
    for (i, squared) in squares.iter_mut().enumerate() {
        let of_x = if classifier.targets[i] == 1 { alpha[2 * i] } else { -alpha[2 * i] };
        for (id, x) in classifier.design.rows.entries(i) {
            w[id as usize] += of_x * x;
            *squared += x * x;
        }
    }
    (w, squares)
}

/// Makes a step for each sample of an order; changes w and alpha. Returns by how much b and what alpha makes of it, log(alpha /
/// (C - alpha)), were apart at most: at an optimum they are opposites.
pub fn pass(
    classifier: &Classifier,
    w: &mut [f64],
    alpha: &mut [f64],
    squares: &[f64],
    order: &[usize],
    l2: f64,
    interrupt: &Interrupt,
) -> Result<f64> {
    let rows = &classifier.design.rows;
    let most = with_entries!(rows, all => run(classifier, all, w, alpha, squares, order, l2, interrupt));
    interrupt.check()?;
    Ok(most)
}

#[allow(clippy::too_many_arguments)]
fn run<I: Id, V: Value>(
    classifier: &Classifier,
    all: Entries<'_, I, V>,
    w: &mut [f64],
    alpha: &mut [f64],
    squares: &[f64],
    order: &[usize],
    l2: f64,
    interrupt: &Interrupt,
) -> f64 {
    let rows = &classifier.design.rows;
    let far = w.len() > NEAR;
    let mut most = 0.0f64;
    for (k, &i) in order.iter().enumerate() {
        if k % PERIOD == 0 && interrupt.is_set() {
            break;
        }
        if let Some(&later) = order.get(k + AHEAD) {
            let (ids, values) = rows.list(later, all);
            numeric::prefetch_range(ids, 0..ids.len());
            if size_of::<V>() > 0 {
                numeric::prefetch_range(values, 0..values.len());
            }
        }
        if let Some(&next) = order.get(k + AHEAD / 2).filter(|_| far) {
            rows.list(next, all).0.iter().for_each(|&id| numeric::prefetch(w, id.at()));
        }
        let c = classifier.weight(i) / l2;
        if c <= 0.0 {
            continue;
        }
        let y = if classifier.targets[i] == 1 { 1.0 } else { -1.0 };
        let b = y * rows.combine_one(i, all, w);
        let [before, rest] = [alpha[2 * i], alpha[2 * i + 1]];
        let apart = b + (before / rest).ln();
        most = most.max(apart.abs());
        if apart.abs() <= PRECISION {
            continue;
        }
        let [after, rest] = solve(squares[i], b, c, [before, rest]);
        (alpha[2 * i], alpha[2 * i + 1]) = (after, rest);
        rows.add_to(i, all, y * (after - before), w);
    }
    most
}

/// So many weights are at hand in the second-level cache.
const NEAR: usize = 1 << 17;
/// A root this near will do: the next pass looks at it again.
const PRECISION: f64 = 1e-3;
const MOST_NEWTON_STEPS: usize = 50;

/// The minimising alpha and C - alpha, which is kept apart lest it lose its digits. Newton's method on whichever of the two is
/// the smaller at the optimum (section 3.2), where the derivative is concave: from the left of the root it does not overshoot far.
fn solve(a: f64, b: f64, c: f64, [alpha, rest]: [f64; 2]) -> [f64; 2] {
    // The derivative where both are C / 2 tells on which side of it the root is.
    let swapped = a * 0.5 * (rest - alpha) + b < 0.0;
    let (from, sign) = if swapped { (rest, -1.0) } else { (alpha, 1.0) };
    let derivative = |z: f64| a * (z - from) + sign * b + (z / (c - z)).ln();
    let mut z = if from < 0.5 * c { from } else { 0.1 * from };
    for _ in 0..MOST_NEWTON_STEPS {
        let slope = derivative(z);
        if slope.abs() <= PRECISION {
            break;
        }
        let next = z - slope / (a + c / ((c - z) * z));
        z = if next > 0.0 { next.min(0.5 * (z + c)) } else { 0.1 * z };
        if z < f64::MIN_POSITIVE {
            z = f64::MIN_POSITIVE;
            break;
        }
    }
    if swapped { [c - z, z] } else { [z, c - z] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_derivative_vanishes_at_the_solution(
            a in 0.0..1e4f64, b in -1e3..1e3f64, c in 1e-6..1e6f64, at in 1e-9..1.0f64, upper: bool,
        ) {
            let small = at * 0.5 * c;
            let before = if upper { [c - small, small] } else { [small, c - small] };
            let [alpha, rest] = solve(a, b, c, before);
            prop_assert!(alpha > 0.0 && rest > 0.0);
            // The change of alpha is that of whichever is known to more digits.
            let change = if upper { before[1] - rest } else { alpha - before[0] };
            let slope = a * change + b + alpha.ln() - rest.ln();
            let tolerance = 2.0 * PRECISION + 1e-12 * (a * c + b.abs());
            prop_assert!(slope.abs() <= tolerance || alpha.min(rest) <= 1e-300, "{slope} {alpha} {rest}");
        }
    }
}
