//! A step along a sample's gradient; a rule says what the step does to each weight.

use crate::chain::objective::layout;
use crate::numeric::in_tiles;
use crate::stochastic::inference::Inference;
use crate::stochastic::samples::Sample;
use crate::stochastic::weights::{Sparse, Weights};
use pulp::{Scalar, Simd};

/// The effect of a step on weights and their solver state: on a vector of them, or with `pulp::Scalar` on one.
pub trait Rule: Copy {
    /// Adds a change; `last` says whether the sample makes no further change to these weights. Where there is no feature, v is 0
    /// after the last change.
    fn step<S: Simd>(self, simd: S, v: &mut S::f64s, state: &mut S::f64s, change: S::f64s, last: bool);

    /// Makes a last change of 0: only the effect of `last`.
    #[inline(always)]
    fn finish(self, v: &mut f64, state: &mut f64) {
        self.step(Scalar::new(), v, state, 0.0, true);
    }

    /// `step` for N vectors of a row of labels. `index` is the place of the first among the vectors of all rows: rows of
    /// transitions, then dense rows, without their state.
    #[inline(always)]
    fn step_row<S: Simd, const N: usize>(
        self,
        simd: S,
        (v, state): (&mut [S::f64s], &mut [S::f64s]),
        _index: usize,
        change: [S::f64s; N],
        last: bool,
    ) {
        for n in 0..N {
            self.step(simd, &mut v[n], &mut state[n], change[n], last);
        }
    }
}

/// Makes a step of a length along the gradient in `inference`, which knows the sample's bigram features if the rule needs `last`.
#[inline(always)]
pub fn step<S: Simd>(
    simd: S,
    weights: &mut Weights<'_>,
    inference: &Inference<'_>,
    sample: Sample<'_>,
    length: f64,
    rule: impl Rule,
) {
    let lattice = &inference.lattice;
    let (width, stride) = (weights.rows.width, weights.rows.stride());
    if sample.tokens().len() > 1 {
        let rows = weights.pairs.values.chunks_exact_mut(stride);
        for (index, (row, gradient)) in rows.zip(inference.expected.direct.chunks_exact(width)).enumerate() {
            step_row(simd, row, index * width, gradient, (length, true), rule);
        }
    }
    let scalar = Scalar::new();
    let n_labels = inference.features().n_labels;
    for (kind, (entries, marks)) in sample.block.rows.iter().zip(&sample.marks.rows).enumerate() {
        let (first, last) = sample.parts.rows[kind];
        for at in first as usize..last as usize {
            let (id, place) = (entries.ids[at] as usize, entries.places[at] as usize);
            let row = &mut weights.rows.values[id * stride..][..stride];
            let gradient = &lattice.marginals[place..][..layout::reach(kind, width)];
            step_row(simd, row, (n_labels + id) * width, gradient, (length * entries.value(at), marks[at]), rule);
        }
    }
    for Sparse { entries, marks, part, start, base } in weights.sparse(sample) {
        for at in part {
            let [v, state] = &mut weights.cells[start + entries.ids[at] as usize - base];
            let change = length * entries.value(at) * lattice.marginals[entries.places[at] as usize];
            rule.step(scalar, v, state, change, marks[at]);
        }
    }
    for edge in &lattice.edges {
        let (v, state) = weights.bigram(edge.feature);
        rule.step(scalar, v, state, length * edge.marginal, false);
    }
    for &feature in &inference.bigrams {
        let (v, state) = weights.bigram(feature);
        rule.finish(v, state);
    }
}

/// Makes a step of a length on the leading weights of a row, as many as `gradient` has; `last` as in `Rule::step`. The row begins
/// in place `index` of all rows.
#[inline(always)]
fn step_row<S: Simd>(
    simd: S,
    row: &mut [f64],
    index: usize,
    gradient: &[f64],
    (length, last): (f64, bool),
    rule: impl Rule,
) {
    let (row, _) = S::as_mut_simd_f64s(row);
    let (gradient, _) = S::as_simd_f64s(gradient);
    let (v, state) = row.split_at_mut(row.len() / 2);
    let (index, length) = (index / S::F64_LANES, simd.splat_f64s(length));
    in_tiles!(gradient.len(), |at, N| {
        let (v, state, gradient) = (&mut v[at..at + N], &mut state[at..at + N], &gradient[at..at + N]);
        let mut change = [simd.splat_f64s(0.0); N];
        for n in 0..N {
            change[n] = simd.mul_f64s(length, gradient[n]);
        }
        rule.step_row::<S, N>(simd, (v, state), index + at, change, last);
    });
}
