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
    let entropy = |t: f64| -> f64 {
        let of_sample = |(i, r): (usize, &f64)| {
            let (weight, factor) = (classifier.weight(i), t * factors[classifier.targets[i] as usize]);
            if weight > 0.0 { weight * entropy_of(factor * r.abs() / weight) } else { 0.0 }
        };
        residuals.iter().enumerate().map(of_sample).sum()
    };
    // Scaled by the first of these, r costs nothing.
    let mut bound = entropy(if most > l1 { l1 / most } else { 1.0 });
    if l2 > 0.0 && most > l1 {
        let excess: f64 = sizes().map(|size| (size - l1).max(0.0).powi(2)).sum();
        bound = bound.max(entropy(1.0) - excess / (2.0 * l2));
    }
    (objective - bound).max(0.0)
}

/// The entropy of two classes of which one has probability q.
fn entropy_of(q: f64) -> f64 {
    let q = q.clamp(0.0, 1.0);
    let of_q = if q > 0.0 { -q * q.ln() } else { 0.0 };
    of_q - if q < 1.0 { (1.0 - q) * (-q).ln_1p() } else { 0.0 }
}
