//! Forward-backward on probabilities, rescaled at every token (Rabiner 1989, section V.A).
//!
//! The factor of token t is 1 / sum(alpha_{t-1}), not 1 / sum(alpha_t): the sum is then off the chain of dependent
//! operations. alpha and beta take the same factors, so alpha_t . beta_t is the same number, sum(alpha_last), at every token.

use super::{Lattice, PairCounts, Transitions};
use crate::numeric;
use pulp::Simd;

impl Lattice {
    #[inline(always)]
    pub(super) fn forward_scaled<S: Simd>(&mut self, simd: S, transitions: &Transitions) -> f64 {
        let width = self.width;
        numeric::exp_in_place(simd, &mut self.scores);
        self.marginals.resize(self.tokens * width, 0.0);
        self.rescale.resize(self.tokens.max(1), 1.0);
        multiply(simd, &mut self.marginals[..width], &self.scores[..width], &transitions.ones, 1.0);
        let mut product = LogProduct::default();
        for token in 1..self.tokens {
            let (before, rest) = self.marginals.split_at_mut(token * width);
            let previous = &before[(token - 1) * width..];
            let current = &mut rest[..width];
            let total = numeric::sum(simd, previous);
            let rescale = 1.0 / total;
            self.rescale[token] = rescale;
            product.multiply(total);
            let potentials = &self.scores[token * width..(token + 1) * width];
            let edges = self.edge_ends.get(token).map_or(0..0, |&end| self.edge_ends[token - 1]..end);
            if edges.is_empty() {
                vector_matrix(simd, &previous[..self.labels], &transitions.exp, current);
            } else {
                self.patched.apply(&self.edges[edges.clone()]);
                vector_matrix(simd, &previous[..self.labels], &self.patched.exp, current);
                self.patched.restore(&self.edges[edges], transitions);
            }
            multiply_in_place(simd, current, potentials, rescale);
        }
        self.last_sum = numeric::sum(simd, &self.marginals[(self.tokens - 1) * width..]);
        product.log() + self.last_sum.ln()
    }

    #[inline(always)]
    pub(super) fn backward_scaled<S: Simd>(
        &mut self,
        simd: S,
        transitions: &Transitions,
        factor: f64,
        pairs: &mut PairCounts,
    ) {
        let (width, labels) = (self.width, self.labels);
        self.backward.resize(width, 0.0);
        self.incoming.resize(width, 0.0);
        // With beta_last = factor / Z the marginals come out multiplied by the factor.
        let scale = factor / self.last_sum;
        for (beta, one) in self.backward.iter_mut().zip(&transitions.ones) {
            *beta = scale * one;
        }
        for token in (0..self.tokens).rev() {
            let (before, rest) = self.marginals.split_at_mut(token * width);
            let current = &mut rest[..width];
            if token == 0 {
                multiply_in_place(simd, current, &self.backward, 1.0);
                break;
            }
            let potentials = &self.scores[token * width..(token + 1) * width];
            multiply(simd, &mut self.incoming, potentials, &self.backward, self.rescale[token]);
            multiply_in_place(simd, current, &self.backward, 1.0);
            let previous = &before[(token - 1) * width..][..labels];
            let edges = self.edge_ends.get(token).map_or(0..0, |&end| self.edge_ends[token - 1]..end);
            if edges.is_empty() {
                for (&alpha, row) in previous.iter().zip(pairs.outer.chunks_exact_mut(width)) {
                    numeric::add_scaled(simd, row, alpha, &self.incoming);
                }
                vector_matrix(simd, &self.incoming[..labels], &transitions.exp_transposed, &mut self.backward);
                continue;
            }
            self.patched.apply(&self.edges[edges.clone()]);
            self.backward.fill(0.0);
            for (from, &alpha) in previous.iter().enumerate() {
                let at = from * width;
                let mut total = 0.0;
                for to in 0..labels {
                    let onward = self.patched.exp[at + to] * self.incoming[to];
                    total += onward;
                    pairs.direct[at + to] += alpha * onward;
                }
                self.backward[from] = total;
            }
            for edge in &mut self.edges[edges.clone()] {
                let (from, to) = (edge.from as usize, edge.to as usize);
                edge.marginal = previous[from] * self.patched.exp[from * width + to] * self.incoming[to];
            }
            self.patched.restore(&self.edges[edges], transitions);
        }
    }
}

/// A product of many positive numbers as mantissa and exponent, so that one logarithm serves them all.
struct LogProduct {
    mantissa: f64,
    exponent: i64,
}

impl Default for LogProduct {
    fn default() -> Self {
        LogProduct { mantissa: 1.0, exponent: 0 }
    }
}

impl LogProduct {
    #[inline(always)]
    fn multiply(&mut self, factor: f64) {
        const EXPONENT: u64 = 0x7ff << 52;
        let product = self.mantissa * factor;
        let bits = product.to_bits();
        self.exponent += ((bits & EXPONENT) >> 52) as i64 - 1023;
        self.mantissa = f64::from_bits(bits & !EXPONENT | 1.0f64.to_bits());
    }

    fn log(&self) -> f64 {
        self.mantissa.ln() + self.exponent as f64 * std::f64::consts::LN_2
    }
}

/// out = a * b * factor, element by element.
#[inline(always)]
fn multiply<S: Simd>(simd: S, out: &mut [f64], a: &[f64], b: &[f64], factor: f64) {
    let factor = simd.splat_f64s(factor);
    let (out, _) = S::as_mut_simd_f64s(out);
    let (a, _) = S::as_simd_f64s(a);
    let (b, _) = S::as_simd_f64s(b);
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = simd.mul_f64s(simd.mul_f64s(a, factor), b);
    }
}

/// target *= a * factor, element by element.
#[inline(always)]
fn multiply_in_place<S: Simd>(simd: S, target: &mut [f64], a: &[f64], factor: f64) {
    let factor = simd.splat_f64s(factor);
    let (target, _) = S::as_mut_simd_f64s(target);
    let (a, _) = S::as_simd_f64s(a);
    for (target, &a) in target.iter_mut().zip(a) {
        *target = simd.mul_f64s(*target, simd.mul_f64s(a, factor));
    }
}

/// out(j) = sum over i of vector(i) * matrix(i, j); the matrix has rows as long as `out`.
#[inline(always)]
fn vector_matrix<S: Simd>(simd: S, vector: &[f64], matrix: &[f64], out: &mut [f64]) {
    let (out, _) = S::as_mut_simd_f64s(out);
    let (matrix, _) = S::as_simd_f64s(matrix);
    let stride = out.len();
    let mut at = 0;
    while at < stride {
        match stride - at {
            1 => tile::<S, 1>(simd, vector, matrix, stride, at, out),
            2 => tile::<S, 2>(simd, vector, matrix, stride, at, out),
            3 => tile::<S, 3>(simd, vector, matrix, stride, at, out),
            _ => tile::<S, 4>(simd, vector, matrix, stride, at, out),
        }
        at += 4;
    }
}

/// N vectors of columns of a vector-matrix product, in registers. Even and odd rows add up apart, for shorter chains.
#[inline(always)]
fn tile<S: Simd, const N: usize>(
    simd: S,
    vector: &[f64],
    matrix: &[S::f64s],
    stride: usize,
    at: usize,
    out: &mut [S::f64s],
) {
    let mut even = [simd.splat_f64s(0.0); N];
    let mut odd = even;
    let mut rows = matrix.chunks_exact(stride);
    let mut values = vector.chunks_exact(2);
    for pair in &mut values {
        let (Some(first), Some(second)) = (rows.next(), rows.next()) else { break };
        let (first, second) = (&first[at..at + N], &second[at..at + N]);
        let (a, b) = (simd.splat_f64s(pair[0]), simd.splat_f64s(pair[1]));
        for n in 0..N {
            even[n] = simd.mul_add_e_f64s(a, first[n], even[n]);
            odd[n] = simd.mul_add_e_f64s(b, second[n], odd[n]);
        }
    }
    if let ([value], Some(row)) = (values.remainder(), rows.next()) {
        let value = simd.splat_f64s(*value);
        let row = &row[at..at + N];
        for n in 0..N {
            even[n] = simd.mul_add_e_f64s(value, row[n], even[n]);
        }
    }
    let out = &mut out[at..at + N];
    for n in 0..N {
        out[n] = simd.add_f64s(even[n], odd[n]);
    }
}
