//! The Hessian with three classes or more, for proximal Newton steps.
//!
//! Symbols as in `newton`, and p_k the probability of class k, y the class of a sample. The Hessian has a block X' D_kl X for each
//! pair of classes, where D_kl is diagonal: s p_k ([k = l] - p_l). A weight's number is that of its column times the number of
//! classes plus its class; the weights of the intercept are the last.
//!
//! So the Hessian is X' diag(s p_k) X in the blocks of k = l, less U' diag(1 / s) U over all weights, where U has a row for each
//! sample with the entries s p_k x_j. Only blocks over some of the weights are computed.
//!
//! For each sample, D_kl is the sum of two parts: that of y against all other classes, s p_y (1 - p_y) v_k v_l, and that of the
//! others among themselves. Here v_y = 1 and v_k = -p_k / (1 - p_y). As with two classes (`newton`), the first part is raised where
//! a sample is far on the wrong side: U gets another row, with the entries v_k x_j.
//!
//! If a number is added to the weights of a column in all classes, the probabilities stay the same. Where no penalty tells such
//! weights apart, the Hessian gets a curvature in this direction; as the gradient has no part in it, a step has none either.

use crate::classifier::curvature::{DAMPING, bound};
use crate::classifier::dense::{self, Copied, MOST_ROWS};
use crate::classifier::objective::Classifier;
use crate::classifier::products::Products;
use crate::classifier::table::{Columns, Layout, Numbers, Table, stride};
use crate::error::Result;
use crate::numeric::arch::arch;
use crate::numeric::ragged::{Id, NOWHERE, Value, with_entries};
use crate::threads;
use std::ops::Range;
use std::sync::Arc;

/// The Hessian of the negative log-likelihood over some weights, in ascending order, and those of the intercept, row after row. It is
/// estimated from one of `stride` blocks of samples. `is_spared` if the weights have no penalty.
pub fn hessian(
    classifier: &Classifier,
    weights: &[usize],
    (scores, residuals): (&[f64], &[f64]),
    stride: usize,
    is_spared: bool,
) -> Vec<f64> {
    let hessian = Hessian::over(classifier, weights, (scores, residuals), stride);
    let size = hessian.size();
    let mut matrix = vec![0.0; size * size];
    match classifier.design.table() {
        Some(table) => hessian.add_dense(table, &mut matrix),
        None => hessian.add_sparse(&mut matrix),
    }
    let factor = hessian.factor();
    if factor != 1.0 {
        matrix.iter_mut().for_each(|product| *product *= factor);
    }
    if is_spared {
        hessian.columns.iter().for_each(|(_, places)| hold(&mut matrix, size, places.clone()));
    }
    hold(&mut matrix, size, weights.len()..size);
    matrix
}

/// Adds curvature along the sum of some weights, about as much as there is along each.
fn hold(matrix: &mut [f64], size: usize, weights: Range<usize>) {
    let most = weights.clone().map(|at| matrix[at * (size + 1)]).fold(0.0, f64::max);
    for a in weights.clone() {
        for b in weights.clone() {
            matrix[a * size + b] += most / weights.len() as f64;
        }
    }
}

/// Numbers of a piece of U as a table.
const PIECE: usize = 1 << 20;
/// Numbers of U that a thread writes in a moment.
const FEW_NUMBERS: usize = 1 << 15;
/// Sparse rows: most pieces, the rows of the smallest, and most sums of all pieces together.
const PIECES: usize = 16;
const LEAST_ROWS: usize = 512;
const MOST_SUMS: usize = 1 << 21;

/// What the Hessian over some weights is computed from.
struct Hessian<'a> {
    classifier: &'a Classifier,
    weights: &'a [usize],
    /// The columns of the weights in ascending order, and the places of each one's weights.
    columns: Vec<(usize, Range<usize>)>,
    /// A padded row for each sample.
    scores: &'a [f64],
    residuals: &'a [f64],
    stride: usize,
}

/// A row of U.
struct Row {
    sample: usize,
    /// What the products of its entries are multiplied by.
    factor: f64,
    /// 1 - p_y if it raises the curvature.
    others: Option<f64>,
}

/// An entry of a row of X, for one of the weights of its column.
struct Entry {
    place: usize,
    class: usize,
    x: f64,
}

/// Sorts entries by place, and adds up those of the same one.
fn merge(entries: &mut Vec<Entry>) {
    if !entries.is_sorted_by(|a, b| a.place < b.place) {
        entries.sort_by_key(|entry| entry.place);
        entries.dedup_by(|next, entry| {
            let is_same = next.place == entry.place;
            entry.x += if is_same { next.x } else { 0.0 };
            is_same
        });
    }
}

impl<'a> Hessian<'a> {
    fn over(
        classifier: &'a Classifier,
        weights: &'a [usize],
        (scores, residuals): (&'a [f64], &'a [f64]),
        stride: usize,
    ) -> Hessian<'a> {
        let (k, mut columns) = (classifier.n_classes, Vec::<(usize, Range<usize>)>::new());
        for (place, weight) in weights.iter().enumerate() {
            match columns.last_mut() {
                Some((column, places)) if *column == weight / k => places.end = place + 1,
                _ => columns.push((weight / k, place..place + 1)),
            }
        }
        Hessian { classifier, weights, columns, scores, residuals, stride }
    }

    /// The number of rows.
    fn size(&self) -> usize {
        self.weights.len() + if self.classifier.intercept.is_some() { self.classifier.n_classes } else { 0 }
    }

    /// s p_k of a sample.
    fn share(&self, sample: usize, class: usize) -> f64 {
        let own = self.classifier.targets[sample] as usize == class;
        self.residuals[sample * self.classifier.width() + class]
            + if own { self.classifier.weight(sample) } else { 0.0 }
    }

    /// Adds X' diag(s p_k) X.
    fn add_class(&self, class: usize, matrix: &mut [f64]) {
        let (classifier, k) = (self.classifier, self.classifier.n_classes);
        let of_class = |&place: &usize| self.weights[place] % k == class;
        let mut places: Vec<usize> = (0..self.weights.len()).filter(of_class).collect();
        let columns: Vec<usize> = places.iter().map(|&place| self.weights[place] / k).collect();
        let products = Products { classifier, columns: &columns, stride: self.stride };
        places.extend(classifier.intercept.map(|_| self.weights.len() + class));
        if places.is_empty() {
            return;
        }
        let shares: Vec<f64> = (0..classifier.n_samples()).map(|sample| self.share(sample, class)).collect();
        let (size, block) = (self.size(), products.over(&shares));
        for (&a, row) in places.iter().zip(block.chunks_exact(places.len())) {
            places.iter().zip(row).for_each(|(&b, product)| matrix[a * size + b] += product);
        }
    }

    /// Adds all of the Hessian from a table.
    fn add_dense(&self, table: &Table, matrix: &mut [f64]) {
        (0..self.classifier.n_classes).for_each(|class| self.add_class(class, matrix));
        let size = self.size();
        for rows in self.all_rows().chunks((PIECE / size.max(1)).max(MOST_ROWS)) {
            let Ok(outer) = self.dense_outer(table, rows) else { return matrix.fill(f64::NAN) };
            let factors: Vec<f64> = rows.iter().map(|row| row.factor).collect();
            let products = dense::gram(Columns::all(&outer, None), &factors, 1, self.classifier.pool);
            matrix.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
        }
    }

    /// The rows of U.
    fn all_rows(&self) -> Vec<Row> {
        let looked_at =
            (0..self.classifier.n_samples()).filter(|sample| (sample / MOST_ROWS).is_multiple_of(self.stride));
        looked_at.flat_map(|sample| self.rows(sample)).flatten().collect()
    }

    /// The rows of U of a sample.
    fn rows(&self, sample: usize) -> [Option<Row>; 2] {
        let weight = self.classifier.weight(sample);
        let row = (weight > 0.0).then(|| Row { sample, factor: -1.0 / weight, others: None });
        [row, self.raised(sample)]
    }

    /// The row that raises the curvature of a sample that is far on the wrong side.
    fn raised(&self, sample: usize) -> Option<Row> {
        let (weight, own) = (self.classifier.weight(sample), self.classifier.targets[sample] as usize);
        if weight <= 0.0 {
            return None;
        }
        // Not 1 - p, which has no precision where p is near 1.
        let others = -self.residuals[sample * self.classifier.width() + own] / weight;
        let share = self.share(sample, own) / weight;
        let newton = share * others;
        if newton >= DAMPING * others * bound(0.0) {
            return None;
        }
        let factor = weight * (DAMPING * others * bound(self.margin(sample, own).abs()) - newton);
        (factor > 0.0).then_some(Row { sample, factor, others: Some(others) })
    }

    /// ln((1 - p_y) / p_y), where p_y may be too small for a number.
    fn margin(&self, sample: usize, own: usize) -> f64 {
        let scores = &self.scores[sample * self.classifier.width()..][..self.classifier.n_classes];
        let others = || scores.iter().enumerate().filter(|(class, _)| *class != own).map(|(_, score)| score);
        let most = others().copied().fold(f64::NEG_INFINITY, f64::max);
        most + others().map(|score| (score - most).exp()).sum::<f64>().ln() - scores[own]
    }

    /// What the x_j of a row of U are multiplied by in each class.
    fn multiples(&self, row: &Row, multiples: &mut [f64]) {
        let own = self.classifier.targets[row.sample] as usize;
        for (class, multiple) in multiples.iter_mut().enumerate() {
            let share = self.share(row.sample, class);
            *multiple = match row.others {
                None => share,
                Some(_) if class == own => 1.0,
                Some(others) => -share / (others * self.classifier.weight(row.sample)),
            };
        }
    }

    /// Rows of U as a table.
    fn dense_outer(&self, table: &Table, rows: &[Row]) -> Result<Table> {
        let (k, size) = (self.classifier.n_classes, self.size());
        let chosen: Vec<usize> = self.columns.iter().map(|(column, _)| *column).collect();
        let columns = Columns { table, chosen: Some(&chosen), intercept: self.classifier.intercept };
        let mut numbers = vec![0.0; rows.len() * size];
        let height = MOST_ROWS.max(FEW_NUMBERS / size.max(1));
        let pieces = rows.chunks(height).zip(numbers.chunks_mut(height * size)).collect();
        threads::share(self.classifier.pool, pieces, |(rows, numbers): (&[Row], &mut [f64])| {
            let (mut x, mut multiples) = (vec![0.0; stride(columns.count())], vec![0.0; k]);
            for (row, out) in rows.iter().zip(numbers.chunks_exact_mut(size)) {
                let length = x.len();
                arch().dispatch(Copied(columns, row.sample..row.sample + 1, length, &mut x));
                self.multiples(row, &mut multiples);
                for ((_, places), x) in self.columns.iter().zip(&x) {
                    for place in places.clone() {
                        out[place] = x * multiples[self.weights[place] % k];
                    }
                }
                let of_intercept = out[self.weights.len()..].iter_mut().zip(&multiples);
                of_intercept.for_each(|(out, multiple)| *out = x[chosen.len()] * multiple);
            }
        });
        let layout = Layout { by_rows: true, first: 0, step: size as isize };
        Table::new(Numbers::Double(Arc::new(numbers)), layout, (rows.len(), size), None)
    }

    /// Adds all of the Hessian from sparse rows.
    fn add_sparse(&self, matrix: &mut [f64]) {
        let (rows, size) = (self.all_rows(), self.size());
        let n_pieces = (MOST_SUMS / (size * size).max(1)).clamp(1, PIECES);
        let pieces = rows.chunks(rows.len().div_ceil(n_pieces).max(LEAST_ROWS)).collect();
        let parts = threads::share(self.classifier.pool, pieces, |rows: &[Row]| self.sparse_part(rows));
        for part in parts {
            matrix.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        for a in 0..size {
            for b in 0..a {
                matrix[a * size + b] = matrix[b * size + a];
            }
        }
    }

    /// The upper half of what some rows add.
    fn sparse_part(&self, rows: &[Row]) -> Vec<f64> {
        let (size, lists) = (self.size(), self.classifier.design.rows());
        let mut numbers = vec![NOWHERE; lists.bound()];
        self.columns.iter().enumerate().for_each(|(number, (column, _))| numbers[*column] = number as u32);
        let (mut sums, mut entries) = (vec![0.0; size * size], Vec::new());
        let mut multiples = vec![0.0; self.classifier.n_classes];
        with_entries!(lists, all => for row in rows {
            entries.clear();
            let (columns, values) = lists.list(row.sample, all);
            for (column, x) in columns.iter().zip(values) {
                let number = numbers[column.at()];
                if number != NOWHERE {
                    let places = self.columns[number as usize].1.clone();
                    entries.extend(places.map(|place| Entry { place, class: self.weights[place] % multiples.len(), x: x.get() }));
                }
            }
            merge(&mut entries);
            self.multiples(row, &mut multiples);
            self.add_row(row, &entries, &multiples, &mut sums);
        });
        sums
    }

    /// Adds the products of the entries of a row of U, and for a sample's first row those of its entries of the same class in X.
    fn add_row(&self, row: &Row, entries: &[Entry], multiples: &[f64], sums: &mut [f64]) {
        let (n, size, is_first) = (self.weights.len(), self.size(), row.others.is_none());
        let value = self.classifier.intercept.unwrap_or(0.0);
        for (at, a) in entries.iter().enumerate() {
            let (to, u) = (&mut sums[a.place * size..][..size], multiples[a.class] * a.x);
            let factor = row.factor * u;
            for b in &entries[at..] {
                let of_class = if is_first && a.class == b.class { u * b.x } else { 0.0 };
                to[b.place] += factor * multiples[b.class] * b.x + of_class;
            }
            to[n..].iter_mut().zip(multiples).for_each(|(to, multiple)| *to += factor * value * multiple);
            if is_first && n < size {
                to[n + a.class] += u * value;
            }
        }
        for (class, multiple) in multiples.iter().enumerate().take(size - n) {
            let to = &mut sums[(n + class) * size..][n + class..size];
            let factor = row.factor * value * value * multiple;
            to.iter_mut().zip(&multiples[class..]).for_each(|(to, multiple)| *to += factor * multiple);
            to[0] += if is_first { value * value * multiple } else { 0.0 };
        }
    }

    /// The number by which sums over the blocks of samples are multiplied to stand for those over all samples.
    fn factor(&self) -> f64 {
        let (k, n) = (self.classifier.n_classes, self.classifier.n_samples());
        if self.stride == 1 {
            return 1.0;
        }
        let mut multiples = vec![0.0; k];
        let total = |sample: usize| {
            let mut total: f64 = (0..k).map(|class| self.share(sample, class)).sum();
            for row in self.rows(sample).iter().flatten() {
                self.multiples(row, &mut multiples);
                total += row.factor * multiples.iter().map(|multiple| multiple * multiple).sum::<f64>();
            }
            total
        };
        let totals: Vec<f64> = (0..n).map(total).collect();
        Products { classifier: self.classifier, columns: &[], stride: self.stride }.factor(&totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::matrix::Design;
    use crate::numeric::random::Random;
    use crate::threads::Interrupt;
    use std::sync::Arc;

    const N: usize = 150;
    const D: usize = 5;
    const K: usize = 4;

    /// The same samples as a table, as a table of columns far from 0, and as sparse rows.
    fn designs() -> [Design; 3] {
        let mut random = Random::new(3, 0);
        let x: Vec<f64> =
            (0..N * D).map(|_| if random.uniform() < 0.5 { random.uniform() * 4.0 - 2.0 } else { 0.0 }).collect();
        let shift: Vec<f64> = (0..D).map(|column| 1000.0 + column as f64).collect();
        let moved: Vec<f64> = x.iter().enumerate().map(|(at, x)| x + shift[at % D]).collect();
        let table = |numbers: &[f64], shift| {
            let layout = Layout { by_rows: true, first: 0, step: D as isize };
            Design::dense(Table::new(Numbers::Double(Arc::new(numbers.to_vec())), layout, (N, D), shift).unwrap())
        };
        let ends = (1..=N).map(|row| row * D).collect();
        let ids: Vec<u32> = (0..N * D).map(|at| (at % D) as u32).collect();
        [table(&x, None), table(&moved, Some(shift)), Design::new(ends, &ids, &x, D).unwrap()]
    }

    fn classifier(design: Design) -> Classifier {
        let targets = (0..N).map(|row| (row % K) as u32).collect();
        let weights = (0..N).map(|row| [1.0, 0.0, 0.5, 2.0, 1.5][row % 5]).collect();
        Classifier::new(Arc::new(design), targets, weights, K, (Some(0.7), false), 2).unwrap()
    }

    #[test]
    fn the_hessian_is_that_of_differences_of_gradients() {
        for design in designs() {
            let classifier = classifier(design);
            let n = classifier.n_features();
            let w: Vec<f64> = (0..n).map(|at| 0.1 * ((at * 7 % 11) as f64 - 5.0)).collect();
            let some: Vec<usize> = (0..D * K).filter(|at| at % 3 != 1).collect();
            let all: Vec<usize> = some.iter().copied().chain(D * K..n).collect();
            let start = classifier.start(&w);
            let matrix = hessian(&classifier, &some, (&start.scores, &start.residuals), 1, false);
            let gradient = |at: usize, by: f64| {
                let (mut w, mut gradient) = (w.clone(), vec![0.0; n]);
                w[at] += by;
                classifier.value_and_gradient(&w, &mut gradient, &Interrupt::default()).unwrap();
                gradient
            };
            // Along the sum of the intercepts, the Hessian has a curvature of its own.
            for (row, &at) in all.iter().enumerate().take(some.len()) {
                let (more, less) = (gradient(at, 1e-5), gradient(at, -1e-5));
                for (column, &other) in all.iter().enumerate() {
                    let difference = (more[other] - less[other]) / 2e-5;
                    assert!((difference - matrix[row * all.len() + column]).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn samples_far_on_the_wrong_side_raise_the_curvature_unless_all_classes_change_alike() {
        let w: Vec<f64> = (0..(D + 1) * K).map(|at| 6.0 * ((at * 7 % 11) as f64 - 5.0)).collect();
        let all: Vec<usize> = (0..D * K).collect();
        let size = w.len();
        let matrices = designs().map(|design| {
            let classifier = classifier(design);
            let start = classifier.start(&w);
            let matrix = hessian(&classifier, &all, (&start.scores, &start.residuals), 1, false);
            let shares = classifier.probabilities(&w, &Interrupt::default()).unwrap();
            let newton = |class: usize| -> f64 {
                let of_sample = |row: usize| shares[row * K + class] * (1.0 - shares[row * K + class]);
                (0..N).map(|row| classifier.weight(row) * of_sample(row) * 0.7 * 0.7).sum()
            };
            let held: f64 = (0..K).map(|class| matrix[(D * K + class) * (size + 1)]).fold(0.0, f64::max);
            // The intercept's own, less what is added to it along the sum.
            assert!((0..K).all(|class| matrix[(D * K + class) * (size + 1)] > newton(class) + 0.2 * held));
            for row in matrix.chunks_exact(size).take(D * K) {
                for of_column in row.chunks_exact(K) {
                    assert!(of_column.iter().sum::<f64>().abs() < 1e-9);
                }
            }
            matrix
        });
        for other in &matrices[1..] {
            assert!(matrices[0].iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-6));
        }
    }
}
