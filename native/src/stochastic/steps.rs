//! A step along a sample's gradient: what changes, weight by weight, is a rule's business.

use super::inference::Inference;
use super::samples::Sample;
use super::weights::Weights;
use pulp::{Scalar, Simd};

/// What a step does to weights, and to what is kept with them: several at once, or with `pulp::Scalar` one.
pub trait Rule: Copy {
    /// Adds a change; `last` says whether it is the last that the sample makes to these weights. Where there is no feature, v
    /// is 0 after the last.
    fn step<S: Simd>(self, simd: S, v: &mut S::f64s, kept: &mut S::f64s, change: S::f64s, last: bool);

    /// What follows on the last change, alone.
    #[inline(always)]
    fn finish(self, v: &mut f64, kept: &mut f64) {
        self.step(Scalar::new(), v, kept, 0.0, true);
    }

    /// N vectors of a row of labels, in place `index` of all rows, those of transitions and then the dense ones, not counting what
    /// is kept.
    #[inline(always)]
    fn step_row<S: Simd, const N: usize>(
        self,
        simd: S,
        (v, kept): (&mut [S::f64s], &mut [S::f64s]),
        _index: usize,
        change: [S::f64s; N],
        last: bool,
    ) {
        for n in 0..N {
            self.step(simd, &mut v[n], &mut kept[n], change[n], last);
        }
    }
}

/// A step of a length along the gradient that `inference` has; `bigrams` are the sample's bigram features, each once.
#[inline(always)]
pub fn step<S: Simd>(
    simd: S,
    weights: &mut Weights<'_>,
    inference: &Inference<'_>,
    sample: Sample<'_>,
    bigrams: &[u32],
    length: f64,
    rule: impl Rule,
) {
    let lattice = &inference.lattice;
    let (width, stride) = (weights.rows.width, weights.rows.stride());
    if sample.tokens().len() > 1 {
        let rows = weights.pairs.values.chunks_exact_mut(stride);
        for (from, (row, gradient)) in rows.zip(inference.expected.direct.chunks_exact(width)).enumerate() {
            step_rows(simd, row, from, gradient, [(0, length, true)].into_iter(), rule);
        }
    }
    let scalar = Scalar::new();
    let n_labels = inference.features().n_labels;
    let rows = &sample.block.rows;
    let sparse = weights.sparse(sample);
    for (token, gradient) in sample.tokens().zip(lattice.marginals.chunks_exact(width)) {
        let range = rows.range(token);
        let steps = range.clone().zip(rows.ids[range.clone()].iter().zip(&sample.marks.rows[range]));
        let steps = steps.map(|(at, (&id, &last))| (id as usize, length * rows.value(at), last));
        step_rows(simd, &mut weights.rows.values, n_labels, gradient, steps, rule);
        for (entries, marks, start, base) in sparse {
            let range = entries.range(token);
            let pairs = entries.ids[range.clone()].iter().zip(&entries.labels[range.clone()]);
            for (at, ((&id, &label), &last)) in range.clone().zip(pairs.zip(&marks[range])) {
                let [v, kept] = &mut weights.cells[start + id as usize - base];
                rule.step(scalar, v, kept, length * entries.value(at) * gradient[usize::from(label)], last);
            }
        }
    }
    for edge in &lattice.edges {
        let (v, kept) = weights.bigram(edge.feature);
        rule.step(scalar, v, kept, length * edge.marginal, false);
    }
    for &feature in bigrams {
        let (v, kept) = weights.bigram(feature);
        rule.finish(v, kept);
    }
}

/// Steps on some rows of a matrix, all along the same gradient: `steps` gives the row, the length and whether it is the last.
/// The matrix begins at `first_row` of all rows.
#[inline(always)]
fn step_rows<S: Simd>(
    simd: S,
    matrix: &mut [f64],
    first_row: usize,
    gradient: &[f64],
    steps: impl Iterator<Item = (usize, f64, bool)> + Clone,
    rule: impl Rule,
) {
    let (matrix, _) = S::as_mut_simd_f64s(matrix);
    let (gradient, _) = S::as_simd_f64s(gradient);
    let mut at = 0;
    while at < gradient.len() {
        match gradient.len() - at {
            1 => step_tile::<S, 1>(simd, matrix, first_row, gradient, at, steps.clone(), rule),
            2 => step_tile::<S, 2>(simd, matrix, first_row, gradient, at, steps.clone(), rule),
            3 => step_tile::<S, 3>(simd, matrix, first_row, gradient, at, steps.clone(), rule),
            _ => step_tile::<S, 4>(simd, matrix, first_row, gradient, at, steps.clone(), rule),
        }
        at += 4;
    }
}

/// N vectors of columns.
#[inline(always)]
fn step_tile<S: Simd, const N: usize>(
    simd: S,
    matrix: &mut [S::f64s],
    first_row: usize,
    gradient: &[S::f64s],
    at: usize,
    steps: impl Iterator<Item = (usize, f64, bool)>,
    rule: impl Rule,
) {
    let width = gradient.len();
    let mut columns = [simd.splat_f64s(0.0); N];
    columns.copy_from_slice(&gradient[at..at + N]);
    for (row, length, last) in steps {
        let (v, kept) = matrix[row * 2 * width..][..2 * width].split_at_mut(width);
        let length = simd.splat_f64s(length);
        let change = std::array::from_fn(|n| simd.mul_f64s(length, columns[n]));
        let index = (first_row + row) * width + at;
        rule.step_row::<S, N>(simd, (&mut v[at..at + N], &mut kept[at..at + N]), index, change, last);
    }
}
