//! The inverse of a sparse symmetric matrix, column by column: conjugate gradients (Hestenes & Stiefel 1952), on `LANES` columns
//! side by side. Linear response asks for it; its matrix has an entry for each pair of columns that an edge joins.

use crate::error::Result;
use crate::numeric::chunks::dispatched;
use crate::threads::{Interrupt, Pool, parts, share};
use std::ops::Range;

/// Columns that are solved side by side: an entry of the matrix is read once for all of them.
const LANES: usize = 8;

type Lanes = [f64; LANES];

/// A sparse symmetric matrix, row by row, whose diagonal is 1.
pub struct Symmetric<'a> {
    /// Row -> its first entry; at the end, the number of entries.
    pub at: &'a [i32],
    /// Entry -> column.
    pub columns: &'a [i32],
    /// Entry -> value.
    pub values: &'a [f64],
}

/// When a column counts as solved.
#[derive(Clone, Copy)]
pub struct Accuracy {
    /// Euclidean norm of the residual.
    pub tolerance: f64,
    /// Most iterations.
    pub max_iterations: usize,
}

impl Symmetric<'_> {
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.at.len() - 1
    }

    #[inline(always)]
    fn row(&self, row: usize) -> Range<usize> {
        self.at[row] as usize..self.at[row + 1] as usize
    }

    /// Computes q = A p, and returns p . q.
    #[inline(always)]
    fn times(&self, p: &[Lanes], q: &mut [Lanes]) -> Lanes {
        let mut curvatures = [0.0; LANES];
        for (i, q) in q.iter_mut().enumerate() {
            let mut sums = [0.0; LANES];
            for entry in self.row(i) {
                let (value, p) = (self.values[entry], &p[self.columns[entry] as usize]);
                sums.iter_mut().zip(p).for_each(|(sum, p)| *sum += value * p);
            }
            for lane in 0..LANES {
                curvatures[lane] += p[i][lane] * sums[lane];
            }
            *q = sums;
        }
        curvatures
    }

    /// Writes the rows of the inverse one after the other, row a from column behind[a] on, and the diagonal. False if the
    /// matrix is not positive definite, or a column has not been solved within the iterations.
    pub fn inverse(
        &self,
        behind: &[usize],
        accuracy: Accuracy,
        (diagonal, out): (&mut [f64], &mut [f64]),
        pool: Pool,
        interrupt: &Interrupt,
    ) -> Result<bool> {
        let n = self.n();
        let blocks = || (0..n).step_by(LANES).map(|first| first..n.min(first + LANES));
        let sizes = |block: Range<usize>| block.map(|row| n - behind[row]).sum();
        let work = parts(diagonal, blocks().map(|block| block.len())).into_iter().zip(parts(out, blocks().map(sizes)));
        let solved = share(pool, blocks().zip(work).collect(), |(block, (diagonal, mut out))| {
            let solved = dispatched(
                #[inline(always)]
                || self.solved(block.clone(), accuracy),
            );
            let Some(x) = solved.filter(|_| !interrupt.is_set()) else { return false };
            for (lane, row) in block.enumerate() {
                diagonal[lane] = x[row][lane];
                let (part, rest) = std::mem::take(&mut out).split_at_mut(n - behind[row]);
                part.iter_mut().zip(&x[behind[row]..]).for_each(|(part, x)| *part = x[lane]);
                out = rest;
            }
            true
        });
        interrupt.check()?;
        Ok(solved.into_iter().all(|solved| solved))
    }

    /// Some columns of the inverse; none if the matrix is not positive definite, or iterations run out.
    #[inline(always)]
    fn solved(&self, columns: Range<usize>, accuracy: Accuracy) -> Option<Vec<Lanes>> {
        let zeros = || vec![[0.0; LANES]; self.n()];
        let (mut x, mut r, mut q) = (zeros(), zeros(), zeros());
        columns.clone().enumerate().for_each(|(lane, column)| r[column][lane] = 1.0);
        let mut p = r.clone();
        let mut squares = [0.0; LANES];
        squares[..columns.len()].fill(1.0);
        for _ in 0..accuracy.max_iterations {
            let curvatures = self.times(&p, &mut q);
            let mut steps = [0.0; LANES];
            for lane in 0..LANES {
                // A lane without a column, or solved to the last bit, has no residual.
                if squares[lane] > 0.0 {
                    if curvatures[lane].is_nan() || curvatures[lane] <= 0.0 {
                        return None;
                    }
                    steps[lane] = squares[lane] / curvatures[lane];
                }
            }
            let mut new = [0.0; LANES];
            for ((x, r), (p, q)) in x.iter_mut().zip(&mut r).zip(p.iter().zip(&q)) {
                for lane in 0..LANES {
                    x[lane] += steps[lane] * p[lane];
                    r[lane] -= steps[lane] * q[lane];
                    new[lane] += r[lane] * r[lane];
                }
            }
            if new.iter().all(|square| square.sqrt() <= accuracy.tolerance) {
                return Some(x);
            }
            let mut shares = [0.0; LANES];
            (0..LANES).filter(|&lane| squares[lane] > 0.0).for_each(|lane| shares[lane] = new[lane] / squares[lane]);
            for (p, r) in p.iter_mut().zip(&r) {
                for lane in 0..LANES {
                    p[lane] = r[lane] + shares[lane] * p[lane];
                }
            }
            squares = new;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Accuracy, Symmetric};
    use crate::threads::{Interrupt, pool};

    const ACCURACY: Accuracy = Accuracy { tolerance: 1e-12, max_iterations: 100 };

    /// The matrix of a ring of n rows with this entry between neighbours.
    fn ring(n: usize, beside: f64) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
        let at = (0..=n).map(|row| 3 * row as i32).collect();
        let columns = (0..n).flat_map(|row| [row, (row + 1) % n, (row + n - 1) % n].map(|column| column as i32));
        (at, columns.collect(), (0..n).flat_map(|_| [1.0, beside, beside]).collect())
    }

    fn inverse(n: usize, beside: f64, threads: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        let (at, columns, values) = ring(n, beside);
        let matrix = Symmetric { at: &at, columns: &columns, values: &values };
        let behind: Vec<usize> = (0..n).map(|row| (row + 2).min(n)).collect();
        let (mut diagonal, mut out) = (vec![0.0; n], vec![0.0; behind.iter().map(|behind| n - behind).sum()]);
        let to = (diagonal.as_mut_slice(), out.as_mut_slice());
        let inverse = matrix.inverse(&behind, ACCURACY, to, pool(threads).unwrap(), &Interrupt::default());
        inverse.unwrap().then_some((diagonal, out))
    }

    #[test]
    fn the_inverse_of_a_ring_is_known_and_the_same_on_any_number_of_threads() {
        for (n, beside) in [(3, 0.2f64), (8, -0.4), (27, 0.45)] {
            // Entry d of a row of the inverse is (t^d + t^(n - d)) / ((1 - t^n) sqrt(1 - 4 b^2)), t the root of t + 1/t = -1/b.
            let root = (1.0 - 4.0 * beside * beside).sqrt();
            let t = (root - 1.0) / (2.0 * beside);
            let entry = |d: usize| (t.powi(d as i32) + t.powi((n - d) as i32)) / ((1.0 - t.powi(n as i32)) * root);
            let (diagonal, out) = inverse(n, beside, 1).unwrap();
            assert!(diagonal.iter().all(|value| (value - entry(0)).abs() < 1e-10));
            let expected = (0..n).flat_map(|row| (row + 2..n).map(move |column| entry(column - row)));
            assert!(out.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-10));
            assert!(inverse(n, beside, 3).unwrap() == (diagonal, out));
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_none() {
        assert!(inverse(10, 0.7, 2).is_none());
        assert!(inverse(3, -0.6, 2).is_none());
    }
}
