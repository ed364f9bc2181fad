//! Every O(n_features) operation of the optimisers, each one sweep over memory, on many threads.
//!
//! `chunks` holds the loops and says why results are bitwise the same on any number of threads.
//!
//! Length: the file has more than 440 lines because of two uninterrupted kernels, `secant_pair` and `quasi_newton_step`, and the
//! parts that they share.

use crate::numeric::LANES;
use crate::numeric::chunks::{CHUNK, PIECE, dispatched, fetch_ahead, lanes, on_chunks, pieces, total};
use crate::numeric::strengths::{Penalty, Same, Strengths};
use std::ops::Range;

/// Elements in a block: where v is 0 in a whole block, the block is left out.
const BLOCK: usize = 16;
/// Rows that are swept together: four streams keep the memory busy, and their sums still fit the registers.
const ROWS: usize = 4;

/// The bfloat16 nearest to x, ties to even: the upper half of a float32.
#[inline(always)]
fn narrow(x: f64) -> u16 {
    let bits = (x as f32).to_bits();
    let rounded = (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16;
    if x.is_nan() { 0x7fc0 } else { rounded }
}

/// The number whose bfloat16 bits are x.
#[inline(always)]
fn widen(x: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(x) << 16))
}

/// sums += x * y, lane by lane.
#[inline(always)]
fn multiply_add(sums: &mut [f64; LANES], x: &[f64; LANES], y: &[f64; LANES]) {
    for lane in 0..LANES {
        sums[lane] = x[lane].mul_add(y[lane], sums[lane]);
    }
}

/// |x|_1 and |x|_2 squared.
pub fn norms(x: &[f64], n_threads: usize) -> [f64; 2] {
    let parts = on_chunks(x.len(), n_threads, x.chunks(CHUNK), |x| {
        dispatched(
            #[inline(always)]
            || {
                lanes(
                    x.len(),
                    #[inline(always)]
                    |i| [x[i].abs(), x[i] * x[i]],
                )
            },
        )
    });
    total(&parts)
}

/// The inner products of K bfloat16 rows with v, and of the same rows with y.
#[inline(always)]
fn chunk_dots<const K: usize>(rows: [&[u16]; K], v: &[f64], y: &[f64]) -> [[f64; K]; 2] {
    let (vs, v_rest) = v.as_chunks::<LANES>();
    let (ys, y_rest) = y[..v.len()].as_chunks::<LANES>();
    let lanes = rows.map(|row| &row[..v.len()].as_chunks::<LANES>().0[..vs.len()]);
    let (mut on_v, mut on_y) = ([[0.0; LANES]; K], [[0.0; LANES]; K]);
    for (piece, (vs, ys)) in vs.chunks(PIECE / LANES).zip(ys.chunks(PIECE / LANES)).enumerate() {
        for row in rows {
            fetch_ahead(row, piece * PIECE);
        }
        let lanes = lanes.map(|row| &row[piece * (PIECE / LANES)..][..vs.len()]);
        for (i, (v, y)) in vs.iter().zip(ys).enumerate() {
            for k in 0..K {
                let mut row = [0.0; LANES];
                for lane in 0..LANES {
                    row[lane] = widen(lanes[k][i][lane]);
                }
                multiply_add(&mut on_v[k], &row, v);
                multiply_add(&mut on_y[k], &row, y);
            }
        }
    }
    let total = |sums: [[f64; LANES]; K], other: &[f64]| {
        std::array::from_fn(
            #[inline(always)]
            |k| {
                let tail = rows[k][v.len() - other.len()..v.len()].iter().zip(other).map(|(&x, y)| widen(x) * y);
                sums[k].iter().sum::<f64>() + tail.sum::<f64>()
            },
        )
    };
    [total(on_v, v_rest), total(on_y, y_rest)]
}

/// out += the sum of K rows, each multiplied by its coefficient.
#[inline(always)]
fn add_rows<const K: usize>(rows: [(&[u16], f64); K], out: &mut [f64]) {
    let rows = rows.map(|(row, coefficient)| (&row[..out.len()], coefficient));
    pieces(
        out.len(),
        #[inline(always)]
        |range| {
            for (row, _) in rows {
                fetch_ahead(row, range.start);
            }
            let rows = rows.map(
                #[inline(always)]
                |(row, coefficient)| (&row[range.clone()], coefficient),
            );
            for (i, out) in out[range].iter_mut().enumerate() {
                let mut sum = *out;
                for k in 0..K {
                    sum = widen(rows[k].0[i]).mul_add(rows[k].1, sum);
                }
                *out = sum;
            }
        },
    );
}

/// out += the sum of all rows, each multiplied by its coefficient, over a range of a chunk. Row element `start` belongs to
/// element 0 of the chunk.
#[inline(always)]
fn add_all(rows: &[(&[u16], f64)], start: usize, range: std::ops::Range<usize>, out: &mut [f64]) {
    let out = &mut out[range.clone()];
    let (fours, rest) = rows.as_chunks::<ROWS>();
    for four in fours {
        add_rows(
            four.map(
                #[inline(always)]
                |(row, by)| (&row[start..][range.clone()], by),
            ),
            out,
        );
    }
    for &(row, by) in rest {
        add_rows([(&row[start..][range.clone()], by)], out);
    }
}

/// Calls `work` with every run of blocks that all have a non-zero entry of v; runs are as long as possible.
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

/// How large the pseudo-gradient at a point is.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Size {
    /// Max-norm; NaN if an entry is not finite.
    pub most: f64,
    /// Euclidean norm squared; NaN if an entry is not finite.
    pub squared: f64,
    /// Inner product with the step that led to the point.
    pub slope: f64,
}

impl Size {
    /// The size of a vector from the sizes of its parts.
    fn total(parts: impl IntoIterator<Item = Size>) -> Size {
        parts.into_iter().fold(Size::default(), |total, part| Size {
            most: if part.most > total.most || part.most.is_nan() { part.most } else { total.most },
            squared: total.squared + part.squared,
            slope: total.slope + part.slope,
        })
    }
}

/// Writes a chunk of the pseudo-gradient to `out` and returns its size. `step(i)` is entry i of the step that led to w.
#[inline(always)]
fn chunk_pseudo_gradient(
    (w, g): (&[f64], &[f64]),
    strengths: impl Strengths,
    step: impl Fn(usize) -> f64,
    out: &mut [f64],
) -> Size {
    let mut largest = [0.0f64; LANES];
    let [squared, bad, slope] = lanes(
        out.len(),
        #[inline(always)]
        |i| {
            let smooth = g[i] + strengths.l2(i) * w[i];
            let value = strengths.derivative(i, w[i], smooth);
            out[i] = value;
            largest[i % LANES] = largest[i % LANES].max(value.abs());
            // `max` ignores NaN. 0 * smooth is NaN where `smooth` is NaN or infinite, and 0 elsewhere.
            [value * value, 0.0 * smooth, value * step(i)]
        },
    );
    Size { most: largest.iter().copied().fold(0.0, f64::max) + bad, squared: squared + bad, slope }
}

/// Writes the pseudo-gradient of f(w) + penalty(w) to `out`, where g is the gradient of f at w.
pub fn pseudo_gradient(w: &[f64], g: &[f64], penalty: Penalty<'_>, out: &mut [f64], n_threads: usize) -> Size {
    if let Some((at, [first, second])) = penalty.parts(w.len()) {
        let ((w, w_free), (g, g_free), (out, out_free)) = (w.split_at(at), g.split_at(at), out.split_at_mut(at));
        return Size::total([
            pseudo_gradient(w, g, first, out, n_threads),
            pseudo_gradient(w_free, g_free, second, out_free, n_threads),
        ]);
    }
    let Penalty { l1, l2, varied, .. } = penalty;
    let chunks = out.chunks_mut(CHUNK).zip(w.chunks(CHUNK).zip(g.chunks(CHUNK))).enumerate();
    let parts = on_chunks(3 * w.len(), n_threads, chunks, |(chunk, (out, point))| {
        dispatched(
            #[inline(always)]
            || match varied {
                None => chunk_pseudo_gradient(point, Same { l1, l2 }, |_| 0.0, out),
                Some(varied) => chunk_pseudo_gradient(point, varied.chunk((l1, l2), chunk, out.len()), |_| 0.0, out),
            },
        )
    });
    Size::total(parts)
}

/// A point of an optimisation.
#[derive(Clone, Copy)]
pub struct Point<'a> {
    /// The weights.
    pub w: &'a [f64],
    /// The gradient of the unpenalised objective at w.
    pub g: &'a [f64],
}

impl Point<'_> {
    /// The point restricted to the first `at` weights, and to the others.
    fn split_at(&self, at: usize) -> [Self; 2] {
        let ((w, w_rest), (g, g_rest)) = (self.w.split_at(at), self.g.split_at(at));
        [Point { w, g }, Point { w: w_rest, g: g_rest }]
    }
}

/// The unit of each weight in which a quasi-Newton method measures steps; empty: 1 for all weights.
#[derive(Clone, Copy)]
pub struct Scale<'a>(pub &'a [f64]);

impl<'a> Scale<'a> {
    fn split_at(self, at: usize) -> [Self; 2] {
        let (first, second) = self.0.split_at(at.min(self.0.len()));
        [Scale(first), Scale(second)]
    }

    /// The units of a chunk of weights.
    fn chunk(self, range: Range<usize>) -> &'a [f64] {
        static ONES: [f64; CHUNK] = [1.0; CHUNK];
        if self.0.is_empty() { &ONES[..range.len()] } else { &self.0[range] }
    }
}

/// Everything that a quasi-Newton method needs to know of the step from `old` to `new`, in one sweep over memory.
///
/// Fuses four computations:
/// - v, the pseudo-gradient at `new`, whose size is returned and which is not kept; its Euclidean norm is that of scale v;
/// - s = (w_new - w) / scale and y = scale (g_new - g + l2 (w_new - w)), written as bfloat16; v is multiplied by scale as well;
/// - the inner products of each of `rows`, then s, then y with v, written to the first half of `products`;
/// - the inner products of the same vectors with y, written to the second half.
#[allow(clippy::too_many_arguments)]
pub fn secant_pair(
    new: Point<'_>,
    old: Point<'_>,
    scale: Scale<'_>,
    penalty: Penalty<'_>,
    rows: &[&[u16]],
    s: &mut [u16],
    y: &mut [u16],
    products: &mut [f64],
    n_threads: usize,
) -> Size {
    if let Some((at, [first, second])) = penalty.parts(s.len()) {
        let ([new, new_free], [old, old_free]) = (new.split_at(at), old.split_at(at));
        let ((s, s_free), (y, y_free)) = (s.split_at_mut(at), y.split_at_mut(at));
        let [scale, scale_free] = scale.split_at(at);
        let (rows, rows_free): (Vec<_>, Vec<_>) = rows.iter().map(|row| row.split_at(at)).unzip();
        let size = secant_pair(new, old, scale, first, &rows, s, y, products, n_threads);
        let mut more = vec![0.0; products.len()];
        let size_free =
            secant_pair(new_free, old_free, scale_free, second, &rows_free, s_free, y_free, &mut more, n_threads);
        products.iter_mut().zip(more).for_each(|(product, more)| *product += more);
        return Size::total([size, size_free]);
    }
    let Penalty { l1, l2, varied, .. } = penalty;
    let (n, m, scaled) = (s.len(), rows.len() + 2, !scale.0.is_empty());
    let mut parts = vec![0.0; n.div_ceil(CHUNK) * 2 * m];
    let written = s.chunks_mut(CHUNK).zip(y.chunks_mut(CHUNK)).zip(parts.chunks_mut(2 * m)).enumerate();
    let sizes = on_chunks((4 + m) * n, n_threads, written, |(chunk, ((s, y), parts))| {
        let range = chunk * CHUNK..chunk * CHUNK + s.len();
        let [w_new, w, g_new, g] = [new.w, old.w, new.g, old.g].map(|x| &x[range.clone()]);
        let scale = scale.chunk(range.clone());
        let (on_v, on_y) = parts.split_at_mut(m);
        dispatched(
            #[inline(always)]
            || {
                let (mut v, mut wide) = ([0.0; CHUNK], [0.0; CHUNK]);
                let v = &mut v[..s.len()];
                let (at, moved) = ((w_new, g_new), |i| w_new[i] - w[i]);
                let mut size = match varied {
                    None => chunk_pseudo_gradient(at, Same { l1, l2 }, moved, v),
                    Some(varied) => chunk_pseudo_gradient(at, varied.chunk((l1, l2), chunk, v.len()), moved, v),
                };
                if scaled {
                    v.iter_mut().zip(scale).for_each(|(v, scale)| *v *= scale);
                    [size.squared] = lanes(
                        v.len(),
                        #[inline(always)]
                        |i| [v[i] * v[i]],
                    );
                }
                pieces(
                    v.len(),
                    #[inline(always)]
                    |range| {
                        for x in [w_new, w, g_new, g] {
                            fetch_ahead(x, range.start);
                        }
                        for x in [&*s, &*y] {
                            fetch_ahead(x, range.start);
                        }
                        let (s, y, wide) = (&mut s[range.clone()], &mut y[range.clone()], &mut wide[range.clone()]);
                        let [w_new, w, g_new, g, scale] = [w_new, w, g_new, g, scale].map(
                            #[inline(always)]
                            |x| &x[range.clone()],
                        );
                        for i in 0..range.len() {
                            let step = w_new[i] - w[i];
                            s[i] = narrow(step / scale[i]);
                            y[i] = narrow(scale[i] * (g_new[i] - g[i] + l2 * step));
                            wide[i] = widen(y[i]);
                        }
                    },
                );
                if let Some(varied) = varied.filter(|_| l2 > 0.0) {
                    let strengths = varied.chunk((l1, l2), chunk, v.len());
                    for i in 0..v.len() {
                        let change = g_new[i] - g[i] + strengths.l2(i) * (w_new[i] - w[i]);
                        y[i] = narrow(scale[i] * change);
                        wide[i] = widen(y[i]);
                    }
                }
                let mut enter = |at: usize, [with_v, with_y]: [&[f64]; 2]| {
                    on_v[at..at + with_v.len()].copy_from_slice(with_v);
                    on_y[at..at + with_y.len()].copy_from_slice(with_y);
                };
                let (fours, rest) = rows.as_chunks::<ROWS>();
                for (at, four) in fours.iter().enumerate() {
                    let [with_v, with_y] = chunk_dots(four.map(|row| &row[range.clone()]), v, &wide);
                    enter(at * ROWS, [&with_v, &with_y]);
                }
                for (at, row) in rest.iter().enumerate() {
                    let [with_v, with_y] = chunk_dots([&row[range.clone()]], v, &wide);
                    enter(fours.len() * ROWS + at, [&with_v, &with_y]);
                }
                let [with_v, with_y] = chunk_dots([s, y], v, &wide);
                enter(rows.len(), [&with_v, &with_y]);
                size
            },
        )
    });
    products.fill(0.0);
    for part in parts.chunks_exact(2 * m) {
        products.iter_mut().zip(part).for_each(|(product, part)| *product += part);
    }
    Size::total(sizes)
}

/// Numbers that a line search needs about the trial point `out` = w + alpha d.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Trial {
    /// d . v, where v is the pseudo-gradient at w.
    pub slope: f64,
    /// v . (out - w)
    pub change: f64,
    /// |out|_1 over the weights that bear a penalty.
    pub l1_norm: f64,
    /// |out|_2 squared over the weights that bear a penalty.
    pub squared: f64,
}

/// A chunk of a point: its weights, gradient and units, and the place of the first one.
#[derive(Clone, Copy)]
struct At<'a> {
    w: &'a [f64],
    g: &'a [f64],
    scale: &'a [f64],
    start: usize,
}

/// `quasi_newton_step` of a chunk; returns slope, change and norms.
#[inline(always)]
fn chunk_step(
    At { w, g, scale, start }: At<'_>,
    strengths: impl Strengths,
    rows: &[(&[u16], f64)],
    (factor, alpha): (f64, f64),
    out: &mut [f64],
) -> [f64; 4] {
    let mut v = [0.0; CHUNK];
    let v = &mut v[..out.len()];
    for i in 0..out.len() {
        v[i] = strengths.derivative(i, w[i], g[i] + strengths.l2(i) * w[i]);
        out[i] = factor * scale[i] * v[i];
    }
    if strengths.is_smooth() {
        add_all(rows, start, 0..out.len(), out);
        return lanes(
            out.len(),
            #[inline(always)]
            |i| {
                let d = scale[i] * out[i];
                let slope = d * v[i];
                out[i] = w[i] + alpha * d;
                [slope, alpha * slope, strengths.factor(i) * out[i].abs(), strengths.factor(i) * (out[i] * out[i])]
            },
        );
    }
    active(
        v,
        #[inline(always)]
        |range| add_all(rows, start, range, out),
    );
    lanes(
        out.len(),
        #[inline(always)]
        |i| {
            let is_free = strengths.is_free(i);
            let d = if is_free | (out[i] * v[i] < 0.0) { scale[i] * out[i] } else { 0.0 };
            let moved = w[i] + alpha * d;
            let orthant = if w[i] == 0.0 { -v[i] } else { w[i] };
            let inside = is_free | (moved > 0.0) & (orthant > 0.0) | (moved < 0.0) & (orthant < 0.0);
            // The objective must see NaN and infinity: no projection may remove them.
            out[i] = if inside | !moved.is_finite() { moved } else { 0.0 };
            let factor = strengths.factor(i);
            [d * v[i], v[i] * (out[i] - w[i]), factor * out[i].abs(), factor * (out[i] * out[i])]
        },
    )
}

/// Writes out = w + alpha d, where d = scale (factor scale v + the sum of `rows`, each multiplied by its coefficient), and v is the
/// pseudo-gradient at w.
///
/// With l1 > 0 the sweep fuses three lines of Andrew & Gao (2007), Algorithm 1:
/// - the direction d, the last line of their Algorithm 2;
/// - its projection p = pi(d; -v): an entry of d that does not have the sign of -v becomes 0;
/// - the projected step pi(w + alpha p; xi): an entry of `out` that leaves the orthant of (w, -v) becomes 0.
///
/// Where v is 0, p is 0: `rows` are not read in blocks in which v is 0 throughout.
///
/// Weights that have no kink at 0, neither of an L1 penalty nor of a sign, are not projected.
#[allow(clippy::too_many_arguments)]
pub fn quasi_newton_step(
    at: Point<'_>,
    scale: Scale<'_>,
    penalty: Penalty<'_>,
    rows: &[(&[u16], f64)],
    factor: f64,
    alpha: f64,
    out: &mut [f64],
    n_threads: usize,
) -> Trial {
    if let Some((split, [first, second])) = penalty.parts(out.len()) {
        let ([at, at_free], (out, out_free)) = (at.split_at(split), out.split_at_mut(split));
        let [scale, scale_free] = scale.split_at(split);
        let halves = rows.iter().map(|&(row, by)| (row.split_at(split), by));
        let (rows, rows_free): (Vec<_>, Vec<_>) = halves.map(|((row, free), by)| ((row, by), (free, by))).unzip();
        let trial = quasi_newton_step(at, scale, first, &rows, factor, alpha, out, n_threads);
        let free = quasi_newton_step(at_free, scale_free, second, &rows_free, factor, alpha, out_free, n_threads);
        return Trial { slope: trial.slope + free.slope, change: trial.change + free.change, ..trial };
    }
    let Penalty { l1, l2, varied, .. } = penalty;
    let chunks = out.chunks_mut(CHUNK).zip(at.w.chunks(CHUNK).zip(at.g.chunks(CHUNK))).enumerate();
    let elements = (3 + rows.len()) * at.w.len();
    let parts = on_chunks(elements, n_threads, chunks, |(chunk, (out, (w, g)))| {
        let start = chunk * CHUNK;
        let at = At { w, g, scale: scale.chunk(start..start + out.len()), start };
        dispatched(
            #[inline(always)]
            || match varied {
                None => chunk_step(at, Same { l1, l2 }, rows, (factor, alpha), out),
                Some(varied) => chunk_step(at, varied.chunk((l1, l2), chunk, out.len()), rows, (factor, alpha), out),
            },
        )
    });
    let [slope, change, l1_norm, squared] = total(&parts);
    Trial { slope, change, l1_norm, squared }
}

#[cfg(test)]
mod tests;
