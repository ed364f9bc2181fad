//! Every O(n_features) operation of the optimisers, each one sweep over memory, on many threads.
//!
//! Vectors are cut into chunks of a fixed size; sums are formed per chunk and added up in the order of the chunks, so
//! that results are bitwise the same on any number of threads. Only `pulp`'s dispatch is used of it: the loops over lanes are
//! turned into vector instructions by the compiler, and without fused multiply-add give the same sums on every machine.

use crate::threads;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Elements of a chunk: several fit the second-level cache, and a row's part is long enough to be fetched ahead.
const CHUNK: usize = 8192;
/// Shorter vectors are not worth waking threads for.
const SMALL: usize = 4 * CHUNK;
const LANES: usize = 8;

/// Runs `work` on the pool of so many threads if the vectors are long.
fn on_threads<R: Send>(n: usize, n_threads: usize, work: impl FnOnce() -> R + Send) -> R {
    match threads::pool(n_threads) {
        Ok(pool) if n > SMALL => pool.install(work),
        _ => work(),
    }
}

/// Compiles the closure for every instruction set and calls the best.
#[inline(always)]
fn dispatched<R, F: FnOnce() -> R>(work: F) -> R {
    struct Work<F>(F);
    impl<R, F: FnOnce() -> R> WithSimd for Work<F> {
        type Output = R;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _simd: S) -> R {
            (self.0)()
        }
    }
    Arch::new().dispatch(Work(work))
}

/// Adds up the sums of chunks in order.
fn total<const K: usize>(parts: &[[f64; K]]) -> [f64; K] {
    parts.iter().fold([0.0; K], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        total
    })
}

/// K sums over i of terms(i), with one accumulator a lane.
#[inline(always)]
fn lanes<const K: usize>(n: usize, mut terms: impl FnMut(usize) -> [f64; K]) -> [f64; K] {
    let mut sums = [[0.0; LANES]; K];
    let whole = n - n % LANES;
    let mut at = 0;
    while at < whole {
        for lane in 0..LANES {
            let term = terms(at + lane);
            for k in 0..K {
                sums[k][lane] += term[k];
            }
        }
        at += LANES;
    }
    let mut total = sums.map(|lanes| lanes.iter().sum());
    for i in whole..n {
        let term = terms(i);
        for k in 0..K {
            total[k] += term[k];
        }
    }
    total
}

/// sums(lane) += x(lane) y(lane)
#[inline(always)]
fn multiply_add<T: Copy + Into<f64>>(sums: &mut [f64; LANES], x: &[T; LANES], y: &[f64; LANES]) {
    for lane in 0..LANES {
        sums[lane] += x[lane].into() * y[lane];
    }
}

#[inline(always)]
fn chunk_dot<T: Copy + Into<f64>>(x: &[T], y: &[f64]) -> f64 {
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (ys, y_rest) = y[..x.len()].as_chunks::<LANES>();
    let (mut a, mut b, mut c, mut d) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let (fours, x_single) = xs.as_chunks::<4>();
    let (y_fours, y_single) = ys.as_chunks::<4>();
    for (x, y) in fours.iter().zip(y_fours) {
        multiply_add(&mut a, &x[0], &y[0]);
        multiply_add(&mut b, &x[1], &y[1]);
        multiply_add(&mut c, &x[2], &y[2]);
        multiply_add(&mut d, &x[3], &y[3]);
    }
    for (x, y) in x_single.iter().zip(y_single) {
        multiply_add(&mut a, x, y);
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(&x, y)| x.into() * y).sum();
    (0..LANES).map(|lane| (a[lane] + b[lane]) + (c[lane] + d[lane])).sum::<f64>() + rest
}

/// x . y
pub fn dot(x: &[f64], y: &[f64], n_threads: usize) -> f64 {
    let parts: Vec<[f64; 1]> = on_threads(x.len(), n_threads, || {
        x.par_chunks(CHUNK).zip(y.par_chunks(CHUNK)).map(|(x, y)| dispatched(|| [chunk_dot(x, y)])).collect()
    });
    total(&parts)[0]
}

/// (|x|_1, |x|_2 squared)
pub fn norms(x: &[f64], n_threads: usize) -> [f64; 2] {
    let parts: Vec<[f64; 2]> = on_threads(x.len(), n_threads, || {
        x.par_chunks(CHUNK).map(|x| dispatched(|| lanes(x.len(), |i| [x[i].abs(), x[i] * x[i]]))).collect()
    });
    total(&parts)
}

/// out[i] = row i . v and, with `y`, out[m + i] = row i . y; the m rows stand one after the other. One sweep over the rows.
pub fn dots(rows: &[f32], v: &[f64], y: Option<&[f32]>, out: &mut [f64], n_threads: usize) {
    let n = v.len();
    let size = out.len();
    let m = if y.is_some() { size / 2 } else { size };
    let mut parts = vec![0.0; n.div_ceil(CHUNK) * size];
    on_threads(n, n_threads, || {
        parts.par_chunks_mut(size).enumerate().for_each(|(chunk, parts)| {
            let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(n);
            dispatched(|| {
                let y: Option<Vec<f64>> = y.map(|y| y[range.clone()].iter().map(|&value| value.into()).collect());
                for i in 0..m {
                    let row = &rows[i * n..(i + 1) * n][range.clone()];
                    parts[i] = chunk_dot(row, &v[range.clone()]);
                    if let Some(y) = &y {
                        parts[m + i] = chunk_dot(row, y);
                    }
                }
            });
        });
    });
    out.fill(0.0);
    for part in parts.chunks_exact(size) {
        out.iter_mut().zip(part).for_each(|(out, part)| *out += part);
    }
}

/// out = factor * v + the rows, each times its coefficient; returns out . v.
pub fn combine(rows: &[(&[f32], f64)], v: &[f64], factor: f64, out: &mut [f64], n_threads: usize) -> f64 {
    let parts: Vec<[f64; 1]> = on_threads(v.len(), n_threads, || {
        out.par_chunks_mut(CHUNK)
            .zip(v.par_chunks(CHUNK))
            .enumerate()
            .map(|(chunk, (out, v))| {
                let start = chunk * CHUNK;
                dispatched(|| {
                    for i in 0..out.len() {
                        out[i] = factor * v[i];
                    }
                    // Rows by twos: half the traffic to `out`.
                    for pair in rows.chunks(2) {
                        let (a, a_factor) = (&pair[0].0[start..start + out.len()], pair[0].1);
                        if let [_, (b, b_factor)] = pair {
                            let b = &b[start..start + out.len()];
                            for i in 0..out.len() {
                                out[i] += a_factor * f64::from(a[i]) + b_factor * f64::from(b[i]);
                            }
                        } else {
                            for i in 0..out.len() {
                                out[i] += a_factor * f64::from(a[i]);
                            }
                        }
                    }
                    [chunk_dot(out, v)]
                })
            })
            .collect()
    });
    total(&parts)[0]
}

/// Writes the pseudo-gradient (Andrew & Gao 2007, Eq. 4); returns its max-norm, NaN if it has one, and its squared norm.
pub fn pseudo_gradient(w: &[f64], g: &[f64], l1: f64, l2: f64, out: &mut [f64], n_threads: usize) -> [f64; 2] {
    let parts: Vec<[f64; 2]> = on_threads(w.len(), n_threads, || {
        out.par_chunks_mut(CHUNK)
            .zip(w.par_chunks(CHUNK).zip(g.par_chunks(CHUNK)))
            .map(|(out, (w, g))| {
                dispatched(|| {
                    let mut largest = [0.0f64; LANES];
                    let [squared, bad] = lanes(out.len(), |i| {
                        let smooth = g[i] + l2 * w[i];
                        let at_zero = (smooth.abs() - l1).max(0.0).copysign(smooth);
                        let elsewhere = smooth + l1.copysign(w[i]);
                        let value = if w[i] == 0.0 { at_zero } else { elsewhere };
                        out[i] = value;
                        largest[i % LANES] = largest[i % LANES].max(value.abs());
                        // max drops NaN, and so does the maximum at zero: x - x finds both NaN and infinities.
                        [value * value, smooth - smooth]
                    });
                    [largest.iter().copied().fold(0.0, f64::max) + bad, squared + bad]
                })
            })
            .collect()
    });
    parts.iter().fold([0.0, 0.0], |[most, squared], part| {
        let larger = if part[0] > most || part[0].is_nan() { part[0] } else { most };
        [larger, squared + part[1]]
    })
}

/// Zeroes the entries of `direction` whose sign is not that of -v (Andrew & Gao 2007, Algorithm 1); returns direction . v.
pub fn align(direction: &mut [f64], v: &[f64], n_threads: usize) -> f64 {
    let parts: Vec<[f64; 1]> = on_threads(v.len(), n_threads, || {
        direction
            .par_chunks_mut(CHUNK)
            .zip(v.par_chunks(CHUNK))
            .map(|(direction, v)| {
                dispatched(|| {
                    lanes(v.len(), |i| {
                        let product = direction[i] * v[i];
                        let kept = product < 0.0;
                        direction[i] = if kept { direction[i] } else { 0.0 };
                        [if kept { product } else { 0.0 }]
                    })
                })
            })
            .collect()
    });
    total(&parts)[0]
}

/// out = w + alpha * direction; returns its squared norm.
pub fn step_along(w: &[f64], alpha: f64, direction: &[f64], out: &mut [f64], n_threads: usize) -> f64 {
    let parts: Vec<[f64; 1]> = on_threads(w.len(), n_threads, || {
        out.par_chunks_mut(CHUNK)
            .zip(w.par_chunks(CHUNK).zip(direction.par_chunks(CHUNK)))
            .map(|(out, (w, d))| {
                dispatched(|| {
                    lanes(out.len(), |i| {
                        out[i] = w[i] + alpha * d[i];
                        [out[i] * out[i]]
                    })
                })
            })
            .collect()
    });
    total(&parts)[0]
}

/// out = w + alpha * direction, with entries that leave the orthant of (w, v) set to 0 (Andrew & Gao 2007, Algorithm 1).
/// Returns |out|_1, |out|_2 squared and v . (out - w).
pub fn orthant_step(
    w: &[f64],
    alpha: f64,
    direction: &[f64],
    v: &[f64],
    out: &mut [f64],
    n_threads: usize,
) -> [f64; 3] {
    let parts: Vec<[f64; 3]> = on_threads(w.len(), n_threads, || {
        out.par_chunks_mut(CHUNK)
            .zip(w.par_chunks(CHUNK).zip(direction.par_chunks(CHUNK).zip(v.par_chunks(CHUNK))))
            .map(|(out, (w, (d, v)))| {
                dispatched(|| {
                    lanes(out.len(), |i| {
                        let moved = w[i] + alpha * d[i];
                        let orthant = if w[i] == 0.0 { -v[i] } else { w[i] };
                        let inside = (moved > 0.0) & (orthant > 0.0) | (moved < 0.0) & (orthant < 0.0);
                        // NaN and infinity are kept: the objective has to see them.
                        let kept = if inside | !moved.is_finite() { moved } else { 0.0 };
                        out[i] = kept;
                        [kept.abs(), kept * kept, v[i] * (kept - w[i])]
                    })
                })
            })
            .collect()
    });
    total(&parts)
}

/// s = w_new - w and y = g_new - g + l2 s, rounded to f32; returns s . y and y . y of the rounded vectors.
#[allow(clippy::too_many_arguments)]
pub fn difference_pair(
    w_new: &[f64],
    w: &[f64],
    g_new: &[f64],
    g: &[f64],
    l2: f64,
    s: &mut [f32],
    y: &mut [f32],
    n_threads: usize,
) -> [f64; 2] {
    let parts: Vec<[f64; 2]> = on_threads(w.len(), n_threads, || {
        let outputs = s.par_chunks_mut(CHUNK).zip(y.par_chunks_mut(CHUNK));
        let points = w_new.par_chunks(CHUNK).zip(w.par_chunks(CHUNK));
        let gradients = g_new.par_chunks(CHUNK).zip(g.par_chunks(CHUNK));
        outputs
            .zip(points.zip(gradients))
            .map(|((s, y), ((w_new, w), (g_new, g)))| {
                dispatched(|| {
                    lanes(s.len(), |i| {
                        let step = w_new[i] - w[i];
                        s[i] = step as f32;
                        y[i] = (g_new[i] - g[i] + l2 * step) as f32;
                        let (s, y) = (f64::from(s[i]), f64::from(y[i]));
                        [s * y, y * y]
                    })
                })
            })
            .collect()
    });
    total(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(n: usize, seed: u64) -> Vec<f64> {
        let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        (0..n)
            .map(|_| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                if x % 5 == 0 { 0.0 } else { (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0 }
            })
            .collect()
    }

    #[test]
    fn results_are_bitwise_the_same_on_any_number_of_threads() {
        let n = SMALL * 3 + 17;
        let [a, b, c, d] = [1, 2, 3, 4].map(|seed| vector(n, seed));
        let run = |threads: usize| {
            let (mut out, mut s, mut y) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
            let mut all = vec![dot(&a, &b, threads)];
            all.extend(norms(&a, threads));
            all.extend(pseudo_gradient(&a, &b, 0.3, 0.1, &mut out, threads));
            all.extend(orthant_step(&a, 0.5, &b, &c, &mut out, threads));
            all.extend(difference_pair(&a, &b, &c, &d, 0.1, &mut s, &mut y, threads));
            all.push(step_along(&a, 0.5, &b, &mut out, threads));
            all.push(align(&mut out, &d, threads));
            let mut products = vec![0.0; 4];
            let rows: Vec<f32> = s.iter().chain(&y).copied().collect();
            dots(&rows, &c, Some(&y), &mut products, threads);
            all.push(combine(&[(&s, 0.5), (&y, -1.0), (&s, 2.0)], &d, 3.0, &mut out, threads));
            all.into_iter().chain(products).chain(out).map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = run(1);
        assert!(run(2) == one && run(3) == one);
    }

    #[test]
    fn sums_equal_plain_sums() {
        let n = 5000;
        let [a, b] = [7, 8].map(|seed| vector(n, seed));
        let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        assert!((dot(&a, &b, 1) - plain).abs() < 1e-10);
        let mut products = vec![0.0; 2];
        let rows: Vec<f32> = b.iter().chain(&a).map(|&x| x as f32).collect();
        dots(&rows, &a, None, &mut products, 1);
        assert!((products[0] - plain).abs() < 1e-4);
        assert!((products[1] - norms(&a, 1)[1]).abs() < 1e-4);
    }

    #[test]
    fn what_is_not_finite_is_seen() {
        let w = vec![0.0; 20];
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut g = vec![1.0; 20];
            g[13] = bad;
            let [most, squared] = pseudo_gradient(&w, &g, 0.5, 0.0, &mut vec![0.0; 20], 1);
            assert!(!most.is_finite() && !squared.is_finite());
        }
    }
}
