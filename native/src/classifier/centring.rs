//! The weights of a column with three classes or more: adding a number to all of them changes the penalty alone.
//!
//! The best number minimises a sum of absolute values and squares (Friedman, Hastie & Tibshirani, J. Statistical Software 33, 2010,
//! section 4.1). Coordinate descent takes very many sweeps to get there by changing one weight at a time.

use std::ops::Range;

/// The least and the largest c that minimise the sum over k of l1 |w_k - c| + (l2 / 2) (w_k - c)^2, where l1 > 0: the median of the w_k
/// and of the points c at which the derivative would be 0 if m of the w_k were below c, m = 0 .. K. Without l2 every median of the w_k
/// does. `w` is sorted in place.
pub fn best_constants(w: &mut [f64], l1: f64, l2: f64) -> (f64, f64) {
    let k = w.len();
    w.sort_unstable_by(f64::total_cmp);
    if l2 == 0.0 {
        return (w[(k - 1) / 2], w[k / 2]);
    }
    let mean = w.iter().sum::<f64>() / k as f64;
    // The points, which rise as m falls.
    let flat = |at: usize| mean + l1 * (2.0 * at as f64 - k as f64) / (l2 * k as f64);
    // Both lists are merged up to the median, which K numbers precede.
    let (mut of_w, mut of_flat) = (0, 0);
    let is_w = |of_w: usize, of_flat: usize| of_w < k && w[of_w] <= flat(of_flat);
    while of_w + of_flat < k {
        if is_w(of_w, of_flat) {
            of_w += 1;
        } else {
            of_flat += 1;
        }
    }
    let best = if is_w(of_w, of_flat) { w[of_w] } else { flat(of_flat) };
    (best, best)
}

/// The number nearest to 0 among those that `best_constants` returns the ends of.
pub fn best_constant(w: &mut [f64], l1: f64, l2: f64) -> f64 {
    let (least, largest) = best_constants(w, l1, l2);
    0.0f64.max(least).min(largest)
}

/// The places of the columns all of whose weights are in a working set, which ascends. A weight's number is that of its column times the
/// number of classes plus its class.
pub fn whole_columns(working_set: &[usize], n_classes: usize) -> Vec<Range<usize>> {
    let is_whole = |&place: &usize| {
        let last = working_set.get(place + n_classes - 1);
        working_set[place].is_multiple_of(n_classes) && last == Some(&(working_set[place] + n_classes - 1))
    };
    (0..working_set.len()).filter(is_whole).map(|place| place..place + n_classes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    #[test]
    fn no_other_constant_makes_the_penalty_smaller() {
        let mut random = Random::new(7, 0);
        for round in 0..2000 {
            let (k, l2) = (3 + round % 4, [0.0, 1e-3, 0.3, 5.0][round / 4 % 4]);
            let mut w: Vec<f64> = (0..k).map(|_| (random.uniform() * 9.0 - 4.0).round() / 2.0).collect();
            let penalty = |c: f64, w: &[f64]| -> f64 {
                w.iter().map(|w| 0.7 * (w - c).abs() + 0.5 * l2 * (w - c) * (w - c)).sum()
            };
            let c = best_constant(&mut w, 0.7, l2);
            let least = penalty(c, &w);
            for step in -100..=100 {
                assert!(penalty(c + f64::from(step) * 0.05, &w) >= least - 1e-12);
            }
            assert!(c == 0.0 || penalty(0.0, &w) > least);
            let (low, high) = best_constants(&mut w, 0.7, l2);
            assert!(low <= c && c <= high && (penalty(low, &w) - penalty(high, &w)).abs() < 1e-12);
        }
    }

    #[test]
    fn whole_columns_have_all_their_weights_in_the_working_set() {
        assert_eq!(whole_columns(&[0, 1, 2, 4, 5, 6, 9, 10, 11, 12, 14], 3), [0..3, 6..9]);
        assert!(whole_columns(&[1, 2, 3], 3).is_empty());
    }
}
