//! Every O(n_features) operation of the optimisers, each one sweep over memory, on many threads.
//!
//! Vectors are cut into chunks of a fixed size; sums are formed per chunk and added up in the order of the chunks, so
//! that results are bitwise the same on any number of threads. Only `pulp`'s dispatch is used of it: the loops over lanes are
//! turned into vector instructions by the compiler, and without fused multiply-add give the same sums on every machine.

use crate::threads;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Elements of a chunk: several fit the second-level cache, and a row's part is long enough to be fetched ahead.
const CHUNK: usize = 4096;
/// Shorter vectors are not worth waking threads for.
const SMALL: usize = 8 * CHUNK;
const LANES: usize = 8;
/// Elements that are left out together where nothing is to be done: a cache line of f32.
const BLOCK: usize = 16;
/// Rows that are swept side by side: so many streams keep the memory busy, and their sums still fit the registers.
const ROWS: usize = 4;

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

/// K rows . v and K rows . y.
#[inline(always)]
fn chunk_dots<const K: usize>(rows: [&[f32]; K], v: &[f64], y: &[f64]) -> [[f64; K]; 2] {
    let (vs, v_rest) = v.as_chunks::<LANES>();
    let (ys, y_rest) = y[..v.len()].as_chunks::<LANES>();
    let lanes = rows.map(|row| &row[..v.len()].as_chunks::<LANES>().0[..vs.len()]);
    let (mut on_v, mut on_y) = ([[0.0; LANES]; K], [[0.0; LANES]; K]);
    for (i, (v, y)) in vs.iter().zip(ys).enumerate() {
        for k in 0..K {
            multiply_add(&mut on_v[k], &lanes[k][i], v);
            multiply_add(&mut on_y[k], &lanes[k][i], y);
        }
    }
    let total = |sums: [[f64; LANES]; K], other: &[f64]| {
        std::array::from_fn(|k| {
            let rest = rows[k][v.len() - other.len()..v.len()].iter().zip(other).map(|(&x, y)| f64::from(x) * y);
            sums[k].iter().sum::<f64>() + rest.sum::<f64>()
        })
    };
    [total(on_v, v_rest), total(on_y, y_rest)]
}

/// out[i] = row i . v and, with `y`, out[m + i] = row i . y for m rows. One sweep over the rows, v and y.
pub fn dots(rows: &[&[f32]], v: &[f64], y: Option<&[f32]>, out: &mut [f64], n_threads: usize) {
    let (n, m, size) = (v.len(), rows.len(), out.len());
    let mut parts = vec![0.0; n.div_ceil(CHUNK) * size];
    on_threads(n, n_threads, || {
        parts.par_chunks_mut(size).enumerate().for_each(|(chunk, parts)| {
            let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(n);
            dispatched(|| {
                let v = &v[range.clone()];
                let mut buffer = [0.0; CHUNK];
                if let Some(y) = y {
                    buffer.iter_mut().zip(&y[range.clone()]).for_each(|(wide, &y)| *wide = y.into());
                }
                let mut enter = |at: usize, [on_v, on_y]: [&[f64]; 2]| {
                    parts[at..at + on_v.len()].copy_from_slice(on_v);
                    if y.is_some() {
                        parts[m + at..m + at + on_y.len()].copy_from_slice(on_y);
                    }
                };
                let (fours, rest) = rows.as_chunks::<ROWS>();
                for (at, four) in fours.iter().enumerate() {
                    let [on_v, on_y] = chunk_dots(four.map(|row| &row[range.clone()]), v, &buffer);
                    enter(at * ROWS, [&on_v, &on_y]);
                }
                for (at, row) in rest.iter().enumerate() {
                    let [on_v, on_y] = chunk_dots([&row[range.clone()]], v, &buffer);
                    enter(fours.len() * ROWS + at, [&on_v, &on_y]);
                }
            });
        });
    });
    out.fill(0.0);
    for part in parts.chunks_exact(size) {
        out.iter_mut().zip(part).for_each(|(out, part)| *out += part);
    }
}

/// out += K rows, each times its coefficient.
#[inline(always)]
fn add_rows<const K: usize>(rows: [(&[f32], f64); K], out: &mut [f64]) {
    let rows = rows.map(|(row, coefficient)| (&row[..out.len()], coefficient));
    for i in 0..out.len() {
        let mut sum = out[i];
        for (row, coefficient) in rows {
            sum += coefficient * f64::from(row[i]);
        }
        out[i] = sum;
    }
}

/// Calls `work` with every longest range of blocks in which v is not zero throughout.
#[inline(always)]
fn active(v: &[f64], mut work: impl FnMut(std::ops::Range<usize>)) {
    let mut start = None;
    for (block, v_block) in v.chunks(BLOCK).enumerate() {
        let at = block * BLOCK;
        // NaN is not zero.
        let zero = v_block.iter().fold(true, |zero, &v| zero & (v == 0.0));
        if zero {
            if let Some(start) = start.take() {
                work(start..at);
            }
        } else {
            start.get_or_insert(at);
        }
    }
    if let Some(start) = start {
        work(start..v.len());
    }
}

/// out = factor * v + the rows, each times its coefficient; returns out . v.
///
/// With `aligned`, entries whose sign is not that of -v are set to 0 (Andrew & Gao 2007, Algorithm 1). An entry of v that
/// is 0 makes one of out 0 then, so that where v is 0 over a whole block the rows are not even read.
pub fn combine(
    rows: &[(&[f32], f64)],
    v: &[f64],
    factor: f64,
    aligned: bool,
    out: &mut [f64],
    n_threads: usize,
) -> f64 {
    let (fours, rest) = rows.as_chunks::<ROWS>();
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
                    let mut add = |range: std::ops::Range<usize>| {
                        let out = &mut out[range.clone()];
                        for four in fours {
                            add_rows(four.map(|(row, by)| (&row[start..][range.clone()], by)), out);
                        }
                        for (row, by) in rest {
                            add_rows([(&row[start..][range.clone()], *by)], out);
                        }
                    };
                    if aligned {
                        active(v, add);
                        chunk_align(out, v)
                    } else {
                        add(0..v.len());
                        [chunk_dot(out, v)]
                    }
                })
            })
            .collect()
    });
    total(&parts)[0]
}

/// Writes the pseudo-gradient (Andrew & Gao 2007, Eq. 4); returns its max-norm, NaN if it has one, its squared norm, and
/// its product with `direction`.
pub fn pseudo_gradient(
    w: &[f64],
    g: &[f64],
    l1: f64,
    l2: f64,
    direction: &[f64],
    out: &mut [f64],
    n_threads: usize,
) -> [f64; 3] {
    let parts: Vec<[f64; 3]> = on_threads(w.len(), n_threads, || {
        out.par_chunks_mut(CHUNK)
            .zip(w.par_chunks(CHUNK).zip(g.par_chunks(CHUNK).zip(direction.par_chunks(CHUNK))))
            .map(|(out, (w, (g, direction)))| {
                dispatched(|| {
                    let mut largest = [0.0f64; LANES];
                    let [squared, bad, slope] = lanes(out.len(), |i| {
                        let smooth = g[i] + l2 * w[i];
                        let at_zero = (smooth.abs() - l1).max(0.0).copysign(smooth);
                        let elsewhere = smooth + l1.copysign(w[i]);
                        let value = if w[i] == 0.0 { at_zero } else { elsewhere };
                        out[i] = value;
                        largest[i % LANES] = largest[i % LANES].max(value.abs());
                        // max drops NaN, and so does the maximum at zero: 0 x finds both NaN and infinities.
                        [value * value, 0.0 * smooth, value * direction[i]]
                    });
                    [largest.iter().copied().fold(0.0, f64::max) + bad, squared + bad, slope]
                })
            })
            .collect()
    });
    parts.iter().fold([0.0; 3], |[most, squared, slope], part| {
        let larger = if part[0] > most || part[0].is_nan() { part[0] } else { most };
        [larger, squared + part[1], slope + part[2]]
    })
}

/// Zeroes the entries of `direction` whose sign is not that of -v; returns direction . v.
#[inline(always)]
fn chunk_align(direction: &mut [f64], v: &[f64]) -> [f64; 1] {
    lanes(v.len(), |i| {
        let product = direction[i] * v[i];
        let kept = product < 0.0;
        direction[i] = if kept { direction[i] } else { 0.0 };
        [if kept { product } else { 0.0 }]
    })
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
                if x.is_multiple_of(5) { 0.0 } else { (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0 }
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
            all.extend(pseudo_gradient(&a, &b, 0.3, 0.1, &c, &mut out, threads));
            all.extend(orthant_step(&a, 0.5, &b, &c, &mut out, threads));
            all.extend(difference_pair(&a, &b, &c, &d, 0.1, &mut s, &mut y, threads));
            all.push(step_along(&a, 0.5, &b, &mut out, threads));
            let mut products = vec![0.0; 10];
            dots(&[&s, &y, &s, &y, &s], &c, Some(&y), &mut products, threads);
            let mut aligned = vec![0.0; n];
            let rows: [(&[f32], f64); 5] = [(&s, 0.5), (&y, -1.0), (&s, 2.0), (&y, 0.1), (&s, -0.2)];
            all.push(combine(&rows, &d, 3.0, true, &mut aligned, threads));
            all.push(combine(&rows, &d, 3.0, false, &mut out, threads));
            all.extend(aligned);
            all.into_iter().chain(products).chain(out).map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = run(1);
        assert!(run(2) == one && run(3) == one);
    }

    #[test]
    fn blocks_left_out_change_no_bit_of_an_aligned_combination() {
        let n = 3 * CHUNK + 5;
        let rows: Vec<Vec<f32>> = (1..8).map(|k| vector(n, k).into_iter().map(|x| x as f32).collect()).collect();
        let rows: Vec<(&[f32], f64)> = rows.iter().map(|row| (&row[..], 0.3)).collect();
        let mut v = vector(n, 9);
        v.iter_mut().enumerate().filter(|(i, _)| (i / 37) % 3 != 0).for_each(|(_, v)| *v = 0.0);
        let (mut out, mut expected) = (vec![1.0; n], vec![1.0; n]);
        let slope = combine(&rows, &v, -1.0, true, &mut out, 1);
        combine(&rows, &v, -1.0, false, &mut expected, 1);
        let parts: Vec<_> = expected.chunks_mut(CHUNK).zip(v.chunks(CHUNK)).map(|(d, v)| chunk_align(d, v)).collect();
        assert_eq!(slope.to_bits(), total(&parts)[0].to_bits());
        assert!(out.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    #[test]
    fn sums_equal_plain_sums() {
        let n = 5000;
        let [a, b] = [7, 8].map(|seed| vector(n, seed));
        let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        assert!((dot(&a, &b, 1) - plain).abs() < 1e-10);
        let mut products = vec![0.0; 2];
        let [a32, b32] = [&a, &b].map(|x| x.iter().map(|&x| x as f32).collect::<Vec<f32>>());
        dots(&[&b32, &a32], &a, None, &mut products, 1);
        assert!((products[0] - plain).abs() < 1e-4);
        assert!((products[1] - norms(&a, 1)[1]).abs() < 1e-4);
    }

    #[test]
    fn what_is_not_finite_is_seen() {
        let w = vec![0.0; 20];
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut g = vec![1.0; 20];
            g[13] = bad;
            let [most, squared, _] = pseudo_gradient(&w, &g, 0.5, 0.0, &w, &mut [0.0; 20], 1);
            assert!(!most.is_finite() && !squared.is_finite());
        }
    }
}
