//! The Hessian of the negative log-likelihood of choices.
//!
//! With the rows X_g of a group and the covariance C_g of which of them are chosen, it is the sum over groups of weight * X_g' C_g X_g.
//! With one chosen, C = diag(p) - p p', and row j of C X is p_j (x_j - the mean of the rows). With more, C v is the derivative of the
//! probabilities along v, computed for each column of X_g or for each alternative, whichever are fewer.

use crate::classifier::choices::Choices;
use crate::classifier::choices::subsets::Subsets;
use crate::classifier::dense::MOST_ROWS;
use crate::classifier::table::{Columns, Table, stride};
use crate::error::Result;
use crate::numeric::arch::arch;
use crate::numeric::ragged::{Lists, NOWHERE};
use crate::threads::{self, Interrupt};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Products of the smallest piece of groups, most pieces, and most numbers in the matrices of all pieces.
const PIECE: usize = 1 << 20;
const PIECES: usize = 16;
const NUMBERS: usize = 1 << 25;

impl Choices {
    /// The Hessian over some columns in ascending order, row after row, estimated from one of `stride` blocks of groups.
    pub fn hessian(&self, scores: &[f64], columns: &[usize], stride: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let size = columns.len();
        let mut matrix = self.over_groups(scores, columns, (stride, size * size), interrupt, |block, sums| {
            block.add_products(sums, size);
        })?;
        for a in 0..size {
            for b in 0..a {
                let (upper, lower) = (b * size + a, a * size + b);
                matrix[lower] = matrix[upper];
            }
        }
        Ok(matrix)
    }

    /// The diagonal of the Hessian.
    pub fn hessian_diagonal(&self, scores: &[f64], interrupt: &Interrupt) -> Result<Vec<f64>> {
        let columns: Vec<usize> = (0..self.n_features()).collect();
        self.over_groups(scores, &columns, (1, columns.len()), interrupt, |block, sums| block.add_squares(sums))
    }

    /// Adds up what `add` adds for one of `stride` blocks of groups to `n_sums` sums, in proportion to all groups.
    fn over_groups(
        &self,
        scores: &[f64],
        columns: &[usize],
        (stride, n_sums): (usize, usize),
        interrupt: &Interrupt,
        add: impl Fn(&Block, &mut [f64]) + Sync,
    ) -> Result<Vec<f64>> {
        let (n, work) = (self.groups.count(), self.groups.rows.len() * n_sums / stride);
        let n_pieces = (work / PIECE).clamp(1, PIECES.min(NUMBERS / n_sums.max(1)).max(1));
        let step = MOST_ROWS * stride;
        let size = n.div_ceil(n_pieces).next_multiple_of(step);
        let pieces = (0..n).step_by(size).map(|first| first..n.min(first + size)).collect();
        let source = Source::of(self, columns);
        let parts = threads::share(self.linear.pool, pieces, |piece: Range<usize>| {
            let mut sums = vec![0.0; n_sums];
            let mut block = Block::new(&source);
            for first in piece.clone().step_by(step).take_while(|_| !interrupt.is_set()) {
                for group in first..piece.end.min(first + MOST_ROWS) {
                    arch().dispatch(OfGroup { choices: self, source: &source, scores, group, block: &mut block });
                    add(&block, &mut sums);
                }
            }
            sums
        });
        interrupt.check()?;
        let looked_at = (0..n).step_by(step).flat_map(|first| first..n.min(first + MOST_ROWS));
        let seen: f64 = looked_at.map(|group| self.groups.weight(group)).sum();
        let all: f64 = (0..n).map(|group| self.groups.weight(group)).sum();
        let factor = if stride > 1 && seen > 0.0 { all / seen } else { 1.0 };
        let mut total = vec![0.0; n_sums];
        parts.iter().for_each(|part| total.iter_mut().zip(part).for_each(|(total, part)| *total += part));
        total.iter_mut().for_each(|total| *total *= factor);
        Ok(total)
    }
}

/// Where the rows come from.
enum Source<'a> {
    Dense(Columns<'a>),
    /// Rows, and the place of each column among those of the Hessian.
    Sparse(&'a Lists, Vec<u32>),
}

impl<'a> Source<'a> {
    fn of(choices: &'a Choices, columns: &'a [usize]) -> Self {
        let design = &choices.linear.design;
        if let Some(table) = design.table() {
            return Source::Dense(chosen(table, columns));
        }
        let mut places = vec![NOWHERE; design.n_columns()];
        columns.iter().enumerate().for_each(|(place, &column)| places[column] = place as u32);
        Source::Sparse(design.rows(), places)
    }
}

fn chosen<'a>(table: &'a Table, columns: &'a [usize]) -> Columns<'a> {
    Columns { table, chosen: (columns.len() < table.n_columns()).then_some(columns), intercept: None }
}

/// The rows of a group over the columns that occur in it, and their products with its covariance.
struct Block {
    /// Columns of the Hessian, by their places.
    places: Vec<u32>,
    /// Sparse: column of the Hessian -> column of the block.
    local: Vec<u32>,
    /// Length of a row.
    stride: usize,
    /// X_g, and weight * C_g X_g.
    rows: Vec<f64>,
    products: Vec<f64>,
    scores: Vec<f64>,
    shares: Vec<f64>,
    slopes: Vec<f64>,
    subsets: Subsets,
}

impl Block {
    fn new(source: &Source<'_>) -> Block {
        let (places, local, length) = match source {
            Source::Dense(columns) => ((0..columns.count() as u32).collect(), Vec::new(), stride(columns.count())),
            Source::Sparse(_, places) => (Vec::new(), vec![NOWHERE; places.len()], 0),
        };
        let (rows, products, subsets) = (Vec::new(), Vec::new(), Subsets::default());
        let (scores, shares, slopes) = (Vec::new(), Vec::new(), Vec::new());
        Block { places, local, stride: length, rows, products, scores, shares, slopes, subsets }
    }

    /// Reads the rows of a group, less its first row: the Hessian remains the same, as the number of chosen rows is fixed. A column that
    /// is constant within the group becomes 0, and columns that are far from 0 come near it.
    #[inline(always)]
    fn read<S: Simd>(&mut self, simd: S, source: &Source<'_>, group: &[u32]) {
        match source {
            Source::Dense(columns) => {
                self.rows.resize(group.len() * self.stride, 0.0);
                for (&row, out) in group.iter().zip(self.rows.chunks_exact_mut(self.stride)) {
                    columns.copy(simd, row as usize..row as usize + 1, 0..columns.count(), self.stride, out);
                }
            }
            Source::Sparse(rows, places) => {
                let entries = |row: u32| {
                    let placed = rows.entries(row as usize).map(|(column, value)| (places[column as usize], value));
                    placed.filter(|&(place, _)| place != NOWHERE)
                };
                self.places.clear();
                for (place, _) in group.iter().flat_map(|&row| entries(row)) {
                    if self.local[place as usize] == NOWHERE {
                        self.local[place as usize] = self.places.len() as u32;
                        self.places.push(place);
                    }
                }
                self.stride = self.places.len().max(1);
                self.rows.clear();
                self.rows.resize(group.len() * self.stride, 0.0);
                for (&row, out) in group.iter().zip(self.rows.chunks_exact_mut(self.stride)) {
                    entries(row).for_each(|(place, value)| out[self.local[place as usize] as usize] += value);
                }
                self.places.iter().for_each(|&place| self.local[place as usize] = NOWHERE);
            }
        }
        let (first, others) = self.rows.split_at_mut(self.stride);
        for row in others.chunks_exact_mut(self.stride) {
            row.iter_mut().zip(&*first).for_each(|(x, first)| *x -= first);
        }
        first.fill(0.0);
    }

    /// Computes weight * C X, where k of the rows are chosen.
    #[inline(always)]
    fn multiply(&mut self, k: usize, weight: f64) {
        let (m, stride, width) = (self.scores.len(), self.stride, self.places.len());
        self.products.clear();
        self.products.resize(m * stride, 0.0);
        self.shares.resize(m, 0.0);
        if k == 1 {
            self.subsets.evaluate(&self.scores, k, &mut self.shares);
            return self.multiply_by_softmax(weight);
        }
        self.slopes.resize(m, 0.0);
        if m < width {
            // Row i of C, which is symmetric, and of C X.
            for i in 0..m {
                let unit = (0..m).map(|j| f64::from(u8::from(i == j)));
                self.subsets.slopes(&self.scores, k, unit, &mut self.slopes);
                let product = &mut self.products[i * stride..][..stride];
                for (slope, row) in self.slopes.iter().zip(self.rows.chunks_exact(stride)) {
                    product.iter_mut().zip(row).for_each(|(product, x)| *product += weight * slope * x);
                }
            }
            return;
        }
        for a in 0..width {
            let column = self.rows[a..].iter().step_by(stride).copied();
            self.subsets.slopes(&self.scores, k, column, &mut self.slopes);
            let products = self.products[a..].iter_mut().step_by(stride);
            products.zip(&self.slopes).for_each(|(product, slope)| *product = weight * slope);
        }
    }

    /// `multiply` with one row chosen.
    #[inline(always)]
    fn multiply_by_softmax(&mut self, weight: f64) {
        let stride = self.stride;
        self.slopes.clear();
        self.slopes.resize(stride, 0.0);
        for (share, row) in self.shares.iter().zip(self.rows.chunks_exact(stride)) {
            self.slopes.iter_mut().zip(row).for_each(|(mean, x)| *mean += share * x);
        }
        let products = self.products.chunks_exact_mut(stride).zip(self.rows.chunks_exact(stride));
        for ((product, row), share) in products.zip(&self.shares) {
            let factor = weight * share;
            product
                .iter_mut()
                .zip(row)
                .zip(&self.slopes)
                .for_each(|((product, x), mean)| *product = factor * (x - mean));
        }
    }

    /// Adds the upper half of X' C X to a matrix with `size` rows.
    fn add_products(&self, matrix: &mut [f64], size: usize) {
        crate::numeric::chunks::dispatched(|| {
            let is_whole = self.local.is_empty();
            let pairs = self.rows.chunks_exact(self.stride).zip(self.products.chunks_exact(self.stride));
            for (row, product) in pairs {
                for (a, (&place, &x)) in self.places.iter().zip(row).enumerate() {
                    if x == 0.0 {
                        continue;
                    }
                    let sums = &mut matrix[place as usize * size..][..size];
                    if is_whole {
                        sums[a..].iter_mut().zip(&product[a..]).for_each(|(sum, product)| *sum += x * product);
                        continue;
                    }
                    for (&other, product) in self.places.iter().zip(product) {
                        if other >= place {
                            sums[other as usize] += x * product;
                        }
                    }
                }
            }
        });
    }

    /// Adds the diagonal of X' C X.
    fn add_squares(&self, diagonal: &mut [f64]) {
        let pairs = self.rows.chunks_exact(self.stride).zip(self.products.chunks_exact(self.stride));
        for (row, product) in pairs {
            for ((&place, x), product) in self.places.iter().zip(row).zip(product) {
                diagonal[place as usize] += x * product;
            }
        }
    }
}

/// Fills a block for a group, for every instruction set.
struct OfGroup<'a> {
    choices: &'a Choices,
    source: &'a Source<'a>,
    scores: &'a [f64],
    group: usize,
    block: &'a mut Block,
}

impl WithSimd for OfGroup<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let OfGroup { choices, source, scores, group, block } = self;
        let groups = &choices.groups;
        let rows = &groups.rows[groups.places(group..group + 1)];
        block.read(simd, source, rows);
        block.scores.clear();
        block.scores.extend(rows.iter().map(|&row| scores[row as usize]));
        block.multiply(groups.n_chosen[group] as usize, groups.weight(group));
    }
}
