//! The best labelling (Viterbi 1967). Ties go to the label that comes first.

use crate::chain::inference::{Lattice, Transitions, second};
use pulp::Simd;

impl Lattice {
    /// Writes the best labelling; returns its score. Works on log potentials: call it instead of `forward`.
    #[inline(always)]
    pub fn viterbi<S: Simd>(&mut self, simd: S, transitions: &Transitions, path: &mut Vec<u32>) -> f64 {
        let (width, labels) = (self.width, self.labels);
        path.clear();
        path.resize(self.tokens, 0);
        if let Some(triples) = transitions.triples_of(self.tokens) {
            return simd.vectorize(second::Viterbi(self, transitions, triples, path));
        }
        self.best.resize(self.tokens * width, 0.0);
        for (j, best) in self.best[..width].iter_mut().enumerate() {
            *best = if j < labels { self.scores[j] } else { f64::NEG_INFINITY };
        }
        for token in 1..self.tokens {
            let edges = self.edge_ends.get(token).map_or(0..0, |&end| self.edge_ends[token - 1]..end);
            let (before, rest) = self.best.split_at_mut(token * width);
            let previous = &before[(token - 1) * width..][..labels];
            let current = &mut rest[..width];
            if edges.is_empty() {
                max_plus(simd, previous, &transitions.scores, current);
            } else {
                self.patched.apply(&self.edges[edges.clone()]);
                max_plus(simd, previous, &self.patched.scores, current);
                self.patched.restore(&self.edges[edges], transitions);
            }
            crate::numeric::add(simd, current, &self.scores[token * width..(token + 1) * width]);
        }
        let last = (self.tokens - 1) * width;
        let (mut label, score) = first_maximum(self.best[last..last + labels].iter().copied());
        path[self.tokens - 1] = label as u32;
        // The predecessors are found again on the way back: L additions a token, where storing them costs L^2.
        for token in (1..self.tokens).rev() {
            let edges = self.edges_into(token);
            self.patched.apply(&self.edges[edges.clone()]);
            let previous = &self.best[(token - 1) * width..][..labels];
            let matrix = if edges.is_empty() { &transitions.scores } else { &self.patched.scores };
            let candidates = previous.iter().enumerate().map(|(from, best)| best + matrix[from * width + label]);
            label = first_maximum(candidates).0;
            self.patched.restore(&self.edges[edges], transitions);
            path[token - 1] = label as u32;
        }
        score
    }
}

pub(super) fn first_maximum(values: impl Iterator<Item = f64>) -> (usize, f64) {
    values.enumerate().fold((0, f64::NEG_INFINITY), |best, (at, value)| if value > best.1 { (at, value) } else { best })
}

/// out(j) = max over i of vector(i) + matrix(i, j).
#[inline(always)]
pub(super) fn max_plus<S: Simd>(simd: S, vector: &[f64], matrix: &[f64], out: &mut [f64]) {
    let (out, _) = S::as_mut_simd_f64s(out);
    let (matrix, _) = S::as_simd_f64s(matrix);
    let stride = out.len();
    let mut at = 0;
    while at < stride {
        match stride - at {
            1 => max_tile::<S, 1>(simd, vector, matrix, stride, at, out),
            2 => max_tile::<S, 2>(simd, vector, matrix, stride, at, out),
            3 => max_tile::<S, 3>(simd, vector, matrix, stride, at, out),
            _ => max_tile::<S, 4>(simd, vector, matrix, stride, at, out),
        }
        at += 4;
    }
}

#[inline(always)]
fn max_tile<S: Simd, const N: usize>(
    simd: S,
    vector: &[f64],
    matrix: &[S::f64s],
    stride: usize,
    at: usize,
    out: &mut [S::f64s],
) {
    let mut best = [simd.splat_f64s(f64::NEG_INFINITY); N];
    for (&value, row) in vector.iter().zip(matrix.chunks_exact(stride)) {
        let value = simd.splat_f64s(value);
        let row = &row[at..at + N];
        for n in 0..N {
            best[n] = simd.max_f64s(best[n], simd.add_f64s(value, row[n]));
        }
    }
    out[at..at + N].copy_from_slice(&best);
}
