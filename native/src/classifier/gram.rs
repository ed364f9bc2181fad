//! The coordinates of a proximal Newton step's subproblem, and the matrix X' D X over them.
//!
//! Symbols as in `newton`.

use crate::classifier::objective::Classifier;
use crate::classifier::products::Products;
use crate::classifier::softmax;
use crate::numeric::LANES;
use crate::numeric::ragged::{Id, with_entries};

/// A coordinate of the subproblem: column j of the working set.
pub struct Column {
    /// j
    pub id: usize,
    /// w_j
    pub w: f64,
    /// g_j + l2 w_j
    pub gradient: f64,
    /// H_jj
    pub curvature: f64,
    /// delta_j
    pub delta: f64,
    /// What violations of optimality at this coordinate are multiplied by to be compared with others.
    pub unit: f64,
    /// What the penalty of the weight is multiplied by.
    pub factor: f64,
    /// 1 if the weight may not be negative, -1 if not positive, else 0.
    pub sign: i8,
}

impl Column {
    /// The coordinate of a weight with this gradient, this L2 penalty, and this factor and sign, where delta is 0; the curvature is
    /// not known yet.
    pub fn at(id: usize, w: f64, gradient: f64, l2: f64, (factor, sign): (f64, i8)) -> Column {
        let gradient = gradient + l2 * factor * w;
        Column { id, w, gradient, curvature: 0.0, delta: 0.0, unit: 1.0, factor, sign }
    }

    /// The change of delta_j that minimises the subproblem over this coordinate, where `slope` is the derivative of its smooth
    /// part. Raises `most` to the violation of optimality before the change, times the unit.
    #[inline(always)]
    pub fn change(&self, slope: f64, l1: f64, most: &mut f64) -> f64 {
        let (before, l1) = (self.w + self.delta, l1 * self.factor);
        *most = most.max(violation(before, towards(before, slope, self.sign), l1).abs() * self.unit);
        let (z, bound) = (before - slope / self.curvature, l1 / self.curvature);
        let best = z - z.clamp(-bound, bound);
        match self.sign {
            0 => best - before,
            1 => best.max(0.0) - before,
            _ => best.min(0.0) - before,
        }
    }
}

/// The matrix X' D X over the columns of a working set and the intercept, and its product with delta.
pub struct Gram {
    /// Number of rows.
    size: usize,
    matrix: Vec<f64>,
    /// X' D X delta
    product: Vec<f64>,
}

/// Columns of the largest working set whose matrix is written out.
const MOST_COLUMNS: usize = 3000;
/// Cost of a product of two entries of a sample in the matrix, in visits of an entry by a sweep.
const PER_PAIR: f64 = 4.0;
/// Rows of the largest system of equations that is solved.
const MOST_EQUATIONS: usize = 500;

impl Gram {
    /// The number of sweeps over the data that cost as much as computing the matrix; none if a sweep over the matrix costs no
    /// less than a sweep over the data. The caller computes the matrix after that many sweeps: the total cost is then at most
    /// twice the least possible.
    pub fn worth(classifier: &Classifier, columns: &[Column]) -> Option<f64> {
        let (n, lists) = (columns.len(), classifier.design.columns());
        let entries: usize = columns.iter().map(|column| lists.range(column.id).len()).sum();
        if n > MOST_COLUMNS || n * n > entries {
            return None;
        }
        let mut counts = vec![0u32; classifier.n_samples()];
        with_entries!(lists, all => for column in columns {
            lists.list(column.id, all).0.iter().for_each(|&i| counts[i.at()] += 1);
        });
        let pairs: usize = counts.iter().map(|&count| (count as usize).pow(2)).sum();
        Some(PER_PAIR * pairs as f64 / (2 * entries) as f64)
    }

    /// The matrix of a step where delta is 0, if it is written out at once: with three classes or more, or of a dense table.
    pub fn at_once(classifier: &Classifier, columns: &[usize], here: Here<'_>) -> Option<Gram> {
        let Here { curvatures, scores, residuals, stride, is_spared, .. } = here;
        if classifier.n_outputs() == 1 {
            return Gram::of_table(classifier, columns, curvatures, stride);
        }
        let size = columns.len() + classifier.n_features() - classifier.n_penalised();
        Some(Gram::of_matrix(softmax::hessian(classifier, columns, (scores, residuals), stride, is_spared), size))
    }

    /// The matrix of a dense table where delta is 0, estimated from one of `stride` blocks of samples; none if the matrix of samples
    /// is sparse, or the working set large.
    pub fn of_table(classifier: &Classifier, columns: &[usize], curvatures: &[f64], stride: usize) -> Option<Gram> {
        let is_dense = classifier.design.table().is_some() && columns.len() <= MOST_COLUMNS;
        is_dense.then(|| Gram::estimated(classifier, columns, curvatures, stride))
    }

    /// The matrix where delta is 0, estimated from one of `stride` blocks of samples in proportion to their part of the curvatures.
    pub fn estimated(classifier: &Classifier, columns: &[usize], curvatures: &[f64], stride: usize) -> Gram {
        let products = Products { classifier, columns, stride };
        let (mut matrix, factor) = (products.over(curvatures), products.factor(curvatures));
        matrix.iter_mut().for_each(|product| *product *= factor);
        Gram::of_matrix(matrix, products.size())
    }

    /// A matrix with so many rows, where delta is 0.
    pub fn of_matrix(matrix: Vec<f64>, size: usize) -> Gram {
        Gram { size, matrix, product: vec![0.0; size] }
    }

    /// The x with (X' D X + E) x = b, where E is a diagonal matrix: `l2` of each row, unless it is free: without
    /// a penalty. x is 0 in the directions in which the matrix has no curvature. By Cholesky's factorisation, which replaces the matrix.
    pub fn solve(
        mut self,
        l2: impl Fn(usize) -> f64,
        is_free: impl Fn(usize) -> bool,
        b: impl Iterator<Item = f64>,
    ) -> Vec<f64> {
        let n = self.size;
        for i in 0..n {
            let (above, row) = self.matrix.split_at_mut(i * n);
            let row = &mut row[..n];
            let (own, least) = if is_free(i) { (0.0, INDEPENDENT) } else { (l2(i), ROUNDED) };
            let curvature = row[i] + own;
            for j in 0..i {
                let other = &above[j * n..][..n];
                row[j] = (row[j] - inner(&row[..j], &other[..j])) / other[j];
            }
            let left = curvature - inner(&row[..i], &row[..i]);
            // A column that is a sum of others leaves nothing but rounding errors: what is divided by infinity is 0.
            row[i] = if left > least * curvature { left.sqrt() } else { f64::INFINITY };
        }
        let mut x: Vec<f64> = b.collect();
        for i in 0..n {
            x[i] = (x[i] - inner(&self.matrix[i * n..][..i], &x[..i])) / self.matrix[i * (n + 1)];
        }
        for i in (0..n).rev() {
            x[i] /= self.matrix[i * (n + 1)];
            for j in 0..i {
                x[j] -= self.matrix[i * n + j] * x[i];
            }
        }
        x
    }

    /// X' D X over some of its rows, where delta is 0.
    pub fn part(&self, rows: &[usize]) -> Gram {
        Gram::of_matrix(part(&self.matrix, self.size, rows), rows.len())
    }

    /// Whether `solve` takes a moment.
    pub fn is_small(&self) -> bool {
        is_small(self.size)
    }

    /// Entry `at` of the diagonal.
    pub fn diagonal(&self, at: usize) -> f64 {
        self.matrix[at * (self.size + 1)]
    }

    /// The matrix of a sparse X with two classes, where `curvatures` are the diagonal of D.
    pub fn of_columns(classifier: &Classifier, columns: &[usize], curvatures: &[f64]) -> Gram {
        let products = Products { classifier, columns, stride: 1 };
        Gram::of_matrix(products.of_columns(curvatures), products.size())
    }

    /// `of_columns` where delta is not 0, and `slopes` is D X delta.
    pub fn at(classifier: &Classifier, columns: &[usize], curvatures: &[f64], slopes: &[f64]) -> Gram {
        let (mut gram, lists) = (Gram::of_columns(classifier, columns, curvatures), classifier.design.columns());
        with_entries!(lists, all => for (product, &column) in gram.product.iter_mut().zip(columns) {
            *product = lists.combine_one(column, all, slopes);
        });
        if let Some(value) = classifier.intercept {
            gram.product[columns.len()] = value * slopes.iter().sum::<f64>();
        }
        gram
    }

    /// Entry `at` of X' D X delta.
    pub fn product(&self, at: usize) -> f64 {
        self.product[at]
    }

    /// Updates X' D X delta after entry `at` of delta has changed by `change`.
    #[inline(always)]
    pub fn add(&mut self, at: usize, change: f64) {
        let row = &self.matrix[at * self.size..][..self.size];
        self.product.iter_mut().zip(row).for_each(|(product, h)| *product += change * h);
    }
}

/// What X' D X is computed from at the weights of a step.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    /// Two classes: the diagonal of D.
    pub curvatures: &'a [f64],
    /// x . w and weight * (p - y) of each sample: padded rows of outputs.
    pub scores: &'a [f64],
    pub residuals: &'a [f64],
    /// The gradient.
    pub gradient: &'a [f64],
    /// The matrix is estimated from one of so many blocks of samples.
    pub stride: usize,
    /// Whether the weights have no penalty.
    pub is_spared: bool,
}

/// X' D X at the weights of an earlier step, over the columns that later steps may need.
///
/// D changes little near a minimum: a step with an old matrix costs one pass over the data, and does as well as long as it decreases
/// the objective about as much as it predicts.
#[derive(Default)]
pub struct KeptGram {
    /// The columns in ascending order; with three classes or more, the weights.
    columns: Vec<usize>,
    /// The matrix, the intercept's rows last; none if it is to be computed.
    matrix: Option<Vec<f64>>,
    /// Whether matrices are kept; otherwise each step has its own.
    is_on: bool,
    /// Whether the matrix is of an earlier step.
    is_old: bool,
}

/// Columns of the smallest matrix that is kept.
const LEAST_KEPT: usize = 32;
/// Columns of the largest matrix that is kept of a sparse one, or with columns that may be needed with three classes or more.
const MOST_KEPT: usize = 1000;

impl KeptGram {
    /// Keeps matrices from now on.
    pub fn on() -> Self {
        KeptGram { is_on: true, ..KeptGram::default() }
    }

    /// Whether matrices are kept.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Has the next step compute its matrix.
    pub fn forget(&mut self) {
        self.matrix = None;
    }

    /// Whether the last step used the matrix of an earlier one.
    pub fn is_old(&self) -> bool {
        self.is_old
    }

    /// The matrix of an earlier step over a working set, if it has all these columns.
    pub fn old(&mut self, classifier: &Classifier, working_set: &[usize]) -> Option<Gram> {
        let gram = self.over(classifier, working_set);
        self.is_old = gram.is_some();
        gram
    }

    /// The matrix over a working set, as `Gram::at_once` makes it. None of a sparse one with two classes if it is not kept. Columns that
    /// may be needed next are chosen `among` some, or all.
    pub fn fresh(
        &mut self,
        classifier: &Classifier,
        working_set: &[usize],
        among: Option<&[usize]>,
        here: Here<'_>,
    ) -> Option<Gram> {
        if !self.is_on {
            return Gram::at_once(classifier, working_set, here);
        }
        // The work is that of all pairs: with three classes or more it is most of a step.
        let most = match classifier.n_outputs() {
            1 => 2 * working_set.len(),
            _ => (working_set.len() + working_set.len() / 4).min(MOST_KEPT.max(working_set.len())),
        };
        let columns = match among {
            Some(columns) => with_next(columns.iter().copied(), working_set, most, here.gradient),
            None => with_next(0..classifier.n_penalised(), working_set, most, here.gradient),
        };
        let gram = match Gram::at_once(classifier, &columns, here) {
            Some(gram) => gram,
            None if classifier.design.table().is_some() || columns.len() > MOST_KEPT => return None,
            None => Gram::of_columns(classifier, &columns, here.curvatures),
        };
        (self.columns, self.matrix) = (columns, Some(gram.matrix));
        self.over(classifier, working_set)
    }

    /// The part of the matrix over a working set; none if it lacks a column.
    fn over(&self, classifier: &Classifier, working_set: &[usize]) -> Option<Gram> {
        let (matrix, n) = (self.matrix.as_ref()?, self.columns.len());
        let intercept = n..n + classifier.n_features() - classifier.n_penalised();
        let place = |column: &usize| self.columns.binary_search(column).ok();
        let places: Vec<usize> = working_set.iter().map(place).collect::<Option<Vec<usize>>>()?;
        let whole = intercept.end;
        let places: Vec<usize> = places.into_iter().chain(intercept).collect();
        Some(Gram::of_matrix(part(matrix, whole, &places), places.len()))
    }
}

/// The entries of a matrix with `size` rows at some rows and the same columns.
fn part(matrix: &[f64], size: usize, places: &[usize]) -> Vec<f64> {
    let mut part = Vec::with_capacity(places.len() * places.len());
    for &a in places {
        let row = &matrix[a * size..][..size];
        part.extend(places.iter().map(|&b| row[b]));
    }
    part
}

/// A working set and the columns that may enter it next, the columns of `among` with the largest derivatives: `most` in all.
fn with_next(
    among: impl ExactSizeIterator<Item = usize>,
    working_set: &[usize],
    most: usize,
    gradient: &[f64],
) -> Vec<usize> {
    let most = most.max(LEAST_KEPT);
    if most >= among.len() {
        return among.collect();
    }
    let others = among.filter(|column| working_set.binary_search(column).is_err()).collect();
    with_steepest(working_set.to_vec(), others, most - working_set.len(), gradient)
}

/// Some columns, and of others the `room` ones with the largest derivatives, all in ascending order.
pub fn with_steepest(mut chosen: Vec<usize>, mut others: Vec<usize>, room: usize, gradient: &[f64]) -> Vec<usize> {
    if room < others.len() {
        let larger_first = |&a: &usize, &b: &usize| gradient[b].abs().total_cmp(&gradient[a].abs()).then(a.cmp(&b));
        others.select_nth_unstable_by(room, larger_first);
        others.truncate(room);
    }
    chosen.extend(others);
    chosen.sort_unstable();
    chosen
}

/// Whether a system of so many equations is solved in a moment.
pub fn is_small(size: usize) -> bool {
    size <= MOST_EQUATIONS
}

/// A column without a penalty that keeps no larger share of its curvature beside the columns before it is a sum of them.
const INDEPENDENT: f64 = 1e-12;
/// A penalty tells columns apart that are far from 0 and vary little: only shares as small as rounding errors tell nothing.
const ROUNDED: f64 = 1e-15;

/// The inner product of a and b, in eight partial sums.
pub fn inner(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for k in 0..LANES {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// The violation of optimality at one weight: its derivative, or if the weight is 0, the excess of the derivative's size over l1.
#[inline(always)]
pub fn violation(w: f64, slope: f64, l1: f64) -> f64 {
    if w == 0.0 { (slope.abs() - l1).max(0.0) } else { slope + l1.copysign(w) }
}

/// A derivative by a weight with a sign; 0 if the weight is 0, and the derivative points where it may not go.
#[inline(always)]
pub fn towards(w: f64, slope: f64, sign: i8) -> f64 {
    if w == 0.0 && slope * f64::from(sign) > 0.0 { 0.0 } else { slope }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X' X of two columns of two million that vary by one.
    fn far() -> Gram {
        let rows = [[2e6 + 1.0, 2e6], [2e6 - 1.0, 2e6 + 1.0], [2e6, 2e6 - 1.0]];
        let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum();
        Gram::of_matrix(vec![product(0, 0), product(0, 1), product(1, 0), product(1, 1)], 2)
    }

    #[test]
    fn with_a_penalty_columns_far_from_zero_are_told_apart() {
        // The difference of the columns has the curvature 6, and (1, -1) the eigenvalue 3.
        let x = far().solve(|_| 1.0, |_| false, [4.0, -4.0].into_iter());
        assert!((x[0] - 1.0).abs() < 1e-2 && (x[1] + 1.0).abs() < 1e-2, "{x:?}");
    }

    #[test]
    fn without_a_penalty_a_column_that_is_almost_another_is_left_out() {
        assert_eq!(far().solve(|_| 0.0, |_| true, [4.0, -4.0].into_iter())[1], 0.0);
    }
}
