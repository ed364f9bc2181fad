//! Second order: scores of three labels in a row, exactly, in O(T L^3).
//!
//! The recursions of Sutton & McCallum (2012, section 4.1) run over pairs of neighbouring labels, as the second-order
//! chains of Sha & Pereira (2003) do, but a pair (i, j) only meets the L pairs (j, k). With psi_t(j, k) for the
//! first-order potentials of token t and its transition, and e for exp(triple score),
//!
//! alpha_t(j, k) = psi_t(j, k) * sum over i of alpha_{t-1}(i, j) e(i, j, k)
//! beta_{t-1}(i, j) = sum over k of e(i, j, k) psi_t(j, k) beta_t(j, k)
//!
//! For each label j in the middle both are products of a vector and a matrix. Pairs are numbered from 0: pair p is that
//! of tokens p and p + 1. Sentences of one and two tokens have no triples: first order serves them.

mod log_space;
mod scaled;
mod viterbi;

use crate::chain::inference::{Lattice, PairCounts, Transitions};
use crate::numeric::aligned::Aligned;
use crate::numeric::padded;
use pulp::{Simd, WithSimd};

/// As `SCALED_LIMIT` of first order, triple scores included: the entries of alpha and beta then stay within exp(+-600).
/// Two pairs can lie four such sums apart, where two labels lie two.
pub(super) const SCALED_LIMIT: f64 = 100.0;

/// Scores of three labels in a row.
pub struct Triples {
    labels: usize,
    width: usize,
    /// labels x labels x width log potentials, by the label in the middle, then the first; padding is -inf.
    scores: Aligned,
    /// exp(scores); padding is 0.
    exp: Aligned,
    /// The same by the label in the middle, then the last.
    exp_transposed: Aligned,
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
    fn at(&self, labels: [usize; 3]) -> usize {
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
    fn of(&self, middle: usize) -> std::ops::Range<usize> {
        let size = self.labels * self.width;
        middle * size..(middle + 1) * size
    }
}

/// Expected counts of triples, gathered over sentences, laid out as the scores; empty where they are not counted.
#[derive(Default)]
pub struct TripleCounts {
    /// Sums of alpha(i, j) x(j, k), to be multiplied by exp(score).
    outer: Aligned,
    /// Sums that are probabilities already; empty until there is one.
    direct: Aligned,
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

/// What a pass over the pairs of one sentence works in. Unless it is said otherwise, rows are by the later label of a
/// pair and go over the earlier one.
#[derive(Default)]
pub(super) struct Buffers {
    pairs: usize,
    labels: usize,
    width: usize,
    /// labels x pairs x width forward variables, or best scores: those of pair p and label j at `row(j, p)`.
    alpha: Aligned,
    /// labels x (pairs - 1) x width: beta times potentials, by the earlier label of a pair; pair p at p - 1. With alpha
    /// it gives the counts of triples of the whole sentence at once.
    incoming: Aligned,
    /// labels x width backward variables of the pair reached, and of the one before.
    beta: Aligned,
    next: Aligned,
    /// labels x width sums of the marginals of pairs.
    sums: Aligned,
    /// A row by the earlier label of a pair.
    row: Aligned,
    /// Sum of such rows.
    total: Aligned,
}

impl Buffers {
    fn begin(&mut self, lattice: &Lattice) {
        (self.pairs, self.labels, self.width) = (lattice.tokens - 1, lattice.labels, lattice.width);
        let table = self.labels * self.width;
        let sizes = [
            (&mut self.alpha, self.pairs * table),
            (&mut self.incoming, (self.pairs - 1) * table),
            (&mut self.beta, table),
            (&mut self.next, table),
            (&mut self.sums, table),
            (&mut self.row, self.width),
            (&mut self.total, self.width),
        ];
        for (buffer, size) in sizes {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
    }

    /// Where the row of a pair is in `alpha`, by its later label.
    #[inline(always)]
    fn at(&self, label: usize, pair: usize) -> usize {
        (label * self.pairs + pair) * self.width
    }

    /// Enters `row`, of an earlier label, into `alpha`.
    #[inline(always)]
    fn scatter(&mut self, label: usize, pair: usize) {
        let step = self.pairs * self.width;
        let targets = self.alpha[pair * self.width + label..].iter_mut().step_by(step);
        targets.zip(&self.row[..self.labels]).for_each(|(target, &value)| *target = value);
    }
}

/// The recursions over pairs, compiled once for each instruction set instead of into every caller.
pub(super) struct Forward<'a>(pub &'a mut Lattice, pub &'a Transitions, pub &'a Triples);

impl WithSimd for Forward<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Forward(lattice, transitions, triples) = self;
        if lattice.log_space {
            lattice.forward_pairs_log(transitions, triples)
        } else {
            lattice.forward_pairs(simd, transitions, triples)
        }
    }
}

pub(super) struct Backward<'a> {
    pub lattice: &'a mut Lattice,
    pub transitions: &'a Transitions,
    pub triples: &'a Triples,
    pub factor: f64,
    pub counts: &'a mut PairCounts,
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Backward { lattice, transitions, triples, factor, counts } = self;
        if lattice.log_space {
            lattice.backward_pairs_log(transitions, triples, factor, counts, |_| {});
        } else {
            lattice.backward_pairs(simd, transitions, triples, factor, counts);
        }
    }
}

pub(super) struct Viterbi<'a>(pub &'a mut Lattice, pub &'a Transitions, pub &'a Triples, pub &'a mut [u32]);

impl WithSimd for Viterbi<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Viterbi(lattice, transitions, triples, path) = self;
        lattice.viterbi_pairs(simd, transitions, triples, path)
    }
}

impl Transitions {
    /// The triples that a sentence of so many tokens has scores of, if any.
    #[inline(always)]
    pub(super) fn triples_of(&self, tokens: usize) -> Option<&Triples> {
        self.triples.as_ref().filter(|_| tokens > 2)
    }
}

impl Triples {
    /// Whether scores are too large for the scaled recursions; `most` bounds those of first order.
    #[inline(always)]
    pub(super) fn needs_log_space(&self, most: f64) -> bool {
        let most = most + self.max_abs;
        most > SCALED_LIMIT || most.is_nan()
    }
}

#[cfg(test)]
mod tests;
