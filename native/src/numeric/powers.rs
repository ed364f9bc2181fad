//! Powers of ratios.

use crate::numeric;
use pulp::Scalar;

/// Ratios whose powers are taken side by side.
pub const SIDE_BY_SIDE: usize = 256;
/// The largest |a - b| / (a + b) for which a few terms of each series are exact.
const CLOSE: f64 = 1.0 / 128.0;

/// (a / b)^power, element by element: of positive numbers, powers from [-1, 1], |log (a / b)| at most 700. Compiled into its
/// caller, which has been dispatched to an instruction set.
///
/// Where all ratios are close to 1, as in iterations that settle, short series do; elsewhere exp(power log (a / b)).
#[inline(always)]
pub fn powers_of_ratios(a: &[f64], b: &[f64], powers: impl Fn(usize) -> f64, out: &mut [f64]) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    let mut far = 0;
    for k in 0..n {
        out[k] = (a[k] - b[k]) / (a[k] + b[k]);
        far += u64::from(out[k].abs() > CLOSE);
    }
    if far == 0 {
        out.iter_mut().enumerate().for_each(|(k, s)| *s = close(*s, powers(k)));
        return;
    }
    out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a / b);
    numeric::ln_in_place(Scalar::new(), out);
    out.iter_mut().enumerate().for_each(|(k, log)| *log *= powers(k));
    numeric::exp_in_place(Scalar::new(), out);
}

/// (a / b)^power from s = (a - b) / (a + b), |s| <= `CLOSE`: log (a / b) = 2 artanh s, and exp, by their series.
#[inline(always)]
fn close(s: f64, power: f64) -> f64 {
    let q = s * s;
    let log = 2.0 * s * (1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0))));
    let x = power * log;
    let mut sum = 1.0 / 5040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * x + coefficient;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{CLOSE, SIDE_BY_SIDE, powers_of_ratios};
    use crate::numeric::chunks::dispatched;

    #[test]
    fn powers_are_exact_to_a_few_units_in_the_last_place_near_1_and_far_from_it() {
        let border = (1.0 + CLOSE) / (1.0 - CLOSE);
        for reach in [1e-12, 1e-3, border - 1.0 - 1e-12, border - 1.0 + 1e-12, 2.0, 1e6] {
            let steps = (0..SIDE_BY_SIDE).map(|k| k as f64 / (SIDE_BY_SIDE - 1) as f64);
            let a: Vec<f64> = steps.clone().map(|step| 0.7 * (1.0 + reach * step)).collect();
            let b = vec![0.7; a.len()];
            let powers: Vec<f64> = steps.map(|step| 1.0 - 2.0 * step).collect();
            let mut out = vec![0.0; a.len()];
            dispatched(|| powers_of_ratios(&a, &b, |k| powers[k], &mut out));
            for k in 0..a.len() {
                let exact = (a[k] / b[k]).powf(powers[k]);
                assert!(
                    (out[k] / exact - 1.0).abs() < 4e-15,
                    "({} / {})^{}: {} {exact}",
                    a[k],
                    b[k],
                    powers[k],
                    out[k]
                );
            }
        }
    }

    #[test]
    fn equal_numbers_have_the_ratio_1() {
        let (a, mut out) = ([0.1, 3e200, 5e-300], [0.0; 3]);
        powers_of_ratios(&a, &a, |_| 0.3, &mut out);
        assert_eq!(out, [1.0; 3]);
    }
}
