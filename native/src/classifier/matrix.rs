//! The samples of a classifier as a matrix. It is sparse: by rows (samples), by columns (attributes), or with eight rows or eight
//! columns side by side. Or it is dense (`table`), and the sparse forms are made only for methods that need them.
//!
//! The scores of samples are sums over rows; the gradient at the weights of a column is a sum over the column. Each sum is
//! formed by one thread, so that results do not depend on the number of threads.

use crate::classifier::sliced::Sliced;
use crate::classifier::table::Table;
use crate::error::{Error, Result};
use crate::numeric::ragged::{Ids, Lists, NOWHERE, Values};
use crate::threads::Pool;
use std::sync::OnceLock;

/// A matrix of samples.
///
/// Other forms are made on first use. Methods request them outside the thread pool: a thread of the pool that builds one would
/// keep the others waiting.
pub struct Design {
    n_samples: usize,
    n_columns: usize,
    /// The dense matrix.
    table: Option<Table>,
    /// Sample -> its columns and their values.
    rows: OnceLock<Lists>,
    /// Column -> the samples in which it is not 0, and its values there.
    columns: OnceLock<Lists>,
    /// The rows and the columns, eight side by side.
    sliced: OnceLock<[Sliced; 2]>,
}

impl Design {
    /// A matrix from compressed sparse rows: row i ends before entry `ends[i]`.
    pub fn new(ends: Vec<usize>, ids: &[u32], values: &[f64], n_columns: usize) -> Result<Design> {
        let ordered = ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ordered || ends.last().copied().unwrap_or(0) != ids.len() || ids.len() != values.len() {
            return Err(Error::Data("the sparse matrix is damaged: its row ends and entries do not fit".into()));
        }
        if n_columns > u32::MAX as usize || ends.len() > u32::MAX as usize {
            return Err(Error::Data("more than 2^32 samples or columns".into()));
        }
        if let Some(most) = ids.iter().copied().max().filter(|&most| most as usize >= n_columns) {
            let message = format!("the sparse matrix is damaged: column {most} of {n_columns}");
            return Err(Error::Data(message));
        }
        let compact = Values::of(values);
        let looked_at = if matches!(compact, Values::Ones(_)) { &[] } else { values };
        // The place is looked for only if there is one: without an early return the test takes eight values at a time.
        let finite = looked_at.iter().fold(true, |all, value| all & value.is_finite());
        let damage = if finite { None } else { looked_at.iter().position(|value| !value.is_finite()) };
        if let Some(at) = damage {
            let row = ends.partition_point(|&end| end <= at);
            let message = format!("sample {row}, column {}: {} is not a finite value", ids[at], values[at]);
            return Err(Error::Data(message));
        }
        Ok(Design::by_rows(Lists::new(ends, Ids::of(ids, n_columns), compact, n_columns)))
    }

    /// A matrix that has only rows so far.
    fn by_rows(rows: Lists) -> Design {
        let (n_samples, n_columns) = (rows.len(), rows.bound());
        let rows = OnceLock::from(rows);
        Design { n_samples, n_columns, table: None, rows, columns: OnceLock::new(), sliced: OnceLock::new() }
    }

    /// A dense matrix.
    pub fn dense(table: Table) -> Design {
        let (n_samples, n_columns) = (table.n_rows(), table.n_columns());
        let table = Some(table);
        Design { n_samples, n_columns, table, rows: OnceLock::new(), columns: OnceLock::new(), sliced: OnceLock::new() }
    }

    /// The matrix as it was given, if it is dense.
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// The matrix by rows.
    pub fn rows(&self) -> &Lists {
        self.rows.get_or_init(|| {
            let (mut ends, mut ids, mut values) = (Vec::with_capacity(self.n_samples), Vec::new(), Vec::new());
            // Without a table the rows have been there from the beginning.
            let table = self.table.as_ref().expect("rows or a table");
            for row in 0..self.n_samples {
                for (column, value) in table.entries(row) {
                    ids.push(column);
                    values.push(value);
                }
                ends.push(ids.len());
            }
            Lists::new(ends, Ids::of(&ids, self.n_columns), Values::of(&values), self.n_columns)
        })
    }

    /// The matrix by columns.
    pub fn columns(&self) -> &Lists {
        self.columns.get_or_init(|| self.rows().transposed())
    }

    /// Number of entries that a pass over the matrix meets.
    pub fn n_entries(&self) -> usize {
        if self.table.is_some() { self.n_samples * self.n_columns } else { self.rows().n_entries() }
    }

    /// The rows, eight side by side, and the columns, eight side by side.
    pub fn sliced(&self, pool: Pool) -> &[Sliced; 2] {
        self.sliced.get_or_init(|| {
            let rows = self.rows();
            pool.install(|| [Sliced::new(rows), Sliced::transposed(rows)])
        })
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Number of columns, without the intercept.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The matrix whose row i is row `samples[i]` of this one.
    pub fn select(&self, samples: &[usize]) -> Design {
        match &self.table {
            Some(table) => Design::dense(table.select(samples)),
            None => Design::by_rows(self.rows().select(samples.iter().copied())),
        }
    }

    /// The matrix whose columns are sums of columns (Mathur & Chakrabarti 2010, Eq. 15): column j is added to the new column
    /// `map[j]`, or left out if `map[j]` is `NOWHERE`.
    pub fn merge(&self, map: &[u32], n_columns: usize) -> Design {
        let (mut ends, mut ids, mut values) = (Vec::with_capacity(self.n_samples()), Vec::new(), Vec::new());
        let (mut met, mut place) = (vec![u32::MAX; n_columns], vec![0; n_columns]);
        let rows = self.rows();
        for sample in 0..self.n_samples() {
            for (id, value) in rows.entries(sample) {
                let to = map[id as usize];
                if to == NOWHERE {
                    continue;
                }
                let column = to as usize;
                if met[column] == sample as u32 {
                    values[place[column]] += value;
                } else {
                    (met[column], place[column]) = (sample as u32, ids.len());
                    ids.push(to);
                    values.push(value);
                }
            }
            ends.push(ids.len());
        }
        Design::by_rows(Lists::new(ends, Ids::of(&ids, n_columns), Values::of(&values), n_columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::ragged::{cut, distinct, with_entries};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn dense(lists: &Lists, n_ids: usize) -> Vec<Vec<f64>> {
        let row = |list| {
            let mut row = vec![0.0; n_ids];
            lists.entries(list).for_each(|(id, value)| row[id as usize] += value);
            row
        };
        (0..lists.len()).map(row).collect()
    }

    fn matrix() -> impl Strategy<Value = (Vec<Vec<(u32, f64)>>, usize)> {
        let value = prop_oneof![Just(1.0), Just(0.5), Just(0.1), -2.0..2.0];
        (1usize..6).prop_flat_map(move |columns| {
            let row = prop::collection::vec((0..columns as u32, value.clone()), 0..8);
            (prop::collection::vec(row, 0..7), Just(columns))
        })
    }

    fn design((rows, columns): &(Vec<Vec<(u32, f64)>>, usize)) -> Design {
        let (mut ends, mut ids, mut values) = (vec![], vec![], vec![]);
        for row in rows {
            ids.extend(row.iter().map(|entry| entry.0));
            values.extend(row.iter().map(|entry| entry.1));
            ends.push(ids.len());
        }
        Design::new(ends, &ids, &values, *columns).unwrap()
    }

    proptest! {
        #[test]
        fn columns_are_the_rows_transposed(data in matrix()) {
            let design = design(&data);
            let (rows, columns) = (dense(design.rows(), data.1), dense(design.columns(), data.0.len()));
            for (i, row) in rows.iter().enumerate() {
                for (j, value) in row.iter().enumerate() {
                    prop_assert!((columns[j][i] - value).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn merged_columns_are_sums_of_columns(data in matrix(), seed in 0u32..1000) {
            let design = design(&data);
            let map: Vec<u32> = (0..data.1 as u32).map(|j| (j * 7 + seed) % 3).collect();
            let (before, after) = (dense(design.rows(), data.1), dense(design.merge(&map, 3).rows(), 3));
            for (row, merged) in before.iter().zip(&after) {
                for k in 0..3 {
                    let sum: f64 = row.iter().zip(&map).filter(|&(_, &to)| to == k as u32).map(|(value, _)| value).sum();
                    prop_assert!((merged[k] - sum).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn sums_over_lists_and_into_lists_are_those_of_the_dense_matrix(data in matrix(), factor in -2.0..2.0f64) {
            let design = design(&data);
            let (rows, n) = (dense(design.rows(), data.1), data.1);
            let x: Vec<f64> = (0..n).map(|j| 1.0 / (j + 1) as f64).collect();
            for (i, row) in rows.iter().enumerate() {
                let mut sums = x.clone();
                let combined = with_entries!(design.rows(), all => {
                    design.rows().add_to(i, all, factor, &mut sums);
                    design.rows().combine_one(i, all, &x)
                });
                let expected: f64 = row.iter().zip(&x).map(|(a, b)| a * b).sum();
                prop_assert!((combined - expected).abs() < 1e-12);
                for j in 0..n {
                    prop_assert!((sums[j] - x[j] - factor * row[j]).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn distinct_ids_ascend_unless_there_are_too_many(ids in prop::collection::vec(0..9u32, 0..20), bound in 1..12usize, most in 0..10usize) {
            let all: Vec<u32> = ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            let holds = all.len() <= most && all.iter().all(|&id| (id as usize) < bound);
            prop_assert_eq!(distinct(&ids, bound, most), holds.then_some(all));
        }

        #[test]
        fn pieces_cover_all_lists_in_order(data in matrix(), entries in 1usize..40) {
            let design = design(&data);
            let covered: Vec<usize> = cut(design.rows().ends(), entries).into_iter().flatten().collect();
            prop_assert_eq!(covered, (0..design.n_samples()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn damaged_matrices_are_refused() {
        let new = |ends: &[usize], ids: &[u32], values: &[f64]| {
            Design::new(ends.to_vec(), ids, values, 3).err().map(|error| error.to_string())
        };
        assert_eq!(new(&[1, 2], &[0, 2], &[1.0, 2.0]), None);
        assert!(new(&[2, 1], &[0, 2], &[1.0, 2.0]).unwrap().contains("damaged"));
        assert!(new(&[1], &[0, 2], &[1.0, 2.0]).unwrap().contains("damaged"));
        assert!(new(&[1, 2], &[0, 3], &[1.0, 2.0]).unwrap().contains("column 3 of 3"));
        assert!(new(&[1, 2], &[0, 2], &[1.0, f64::INFINITY]).unwrap().contains("inf is not a finite"));
        assert!(new(&[1, 2], &[0, 2], &[1.0, f64::NAN]).unwrap().contains("sample 1, column 2"));
    }
}
