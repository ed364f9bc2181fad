//! A bound of the distance of the objective from its minimum by weak duality, for two classes with an L1 penalty (Koh, Kim & Boyd
//! 2007); `loglinear.gap` derives it for all objectives.
//!
//! Symbols: s_i the weight of sample i, q_i = |residual| / s_i the probability of its other class, h the entropy of two classes.
//! For factors t_i in [0, 1] and r = X' (t_i residual_i), the objective is nowhere below
//!
//!   sum_i s_i h(t_i q_i) - max over u of (-u . r - l1 |u|_1 - (l2 / 2) |u|^2).
//!
//! An intercept needs r = 0 at its column. So the factors of one class are such that its residuals weigh as much as those of the
//! other one. That moves r_j by no more than the difference of the two sums times the largest |x_ij|: r need not be computed.

use crate::classifier::newton::NewtonSettings;
use crate::classifier::objective::Classifier;
use crate::classifier::point::Point;
use crate::numeric;
use crate::numeric::arch::arch;
use pulp::{Simd, WithSimd};

/// The bound at a point, nats; infinite if a class has no residuals. `largest` are the largest |x_ij|, none if all are 1.
pub fn gap(
    classifier: &Classifier,
    point: &Point,
    largest: Option<&[f64]>,
    settings: &NewtonSettings,
    objective: f64,
) -> f64 {
    let NewtonSettings { l1, l2, .. } = *settings;
    let residuals = &point.residuals;
    let (mut factors, mut moved) = ([1.0; 2], 0.0);
    if classifier.intercept.is_some() {
        let mut sums = [0.0; 2];
        residuals.iter().zip(&classifier.targets).for_each(|(r, &class)| sums[class as usize] += r.abs());
        let least = sums[0].min(sums[1]);
        if least <= 0.0 {
            return f64::INFINITY;
        }
        factors = sums.map(|sum| least / sum);
        moved = (sums[0] - sums[1]).abs();
    }
    let unknown = |j: usize| point.screen.as_ref().map_or(0.0, |screen| screen.unknown(j));
    let size = |(j, g): (usize, &f64)| g.abs() + unknown(j) + moved * largest.map_or(1.0, |largest| largest[j]);
    let sizes = || point.gradient[..classifier.design.n_columns()].iter().enumerate().map(size);
    let most = sizes().fold(0.0, |most, size| if size > most { size } else { most });
    let entropy =
        |t: f64| arch().dispatch(Entropy { classifier, residuals, factors: factors.map(|factor| t * factor) });
    // Scaled by the first of these, r costs nothing.
    let mut bound = entropy(if most > l1 { l1 / most } else { 1.0 });
    if l2 > 0.0 && most > l1 {
        let excess: f64 = sizes().map(|size| (size - l1).max(0.0).powi(2)).sum();
        bound = bound.max(entropy(1.0) - excess / (2.0 * l2));
    }
    (objective - bound).max(0.0)
}

/// The sum over samples of weight * h(factor * |residual| / weight), where h is the entropy of two classes of which one has the
/// given probability.
struct Entropy<'a> {
    classifier: &'a Classifier,
    residuals: &'a [f64],
    /// The factor of each class.
    factors: [f64; 2],
}

/// Samples whose logarithms are computed together.
const BATCH: usize = 64;
/// Adds nothing to a probability, and lets 0 log 0 be 0.
const TINY: f64 = 1e-300;

impl WithSimd for Entropy<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Entropy { classifier, residuals, factors } = self;
        let (mut total, mut first) = (0.0, 0);
        for residuals in residuals.chunks(BATCH) {
            let (n, mut weights) = (residuals.len(), [0.0; BATCH]);
            let (mut q, mut logs) = ([0.0; BATCH], [[TINY; BATCH]; 2]);
            for i in 0..n {
                weights[i] = classifier.weight(first + i);
                let factor = factors[classifier.targets[first + i] as usize];
                q[i] = if weights[i] > 0.0 { (factor * residuals[i].abs() / weights[i]).clamp(0.0, 1.0) } else { 0.0 };
                (logs[0][i], logs[1][i]) = (q[i].max(TINY), (1.0 - q[i]).max(TINY));
            }
            for logs in &mut logs {
                numeric::ln_in_place(simd, &mut logs[..n]);
            }
            for i in 0..n {
                total -= weights[i] * (q[i] * logs[0][i] + (1.0 - q[i]) * logs[1][i]);
            }
            first += n;
        }
        total
    }
}
