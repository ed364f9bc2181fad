//! Logs of ratios, and exponentials, that are cheap where ratios are close to 1, as in iterations that settle: short series do
//! there. Compiled into their caller, which has been dispatched to an instruction set.

use crate::numeric;
use pulp::Scalar;

/// Numbers that are looked at together, to see whether all are small.
const TOGETHER: usize = 256;
/// The largest |a - b| / (a + b) for which a few terms of the series of log (a / b) are exact.
const CLOSE: f64 = 1.0 / 128.0;
/// The largest |x| for which a few terms of the series of exp are exact.
const SMALL: f64 = 1.0 / 32.0;

/// Writes log (a / b), element by element: of positive numbers with a normal ratio.
#[inline(always)]
pub fn logs_of_ratios(a: &[f64], b: &[f64], out: &mut [f64]) {
    for (out, (a, b)) in out.chunks_mut(TOGETHER).zip(a.chunks(TOGETHER).zip(b.chunks(TOGETHER))) {
        let n = out.len();
        let (a, b) = (&a[..n], &b[..n]);
        // Counted, not compared: this the compiler turns into vectors.
        let mut far = 0;
        for k in 0..n {
            out[k] = (a[k] - b[k]) / (a[k] + b[k]);
            far += u64::from(out[k].abs() > CLOSE);
        }
        if far == 0 {
            out.iter_mut().for_each(|s| *s = log_of_close(*s));
        } else {
            out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a / b);
            numeric::ln_in_place(Scalar::new(), out);
        }
    }
}

/// exp in place, for |x| <= 700.
#[inline(always)]
pub fn exponentials(values: &mut [f64]) {
    for values in values.chunks_mut(TOGETHER) {
        let far: u64 = values.iter().map(|x| u64::from(x.abs() > SMALL)).sum();
        if far == 0 {
            values.iter_mut().for_each(|x| *x = exp_of_small(*x));
        } else {
            numeric::exp_in_place(Scalar::new(), values);
        }
    }
}

/// log (a / b) from s = (a - b) / (a + b), |s| <= `CLOSE`: 2 artanh s.
#[inline(always)]
fn log_of_close(s: f64) -> f64 {
    let q = s * s;
    2.0 * s * (1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0))))
}

/// exp x, |x| <= `SMALL`.
#[inline(always)]
fn exp_of_small(x: f64) -> f64 {
    let mut sum = 1.0 / 40_320.0;
    for coefficient in [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * x + coefficient;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{CLOSE, SMALL, TOGETHER, exponentials, logs_of_ratios};
    use crate::numeric::chunks::dispatched;

    #[test]
    fn logs_of_ratios_are_exact_near_1_and_far_from_it() {
        let border = (1.0 + CLOSE) / (1.0 - CLOSE) - 1.0;
        for reach in [1e-12, 1e-3, border - 1e-12, border + 1e-12, 2.0, 1e6] {
            let a: Vec<f64> = (0..3 * TOGETHER / 2).map(|k| 0.7 * (1.0 + reach * k as f64 / 383.0)).collect();
            let (b, mut out) = (vec![0.7; a.len()], vec![0.0; a.len()]);
            for (a, b) in [(&a, &b), (&b, &a)] {
                dispatched(|| logs_of_ratios(a, b, &mut out));
                for k in 0..a.len() {
                    let exact = if reach < 1.0 { ((a[k] - b[k]) / b[k]).ln_1p() } else { (a[k] / b[k]).ln() };
                    assert!(
                        (out[k] - exact).abs() <= 4e-16 + 2e-15 * exact.abs(),
                        "{} / {}: {} {exact}",
                        a[k],
                        b[k],
                        out[k]
                    );
                }
            }
        }
        let (a, mut out) = ([0.1, 3e200, 5e-300], [1.0; 3]);
        logs_of_ratios(&a, &a, &mut out);
        assert_eq!(out, [0.0; 3]);
    }

    #[test]
    fn exponentials_are_exact_near_0_and_far_from_it() {
        for reach in [1e-12, 1e-3, SMALL, SMALL + 1e-9, 2.0, 700.0] {
            let x: Vec<f64> = (0..3 * TOGETHER / 2).map(|k| reach * (k as f64 / 191.5 - 1.0)).collect();
            let mut out = x.clone();
            dispatched(|| exponentials(&mut out));
            for (x, out) in x.iter().zip(out) {
                assert!((out / x.exp() - 1.0).abs() < 1e-15, "exp {x}: {out}");
            }
        }
    }
}
