//! A dense matrix of samples, kept as it was given: by rows or by columns, in single or double precision.
//!
//! Its numbers may belong to someone else, such as a NumPy array: nothing is copied but blocks of some rows, which a thread
//! copies into its cache before it works on them. There they are rows of doubles, so that there is one kernel for every layout.

use crate::error::{Error, Result};
use crate::numeric::{LANES, padded, transpose};
use pulp::Simd;
use std::ops::Range;

/// A type of the numbers of a matrix.
pub trait Number: Copy {
    fn double(self) -> f64;
    /// Copies numbers.
    fn copy<S: Simd>(simd: S, from: &[Self], to: &mut [f64]);
}

impl Number for f64 {
    #[inline(always)]
    fn double(self) -> f64 {
        self
    }

    #[inline(always)]
    fn copy<S: Simd>(_simd: S, from: &[f64], to: &mut [f64]) {
        let ((from, rest), (to, to_rest)) = (S::as_simd_f64s(from), S::as_mut_simd_f64s(&mut to[..from.len()]));
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
        for (to, from) in to_rest.iter_mut().zip(rest) {
            *to = *from;
        }
    }
}

impl Number for f32 {
    #[inline(always)]
    fn double(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn copy<S: Simd>(_simd: S, from: &[f32], to: &mut [f64]) {
        let ((from, rest), (to, to_rest)) = (from.as_chunks::<LANES>(), to[..from.len()].as_chunks_mut::<LANES>());
        for at in 0..from.len() {
            for k in 0..LANES {
                to[at][k] = from[at][k].into();
            }
        }
        for at in 0..rest.len() {
            to_rest[at] = rest[at].into();
        }
    }
}

/// Numbers in a row that belong to someone else.
pub type Shared<T> = Box<dyn AsRef<[T]> + Send + Sync>;

/// The numbers of a matrix in the precision in which they were given. All arithmetic is in double precision.
pub enum Numbers {
    Single(Shared<f32>),
    Double(Shared<f64>),
}

/// A dense matrix.
pub struct Table {
    numbers: Numbers,
    /// Whether the numbers of a row stand side by side; otherwise those of a column do.
    by_rows: bool,
    n_rows: usize,
    n_columns: usize,
}

/// Evaluates an expression with a name bound to the slice of all numbers. It is compiled for both precisions.
macro_rules! with_numbers {
    ($table:expr, $name:ident => $work:expr) => {
        match &$table.numbers {
            Numbers::Single(numbers) => {
                let $name = (**numbers).as_ref();
                $work
            }
            Numbers::Double(numbers) => {
                let $name = (**numbers).as_ref();
                $work
            }
        }
    };
}

impl Table {
    /// A matrix of finite numbers, row after row or column after column.
    pub fn new(numbers: Numbers, by_rows: bool, n_rows: usize, n_columns: usize) -> Result<Table> {
        let table = Table { numbers, by_rows, n_rows, n_columns };
        let n_numbers = with_numbers!(table, all => all.len());
        if n_rows.checked_mul(n_columns) != Some(n_numbers) {
            return Err(Error::Data(format!(
                "a matrix of shape ({n_rows}, {n_columns}) does not have {n_numbers} numbers"
            )));
        }
        if n_columns >= u32::MAX as usize || n_rows >= u32::MAX as usize {
            return Err(Error::Data("more than 2^32 samples or columns".into()));
        }
        match with_numbers!(table, all => first_infinite(all)) {
            None => Ok(table),
            Some((at, value)) => {
                let (row, column) = if by_rows { (at / n_columns, at % n_columns) } else { (at % n_rows, at / n_rows) };
                Err(Error::Data(format!("sample {row}, column {column}: {value} is not a finite value")))
            }
        }
    }

    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The matrix whose row i is row `rows[i]` of this one.
    pub fn select(&self, rows: &[usize]) -> Table {
        let at = |row: usize, column: usize| {
            if self.by_rows { row * self.n_columns + column } else { column * self.n_rows + row }
        };
        let places = || rows.iter().flat_map(|&row| (0..self.n_columns).map(move |column| at(row, column)));
        let numbers = match &self.numbers {
            Numbers::Single(all) => {
                Numbers::Single(Box::new(places().map(|at| (**all).as_ref()[at]).collect::<Vec<_>>()))
            }
            Numbers::Double(all) => {
                Numbers::Double(Box::new(places().map(|at| (**all).as_ref()[at]).collect::<Vec<_>>()))
            }
        };
        Table { numbers, by_rows: true, n_rows: rows.len(), n_columns: self.n_columns }
    }

    /// The numbers of a row that are not 0: column and value.
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (u32, f64)> {
        let (first, step) = if self.by_rows { (row * self.n_columns, 1) } else { (row, self.n_rows) };
        let value = move |column: usize| with_numbers!(self, all => all[first + column * step].double());
        (0..self.n_columns).map(move |column| (column as u32, value(column))).filter(|entry| entry.1 != 0.0)
    }
}

/// The place and the value of the first number that is not finite.
fn first_infinite<T: Number>(numbers: &[T]) -> Option<(usize, f64)> {
    // A product with 0 is NaN unless the number is finite. No early return: the compiler tests several numbers at a time.
    let mut sums = [0.0; LANES];
    let (eights, rest) = numbers.as_chunks::<LANES>();
    for eight in eights {
        for (sum, &number) in sums.iter_mut().zip(eight) {
            *sum += 0.0 * number.double();
        }
    }
    rest.iter().for_each(|&number| sums[0] += 0.0 * number.double());
    if sums.iter().all(|sum| *sum == 0.0) {
        return None;
    }
    numbers.iter().map(|number| number.double()).enumerate().find(|(_, number): &(usize, f64)| !number.is_finite())
}

/// Columns of a table, and behind them the column of an intercept.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    pub table: &'a Table,
    /// Numbers of the columns in ascending order; all columns if there are none.
    pub chosen: Option<&'a [usize]>,
    /// Value of the intercept's column.
    pub intercept: Option<f64>,
}

impl<'a> Columns<'a> {
    /// All columns of a table.
    pub fn all(table: &'a Table, intercept: Option<f64>) -> Self {
        Columns { table, chosen: None, intercept }
    }

    /// Number of columns, the intercept's among them.
    pub fn count(&self) -> usize {
        self.own() + usize::from(self.intercept.is_some())
    }

    /// Number of columns without the intercept's.
    fn own(&self) -> usize {
        self.chosen.map_or(self.table.n_columns, <[usize]>::len)
    }

    /// Copies a block of rows: `places` are those of its columns, whose rows are padded with zeros to `stride`, a multiple of
    /// `LANES`.
    #[inline(always)]
    pub fn copy<S: Simd>(&self, simd: S, rows: Range<usize>, places: Range<usize>, stride: usize, out: &mut [f64]) {
        with_numbers!(self.table, all => self.copy_of(simd, all, rows, places, stride, out));
    }

    /// `copy` for one precision.
    #[inline(always)]
    fn copy_of<S: Simd, T: Number>(
        &self,
        simd: S,
        all: &[T],
        rows: Range<usize>,
        places: Range<usize>,
        stride: usize,
        out: &mut [f64],
    ) {
        let own = places.start..places.end.min(self.own());
        let (n_rows, n_columns) = (self.table.n_rows, self.table.n_columns);
        if !self.table.by_rows {
            let column = |place: usize| self.chosen.map_or(place, |chosen| chosen[place]);
            turned(
                simd,
                own.clone().map(|place| &all[column(place) * n_rows..][rows.clone()]),
                rows.len(),
                stride,
                out,
            );
        }
        for (at, row) in rows.enumerate() {
            let out = &mut out[at * stride..][..stride];
            match self.chosen {
                _ if !self.table.by_rows => {}
                None => T::copy(simd, &all[row * n_columns..][own.clone()], out),
                Some(chosen) => {
                    let numbers = &all[row * n_columns..][..n_columns];
                    for (place, &column) in chosen[own.clone()].iter().enumerate() {
                        out[place] = numbers[column].double();
                    }
                }
            }
            for place in own.len()..stride {
                out[place] = 0.0;
            }
            if let Some(value) = self.intercept.filter(|_| places.end > self.own()) {
                out[own.len()] = value;
            }
        }
    }
}

/// Writes columns side by side, eight columns and eight rows at a time.
#[inline(always)]
fn turned<'a, S: Simd, T: Number + 'a>(
    simd: S,
    mut columns: impl Iterator<Item = &'a [T]>,
    n_rows: usize,
    stride: usize,
    out: &mut [f64],
) {
    let empty: &[T] = &[];
    for first in (0..stride).step_by(LANES) {
        let mut eight = [empty; LANES];
        for place in &mut eight {
            *place = columns.next().unwrap_or(empty);
        }
        let mut block = [[0.0; LANES]; LANES];
        for row in (0..n_rows).step_by(LANES) {
            let n = (n_rows - row).min(LANES);
            for k in 0..LANES {
                if n == LANES && !eight[k].is_empty() {
                    T::copy(simd, &eight[k][row..row + LANES], &mut block[k]);
                } else if !eight[k].is_empty() {
                    T::copy(simd, &eight[k][row..row + n], &mut block[k]);
                }
            }
            let turned = transpose(simd, block.each_ref());
            for k in 0..n {
                out[(row + k) * stride + first..][..LANES].copy_from_slice(&turned[k]);
            }
        }
    }
}

/// The length of a row of a block that holds so many columns.
pub fn stride(n_columns: usize) -> usize {
    padded(n_columns.max(1))
}
