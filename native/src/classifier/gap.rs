//! A bound of the distance of the objective from its minimum by weak duality, with an L1 penalty (Koh, Kim & Boyd 2007);
//! `loglinear.gap` derives it for all objectives.
//!
//! Symbols: s_i the weight of sample i, q_i = |residual| / s_i the probability of all but its own class, h the entropy of the classes
//! of a sample. For factors t_i in [0, 1] and r = X' (t_i residual_i), the objective is nowhere below
//!
//!   sum_i s_i h(t_i q_i) - max over u of (-u . r - l1 |u|_1 - (l2 / 2) |u|^2).
//!
//! An intercept needs r = 0 at its column. So samples of the same class c have the same factor t tau_c, where sum_c tau_c G_ck = 0 for
//! all outputs k, and G_ck is the sum of the residuals of class c. Residuals of a class and an output have the same sign. So tau moves
//! r_jk by no more than the sum of (1 - tau_c) |G_ck| times the largest |x_ij|: r need not be computed.

use crate::classifier::gram::Gram;
use crate::classifier::objective::Classifier;
use crate::classifier::point::Point;
use crate::classifier::softmax;
use crate::numeric;
use crate::numeric::arch::arch;
use pulp::{Simd, WithSimd};

/// The bound at a point, nats; infinite if a class has no residuals. `largest` are the largest |x_ij|, none if all are 1.
pub fn gap(
    classifier: &Classifier,
    point: &Point,
    largest: Option<&[f64]>,
    (l1, l2): (f64, f64),
    objective: f64,
) -> f64 {
    let outputs = classifier.n_outputs();
    let (mut factors, mut moved) = (vec![1.0; classifier.n_classes], vec![0.0; outputs]);
    if classifier.intercept.is_some() {
        let sums = sums_by_class(classifier, &point.residuals);
        let Some(balanced) = balanced(&sums) else { return f64::INFINITY };
        for (sums, factor) in sums.iter().zip(&balanced) {
            moved.iter_mut().zip(sums).for_each(|(moved, sum)| *moved += (1.0 - factor) * sum);
        }
        factors = balanced;
    }
    let columns = || point.gradient[..classifier.n_penalised()].chunks_exact(outputs).enumerate();
    let size = |column: usize, class: usize| {
        let unknown = point.screen.as_ref().map_or(0.0, |screen| screen.unknown(column, class));
        unknown + moved[class] * largest.map_or(1.0, |largest| largest[column])
    };
    let size = &size;
    let sizes = || {
        columns()
            .flat_map(move |(column, row)| row.iter().enumerate().map(move |(class, g)| g.abs() + size(column, class)))
    };
    let most = sizes().fold(0.0, |most, size| if size > most { size } else { most });
    let entropy = |t: f64| {
        let factors: Vec<f64> = factors.iter().map(|factor| t * factor).collect();
        match outputs {
            1 => {
                arch().dispatch(Entropy { classifier, residuals: &point.residuals, factors: [factors[0], factors[1]] })
            }
            _ => entropy_of_classes(classifier, point, &factors),
        }
    };
    // Scaled by the first of these, r costs nothing.
    let mut bound = entropy(if most > l1 { l1 / most } else { 1.0 });
    if l2 > 0.0 && most > l1 {
        let excess: f64 = sizes().map(|size| (size - l1).max(0.0).powi(2)).sum();
        bound = bound.max(entropy(1.0) - excess / (2.0 * l2));
    }
    (objective - bound).max(0.0)
}

/// The point, or a better one, where the intercept has made a step of Newton's method towards its optimum: there the factors of all
/// classes are near 1. One evaluation, and the Hessian of the intercept.
pub fn with_better_intercept(classifier: &Classifier, point: Point) -> Point {
    let (d, free) = (classifier.n_penalised(), classifier.n_features() - classifier.n_penalised());
    if free == 0 {
        return point;
    }
    let matrix = match free {
        1 => vec![curvature_of_intercept(classifier, &point.residuals)],
        _ => softmax::hessian(classifier, &[], (&point.scores, &point.residuals), 1, false),
    };
    let step = Gram::of_matrix(matrix, free).solve(|_| 0.0, |_| true, point.gradient[d..].iter().map(|slope| -slope));
    let mut w = point.w.clone();
    w[d..].iter_mut().zip(step).for_each(|(w, step)| *w += step);
    let (better, size) =
        (Point::at(classifier, w), |at: &Point| at.gradient[d..].iter().map(|slope| slope.abs()).sum::<f64>());
    if size(&better) < size(&point) { better } else { point }
}

/// Two classes: the second derivative by the intercept's weight.
fn curvature_of_intercept(classifier: &Classifier, residuals: &[f64]) -> f64 {
    let value = classifier.intercept.unwrap_or(0.0);
    let curvature = |(sample, residual): (usize, &f64)| {
        let weight = classifier.weight(sample);
        if weight > 0.0 { residual.abs() * (1.0 - residual.abs() / weight) } else { 0.0 }
    };
    residuals.iter().enumerate().map(curvature).sum::<f64>() * value * value
}

/// |G_ck|, a row of outputs for each class.
fn sums_by_class(classifier: &Classifier, residuals: &[f64]) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; classifier.n_outputs()]; classifier.n_classes];
    for (residuals, &class) in residuals.chunks_exact(classifier.width()).zip(&classifier.targets) {
        sums[class as usize].iter_mut().zip(residuals).for_each(|(sum, r)| *sum += r.abs());
    }
    sums
}

/// tau, the largest of which is 1; none if a class has no residuals. By elimination without subtractions (Grassmann, Taksar & Heyman,
/// Operations Research 33, 1985), as in `loglinear.objectives.balance`.
fn balanced(sums: &[Vec<f64>]) -> Option<Vec<f64>> {
    // With one output, the two classes have one residual each.
    let rate = |from: usize, to: usize| if sums[from].len() == 1 { sums[from][0] } else { sums[from][to] };
    let k = sums.len();
    let mut rates: Vec<Vec<f64>> = (0..k).map(|from| (0..k).map(|to| rate(from, to)).collect()).collect();
    for last in (1..k).rev() {
        let (above, below) = rates.split_at_mut(last);
        let out: f64 = below[0][..last].iter().sum();
        if out.is_nan() || out <= 0.0 {
            return None;
        }
        for row in above {
            row[last] /= out;
            let share = row[last];
            row[..last].iter_mut().zip(&below[0]).for_each(|(rate, of_last)| *rate += share * of_last);
        }
    }
    let mut tau = vec![1.0; k];
    for state in 1..k {
        tau[state] = (0..state).map(|from| tau[from] * rates[from][state]).sum();
        let most = tau[..=state].iter().copied().fold(0.0, f64::max);
        tau[..=state].iter_mut().for_each(|tau| *tau /= most);
    }
    tau.iter().all(|tau| tau.is_finite() && *tau > 0.0).then_some(tau)
}

/// Three classes or more: the sum over samples of weight * h, where the probabilities p of all but the own class are multiplied by the
/// factor of the class.
///
/// With z the scores, o = 1 - p_y and f the factor, h = -f o ln f - (1 - f o) ln(1 - f o) + f e, where e = -sum over k other than y of
/// p_k ln p_k = -o ln p_y + sum of p_k (z_y - z_k).
fn entropy_of_classes(classifier: &Classifier, point: &Point, factors: &[f64]) -> f64 {
    let (k, width, mut total) = (classifier.n_classes, classifier.width(), 0.0);
    let rows = point.residuals.chunks_exact(width).zip(point.scores.chunks_exact(width));
    for (sample, (residuals, scores)) in rows.enumerate() {
        let (weight, own) = (classifier.weight(sample), classifier.targets[sample] as usize);
        if weight <= 0.0 {
            continue;
        }
        let (o, factor) = (-residuals[own] / weight, factors[own]);
        // The most likely class has a probability that rounding errors leave alone.
        let likely = (0..k).fold(own, |best, class| if scores[class] > scores[best] { class } else { best });
        let ln_likely = if likely == own { (-o).ln_1p() } else { (residuals[likely] / weight).ln() };
        let others = (0..k).filter(|&class| class != own);
        let apart: f64 = others.map(|class| residuals[class] * (scores[own] - scores[class])).sum();
        let e = apart / weight - o * (ln_likely + scores[own] - scores[likely]);
        let left = 1.0 - factor * o;
        let of_own = if left > 0.0 { left * left.ln() } else { 0.0 };
        total += weight * (factor * e - factor * o * factor.ln() - of_own);
    }
    total
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
