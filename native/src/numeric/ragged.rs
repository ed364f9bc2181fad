//! Ragged lists: list after list of entries, each an id and a value, in as little memory as the numbers allow.
//!
//! Length: the file has 443 lines, of which 200 are the types in which ids and values are kept, and the macro that compiles a loop
//! for each pair of them.

use crate::numeric::in_tiles;
use pulp::Simd;
use std::ops::Range;

/// The values of all entries, in the smallest type that holds every one of them exactly: a pass over the data reads less.
pub enum Values {
    /// All values are 1; only their number is kept.
    Ones(Vec<One>),
    /// Single precision holds all values exactly.
    Single(Vec<f32>),
    Double(Vec<f64>),
}

/// A value that is 1 and takes no memory.
#[derive(Clone, Copy, Default)]
pub struct One;

/// A type in which values are kept: loops over entries are compiled for each.
pub trait Value: Copy + Default + Send + Sync {
    /// The value as a double.
    fn get(self) -> f64;
    /// The values of all entries, kept in this type.
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

/// The ids of all entries (numbers of columns or of samples), in 16 bits where all of them fit: a pass over the data reads
/// little else.
pub enum Ids {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

/// A type in which ids are kept: loops over entries are compiled for each.
pub trait Id: Copy + Default + Send + Sync {
    /// The id as an index.
    fn at(self) -> usize;
    /// The ids of all entries, kept in this type.
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
    /// Keeps ids, all of them below `bound`.
    pub fn of(ids: &[u32], bound: usize) -> Ids {
        if bound <= 1 << 16 { Ids::Short(ids.iter().map(|&id| id as u16).collect()) } else { Ids::Long(ids.to_vec()) }
    }

    /// The address of the first id.
    #[inline(always)]
    pub fn address(&self) -> *const u8 {
        match self {
            Ids::Short(ids) => ids.as_ptr().cast(),
            Ids::Long(ids) => ids.as_ptr().cast(),
        }
    }

    /// The id of entry `at`.
    pub fn get(&self, at: usize) -> u32 {
        match self {
            Ids::Short(ids) => ids[at].into(),
            Ids::Long(ids) => ids[at],
        }
    }
}

/// Lists of entries, one after the other.
pub struct Lists {
    /// List -> number of its last entry plus one.
    ends: Vec<usize>,
    /// Entry -> id, below `bound`.
    ids: Ids,
    /// Entry -> value.
    values: Values,
    bound: usize,
    /// Consecutive ranges of lists; a thread works on one range at a time.
    pub pieces: Vec<Range<usize>>,
}

/// The entries of all lists, as slices of the types in which their ids and values are kept.
#[derive(Clone, Copy)]
pub struct Entries<'a, I, V> {
    pub ids: &'a [I],
    pub values: &'a [V],
}

/// Evaluates an expression with a name bound to the `Entries` of lists. The expression is compiled once for each pair of an
/// `Id` and a `Value`.
macro_rules! with_entries {
    ($lists:expr, $name:ident => $work:expr) => {
        match $lists.parts() {
            ($crate::numeric::ragged::Ids::Short(ids), values) => with_entries!(ids, values, $name => $work),
            ($crate::numeric::ragged::Ids::Long(ids), values) => with_entries!(ids, values, $name => $work),
        }
    };
    ($ids:ident, $all:ident, $name:ident => $work:expr) => {
        match $all {
            $crate::numeric::ragged::Values::Ones(values) => {
                let $name = $crate::numeric::ragged::Entries { ids: $ids, values };
                $work
            }
            $crate::numeric::ragged::Values::Single(values) => {
                let $name = $crate::numeric::ragged::Entries { ids: $ids, values };
                $work
            }
            $crate::numeric::ragged::Values::Double(values) => {
                let $name = $crate::numeric::ragged::Entries { ids: $ids, values };
                $work
            }
        }
    };
}
pub(crate) use with_entries;

impl Values {
    /// Keeps values in the smallest type that holds every one of them exactly.
    pub fn of(values: &[f64]) -> Values {
        // No early return: without one, the compiler tests eight values at a time.
        let all = |holds: fn(f64) -> bool| values.iter().fold(true, |all, &value| all & holds(value));
        if all(|value| value == 1.0) {
            Values::Ones(vec![One; values.len()])
        } else if all(|value| f64::from(value as f32) == value) {
            Values::Single(values.iter().map(|&value| value as f32).collect())
        } else {
            Values::Double(values.to_vec())
        }
    }

    /// The value of entry `at`.
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Values::Ones(_) => 1.0,
            Values::Single(values) => values[at].get(),
            Values::Double(values) => values[at],
        }
    }
}

impl Lists {
    /// Lists that end at the entries `ends`, which ascend to the number of entries. Panics if an id is not below `bound`.
    pub fn new(ends: Vec<usize>, ids: Ids, values: Values, bound: usize) -> Lists {
        let mut lists = Lists { ends, ids, values, bound, pieces: Vec::new() };
        assert!(with_entries!(lists, all => all.ids.iter().fold(true, |below, id| below & (id.at() < bound))));
        lists.pieces = cut(&lists.ends, PIECE);
        lists
    }

    /// The ids and the values of all entries, for `with_entries!`.
    pub fn parts(&self) -> (&Ids, &Values) {
        (&self.ids, &self.values)
    }

    /// List -> number of its last entry plus one.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The number that all ids are below.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// Number of entries of all lists together.
    pub fn n_entries(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The ids and the values of one list, cut from the entries `all` of these lists.
    #[inline(always)]
    pub fn list<'a, I, V>(&self, list: usize, all: Entries<'a, I, V>) -> (&'a [I], &'a [V]) {
        let range = self.range(list);
        (&all.ids[range.clone()], &all.values[range])
    }

    /// The sum of value * x[id] over the entries of a list. `x` has an element for each id; `all` are the entries of these
    /// lists.
    #[inline(always)]
    pub fn combine_one<I: Id, V: Value>(&self, list: usize, all: Entries<'_, I, V>, x: &[f64]) -> f64 {
        self.combine_as(list, all, self.list(list, all).1, x)
    }

    /// `combine_one` with other values of the list.
    #[inline(always)]
    pub fn combine_as<I: Id, V: Value, U: Value>(
        &self,
        list: usize,
        all: Entries<'_, I, V>,
        values: &[U],
        x: &[f64],
    ) -> f64 {
        assert!(x.len() >= self.bound && self.owns(all));
        // SAFETY: the ids belong to `self` (`owns`), `new` has checked that they are below `bound`, no method changes them, and
        // x has at least `bound` elements.
        // Test: `classifier::matrix::tests::sums_over_lists_and_into_lists_are_those_of_the_dense_matrix`.
        let term = |id: I, value: &U| value.get() * unsafe { *x.get_unchecked(id.at()) };
        total(self.list(list, all).0, values, term)
    }

    /// x[id] += factor * value over the entries of a list. `all` are the entries of these lists.
    #[inline(always)]
    pub fn add_to<I: Id, V: Value>(&self, list: usize, all: Entries<'_, I, V>, factor: f64, x: &mut [f64]) {
        self.add_as(list, all, self.list(list, all).1, factor, x);
    }

    /// `add_to` with other values of the list.
    #[inline(always)]
    pub fn add_as<I: Id, V: Value, U: Value>(
        &self,
        list: usize,
        all: Entries<'_, I, V>,
        values: &[U],
        factor: f64,
        x: &mut [f64],
    ) {
        assert!(x.len() >= self.bound && self.owns(all));
        for (&id, value) in self.list(list, all).0.iter().zip(values) {
            // SAFETY: ids are below `bound`, and x has at least `bound` elements, as in `combine_as`.
            unsafe { *x.get_unchecked_mut(id.at()) += factor * value.get() };
        }
    }

    /// Whether `all` are the entries of these lists.
    #[inline(always)]
    fn owns<I, V>(&self, all: Entries<'_, I, V>) -> bool {
        std::ptr::eq(self.ids.address(), all.ids.as_ptr().cast())
    }

    /// Numbers of the entries of a list.
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

    /// Id and value of each entry of a list.
    pub fn entries(&self, list: usize) -> impl Iterator<Item = (u32, f64)> {
        self.range(list).map(|at| (self.ids.get(at), self.values.get(at)))
    }

    /// New lists, copies of the lists that the iterator names: the first one named comes first.
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

    /// The transpose: list j has an entry (i, value) for each entry (j, value) of list i, smallest i first.
    pub fn transposed(&self) -> Lists {
        let ends = self.ends_of_transposed();
        // Each next place is the beginning of its list until entries have been written there.
        let mut next: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let (ids, values) = self.distribute(|list| {
            let place = next[list];
            next[list] += 1;
            place
        });
        Lists::new(ends, ids, values, self.len())
    }

    /// The ends of the lists of the transpose.
    pub fn ends_of_transposed(&self) -> Vec<usize> {
        let mut ends = vec![0; self.bound];
        with_entries!(self, all => all.ids.iter().for_each(|&id| ends[id.at()] += 1));
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        ends
    }

    /// The ids and values of the transpose, in places of the caller's choice: `place` returns where the next entry of a list
    /// of the transpose goes.
    pub fn distribute(&self, place: impl FnMut(usize) -> usize) -> (Ids, Values) {
        let short = self.len() <= 1 << 16;
        with_entries!(self, all => match short {
            true => self.distribute_as(all, place, |list| list as u16),
            false => self.distribute_as(all, place, |list| list as u32),
        })
    }

    /// `distribute` for one type of ids and one of values; `name` turns the number of a list into an id.
    fn distribute_as<I: Id, V: Value, J: Id>(
        &self,
        all: Entries<'_, I, V>,
        mut place: impl FnMut(usize) -> usize,
        name: impl Fn(usize) -> J,
    ) -> (Ids, Values) {
        let (mut ids, mut values) = (vec![J::default(); all.ids.len()], vec![V::default(); all.ids.len()]);
        for list in 0..self.len() {
            for at in self.range(list) {
                let to = place(all.ids[at].at());
                (ids[to], values[to]) = (name(list), all.values[at]);
            }
        }
        (J::wrap(ids), V::wrap(values))
    }
}

/// The distinct ids, ascending; `None` as soon as there are more than `most`, or an id is not below `bound`.
pub fn distinct(ids: &[u32], bound: usize, most: usize) -> Option<Vec<u32>> {
    let (mut seen, mut n) = (vec![false; bound], 0);
    for ids in ids.chunks(SOME) {
        for &id in ids {
            let seen = seen.get_mut(id as usize)?;
            n += usize::from(!*seen);
            *seen = true;
        }
        if n > most {
            return None;
        }
    }
    Some((0..).zip(seen).filter_map(|(id, seen)| seen.then_some(id)).collect())
}

/// Cuts lists that end at `ends` into consecutive ranges of about `entries` entries each, whose lengths are multiples of `GROUP`
/// except for the last. The ranges depend only on the data, not on the number of threads.
pub fn cut(ends: &[usize], entries: usize) -> Vec<Range<usize>> {
    let work = |list: usize| ends[list] + PER_LIST * (list + 1);
    let (mut pieces, mut start, mut done) = (Vec::new(), 0, 0);
    for list in 0..ends.len() {
        let full = work(list) - done >= entries && (list + 1) % GROUP == 0;
        if full || list + 1 == ends.len() {
            pieces.push(start..list + 1);
            (start, done) = (list + 1, work(list));
        }
    }
    pieces
}

/// The new number of a column that is left out, in maps from old to new columns.
pub const NOWHERE: u32 = u32::MAX;
/// Ids between two looks at how many are distinct.
const SOME: usize = 4096;
/// Lists that a piece of work does not separate: a slice of `classifier::sliced` has as many.
pub const GROUP: usize = 8;
/// Entries of a piece of work: they take some tens of microseconds.
pub const PIECE: usize = 32_768;
/// Cost of a list in addition to its entries, in entries.
const PER_LIST: usize = 8;

/// The sum over entries of `term`, in four partial sums: each addition to a single sum would wait for the one before.
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
    let tail: f64 = id_rest.iter().zip(value_rest).map(|(&id, value)| term(id, value)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// out += the sum over entries of value * row `id` of a matrix. Rows have the length of `out`, a multiple of `LANES`.
#[inline(always)]
pub fn combine<S: Simd, I: Id, V: Value>(simd: S, ids: &[I], values: &[V], matrix: &[f64], out: &mut [f64]) {
    let (out, _) = S::as_mut_simd_f64s(out);
    let (matrix, _) = S::as_simd_f64s(matrix);
    in_tiles!(out.len(), |at, N| tile::<S, I, V, N>(simd, ids, values, matrix, out, at));
}

/// `combine` for N vectors of columns from vector `at` on: their sums stay in registers.
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
