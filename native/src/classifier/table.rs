//! A dense matrix of samples, kept as it was given: by rows or by columns, in single or double precision.
//!
//! Its numbers may belong to someone else, such as a NumPy array: nothing is copied but blocks of some rows, which a thread
//! copies into its cache before it works on them. There they are rows of doubles, so that there is one kernel for every layout,
//! and there a number is subtracted from columns that are far from 0.

use crate::error::{Error, Result};
use crate::numeric::{LANES, padded, transpose};
use pulp::Simd;
use std::ops::Range;
use std::sync::Arc;

/// A type of the numbers of a matrix.
pub trait Number: Copy {
    fn double(self) -> f64;
    /// Copies numbers, less those of a shift if there is one, which has as many.
    fn copy<S: Simd>(simd: S, from: &[Self], shift: Option<&[f64]>, to: &mut [f64]);
}

impl Number for f64 {
    #[inline(always)]
    fn double(self) -> f64 {
        self
    }

    #[inline(always)]
    fn copy<S: Simd>(simd: S, from: &[f64], shift: Option<&[f64]>, to: &mut [f64]) {
        let ((from, rest), (to, to_rest)) = (S::as_simd_f64s(from), S::as_mut_simd_f64s(&mut to[..from.len()]));
        let Some(shift) = shift else {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            return to_rest.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        };
        let (shift, shift_rest) = S::as_simd_f64s(shift);
        for ((to, from), shift) in to.iter_mut().zip(from).zip(shift) {
            *to = simd.sub_f64s(*from, *shift);
        }
        for ((to, from), shift) in to_rest.iter_mut().zip(rest).zip(shift_rest) {
            *to = from - shift;
        }
    }
}

impl Number for f32 {
    #[inline(always)]
    fn double(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn copy<S: Simd>(_simd: S, from: &[f32], shift: Option<&[f64]>, to: &mut [f64]) {
        let ((from, rest), (to, to_rest)) = (from.as_chunks::<LANES>(), to[..from.len()].as_chunks_mut::<LANES>());
        let Some((shift, shift_rest)) = shift.map(<[f64]>::as_chunks::<LANES>) else {
            for at in 0..from.len() {
                for k in 0..LANES {
                    to[at][k] = from[at][k].into();
                }
            }
            return to_rest.iter_mut().zip(rest).for_each(|(to, from)| *to = f64::from(*from));
        };
        for at in 0..from.len().min(shift.len()) {
            for k in 0..LANES {
                to[at][k] = f64::from(from[at][k]) - shift[at][k];
            }
        }
        for ((to, from), shift) in to_rest.iter_mut().zip(rest).zip(shift_rest) {
            *to = f64::from(*from) - shift;
        }
    }
}

/// Numbers in a row that belong to someone else.
pub type Shared<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// The numbers of a matrix in the precision in which they were given. All arithmetic is in double precision.
#[derive(Clone)]
pub enum Numbers {
    Single(Shared<f32>),
    Double(Shared<f64>),
}

/// Where the numbers of a matrix stand.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Whether the numbers of a row stand side by side; otherwise those of a column do. The former are the lines of the matrix.
    pub by_rows: bool,
    /// Place of the first line, and the distance from each to the next: negative if the last one comes first.
    pub first: usize,
    pub step: isize,
}

impl Layout {
    /// The place of a line.
    #[inline(always)]
    pub fn line(self, at: usize) -> usize {
        self.first.wrapping_add_signed(self.step.wrapping_mul(at as isize))
    }

    /// Whether lines of this length, so many, are all among `n` numbers.
    fn fits(self, n_lines: usize, length: usize, n: usize) -> bool {
        let way = isize::try_from(n_lines.saturating_sub(1)).ok().and_then(|lines| lines.checked_mul(self.step));
        let last = way.and_then(|way| self.first.checked_add_signed(way));
        let ends = [Some(self.first), last].map(|place| place.and_then(|place| place.checked_add(length)));
        n_lines == 0 || ends.iter().all(|end| end.is_some_and(|end| end <= n))
    }
}

/// A dense matrix.
pub struct Table {
    numbers: Numbers,
    layout: Layout,
    n_rows: usize,
    n_columns: usize,
    /// What is subtracted from each column; none for nothing.
    shift: Option<Arc<[f64]>>,
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
    /// A matrix of finite numbers, less a number for each column if there is a `shift`.
    pub fn new(
        numbers: Numbers,
        layout: Layout,
        (n_rows, n_columns): (usize, usize),
        shift: Option<Vec<f64>>,
    ) -> Result<Table> {
        let shift = shift.map(Arc::from);
        let table = Table { numbers, layout, n_rows, n_columns, shift };
        let n_numbers = with_numbers!(table, all => all.len());
        let (n_lines, length) = if layout.by_rows { (n_rows, n_columns) } else { (n_columns, n_rows) };
        if !layout.fits(n_lines, length, n_numbers) {
            return Err(Error::Data(format!(
                "a matrix of shape ({n_rows}, {n_columns}) does not have {n_numbers} numbers"
            )));
        }
        table.check_shift()?;
        if n_columns >= u32::MAX as usize || n_rows >= u32::MAX as usize {
            return Err(Error::Data("more than 2^32 samples or columns".into()));
        }
        match with_numbers!(table, all => first_infinite(all, layout, n_lines, length)) {
            None => Ok(table),
            Some((line, place, value)) => {
                let (row, column) = if layout.by_rows { (line, place) } else { (place, line) };
                Err(Error::Data(format!("sample {row}, column {column}: {value} is not a finite value")))
            }
        }
    }

    /// The same numbers, from each of which that of its column is subtracted, and nothing else.
    pub fn less(&self, shift: Vec<f64>) -> Result<Table> {
        let Table { layout, n_rows, n_columns, .. } = *self;
        let table = Table { numbers: self.numbers.clone(), layout, n_rows, n_columns, shift: Some(Arc::from(shift)) };
        table.check_shift().map(|()| table)
    }

    fn check_shift(&self) -> Result<()> {
        match &self.shift {
            Some(shift) if shift.len() != self.n_columns => {
                Err(Error::Data(format!("{} columns need as many numbers to subtract", self.n_columns)))
            }
            _ => Ok(()),
        }
    }

    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The place of a row's first number, and the distance from each to the next.
    fn row(&self, row: usize) -> (usize, isize) {
        let Layout { by_rows, first, step } = self.layout;
        if by_rows { (self.layout.line(row), 1) } else { (first + row, step) }
    }

    /// The matrix whose row i is row `rows[i]` of this one.
    pub fn select(&self, rows: &[usize]) -> Table {
        let places = || {
            rows.iter().map(|&row| self.row(row)).flat_map(|(first, step)| {
                (0..self.n_columns).map(move |column| first.wrapping_add_signed(step.wrapping_mul(column as isize)))
            })
        };
        let numbers = match &self.numbers {
            Numbers::Single(all) => {
                Numbers::Single(Arc::new(places().map(|at| (**all).as_ref()[at]).collect::<Vec<_>>()))
            }
            Numbers::Double(all) => {
                Numbers::Double(Arc::new(places().map(|at| (**all).as_ref()[at]).collect::<Vec<_>>()))
            }
        };
        let layout = Layout { by_rows: true, first: 0, step: self.n_columns as isize };
        Table { numbers, layout, n_rows: rows.len(), n_columns: self.n_columns, shift: self.shift.clone() }
    }

    /// The numbers of a row that are not 0: column and value.
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (u32, f64)> {
        let (first, step) = self.row(row);
        let place = move |column: usize| first.wrapping_add_signed(step.wrapping_mul(column as isize));
        let number = move |column: usize| with_numbers!(self, all => all[place(column)].double());
        let less = move |column: usize| self.shift.as_ref().map_or(0.0, |shift| shift[column]);
        let entry = move |column: usize| (column as u32, number(column) - less(column));
        (0..self.n_columns).map(entry).filter(|entry| entry.1 != 0.0)
    }
}

/// The first number that is not finite: its line, its place in the line and its value.
fn first_infinite<T: Number>(all: &[T], layout: Layout, n_lines: usize, length: usize) -> Option<(usize, usize, f64)> {
    if layout.step.unsigned_abs() == length && n_lines > 0 {
        // Without gaps the lines are looked at as one.
        let whole = &all[layout.first.min(layout.line(n_lines - 1))..][..n_lines * length];
        if all_finite(whole) {
            return None;
        }
    }
    let line = |at: usize| &all[layout.line(at)..][..length];
    let at = (0..n_lines).find(|&at| !all_finite(line(at)))?;
    let place = line(at).iter().position(|number| !number.double().is_finite())?;
    Some((at, place, line(at)[place].double()))
}

/// Whether all numbers are finite.
fn all_finite<T: Number>(numbers: &[T]) -> bool {
    // A product with 0 is NaN unless the number is finite. No early return: the compiler tests several numbers at a time.
    let mut sums = [0.0; LANES];
    let (eights, rest) = numbers.as_chunks::<LANES>();
    for eight in eights {
        for (sum, &number) in sums.iter_mut().zip(eight) {
            *sum += 0.0 * number.double();
        }
    }
    rest.iter().for_each(|&number| sums[0] += 0.0 * number.double());
    sums.iter().all(|sum| *sum == 0.0)
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
        let Table { layout, n_columns, .. } = *self.table;
        let shift = self.table.shift.as_deref();
        if !layout.by_rows {
            let column = |place: usize| self.chosen.map_or(place, |chosen| chosen[place]);
            let lines = own.clone().map(|place| {
                let column = column(place);
                (&all[layout.line(column)..][rows.clone()], shift.map_or(0.0, |shift| shift[column]))
            });
            turned(simd, lines, rows.len(), stride, out);
        }
        for (at, row) in rows.enumerate() {
            let out = &mut out[at * stride..][..stride];
            match self.chosen {
                _ if !layout.by_rows => {}
                None => T::copy(simd, &all[layout.line(row)..][own.clone()], shift.map(|all| &all[own.clone()]), out),
                Some(chosen) => {
                    let numbers = &all[layout.line(row)..][..n_columns];
                    for (place, &column) in chosen[own.clone()].iter().enumerate() {
                        out[place] = numbers[column].double() - shift.map_or(0.0, |shift| shift[column]);
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

/// Writes columns side by side, each less a number, eight columns and eight rows at a time.
#[inline(always)]
fn turned<'a, S: Simd, T: Number + 'a>(
    simd: S,
    mut columns: impl Iterator<Item = (&'a [T], f64)>,
    n_rows: usize,
    stride: usize,
    out: &mut [f64],
) {
    let empty: &[T] = &[];
    for first in (0..stride).step_by(LANES) {
        let (mut eight, mut shift) = ([empty; LANES], [0.0; LANES]);
        for k in 0..LANES {
            (eight[k], shift[k]) = columns.next().unwrap_or((empty, 0.0));
        }
        let mut block = [[0.0; LANES]; LANES];
        for row in (0..n_rows).step_by(LANES) {
            let n = (n_rows - row).min(LANES);
            for k in 0..LANES {
                if n == LANES && !eight[k].is_empty() {
                    T::copy(simd, &eight[k][row..row + LANES], None, &mut block[k]);
                } else if !eight[k].is_empty() {
                    T::copy(simd, &eight[k][row..row + n], None, &mut block[k]);
                }
            }
            let turned = transpose(simd, block.each_ref());
            for k in 0..n {
                let out = &mut out[(row + k) * stride + first..][..LANES];
                for lane in 0..LANES {
                    out[lane] = turned[k][lane] - shift[lane];
                }
            }
        }
    }
}

/// The length of a row of a block that holds so many columns.
pub fn stride(n_columns: usize) -> usize {
    padded(n_columns.max(1))
}
