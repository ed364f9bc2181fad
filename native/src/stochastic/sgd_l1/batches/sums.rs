//! The sums p of all steps of the weights, laid out for loops over a sentence.

use crate::chain::features::Features;
use crate::chain::objective::layout::{self, Block, SentenceEntries, for_each_entry};
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::numeric::products::Number;
use crate::stochastic::samples::Sample;
use crate::stochastic::weights::{first_cell, pair_places, row_places};
use pulp::Simd;

/// The numbers to a multiple of which rows are padded: those of the widest vectors.
pub const LANES: usize = 16;

/// The sums of the steps of all weights; NaN where a row of labels has no feature.
pub struct Sums {
    /// Scores and steps have rows of this many labels, and padding.
    pub width: usize,
    widening: Widening,
    /// Dense rows, numbered as in `layout`.
    rows: Aligned<f32>,
    /// Transitions, a row for the label that a transition leaves.
    pub pairs: Aligned<f32>,
    /// State features that are not in dense rows.
    cells: Vec<f32>,
    /// The index of the first of the `cells` among the state features.
    first_sparse: usize,
}

/// Turns places in rows of `layout` into places in wider rows.
#[derive(Clone, Copy)]
struct Widening {
    /// place / narrow = place * multiplier >> shift, for places below 2^31.
    multiplier: u64,
    shift: u32,
    /// The difference of the widths.
    more: usize,
}

impl Widening {
    fn new(narrow: usize, wide: usize) -> Widening {
        let shift = 31 + narrow.next_power_of_two().ilog2();
        Widening { multiplier: (1u64 << shift) / narrow as u64 + 1, shift, more: wide - narrow }
    }

    #[inline(always)]
    fn place(self, place: u32) -> usize {
        let row = (u64::from(place) * self.multiplier) >> self.shift;
        place as usize + row as usize * self.more
    }
}

/// p moved towards 0 by u, but not across; 0 where there is no feature.
#[inline(always)]
pub fn threshold<S: Simd>(simd: S, p: S::f32s, u: S::f32s) -> S::f32s {
    let taken = simd.max_f32s(simd.neg_f32s(u), simd.min_f32s(u, p));
    simd.select_f32s(simd.equal_f32s(p, p), simd.sub_f32s(p, taken), simd.splat_f32s(0.0))
}

impl Sums {
    /// Takes over weights and the penalties that they have received.
    pub fn new(features: &Features, w: &[f64], q: &[f64]) -> Sums {
        let width = features.n_labels.div_ceil(LANES) * LANES;
        let first_cell = first_cell(features);
        let mut sums = Sums {
            width,
            widening: Widening::new(numeric::padded(features.n_labels), width),
            rows: Aligned::new(features.n_dense * width, f32::NAN),
            pairs: Aligned::new(features.n_labels * width, f32::NAN),
            cells: w[first_cell..].iter().zip(&q[first_cell..]).map(|(w, q)| (w - q) as f32).collect(),
            first_sparse: first_cell - features.first_state(),
        };
        let (w, q) = (&w[..first_cell], &q[..first_cell]);
        sums.leading(features).zip(w.iter().zip(q)).for_each(|(p, (w, q))| *p = (w - q) as f32);
        sums
    }

    /// Writes the weights, and the penalties that they have received.
    pub fn store(mut self, features: &Features, w: &mut [f64], q: &mut [f64], u: f64, scale: f64) {
        let (leading, cells) = w.split_at_mut(first_cell(features));
        let (leading_q, cells_q) = q.split_at_mut(leading.len());
        let settle = |(p, (w, q)): (&mut f32, (&mut f64, &mut f64))| {
            let p = f64::from(*p);
            *w = scale * (p - p.clamp(-u, u));
            *q = *w - scale * p;
        };
        self.leading(features).zip(leading.iter_mut().zip(leading_q)).for_each(settle);
        self.cells.iter_mut().zip(cells.iter_mut().zip(cells_q)).for_each(settle);
    }

    /// The sums of transitions and of features in dense rows, in the sequence of the features.
    fn leading<'a>(&'a mut self, features: &'a Features) -> impl Iterator<Item = &'a mut f32> {
        let width = self.width;
        let [pairs, rows] = [&mut *self.pairs, &mut *self.rows];
        // A feature has its own place, so that places ascend.
        ascending(pairs, pair_places(features), width).chain(ascending(rows, row_places(features), width))
    }

    /// Adds the weights of a sample to its scores, tokens x width.
    #[inline(always)]
    pub fn add_weights<S: Simd>(&self, simd: S, sample: Sample<'_>, u: f32, scores: &mut [f32]) {
        let Block { rows: [one, two, three, more], shared, own, own_range, .. } = sample.block;
        let at = sample.sentence;
        self.add_rows(simd, one, at, reach::<S>(0, self.width), u, scores);
        self.add_rows(simd, two, at, reach::<S>(1, self.width), u, scores);
        self.add_rows(simd, three, at, reach::<S>(2, self.width), u, scores);
        self.add_rows(simd, more, at, reach::<S>(3, self.width), u, scores);
        self.add_cells(shared, at, &self.cells, self.first_sparse, u, scores);
        if !own.is_empty() {
            self.add_cells(own, at, &self.cells[own_range.start - self.first_sparse..], 0, u, scores);
        }
    }

    /// scores += value * row, for the entries of one kind of rows; the first `vectors` of each row.
    #[inline(always)]
    fn add_rows<S: Simd>(
        &self,
        simd: S,
        entries: &SentenceEntries,
        sentence: usize,
        vectors: usize,
        u: f32,
        scores: &mut [f32],
    ) {
        let (stride, u) = (self.width / S::F32_LANES, simd.splat_f32s(u));
        let (rows, scores) = (f32::cut::<S>(&self.rows), f32::cut_mut::<S>(scores));
        let (entries, values) = entries.of(sentence);
        for_each_entry!(
            entries,
            values,
            |(&id, &place)| {
                let scores = &mut scores[self.widening.place(place) / S::F32_LANES..][..vectors];
                let row = &rows[id as usize * stride..][..vectors];
                for n in 0..vectors {
                    scores[n] = simd.add_f32s(scores[n], threshold(simd, row[n], u));
                }
            },
            |value| {
                let scores = &mut scores[self.widening.place(place) / S::F32_LANES..][..vectors];
                let row = &rows[id as usize * stride..][..vectors];
                let value = simd.splat_f32s(value as f32);
                for n in 0..vectors {
                    scores[n] = simd.mul_add_e_f32s(value, threshold(simd, row[n], u), scores[n]);
                }
            }
        );
    }

    /// scores += value * weight, for entries of single features; cells[0] is the sum of feature `base`.
    #[inline(always)]
    fn add_cells(
        &self,
        entries: &SentenceEntries,
        sentence: usize,
        cells: &[f32],
        base: usize,
        u: f32,
        scores: &mut [f32],
    ) {
        let weight = |id: u32| {
            let p = cells[id as usize - base];
            p - p.min(u).max(-u)
        };
        let (entries, values) = entries.of(sentence);
        for_each_entry!(entries, values, |(&id, &place)| scores[self.widening.place(place)] += weight(id), |value| {
            scores[self.widening.place(place)] += value as f32 * weight(id)
        });
    }

    /// Adds the steps of a sample's cells, tokens x width, to the sums.
    #[inline(always)]
    pub fn add<S: Simd>(&mut self, simd: S, sample: &Sample<'_>, steps: &[f32]) {
        let Block { rows: [one, two, three, more], shared, own, own_range, .. } = sample.block;
        let at = sample.sentence;
        self.step_rows(simd, one, at, reach::<S>(0, self.width), steps);
        self.step_rows(simd, two, at, reach::<S>(1, self.width), steps);
        self.step_rows(simd, three, at, reach::<S>(2, self.width), steps);
        self.step_rows(simd, more, at, reach::<S>(3, self.width), steps);
        let widening = self.widening;
        step_cells(shared, at, &mut self.cells, self.first_sparse, widening, steps);
        if !own.is_empty() {
            step_cells(own, at, &mut self.cells[own_range.start - self.first_sparse..], 0, widening, steps);
        }
    }

    /// row += value * step, for the entries of one kind of rows; the first `vectors` of each row.
    #[inline(always)]
    fn step_rows<S: Simd>(
        &mut self,
        simd: S,
        entries: &SentenceEntries,
        sentence: usize,
        vectors: usize,
        steps: &[f32],
    ) {
        let (stride, widening) = (self.width / S::F32_LANES, self.widening);
        let (rows, steps) = (f32::cut_mut::<S>(&mut self.rows), f32::cut::<S>(steps));
        let (entries, values) = entries.of(sentence);
        for_each_entry!(
            entries,
            values,
            |(&id, &place)| {
                let steps = &steps[widening.place(place) / S::F32_LANES..][..vectors];
                let row = &mut rows[id as usize * stride..][..vectors];
                for n in 0..vectors {
                    row[n] = simd.add_f32s(row[n], steps[n]);
                }
            },
            |value| {
                let steps = &steps[widening.place(place) / S::F32_LANES..][..vectors];
                let row = &mut rows[id as usize * stride..][..vectors];
                let value = simd.splat_f32s(value as f32);
                for n in 0..vectors {
                    row[n] = simd.mul_add_e_f32s(value, steps[n], row[n]);
                }
            }
        );
    }

    /// Multiplies all sums by a factor.
    pub fn multiply(&mut self, factor: f32) {
        [&mut *self.rows, &mut *self.pairs, &mut *self.cells].into_iter().flatten().for_each(|p| *p *= factor);
    }
}

/// The numbers of a matrix at places that ascend.
fn ascending<'a>(
    mut matrix: &'a mut [f32],
    places: impl Iterator<Item = (usize, usize)> + 'a,
    width: usize,
) -> impl Iterator<Item = &'a mut f32> {
    let mut start = 0;
    places.map_while(move |(row, label)| {
        let at = row * width + label;
        let (number, rest) = std::mem::take(&mut matrix).get_mut(at - start..)?.split_first_mut()?;
        (matrix, start) = (rest, at + 1);
        Some(number)
    })
}

/// The number of leading vectors that rows of a kind can have features in.
#[inline(always)]
fn reach<S: Simd>(kind: usize, width: usize) -> usize {
    layout::reach(kind, width).min(width).div_ceil(S::F32_LANES)
}

/// sums += value * step, for a sentence's entries of single features; cells[0] is the sum of feature `base`.
#[inline(always)]
fn step_cells(
    entries: &SentenceEntries,
    sentence: usize,
    cells: &mut [f32],
    base: usize,
    widening: Widening,
    steps: &[f32],
) {
    let (entries, values) = entries.of(sentence);
    for_each_entry!(
        entries,
        values,
        |(&id, &place)| cells[id as usize - base] += steps[widening.place(place)],
        |value| cells[id as usize - base] += value as f32 * steps[widening.place(place)]
    );
}

#[cfg(test)]
mod tests {
    use super::Widening;

    #[test]
    fn places_in_wider_rows_are_those_of_a_division() {
        for (narrow, wide) in [(8, 16), (16, 16), (24, 32), (40, 48), (328, 336), (4000, 4000)] {
            let widening = Widening::new(narrow, wide);
            let numbers = (0..10_000).chain((1 << 31) - 10_000..1 << 31);
            for place in numbers.flat_map(|number: u32| [number, number / narrow as u32 * narrow as u32]) {
                let exact = place as usize / narrow * wide + place as usize % narrow;
                assert_eq!(widening.place(place), exact, "{place} {narrow}");
            }
        }
    }
}
