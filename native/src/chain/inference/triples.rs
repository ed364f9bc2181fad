//! Scores of three labels in a row, and their expected counts.

use crate::numeric::aligned::Aligned;
use crate::numeric::padded;
use std::ops::Range;

/// Scores of three labels in a row.
pub struct Triples {
    labels: usize,
    width: usize,
    /// labels x labels x width log potentials, a row for the label in the middle and the first label; padding is -inf.
    pub(super) scores: Aligned,
    /// exp(scores); padding is 0.
    pub(super) exp: Aligned,
    /// exp(scores) with a row for the label in the middle and the last label.
    pub(super) exp_transposed: Aligned,
    /// The largest |score|.
    max_abs: f64,
}

/// Where three labels in a row are in tables of labels x labels x width, by the label in the middle, the first and the last.
#[inline(always)]
fn place(labels: usize, width: usize, [first, middle, last]: [usize; 3]) -> usize {
    (middle * labels + first) * width + last
}

impl Triples {
    /// Tables of the scores given, each with its three labels in a row; all other scores are 0.
    pub fn new(labels: usize, scores: impl Iterator<Item = ([usize; 3], f64)>) -> Self {
        let width = padded(labels);
        let size = labels * labels * width;
        let mut triples = Triples {
            labels,
            width,
            scores: Aligned::new(size, f64::NEG_INFINITY),
            exp: Aligned::new(size, 0.0),
            exp_transposed: Aligned::new(size, 0.0),
            max_abs: 0.0,
        };
        triples.scores.chunks_exact_mut(width).for_each(|row| row[..labels].fill(0.0));
        for table in [&mut triples.exp, &mut triples.exp_transposed] {
            table.chunks_exact_mut(width).for_each(|row| row[..labels].fill(1.0));
        }
        for ([first, middle, last], score) in scores {
            let at = triples.at([first, middle, last]);
            let transposed = triples.at([last, middle, first]);
            triples.scores[at] = score;
            triples.exp[at] = score.exp();
            triples.exp_transposed[transposed] = score.exp();
            triples.max_abs = triples.max_abs.max(score.abs());
        }
        triples
    }

    /// Where three labels are in the tables.
    #[inline(always)]
    pub(super) fn at(&self, labels: [usize; 3]) -> usize {
        place(self.labels, self.width, labels)
    }

    /// The largest |score|.
    pub(super) fn max_abs(&self) -> f64 {
        self.max_abs
    }

    /// The score of three labels in a row.
    pub fn score(&self, labels: [usize; 3]) -> f64 {
        self.scores[self.at(labels)]
    }

    /// Where a table's part of a label in the middle is, labels x width.
    #[inline(always)]
    pub(super) fn of(&self, middle: usize) -> Range<usize> {
        let size = self.labels * self.width;
        middle * size..(middle + 1) * size
    }
}

/// Expected counts of triples, gathered over sentences, laid out as the scores; empty where triples are not counted.
#[derive(Default)]
pub struct TripleCounts {
    /// Sums of alpha_{t-1}(i, j) psi_t(j, k) beta_t(j, k), to be multiplied by exp(score).
    pub(super) outer: Aligned,
    /// Sums that are probabilities already, from sentences in log space; empty until there is such a sentence.
    pub(super) direct: Aligned,
}

impl TripleCounts {
    /// Counts of 0.
    pub fn new(triples: &Triples) -> Self {
        TripleCounts { outer: Aligned::new(triples.exp.len(), 0.0), direct: Aligned::default() }
    }

    /// Whether triples are not counted.
    pub fn is_empty(&self) -> bool {
        self.outer.is_empty()
    }

    /// Sets the counts to 0.
    pub fn clear(&mut self) {
        self.outer.fill(0.0);
        self.direct.fill(0.0);
    }

    pub fn add(&mut self, other: &TripleCounts) {
        self.outer.iter_mut().zip(&*other.outer).for_each(|(a, b)| *a += b);
        if !other.direct.is_empty() {
            self.direct.resize(other.direct.len(), 0.0);
            self.direct.iter_mut().zip(&*other.direct).for_each(|(a, b)| *a += b);
        }
    }

    /// Adds to the count of three labels in a row, in units of exp(score); does nothing where triples are not counted.
    pub(super) fn add_outer(&mut self, labels: usize, width: usize, triple: [usize; 3], count: f64) {
        if let Some(outer) = self.outer.get_mut(place(labels, width, triple)) {
            *outer += count;
        }
    }

    /// Adds to the count, as a probability, of three labels in a row; does nothing where triples are not counted.
    pub(super) fn add_direct(&mut self, labels: usize, width: usize, triple: [usize; 3], count: f64) {
        if !self.outer.is_empty() {
            self.direct.resize(self.outer.len(), 0.0);
            self.direct[place(labels, width, triple)] += count;
        }
    }

    /// The expected count of three labels in a row.
    pub fn expected(&self, triples: &Triples, labels: [usize; 3]) -> f64 {
        let at = triples.at(labels);
        // Where exp is infinite, no sentence was scaled, and the sum is 0.
        let outer = if self.outer[at] == 0.0 { 0.0 } else { self.outer[at] * triples.exp[at] };
        outer + self.direct.get(at).unwrap_or(&0.0)
    }
}
