//! Buffers of a pass over the pairs of labels of one sentence.

use crate::numeric::aligned::Aligned;

/// Buffers of a pass over the pairs of one sentence. A row belongs to the later label of a pair and runs over the earlier label,
/// except where a field says otherwise.
#[derive(Default)]
pub struct Buffers {
    pub pairs: usize,
    pub labels: usize,
    pub width: usize,
    /// labels x pairs x width forward variables, or best scores; the row of label j and pair p starts at `at(j, p)`.
    pub alpha: Aligned,
    /// labels x (pairs - 1) x width: beta times potentials, a row for the earlier label of a pair; pair p is at p - 1. A
    /// product with alpha gives the counts of the sentence's triples.
    pub incoming: Aligned,
    /// labels x width backward variables of the current pair.
    pub beta: Aligned,
    /// labels x width backward variables of the pair before.
    pub next: Aligned,
    /// labels x width sums of the marginals of pairs.
    pub sums: Aligned,
    /// One row of an earlier label, which runs over the later label.
    pub row: Aligned,
    /// The sum of such rows over the earlier labels.
    pub total: Aligned,
}

impl Buffers {
    /// Makes room for a sentence, all 0.
    pub fn begin(&mut self, tokens: usize, labels: usize, width: usize) {
        (self.pairs, self.labels, self.width) = (tokens - 1, labels, width);
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

    /// Where in `alpha` the row of a pair and its later label starts.
    #[inline(always)]
    pub fn at(&self, label: usize, pair: usize) -> usize {
        (label * self.pairs + pair) * self.width
    }

    /// Copies `row`, which belongs to the earlier label `label`, into `alpha`.
    #[inline(always)]
    pub fn scatter(&mut self, label: usize, pair: usize) {
        let step = self.pairs * self.width;
        let targets = self.alpha[pair * self.width + label..].iter_mut().step_by(step);
        targets.zip(&self.row[..self.labels]).for_each(|(target, &value)| *target = value);
    }
}
