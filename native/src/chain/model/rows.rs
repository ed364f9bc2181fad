//! The weights of a model's attributes as rows of scores: a token of a long text gets its scores sooner from them, bitwise the same.
//!
//! A filter in the processor's cache drops most of the attributes without features. The others are looked up together, so that
//! look-ups do not wait for one another. The scores of a token stay in registers: an attribute with many features has a row of
//! them to add, a feature adds a multiple of a row with a one at its label. Zeros change no sum. An attribute with a single feature
//! thus takes the same steps as one with a row, and needs no further row.

use crate::chain::model::weights::ModelWeights;
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::{arch, simd_task};
use crate::numeric::{LANES, in_tiles, padded, prefetch};
use pulp::Simd;
use std::ops::Range;

/// Most labels: with more of them, rows are longer than the features of an attribute are many.
const MOST_LABELS: usize = 32;
/// Most scores in the rows of attributes: they should stay in cache.
pub(super) const MOST_SCORES: usize = 1 << 19;
/// The largest absolute weight or value: their products are finite.
const LARGEST: f64 = 1e150;
/// Bits of the filter for each attribute, at least.
const BITS: usize = 8;
/// Look-ups between the request of a memory and its use.
const AHEAD: usize = 8;

/// Rows of scores.
pub struct Rows {
    /// A bit for every key that starts with these bits; 0 where no attribute has features.
    filter: Vec<u64>,
    /// Number of other bits of a key.
    shift: u32,
    /// 1 + the first feature of an attribute -> what the attribute adds at value 1. The first entry adds nothing.
    terms: Vec<Term>,
    /// A row for each label, with a one at the label and zeros elsewhere, then the rows of attributes with many features.
    rows: Aligned,
    width: usize,
}

/// What an attribute of a token adds to its scores.
#[derive(Clone, Copy)]
struct Term {
    /// Where a row of scores begins, the attribute's or that of the label of its only feature; or its first feature.
    start: u32,
    /// Number of its features, `ROW` for a row.
    count: u32,
    /// Factor of the row or of the features' weights.
    value: f64,
}

/// Marks a row of scores.
const ROW: u32 = u32::MAX;

/// What the attributes of a sentence's tokens add to their scores.
#[derive(Default)]
pub struct Terms {
    /// Attributes that pass the filter.
    passed: Vec<(u64, f64)>,
    /// Token -> attributes of all tokens up to it.
    ends: Vec<usize>,
    /// Attribute -> place among `Rows::terms`.
    places: Vec<u32>,
    /// Of all tokens.
    terms: Vec<Term>,
    /// The features of the attributes of one token, where there are no rows.
    pub(super) ranges: Vec<Range<usize>>,
}

impl Rows {
    /// Whether this machine adds rows sooner than single features for this number of labels.
    pub(super) fn serve(n_labels: usize) -> bool {
        simd_task!(Lanes() -> usize, |_| S::F64_LANES);
        n_labels <= MOST_LABELS && arch().dispatch(Lanes()) >= 4
    }

    /// The rows of a model's weights, of at most `most_scores` scores; none if a weight is too large.
    pub(super) fn new(weights: &ModelWeights<'_>, n_labels: usize, most_scores: usize) -> Option<Rows> {
        if weights.state_weights.iter().any(|weight| weight.abs() > LARGEST) {
            return None;
        }
        let width = padded(n_labels);
        let bits = (weights.states.len() * BITS).next_power_of_two().max(64);
        let shift = 64 - bits.trailing_zeros();
        let mut filter = vec![0u64; bits / 64];
        let mut with_count = [0; MOST_LABELS + 1];
        for (key, features) in weights.states.filled() {
            let bit = (key >> shift) as usize;
            filter[bit / 64] |= 1 << (bit % 64);
            with_count[features.len().min(MOST_LABELS)] += 1;
        }
        let (mut least, mut n_rows) = (MOST_LABELS + 1, 0);
        while least > 2 && (n_rows + with_count[least - 1]) * width <= most_scores {
            least -= 1;
            n_rows += with_count[least];
        }
        let nothing = Term { start: 0, count: ROW, value: 0.0 };
        let mut terms = vec![nothing; weights.state_weights.len() + 1];
        let mut rows = Aligned::new((n_labels + n_rows) * width, 0.0);
        (0..n_labels).for_each(|label| rows[label * width + label] = 1.0);
        let mut start = n_labels * width;
        for (_, features) in weights.states.filled().filter(|(_, features)| !features.is_empty()) {
            let first = features.start;
            terms[1 + first] = if let 1 = features.len() {
                let start = usize::from(weights.state_labels[first]) * width;
                Term { start: start as u32, count: ROW, value: weights.state_weights[first] }
            } else if features.len().min(MOST_LABELS) >= least {
                weights.add_states(features, 1.0, &mut rows[start..start + width]);
                start += width;
                Term { start: (start - width) as u32, count: ROW, value: 1.0 }
            } else {
                Term { start: first as u32, count: features.len() as u32, value: 1.0 }
            };
        }
        Some(Rows { filter, shift, terms, rows, width })
    }

    /// Whether the rows give the scores of these attributes: products with zeros must be zeros.
    #[inline(always)]
    pub(super) fn hold(attributes: &[(u64, f64)]) -> bool {
        attributes.iter().all(|(_, value)| value.abs() <= LARGEST)
    }

    /// Looks up the attributes of a sentence's tokens. `ends` has the end of each token's attributes, which begin at `start`.
    pub(super) fn find(
        &self,
        weights: &ModelWeights<'_>,
        attributes: &[(u64, f64)],
        (mut start, ends): (usize, &[usize]),
        sentence: &mut Terms,
    ) {
        let Terms { passed, ends: passed_ends, places, terms, .. } = sentence;
        passed.resize((attributes.len() + 1).max(passed.len()), (0, 0.0));
        passed_ends.clear();
        let mut count = 0;
        for &end in ends {
            for &attribute in &attributes[start..end] {
                passed[count] = attribute;
                let bit = attribute.0 >> self.shift;
                count += (self.filter[(bit / 64) as usize] >> (bit % 64) & 1) as usize;
            }
            passed_ends.push(count);
            start = end;
        }
        let passed = &passed[..count];
        let later = passed.iter().map(|&(key, _)| key).skip(AHEAD).chain(std::iter::repeat_n(0, AHEAD));
        places.clear();
        places.extend(passed.iter().zip(later).map(|(&(key, _), later)| {
            weights.states.prefetch(later);
            let features = weights.states.find(key);
            let place = if features.is_empty() { 0 } else { features.start + 1 };
            prefetch(&self.terms, place);
            place as u32
        }));
        terms.clear();
        terms.extend(places.iter().zip(passed).map(|(&place, &(_, value))| {
            let term = self.terms[place as usize];
            let start = term.start as usize;
            if term.count == ROW {
                (0..self.width).step_by(LANES).for_each(|line| prefetch(&self.rows, start + line));
            } else {
                prefetch(weights.state_labels, start);
                prefetch(weights.state_weights, start);
            }
            Term { value: term.value * value, ..term }
        }));
    }

    /// Sets the scores of a sentence's tokens.
    #[inline(always)]
    fn add<S: Simd>(
        &self,
        simd: S,
        weights: &ModelWeights<'_>,
        sentence: &Terms,
        intercept: &[f64],
        scores: &mut [f64],
    ) {
        let mut start = 0;
        for (&end, row) in sentence.ends.iter().zip(scores.chunks_exact_mut(self.width)) {
            let (vectors, _) = S::as_mut_simd_f64s(row);
            let terms = &sentence.terms[start..end];
            in_tiles!(vectors.len(), |at, N| self.add_tile::<S, N>(simd, weights, terms, at, vectors));
            row.iter_mut().zip(intercept).for_each(|(score, intercept)| *score += intercept);
            start = end;
        }
    }

    /// Sets `N` vectors of a token's scores, from vector `at` on.
    #[inline(always)]
    fn add_tile<S: Simd, const N: usize>(
        &self,
        simd: S,
        weights: &ModelWeights<'_>,
        terms: &[Term],
        at: usize,
        out: &mut [S::f64s],
    ) {
        let (rows, _) = S::as_simd_f64s(&self.rows);
        let mut sum = [simd.splat_f64s(0.0); N];
        for term in terms {
            let (start, count) = (term.start as usize, term.count as usize);
            if term.count == ROW {
                add_row(simd, &mut sum, term.value, &rows[start / S::F64_LANES + at..]);
                continue;
            }
            let range = start..start + count;
            for (&label, &weight) in weights.state_labels[range.clone()].iter().zip(&weights.state_weights[range]) {
                add_row(simd, &mut sum, term.value * weight, &rows[usize::from(label) * out.len() + at..]);
            }
        }
        out[at..at + N].copy_from_slice(&sum);
    }
}

/// sum += value * row
#[inline(always)]
fn add_row<S: Simd, const N: usize>(simd: S, sum: &mut [S::f64s; N], value: f64, row: &[S::f64s]) {
    let (value, row) = (simd.splat_f64s(value), &row[..N]);
    for n in 0..N {
        sum[n] = simd.add_f64s(sum[n], simd.mul_f64s(value, row[n]));
    }
}

simd_task!(
    /// Sets the scores of a sentence's tokens to the sums of its terms, and adds the intercept.
    pub(super) AddRows<'a>(
        rows: &'a Rows,
        weights: &'a ModelWeights<'a>,
        terms: &'a Terms,
        intercept: &'a [f64],
        scores: &'a mut [f64]
    ) -> (),
    |simd| rows.add(simd, weights, terms, intercept, scores)
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::model::{Model, Parts};
    use crate::corpus::hash::key_of;
    use proptest::prelude::*;

    /// Attribute -> weight of each label, 0 for no feature.
    type Weights = Vec<Vec<f64>>;

    fn weight() -> impl Strategy<Value = f64> {
        prop_oneof![4 => Just(0.0), 4 => -3.0..3.0f64, 1 => Just(1e150)]
    }

    fn model(weights: &Weights) -> Model {
        let n_labels = weights[0].len();
        let mut parts = Parts { labels: (0..n_labels).map(|label| format!("L{label}")).collect(), ..Parts::default() };
        for (attribute, weights) in weights.iter().enumerate() {
            let features = weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
            let features_and_weights = features.map(|(label, &weight)| (label as u16, weight)).unzip();
            parts.states.push(format!("a{attribute}").as_bytes(), features_and_weights);
        }
        (parts.settings, parts.intercept) = ("{}".into(), Some("a0".into()));
        Model::of_parts(&parts, "the model").unwrap()
    }

    /// The bits of the scores of a sentence; a zero may have either sign.
    fn scores(model: &Model, attributes: &[(u64, f64)], ends: &[usize]) -> Vec<u64> {
        let mut scores = Aligned::new((ends.len() - 1) * padded(model.labels.len()), 0.0);
        let (start, mut buffer) = (ends[0], Terms::default());
        model.add_tokens(&model.weights(), attributes, (start, &ends[1..]), &mut buffer, &mut scores);
        scores.iter().map(|score| (score + 0.0).to_bits()).collect()
    }

    proptest! {
        #[test]
        fn scores_from_rows_are_bitwise_those_of_single_features(
            weights in (1usize..=MOST_LABELS)
                .prop_flat_map(|n| proptest::collection::vec(proptest::collection::vec(weight(), n), 1..12)),
            tokens in proptest::collection::vec(
                proptest::collection::vec((0usize..15, prop_oneof![Just(1.0), -2.0..2.0f64]), 0..30), 1..20),
            large in prop::option::weighted(0.1, Just(1e160)),
            n_rows in 0usize..8,
        ) {
            let model = model(&weights);
            let mut attributes = Vec::new();
            let mut ends = vec![0];
            for token in &tokens {
                attributes.extend(token.iter().map(|&(at, value)| (key_of(format!("a{at}").as_bytes()), value)));
                ends.push(attributes.len());
            }
            // Without rows.
            attributes.last_mut().into_iter().zip(large).for_each(|(last, large)| last.1 = large);
            let single = scores(&model, &attributes, &ends);
            prop_assume!(Rows::serve(model.labels.len()));
            let n_labels = model.labels.len();
            let rows = Rows::new(&model.weights(), n_labels, n_rows * padded(n_labels));
            prop_assert!(model.rows.set(rows).is_ok());
            prop_assert_eq!(&scores(&model, &attributes, &ends), &single);
            // A sentence after others.
            prop_assert_eq!(&scores(&model, &attributes, &ends[1..]), &single[padded(n_labels)..]);
        }
    }

    #[test]
    fn long_texts_and_few_labels_get_rows() {
        let few = model(&vec![vec![1.0; 3]; 40]);
        few.expect(4);
        assert!(few.rows.get().is_none());
        few.expect(5);
        assert!(few.rows.get().is_some() || !Rows::serve(3));
        let many = model(&vec![vec![1.0; MOST_LABELS + 1]; 2]);
        many.expect(1000);
        assert!(many.rows.get().is_none());
    }
}
