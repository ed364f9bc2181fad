//! Lists of entries, eight side by side: sliced ELLPACK with sorting, "SELL-C-sigma" (Kreutzer, Hager, Wellein, Fehske & Bishop
//! 2014, "A unified sparse matrix data format", section 3).
//!
//! A sum over a list of five entries spends most of its time entering and leaving a loop. Eight lists of about the same length
//! share one loop, whose eight sums do not wait for each other. Lists are sorted by length within each piece of work.
//!
//! Departure from the paper:
//! - no padding: entries of a list beyond the length of the shortest of its eight are stored list by list, after the entries
//!   that are side by side.

use crate::numeric::ragged::{Entries, GROUP, Id, Ids, Lists, PIECE, Value, Values, cut, total, with_entries};
use crate::threads::parts;
use rayon::prelude::*;
use std::ops::Range;

/// Lists in a slice.
const WIDTH: usize = GROUP;

/// Lists of entries in slices of eight.
pub struct Sliced {
    slices: Vec<Slice>,
    /// Numbers of the lists, slice by slice.
    members: Vec<u32>,
    ids: Ids,
    values: Values,
    /// The number that all ids are below.
    bound: usize,
    /// Consecutive ranges of lists, whole slices each; a thread works on one range at a time.
    pub pieces: Vec<Range<usize>>,
}

/// Eight lists, or fewer at the end of a piece.
struct Slice {
    /// Number of the first entry.
    start: usize,
    /// Entries of each list that stand side by side; 0 if there are fewer than eight lists.
    shared: usize,
    /// Entries of each list after the shared ones.
    unshared: [u32; WIDTH],
}

impl Sliced {
    /// The same lists in slices. Runs on the current thread pool.
    pub fn new(lists: &Lists) -> Sliced {
        let (members, slices) = layout(lists.ends(), &lists.pieces);
        let (ids, values) = with_entries!(lists, all => arranged(lists, all, &slices, &members));
        Sliced { slices, members, ids, values, bound: lists.bound(), pieces: lists.pieces.clone() }
    }

    /// The transpose of lists in slices, made in one step: the transposed lists would take as much memory once more.
    pub fn transposed(lists: &Lists) -> Sliced {
        let ends = lists.ends_of_transposed();
        let pieces = cut(&ends, PIECE);
        let (members, slices) = layout(&ends, &pieces);
        let mut next = beginnings(&slices, &members);
        let (ids, values) = lists.distribute(|list| next[list].take());
        Sliced { slices, members, ids, values, bound: lists.len(), pieces }
    }

    /// The ids and the values of all entries, for `with_entries!`.
    fn parts(&self) -> (&Ids, &Values) {
        (&self.ids, &self.values)
    }

    /// Writes the sum of value * x[id] over the entries of each list of a piece; `x` has an element for each id.
    pub fn combine(&self, piece: Range<usize>, x: &[f64], out: &mut [f64]) {
        with_entries!(self, all => self.run(piece, all, x, out));
    }

    /// `combine` for one type of ids and one of values.
    fn run<I: Id, V: Value>(&self, piece: Range<usize>, all: Entries<'_, I, V>, x: &[f64], out: &mut [f64]) {
        assert!(x.len() >= self.bound);
        // SAFETY: `all` are the entries of `self` (`combine`), copied from lists that have checked that ids are below `bound`;
        // x has at least `bound` elements. Test: `tests::sums_are_those_of_the_lists`.
        let term = |id: I, value: &V| value.get() * unsafe { *x.get_unchecked(id.at()) };
        let slices = &self.slices[piece.start / WIDTH..piece.end.div_ceil(WIDTH)];
        for (slice, lists) in slices.iter().zip(self.members[piece.clone()].chunks(WIDTH)) {
            let end = slice.start + slice.shared * WIDTH;
            let (ids, _) = all.ids[slice.start..end].as_chunks::<WIDTH>();
            let (values, _) = all.values[slice.start..end].as_chunks::<WIDTH>();
            let mut sums = [0.0; WIDTH];
            for (ids, values) in ids.iter().zip(values) {
                for k in 0..WIDTH {
                    sums[k] += term(ids[k], &values[k]);
                }
            }
            if slice.unshared != [0; WIDTH] {
                let mut at = end;
                for (sum, &unshared) in sums.iter_mut().zip(&slice.unshared) {
                    let range = at..at + unshared as usize;
                    at = range.end;
                    *sum += total(&all.ids[range.clone()], &all.values[range], term);
                }
            }
            for (&list, sum) in lists.iter().zip(sums) {
                out[list as usize - piece.start] = sum;
            }
        }
    }
}

/// The lists that end at `ends`, by length within each piece, and the extents of their slices, eight lists a slice.
fn layout(ends: &[usize], pieces: &[Range<usize>]) -> (Vec<u32>, Vec<Slice>) {
    let length = |list: usize| ends[list] - if list == 0 { 0 } else { ends[list - 1] };
    let mut members: Vec<u32> = (0..ends.len() as u32).collect();
    let sorted = parts(&mut members, pieces.iter().map(Range::len));
    sorted.into_par_iter().for_each(|piece| piece.sort_by_key(|&list| length(list as usize)));
    let mut start = 0;
    let slice = |lists: &[u32]| {
        let mut lengths = [0; WIDTH];
        lengths.iter_mut().zip(lists).for_each(|(to, &list)| *to = length(list as usize) as u32);
        let shared = lengths.into_iter().min().unwrap_or(0);
        let slice = Slice { start, shared: shared as usize, unshared: lengths.map(|length| length - shared) };
        start += lengths.iter().map(|&length| length as usize).sum::<usize>();
        slice
    };
    let slices = members.chunks(WIDTH).map(slice).collect();
    (members, slices)
}

/// Where the next entry of a list goes.
#[derive(Clone, Copy, Default)]
struct Next {
    place: usize,
    /// Entries that still come side by side with those of seven other lists.
    shared: usize,
    /// The place of the first entry after these.
    unshared: usize,
}

impl Next {
    /// Returns the place, and moves on to the next.
    fn take(&mut self) -> usize {
        if self.shared == 0 {
            self.unshared += 1;
            return self.unshared - 1;
        }
        self.shared -= 1;
        self.place += WIDTH;
        self.place - WIDTH
    }
}

/// The places of the first entries of all lists.
fn beginnings(slices: &[Slice], members: &[u32]) -> Vec<Next> {
    let mut next = vec![Next::default(); members.len()];
    for (slice, lists) in slices.iter().zip(members.chunks(WIDTH)) {
        let mut unshared = slice.start + slice.shared * WIDTH;
        for (k, (&list, &more)) in lists.iter().zip(&slice.unshared).enumerate() {
            next[list as usize] = Next { place: slice.start + k, shared: slice.shared, unshared };
            unshared += more as usize;
        }
    }
    next
}

/// Copies the entries of the lists slice by slice: first the shared entries side by side, then the unshared ones list by list.
fn arranged<I: Id, V: Value>(
    lists: &Lists,
    all: Entries<'_, I, V>,
    slices: &[Slice],
    members: &[u32],
) -> (Ids, Values) {
    let n = lists.n_entries();
    let (mut ids, mut values) = (vec![I::default(); n], vec![V::default(); n]);
    let starts = slices.iter().map(|slice| slice.start).chain([n]);
    let sizes: Vec<usize> = starts.clone().skip(1).zip(starts).map(|(end, start)| end - start).collect();
    let places = parts(&mut ids, sizes.iter().copied()).into_par_iter().zip(parts(&mut values, sizes.iter().copied()));
    let work = places.zip(slices).zip(members.par_chunks(WIDTH));
    work.with_min_len(256).for_each(|(((ids, values), slice), of)| {
        let mut at = slice.shared * WIDTH;
        for (k, &list) in of.iter().enumerate() {
            let (list_ids, list_values) = lists.list(list as usize, all);
            let (shared_ids, unshared_ids) = list_ids.split_at(slice.shared);
            let (shared_values, unshared_values) = list_values.split_at(slice.shared);
            for (t, (&id, &value)) in shared_ids.iter().zip(shared_values).enumerate() {
                (ids[t * WIDTH + k], values[t * WIDTH + k]) = (id, value);
            }
            ids[at..at + unshared_ids.len()].copy_from_slice(unshared_ids);
            values[at..at + unshared_ids.len()].copy_from_slice(unshared_values);
            at += unshared_ids.len();
        }
    });
    (I::wrap(ids), V::wrap(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::matrix::Design;
    use crate::threads;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_those_of_the_lists(
            rows in prop::collection::vec(prop::collection::vec((0u32..40, prop_oneof![Just(1.0), -2.0..2.0]), 0..60), 0..80),
        ) {
            let ends: Vec<usize> = rows.iter().scan(0, |end, row| { *end += row.len(); Some(*end) }).collect();
            let (ids, values): (Vec<u32>, Vec<f64>) = rows.into_iter().flatten().unzip();
            let design = Design::new(ends, &ids, &values, 40).unwrap();
            let pool = threads::pool(2).unwrap();
            for (lists, sliced) in [design.rows(), design.columns()].into_iter().zip(design.sliced(pool)) {
                let x: Vec<f64> = (0..lists.bound()).map(|i| 1.0 / (i + 1) as f64).collect();
                let mut sums = vec![f64::NAN; lists.len()];
                let places = parts(&mut sums, sliced.pieces.iter().map(Range::len));
                sliced.pieces.iter().zip(places).for_each(|(piece, out)| sliced.combine(piece.clone(), &x, out));
                for (list, sum) in sums.into_iter().enumerate() {
                    let expected: f64 = lists.entries(list).map(|(id, value)| value * x[id as usize]).sum();
                    prop_assert!((sum - expected).abs() < 1e-12);
                }
            }
        }
    }
}
