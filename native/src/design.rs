//! Samples of a classifier as a sparse matrix: by rows (samples), by columns (attributes), or with eight of either side by side.
//!
//! The scores of samples are sums over rows, the gradient of a column's weights is a sum over the column: both are the same
//! operation, on the one or the other. Nothing is added up by several threads in one place.

use crate::error::{Error, Result};
use crate::sliced::{self, Sliced};
use pulp::Simd;
use rayon::ThreadPool;
use std::ops::Range;
use std::sync::OnceLock;

/// Entries' values; those that single precision holds exactly are kept so, which halves what a pass reads.
pub enum Values {
    Ones(Vec<One>),
    Single(Vec<f32>),
    Double(Vec<f64>),
}

/// A value that is 1 and takes no memory.
#[derive(Clone, Copy, Default)]
pub struct One;

pub trait Value: Copy + Default + Send + Sync {
    fn get(self) -> f64;
    fn wrap(values: Vec<Self>) -> Values;
}

impl Value for One {
    #[inline(always)]
    fn get(self) -> f64 {
        1.0
    }

    fn wrap(values: Vec<Self>) -> Values {
        Values::Ones(values)
    }
}

impl Value for f32 {
    #[inline(always)]
    fn get(self) -> f64 {
        self.into()
    }

    fn wrap(values: Vec<Self>) -> Values {
        Values::Single(values)
    }
}

impl Value for f64 {
    #[inline(always)]
    fn get(self) -> f64 {
        self
    }

    fn wrap(values: Vec<Self>) -> Values {
        Values::Double(values)
    }
}

/// Numbers of columns or samples; in 16 bits where they fit, for a pass reads little else.
pub enum Ids {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

pub trait Id: Copy + Default + Send + Sync {
    fn at(self) -> usize;
    fn wrap(ids: Vec<Self>) -> Ids;
}

impl Id for u16 {
    #[inline(always)]
    fn at(self) -> usize {
        self.into()
    }

    fn wrap(ids: Vec<Self>) -> Ids {
        Ids::Short(ids)
    }
}

impl Id for u32 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }

    fn wrap(ids: Vec<Self>) -> Ids {
        Ids::Long(ids)
    }
}

impl Ids {
    fn of(ids: &[u32], bound: usize) -> Ids {
        if bound <= 1 << 16 { Ids::Short(ids.iter().map(|&id| id as u16).collect()) } else { Ids::Long(ids.to_vec()) }
    }

    /// Where they are in memory.
    #[inline(always)]
    pub fn address(&self) -> *const u8 {
        match self {
            Ids::Short(ids) => ids.as_ptr().cast(),
            Ids::Long(ids) => ids.as_ptr().cast(),
        }
    }

    pub fn get(&self, at: usize) -> u32 {
        match self {
            Ids::Short(ids) => ids[at].into(),
            Ids::Long(ids) => ids[at],
        }
    }
}

/// Lists of entries, one after the other. `ends[i]` is where list i ends; ids are below `bound`.
pub struct Lists {
    ends: Vec<usize>,
    ids: Ids,
    values: Values,
    bound: usize,
    /// Ranges of lists that a thread works on at a time.
    pub pieces: Vec<Range<usize>>,
}

/// The entries of all lists, as slices of the types that they are kept in.
#[derive(Clone, Copy)]
pub struct Entries<'a, I, V> {
    pub ids: &'a [I],
    pub values: &'a [V],
}

/// Calls a function that is generic over `Id` and `Value` with the entries of lists.
macro_rules! with_entries {
    ($lists:expr, $name:ident => $work:expr) => {
        match $lists.parts() {
            ($crate::design::Ids::Short(ids), $crate::design::Values::Ones(values)) => {
                let $name = $crate::design::Entries { ids, values };
                $work
            }
            ($crate::design::Ids::Short(ids), $crate::design::Values::Single(values)) => {
                let $name = $crate::design::Entries { ids, values };
                $work
            }
            ($crate::design::Ids::Short(ids), $crate::design::Values::Double(values)) => {
                let $name = $crate::design::Entries { ids, values };
                $work
            }
            ($crate::design::Ids::Long(ids), $crate::design::Values::Ones(values)) => {
                let $name = $crate::design::Entries { ids, values };
                $work
            }
            ($crate::design::Ids::Long(ids), $crate::design::Values::Single(values)) => {
                let $name = $crate::design::Entries { ids, values };
                $work
            }
            ($crate::design::Ids::Long(ids), $crate::design::Values::Double(values)) => {
                let $name = $crate::design::Entries { ids, values };
                $work
            }
        }
    };
}
pub(crate) use with_entries;

impl Values {
    fn of(values: &[f64]) -> Values {
        // Without an early end, eight are looked at together.
        let all = |holds: fn(f64) -> bool| values.iter().fold(true, |all, &value| all & holds(value));
        if all(|value| value == 1.0) {
            Values::Ones(vec![One; values.len()])
        } else if all(|value| f64::from(value as f32) == value) {
            Values::Single(values.iter().map(|&value| value as f32).collect())
        } else {
            Values::Double(values.to_vec())
        }
    }

    pub fn get(&self, at: usize) -> f64 {
        match self {
            Values::Ones(_) => 1.0,
            Values::Single(values) => values[at].get(),
            Values::Double(values) => values[at],
        }
    }
}

impl Lists {
    /// `ends` ascend to the number of entries.
    fn new(ends: Vec<usize>, ids: Ids, values: Values, bound: usize) -> Lists {
        let mut lists = Lists { ends, ids, values, bound, pieces: Vec::new() };
        assert!(with_entries!(lists, all => all.ids.iter().fold(true, |below, id| below & (id.at() < bound))));
        lists.pieces = lists.cut(PIECE);
        lists
    }

    /// Ids and values of all entries.
    pub fn parts(&self) -> (&Ids, &Values) {
        (&self.ids, &self.values)
    }

    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Ids are below it.
    pub fn bound(&self) -> usize {
        self.bound
    }

    pub fn n_entries(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Ids and values of a list, out of those of all.
    #[inline(always)]
    pub fn list<'a, I, V>(&self, list: usize, all: Entries<'a, I, V>) -> (&'a [I], &'a [V]) {
        let range = self.range(list);
        (&all.ids[range.clone()], &all.values[range])
    }

    /// Sum of value * x[id] over the entries of a list; x has an element for each id.
    #[inline(always)]
    pub fn combine_one<I: Id, V: Value>(&self, list: usize, all: Entries<'_, I, V>, x: &[f64]) -> f64 {
        let (ids, values) = self.list(list, all);
        assert!(x.len() >= self.bound && self.owns(all));
        // SAFETY: the ids are the lists' own and below `bound`, which `new` has checked and nobody can change; x is not shorter.
        let term = |id: I, value: &V| value.get() * unsafe { *x.get_unchecked(id.at()) };
        total(ids, values, term)
    }

    /// x[id] += factor * value over the entries of a list.
    #[inline(always)]
    pub fn add_to<I: Id, V: Value>(&self, list: usize, all: Entries<'_, I, V>, factor: f64, x: &mut [f64]) {
        let (ids, values) = self.list(list, all);
        assert!(x.len() >= self.bound && self.owns(all));
        for (&id, value) in ids.iter().zip(values) {
            // SAFETY: as in `combine_one`.
            unsafe { *x.get_unchecked_mut(id.at()) += factor * value.get() };
        }
    }

    /// Whether these are the lists' own entries.
    #[inline(always)]
    fn owns<I, V>(&self, all: Entries<'_, I, V>) -> bool {
        std::ptr::eq(self.ids.address(), all.ids.as_ptr().cast())
    }

    pub fn range(&self, list: usize) -> Range<usize> {
        let start = if list == 0 { 0 } else { self.ends[list - 1] };
        start..self.ends[list]
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The entries of a list: id and value.
    pub fn entries(&self, list: usize) -> impl Iterator<Item = (u32, f64)> {
        self.range(list).map(|at| (self.ids.get(at), self.values.get(at)))
    }

    /// Some of the lists, in that order.
    pub fn select(&self, lists: impl Iterator<Item = usize>) -> Lists {
        let mut ends = Vec::new();
        let (ids, values) = with_entries!(self, all => {
            let (mut ids, mut values) = (Vec::new(), Vec::new());
            for list in lists {
                let (list_ids, list_values) = self.list(list, all);
                ids.extend_from_slice(list_ids);
                values.extend_from_slice(list_values);
                ends.push(ids.len());
            }
            (Id::wrap(ids), Value::wrap(values))
        });
        Lists::new(ends, ids, values, self.bound)
    }

    /// The entries list by id; each keeps the order of the lists.
    pub fn transposed(&self) -> Lists {
        let mut ends = vec![0; self.bound];
        with_entries!(self, all => all.ids.iter().for_each(|&id| ends[id.at()] += 1));
        let mut total = 0;
        for end in &mut ends {
            // Where the list begins, until it is filled.
            total += std::mem::replace(end, total);
        }
        let short = self.len() <= 1 << 16;
        let (ids, values) = with_entries!(self, all => match short {
            true => self.distribute(all, &mut ends, |list| list as u16),
            false => self.distribute(all, &mut ends, |list| list as u32),
        });
        Lists::new(ends, ids, values, self.len())
    }

    fn distribute<I: Id, V: Value, J: Id>(
        &self,
        all: Entries<'_, I, V>,
        ends: &mut [usize],
        name: impl Fn(usize) -> J,
    ) -> (Ids, Values) {
        let (mut ids, mut values) = (vec![J::default(); all.ids.len()], vec![V::default(); all.ids.len()]);
        for list in 0..self.len() {
            for at in self.range(list) {
                let end = &mut ends[all.ids[at].at()];
                (ids[*end], values[*end]) = (name(list), all.values[at]);
                *end += 1;
            }
        }
        (J::wrap(ids), V::wrap(values))
    }

    /// Cuts the lists into ranges of about as many entries, and of whole eights. They depend on the data alone.
    fn cut(&self, entries: usize) -> Vec<Range<usize>> {
        let work = |list: usize| self.ends[list] + PER_LIST * (list + 1);
        let (mut pieces, mut start, mut done) = (Vec::new(), 0, 0);
        for list in 0..self.len() {
            let full = work(list) - done >= entries && (list + 1) % sliced::WIDTH == 0;
            if full || list + 1 == self.len() {
                pieces.push(start..list + 1);
                (start, done) = (list + 1, work(list));
            }
        }
        pieces
    }
}

/// Where a column goes that is left out.
pub const NOWHERE: u32 = u32::MAX;
/// Entries of a piece of work: some tens of microseconds' worth.
const PIECE: usize = 32_768;
/// What a list costs besides its entries, in entries.
const PER_LIST: usize = 8;

/// A sparse matrix of samples. It is kept by rows; what else a method needs is made when it asks for it first, from outside
/// of the pool, so that none of its threads waits for another.
pub struct Design {
    pub rows: Lists,
    columns: OnceLock<Lists>,
    sliced: OnceLock<[Sliced; 2]>,
}

impl Design {
    /// From compressed sparse rows: `ends[i]` is where row i ends.
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
        let kept = Values::of(values);
        let looked_at = if matches!(kept, Values::Ones(_)) { &[] } else { values };
        if let Some(at) = looked_at.iter().position(|value| !value.is_finite()) {
            let row = ends.partition_point(|&end| end <= at);
            let message = format!("sample {row}, column {}: {} is not a finite value", ids[at], values[at]);
            return Err(Error::Data(message));
        }
        Ok(Design::by_rows(Lists::new(ends, Ids::of(ids, n_columns), kept, n_columns)))
    }

    fn by_rows(rows: Lists) -> Design {
        Design { rows, columns: OnceLock::new(), sliced: OnceLock::new() }
    }

    pub fn columns(&self) -> &Lists {
        self.columns.get_or_init(|| self.rows.transposed())
    }

    /// Rows and columns, eight side by side.
    pub fn sliced(&self, pool: &ThreadPool) -> &[Sliced; 2] {
        self.sliced.get_or_init(|| {
            let made = self.columns.get().is_none().then(|| self.rows.transposed());
            let columns = made.as_ref().unwrap_or_else(|| self.columns());
            pool.install(|| [Sliced::new(&self.rows), Sliced::new(columns)])
        })
    }

    pub fn n_samples(&self) -> usize {
        self.rows.len()
    }

    pub fn n_columns(&self) -> usize {
        self.rows.bound
    }

    /// The matrix of some samples, in that order.
    pub fn select(&self, samples: &[usize]) -> Design {
        Design::by_rows(self.rows.select(samples.iter().copied()))
    }

    /// The matrix whose columns are sums of columns: `map[j]` is where column j goes (Mathur & Chakrabarti 2010, Eq. 15), or
    /// `NOWHERE`.
    pub fn merge(&self, map: &[u32], n_columns: usize) -> Design {
        let (mut ends, mut ids, mut values) = (Vec::with_capacity(self.n_samples()), Vec::new(), Vec::new());
        let (mut met, mut place) = (vec![u32::MAX; n_columns], vec![0; n_columns]);
        for sample in 0..self.n_samples() {
            for (id, value) in self.rows.entries(sample) {
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

/// The sum of a term of each entry: four sums, for one would wait for itself.
#[inline(always)]
pub fn total<I: Id, V: Value>(ids: &[I], values: &[V], term: impl Fn(I, &V) -> f64) -> f64 {
    let (id_fours, id_rest) = ids.as_chunks::<4>();
    let (value_fours, value_rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (ids, values) in id_fours.iter().zip(value_fours) {
        for k in 0..4 {
            sums[k] += term(ids[k], &values[k]);
        }
    }
    let rest: f64 = id_rest.iter().zip(value_rest).map(|(&id, value)| term(id, value)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// out += the sum of value * row `id` of a matrix over some entries. Rows have the length of `out`, whole vectors.
#[inline(always)]
pub fn combine<S: Simd, I: Id, V: Value>(simd: S, ids: &[I], values: &[V], matrix: &[f64], out: &mut [f64]) {
    let (out, _) = S::as_mut_simd_f64s(out);
    let (matrix, _) = S::as_simd_f64s(matrix);
    let mut at = 0;
    while at < out.len() {
        match out.len() - at {
            1 => tile::<S, I, V, 1>(simd, ids, values, matrix, out, at),
            2 => tile::<S, I, V, 2>(simd, ids, values, matrix, out, at),
            3 => tile::<S, I, V, 3>(simd, ids, values, matrix, out, at),
            _ => tile::<S, I, V, 4>(simd, ids, values, matrix, out, at),
        }
        at += 4;
    }
}

/// N vectors of columns, in registers.
#[inline(always)]
fn tile<S: Simd, I: Id, V: Value, const N: usize>(
    simd: S,
    ids: &[I],
    values: &[V],
    matrix: &[S::f64s],
    out: &mut [S::f64s],
    at: usize,
) {
    let width = out.len();
    let out = &mut out[at..at + N];
    let mut sums = [simd.splat_f64s(0.0); N];
    sums.copy_from_slice(out);
    for (&id, value) in ids.iter().zip(values) {
        let row: &[S::f64s; N] = matrix[id.at() * width + at..].first_chunk().expect("rows are whole");
        let value = simd.splat_f64s(value.get());
        for n in 0..N {
            sums[n] = simd.mul_add_e_f64s(value, row[n], sums[n]);
        }
    }
    out.copy_from_slice(&sums);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            let (rows, columns) = (dense(&design.rows, data.1), dense(design.columns(), data.0.len()));
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
            let (before, after) = (dense(&design.rows, data.1), dense(&design.merge(&map, 3).rows, 3));
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
            let (rows, n) = (dense(&design.rows, data.1), data.1);
            let x: Vec<f64> = (0..n).map(|j| 1.0 / (j + 1) as f64).collect();
            for (i, row) in rows.iter().enumerate() {
                let mut sums = x.clone();
                let found = with_entries!(design.rows, all => {
                    design.rows.add_to(i, all, factor, &mut sums);
                    design.rows.combine_one(i, all, &x)
                });
                let expected: f64 = row.iter().zip(&x).map(|(a, b)| a * b).sum();
                prop_assert!((found - expected).abs() < 1e-12);
                for j in 0..n {
                    prop_assert!((sums[j] - x[j] - factor * row[j]).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn pieces_cover_all_lists_in_order(data in matrix(), entries in 1usize..40) {
            let design = design(&data);
            let covered: Vec<usize> = design.rows.cut(entries).into_iter().flatten().collect();
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
