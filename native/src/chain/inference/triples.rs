//! Scores of three labels in a row, and their expected counts.

use crate::numeric::aligned::Aligned;
use crate::numeric::padded;
use std::ops::Range;

/// Scores of three labels in a row.
pub struct Triples {
    labels: usize,
    width: usize,
    /// labels x labels x width log potentials, by the label in the middle, then the first; padding is -inf.
    pub(super) scores: Aligned,
    /// exp(scores); padding is 0.
    pub(super) exp: Aligned,
    /// The same by the label in the middle, then the last.
    pub(super) exp_transposed: Aligned,
    /// The largest |score|.
    max_abs: f64,
}

/// Where three labels are in tables: by the one in the middle, the first and the last.
#[inline(always)]
fn place(labels: usize, width: usize, [first, middle, last]: [usize; 3]) -> usize {
    (middle * labels + first) * width + last
}

impl Triples {
    /// Those of the scores given, of labels in order of their tokens; all others are 0.
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

    pub(super) fn max_abs(&self) -> f64 {
        self.max_abs
    }

    pub fn score(&self, labels: [usize; 3]) -> f64 {
        self.scores[self.at(labels)]
    }

    /// The part of a table that belongs to a label in the middle: labels x width.
    #[inline(always)]
    pub(super) fn of(&self, middle: usize) -> Range<usize> {
        let size = self.labels * self.width;
        middle * size..(middle + 1) * size
    }
}

/// Expected counts of triples, gathered over sentences, laid out as the scores; empty where they are not counted.
#[derive(Default)]
pub struct TripleCounts {
    /// Sums of alpha(i, j) x(j, k), to be multiplied by exp(score).
    pub(super) outer: Aligned,
    /// Sums that are probabilities already; empty until there is one.
    pub(super) direct: Aligned,
}

impl TripleCounts {
    pub fn new(triples: &Triples) -> Self {
        TripleCounts { outer: Aligned::new(triples.exp.len(), 0.0), direct: Aligned::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.outer.is_empty()
    }

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

    /// Adds to the count of three labels in a row, in units of exp(score), if triples are counted.
    pub(super) fn add_outer(&mut self, labels: usize, width: usize, triple: [usize; 3], count: f64) {
        if let Some(outer) = self.outer.get_mut(place(labels, width, triple)) {
            *outer += count;
        }
    }

    /// The expected count of three labels in a row.
    pub fn expected(&self, triples: &Triples, labels: [usize; 3]) -> f64 {
        let at = triples.at(labels);
        // exp may be infinite, but then no sentence went the scaled way.
        let outer = if self.outer[at] == 0.0 { 0.0 } else { self.outer[at] * triples.exp[at] };
        outer + self.direct.get(at).unwrap_or(&0.0)
    }
}
