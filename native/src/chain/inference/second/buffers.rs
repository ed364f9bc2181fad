//! What a pass over the pairs of one sentence works in.

use crate::numeric::aligned::Aligned;

/// What a pass over the pairs of one sentence works in. Unless it is said otherwise, rows are by the later label of a
/// pair and go over the earlier one.
#[derive(Default)]
pub struct Buffers {
    pub pairs: usize,
    pub labels: usize,
    pub width: usize,
    /// labels x pairs x width forward variables, or best scores: those of pair p and label j at `row(j, p)`.
    pub alpha: Aligned,
    /// labels x (pairs - 1) x width: beta times potentials, by the earlier label of a pair; pair p at p - 1. With alpha
    /// it gives the counts of triples of the whole sentence at once.
    pub incoming: Aligned,
    /// labels x width backward variables of the pair reached, and of the one before.
    pub beta: Aligned,
    pub next: Aligned,
    /// labels x width sums of the marginals of pairs.
    pub sums: Aligned,
    /// A row by the earlier label of a pair.
    pub row: Aligned,
    /// Sum of such rows.
    pub total: Aligned,
}

impl Buffers {
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

    /// Where the row of a pair is in `alpha`, by its later label.
    #[inline(always)]
    pub fn at(&self, label: usize, pair: usize) -> usize {
        (label * self.pairs + pair) * self.width
    }

    /// Enters `row`, of an earlier label, into `alpha`.
    #[inline(always)]
    pub fn scatter(&mut self, label: usize, pair: usize) {
        let step = self.pairs * self.width;
        let targets = self.alpha[pair * self.width + label..].iter_mut().step_by(step);
        targets.zip(&self.row[..self.labels]).for_each(|(target, &value)| *target = value);
    }
}
