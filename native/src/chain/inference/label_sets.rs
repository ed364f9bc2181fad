//! Sets of labels, one a row, as bits.

/// Rows of sets of labels.
#[derive(Clone, Debug, Default)]
pub struct LabelSets {
    labels: usize,
    /// Words of a row.
    words: usize,
    bits: Vec<u64>,
}

impl LabelSets {
    /// `rows` sets of all labels.
    pub fn full(rows: usize, labels: usize) -> LabelSets {
        let mut sets = LabelSets::default();
        sets.fill(rows, labels);
        sets
    }

    /// Makes it `rows` sets of all labels.
    pub fn fill(&mut self, rows: usize, labels: usize) {
        (self.labels, self.words) = (labels, labels.div_ceil(64));
        self.bits.clear();
        self.bits.resize(rows * self.words, u64::MAX);
        if !labels.is_multiple_of(64) {
            let last = (1 << (labels % 64)) - 1;
            self.bits.chunks_exact_mut(self.words).for_each(|row| row[row.len() - 1] = last);
        }
    }

    /// The number of sets.
    pub fn rows(&self) -> usize {
        self.bits.len() / self.words.max(1)
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }

    fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.words..][..self.words]
    }

    /// Whether a label is in a set.
    pub fn contains(&self, row: usize, label: usize) -> bool {
        (self.row(row)[label / 64] >> (label % 64)) & 1 == 1
    }

    /// Takes a label out of a set.
    pub fn remove(&mut self, row: usize, label: usize) {
        self.row_mut(row)[label / 64] &= !(1 << (label % 64));
    }

    /// Makes a set of these labels.
    pub fn set(&mut self, row: usize, labels: impl IntoIterator<Item = u32>) {
        let row = self.row_mut(row);
        row.fill(0);
        labels.into_iter().for_each(|label| row[label as usize / 64] |= 1 << (label % 64));
    }

    pub fn is_empty(&self, row: usize) -> bool {
        self.row(row).iter().all(|&word| word == 0)
    }

    /// The number of labels in a set.
    pub fn count(&self, row: usize) -> usize {
        self.row(row).iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether a set has all labels.
    pub fn is_full(&self, row: usize) -> bool {
        self.count(row) == self.labels
    }

    /// The labels in a set, ascending.
    pub fn labels(&self, row: usize) -> impl Iterator<Item = usize> {
        ones(self.row(row))
    }

    /// Writes 1 to the places of a set's labels.
    pub fn write_ones(&self, row: usize, places: &mut [f64]) {
        self.labels(row).for_each(|label| places[label] = 1.0);
    }

    /// Keeps the labels of a set that are in a set of others.
    pub fn intersect(&mut self, row: usize, others: &LabelSets, other: usize) {
        self.row_mut(row).iter_mut().zip(others.row(other)).for_each(|(mine, theirs)| *mine &= theirs);
    }

    /// Keeps the labels of a set that `next` reaches from a label of the set `from`.
    pub fn keep_reached(&mut self, row: usize, from: usize, next: &LabelSets) {
        for word in 0..self.words {
            let reached = ones(self.row(from)).fold(0, |reached, label| reached | next.row(label)[word]);
            self.row_mut(row)[word] &= reached;
        }
    }
}

/// The numbers of the bits that are set, ascending.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let next = |&bits: &u64| Some(bits & (bits - 1)).filter(|&bits| bits != 0);
        let first = Some(word).filter(|&word| word != 0);
        std::iter::successors(first, next).map(move |bits| at * 64 + bits.trailing_zeros() as usize)
    })
}
