//! Scores of three labels in a row, and their expected counts.

use crate::numeric::aligned::Aligned;
use crate::numeric::padded;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// With at most so many labels the table of scores is always made: it stays in the nearest caches, and look-ups are many.
const FEW_LABELS: usize = 32;

/// Scores of three labels in a row. Tables of all triples have labels x labels x width places, and are made where sentences go
/// one by one; sentences that go abreast need the listed triples only.
pub struct Triples {
    labels: usize,
    width: usize,
    /// The triples that were given, ascending, and their scores; all other scores are 0.
    listed: Arc<[[u16; 3]]>,
    listed_scores: Vec<f64>,
    /// The largest |score|.
    max_abs: f64,
    /// Log potentials, a row for the label in the middle and the first label; padding is -inf.
    scores: OnceLock<Aligned>,
    /// exp(scores); padding is 0.
    exp: OnceLock<Aligned>,
    /// exp(scores) with a row for the label in the middle and the last label.
    exp_transposed: OnceLock<Aligned>,
}

impl Triples {
    /// The scores given, each with its three labels in a row; all other scores are 0.
    pub fn new(labels: usize, scores: impl Iterator<Item = ([u16; 3], f64)>) -> Self {
        let mut all: Vec<_> = scores.collect();
        if !all.is_sorted_by_key(|triple| triple.0) {
            all.sort_by_key(|triple| triple.0);
        }
        let (listed, listed_scores): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let max_abs = listed_scores.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
        let (scores, exp, exp_transposed) = Default::default();
        let listed = listed.into();
        let triples =
            Triples { labels, width: padded(labels), listed, listed_scores, max_abs, scores, exp, exp_transposed };
        if labels <= FEW_LABELS {
            triples.scores();
        }
        triples
    }

    /// Where three labels are in the tables.
    #[inline(always)]
    pub(super) fn at(&self, [first, middle, last]: [usize; 3]) -> usize {
        (middle * self.labels + first) * self.width + last
    }

    /// The number of places of a table.
    fn size(&self) -> usize {
        self.labels * self.labels * self.width
    }

    /// A table with the listed scores at the places of their labels, and 0 at all others but the padding.
    fn table(&self, place: impl Fn([usize; 3]) -> usize, padding: f64, value: impl Fn(f64) -> f64) -> Aligned {
        let mut table = Aligned::new(self.size(), padding);
        table.chunks_exact_mut(self.width).for_each(|row| row[..self.labels].fill(value(0.0)));
        for (labels, &score) in self.listed.iter().zip(&self.listed_scores) {
            table[place(labels.map(usize::from))] = value(score);
        }
        table
    }

    /// The table of scores.
    pub(super) fn scores(&self) -> &Aligned {
        self.scores.get_or_init(|| self.table(|labels| self.at(labels), f64::NEG_INFINITY, |score| score))
    }

    /// The table of exp(scores).
    pub(super) fn exp(&self) -> &Aligned {
        self.exp.get_or_init(|| self.table(|labels| self.at(labels), 0.0, f64::exp))
    }

    /// The table of exp(scores) by the label in the middle and the last label.
    pub(super) fn exp_transposed(&self) -> &Aligned {
        let place = |[first, middle, last]: [usize; 3]| self.at([last, middle, first]);
        self.exp_transposed.get_or_init(|| self.table(place, 0.0, f64::exp))
    }

    /// The largest |score|.
    pub(super) fn max_abs(&self) -> f64 {
        self.max_abs
    }

    /// The listed triples, ascending, and their scores.
    pub(super) fn listed(&self) -> impl Iterator<Item = ([usize; 3], f64)> {
        self.listed.iter().map(|labels| labels.map(usize::from)).zip(self.listed_scores.iter().copied())
    }

    /// The score of three labels in a row.
    pub fn score(&self, labels: [usize; 3]) -> f64 {
        match self.scores.get() {
            Some(scores) => scores[self.at(labels)],
            None => place_of(&self.listed, labels).map_or(0.0, |place| self.listed_scores[place]),
        }
    }

    /// Where a table's part of a label in the middle is, labels x width.
    #[inline(always)]
    pub(super) fn of(&self, middle: usize) -> Range<usize> {
        let size = self.labels * self.width;
        middle * size..(middle + 1) * size
    }
}

/// The place of three labels among listed triples.
fn place_of(listed: &[[u16; 3]], labels: [usize; 3]) -> Option<usize> {
    listed.binary_search(&labels.map(|label| label as u16)).ok()
}

/// Expected counts of triples, gathered over sentences; empty where triples are not counted.
#[derive(Default)]
pub struct TripleCounts {
    /// The triples that are listed.
    listed: Arc<[[u16; 3]]>,
    /// For each listed triple, from sentences that go abreast: a sum to be multiplied by exp(score), and a probability.
    sums: Vec<[f64; 2]>,
    /// Sums of alpha_{t-1}(i, j) psi_t(j, k) beta_t(j, k), to be multiplied by exp(score), laid out as the tables of scores;
    /// empty until a sentence goes by itself.
    outer: Aligned,
    /// Sums that are probabilities already, from sentences in log space; empty until there is such a sentence.
    direct: Aligned,
}

impl TripleCounts {
    /// Counts of 0.
    pub fn new(triples: &Triples) -> Self {
        let (outer, direct) = Default::default();
        TripleCounts { listed: triples.listed.clone(), sums: vec![[0.0; 2]; triples.listed.len()], outer, direct }
    }

    /// Whether triples are not counted.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Sets the counts to 0.
    pub fn clear(&mut self) {
        self.sums.fill([0.0; 2]);
        self.outer.fill(0.0);
        self.direct.fill(0.0);
    }

    pub fn add(&mut self, other: &TripleCounts) {
        self.sums.as_flattened_mut().iter_mut().zip(other.sums.as_flattened()).for_each(|(a, b)| *a += b);
        for (mine, theirs) in [(&mut self.outer, &other.outer), (&mut self.direct, &other.direct)] {
            if !theirs.is_empty() {
                mine.resize(theirs.len(), 0.0);
                mine.iter_mut().zip(&**theirs).for_each(|(a, b)| *a += b);
            }
        }
    }

    /// Sums in units of exp(score), laid out as the tables of scores.
    pub(super) fn outer(&mut self, triples: &Triples) -> &mut Aligned {
        self.outer.resize(triples.size(), 0.0);
        &mut self.outer
    }

    /// Sums of probabilities, laid out as the tables of scores.
    pub(super) fn direct(&mut self, triples: &Triples) -> &mut Aligned {
        self.direct.resize(triples.size(), 0.0);
        &mut self.direct
    }

    /// Adds to a sum of three labels in a row in units of exp(score), and to one of probabilities, if these labels are listed.
    pub(super) fn add_listed(&mut self, labels: [usize; 3], outer: f64, direct: f64) {
        if let Some(place) = place_of(&self.listed, labels) {
            let [outers, directs] = &mut self.sums[place];
            (*outers, *directs) = (*outers + outer, *directs + direct);
        }
    }

    /// The expected count of three labels in a row. Of labels that are not listed, sentences that go abreast count none.
    pub fn expected(&self, triples: &Triples, labels: [usize; 3]) -> f64 {
        let [outer, direct] = place_of(&self.listed, labels).map_or([0.0; 2], |place| self.sums[place]);
        let in_table = |table: &Aligned| if table.is_empty() { 0.0 } else { table[triples.at(labels)] };
        let outer = outer + in_table(&self.outer);
        // Where exp is infinite, no sentence was scaled, and the sum is 0.
        let outer = if outer == 0.0 { 0.0 } else { outer * triples.score(labels).exp() };
        outer + direct + in_table(&self.direct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::inference::{Abreast, Lattice, Links, PairCounts, Transitions};

    const MANY: usize = FEW_LABELS + 1;

    fn transitions(scores: &[([u16; 3], f64)]) -> Transitions {
        let mut transitions = Transitions::new(MANY);
        transitions.triples = Some(Triples::new(MANY, scores.iter().copied()));
        transitions
    }

    #[test]
    fn scores_are_the_same_with_and_without_tables() {
        let triples = Triples::new(MANY, [([7, 2, 3], 0.5), ([1, 2, 3], -2.0)].into_iter());
        let cases = [([7, 2, 3], 0.5), ([1, 2, 3], -2.0), ([3, 2, 7], 0.0), ([32, 32, 32], 0.0)];
        for (labels, score) in cases {
            assert_eq!(triples.score(labels), score);
        }
        assert!(triples.scores.get().is_none());
        for (labels, score) in cases {
            assert_eq!(triples.scores()[triples.at(labels)], score);
            assert_eq!(triples.exp()[triples.at(labels)], score.exp());
            assert_eq!(triples.score(labels), score);
        }
        assert_eq!(triples.max_abs(), 2.0);
    }

    #[test]
    fn sentences_abreast_need_no_tables_and_count_as_one_by_one() {
        let simd = pulp::Scalar::new();
        let (tokens, listed) = (4, [[1, 2, 3], [2, 3, 1], [3, 1, 2]]);
        let scores = listed.map(|labels| (labels, 0.5 + f64::from(labels[0])));
        let (many, alone) = (transitions(&scores), transitions(&scores));
        let links = Links::new(&many, &[], &listed);
        let mut abreast = Abreast::default();
        abreast.begin([tokens].into_iter(), &links);
        assert!(abreast.fits(simd, &links));
        let log_z = abreast.forward(simd, &links).unwrap()[0];
        abreast.backward(simd, &links, [1.0; 8]);
        let mut counts = PairCounts::new(&many);
        abreast.take_counts(&links, None, &mut counts);
        let of_many = many.triples.as_ref().unwrap();
        assert!([&of_many.scores, &of_many.exp, &of_many.exp_transposed].iter().all(|table| table.get().is_none()));
        assert!(counts.triples.outer.is_empty() && counts.triples.direct.is_empty());

        let mut lattice = Lattice::default();
        lattice.prepare(&alone);
        lattice.begin(tokens, &alone);
        let mut expected = PairCounts::new(&alone);
        assert!((lattice.forward(simd, &alone) - log_z).abs() < 1e-12);
        lattice.backward(simd, &alone, 1.0, &mut expected);
        let mut together = PairCounts::new(&alone);
        together.add(&counts);
        together.add(&expected);
        for labels in listed.map(|labels| labels.map(usize::from)) {
            let count = |counts: &PairCounts| counts.triples.expected(of_many, labels);
            assert!(count(&counts) > 1e-5 && (count(&counts) - count(&expected)).abs() < 1e-12);
            assert!((count(&together) - 2.0 * count(&counts)).abs() < 1e-12);
        }
    }
}
