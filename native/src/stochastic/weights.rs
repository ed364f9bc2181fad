//! Weights, each with a number of the solver's state, laid out for loops over a sentence.

use crate::chain::features::Features;
use crate::chain::objective::ChainObjective;
use crate::chain::objective::layout::SentenceEntries;
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::stochastic::samples::Sample;
use std::ops::Range;
use std::slice;

/// The weights of an objective, laid out for one pass.
pub struct Weights<'a> {
    features: &'a Features,
    /// All weights and their solver state. Between `new` and `store` only the entries of bigram features are up to date here.
    pub w: &'a mut [f64],
    pub state: &'a mut [f64],
    /// State features that are not in dense rows: weight and state side by side, so that one cache line serves both.
    pub cells: Vec<[f64; 2]>,
    /// The number of the first of the `cells` among all features.
    first_cell: usize,
    n_unpenalised: usize,
    /// The dense rows, numbered as in `layout`.
    pub rows: Matrix,
    /// Transitions, a row for the label that a transition leaves.
    pub pairs: Matrix,
}

/// A sample's entries of single features, from one list of its block.
pub struct Sparse<'a> {
    pub entries: &'a SentenceEntries,
    pub marks: &'a [bool],
    /// The range of the sample's entries.
    pub part: Range<usize>,
    /// An id's cell is start + id - base.
    pub start: usize,
    /// See `start`.
    pub base: usize,
}

/// The place of a weight in the layout.
#[derive(Clone, Copy)]
pub enum Cell {
    /// In `pairs`: the place of its number in the matrix.
    Pair(usize),
    /// In `rows`: the place of its number in the matrix.
    Row(usize),
    /// In `cells`.
    Single(usize),
    /// A bigram feature.
    Bigram(u32),
}

/// Padded rows of labels: each row of weights is followed by the row of their solver state.
pub struct Matrix {
    pub width: usize,
    pub values: Aligned,
}

impl Matrix {
    fn new(rows: usize, width: usize, nowhere: f64) -> Matrix {
        let mut matrix = Matrix { width, values: Aligned::new(2 * rows * width, 0.0) };
        matrix.rows().for_each(|(_, state)| state.fill(nowhere));
        matrix
    }

    /// The distance from one row of weights to the next.
    pub fn stride(&self) -> usize {
        2 * self.width
    }

    /// A row of weights, and the row of their solver state.
    #[inline(always)]
    pub fn row(&mut self, row: usize) -> (&mut [f64], &mut [f64]) {
        let (stride, width) = (self.stride(), self.width);
        self.values[row * stride..][..stride].split_at_mut(width)
    }

    /// The place among the values of the weight of a label in a row.
    #[inline(always)]
    pub fn place(&self, row: usize, label: u32) -> usize {
        row * self.stride() + label as usize
    }

    /// The weight at a place and its solver state.
    #[inline(always)]
    fn at(&mut self, place: usize) -> (&mut f64, &mut f64) {
        let (v, state) = self.values.split_at_mut(place + 1);
        (&mut v[place], &mut state[self.width - 1])
    }

    /// All rows of weights, each with the row of their solver state.
    #[inline(always)]
    pub fn rows(&mut self) -> impl Iterator<Item = (&mut [f64], &mut [f64])> {
        let (stride, width) = (self.stride(), self.width);
        self.values.chunks_exact_mut(stride).map(move |row| row.split_at_mut(width))
    }

    /// Copies features into the matrix (`load`) or out of it; `places` gives the row and the label of each feature.
    fn exchange(&mut self, places: impl Iterator<Item = (usize, usize)>, w: &mut [f64], state: &mut [f64], load: bool) {
        for (((row, label), w), state) in places.zip(w).zip(state) {
            let (v_row, state_row) = self.row(row);
            if load {
                (v_row[label], state_row[label]) = (*w, *state);
            } else {
                (*w, *state) = (v_row[label], state_row[label]);
            }
        }
    }
}

/// The row and the column of each transition in a matrix with a row for the label that a transition leaves.
pub fn pair_places(features: &Features) -> impl Iterator<Item = (usize, usize)> {
    features.transitions.iter().map(|&[from, to]| (usize::from(from), usize::from(to)))
}

/// The row and the label of each feature in dense rows.
pub fn row_places(features: &Features) -> impl Iterator<Item = (usize, usize)> {
    (0..features.n_dense).flat_map(|row| features.labels(row).iter().map(move |&label| (row, usize::from(label))))
}

/// The number of the first feature that is neither a link nor in a dense row.
pub fn first_cell(features: &Features) -> usize {
    features.first_state() + features.state_range(0..features.n_dense).end
}

impl<'a> Weights<'a> {
    /// Lays out w and its state; `inward` converts both to the numbers that the loops use. Where a row of labels has no feature,
    /// the weight is 0 and its state `nowhere`.
    pub fn new(
        objective: &'a ChainObjective,
        w: &'a mut [f64],
        state: &'a mut [f64],
        nowhere: f64,
        inward: impl Fn(f64, f64) -> (f64, f64),
    ) -> Self {
        let features = &*objective.features;
        let first_cell = first_cell(features);
        for (w, state) in w[..first_cell].iter_mut().zip(&mut state[..first_cell]) {
            (*w, *state) = inward(*w, *state);
        }
        let sparse = w[first_cell..].iter().zip(&state[first_cell..]);
        let width = numeric::padded(features.n_labels);
        let mut weights = Weights {
            features,
            cells: sparse.map(|(&w, &state)| inward(w, state).into()).collect(),
            w,
            state,
            first_cell,
            n_unpenalised: objective.n_unpenalised,
            rows: Matrix::new(features.n_dense, width, nowhere),
            pairs: Matrix::new(features.n_labels, width, nowhere),
        };
        weights.exchange(true);
        weights
    }

    /// Writes all weights and their state back to w and `state`; `outward` undoes `inward`.
    pub fn store(mut self, outward: impl Fn(f64, f64) -> (f64, f64)) {
        self.exchange(false);
        let (leading, sparse) = self.w.split_at_mut(self.first_cell);
        let (leading_state, sparse_state) = self.state.split_at_mut(self.first_cell);
        leading.iter_mut().zip(leading_state).for_each(|(w, state)| (*w, *state) = outward(*w, *state));
        for ((w, state), &[v, k]) in sparse.iter_mut().zip(sparse_state).zip(&self.cells) {
            (*w, *state) = outward(v, k);
        }
    }

    /// Copies transitions and dense rows from w and `state` to the matrices, or back.
    fn exchange(&mut self, load: bool) {
        let features = self.features;
        let pairs = 0..features.transitions.len();
        self.pairs.exchange(pair_places(features), &mut self.w[pairs.clone()], &mut self.state[pairs], load);
        let states = features.first_state()..self.first_cell;
        self.rows.exchange(row_places(features), &mut self.w[states.clone()], &mut self.state[states], load);
    }

    /// Calls `work` with every weight and its solver state: O(n_features).
    #[inline(always)]
    pub fn everywhere(&mut self, mut work: impl FnMut(&mut f64, &mut f64)) {
        for matrix in [&mut self.pairs, &mut self.rows] {
            matrix.rows().for_each(|(v, state)| v.iter_mut().zip(state).for_each(|(v, state)| work(v, state)));
        }
        let bigrams = self.features.first_bigram()..self.features.first_state();
        self.w[bigrams.clone()].iter_mut().zip(&mut self.state[bigrams]).for_each(|(v, state)| work(v, state));
        self.cells.iter_mut().for_each(|[v, state]| work(v, state));
    }

    /// The weights of the intercept, which have no penalty and which every sample uses, and their solver state.
    #[inline(always)]
    pub fn intercept(&mut self) -> Option<(&mut [f64], &mut [f64])> {
        if self.n_unpenalised == 0 {
            None
        } else if let Some([v, state]) = self.cells.last_mut() {
            Some((slice::from_mut(v), slice::from_mut(state)))
        } else {
            let (v, state) = self.rows.row(self.features.n_dense - 1);
            Some((&mut v[..self.n_unpenalised], &mut state[..self.n_unpenalised]))
        }
    }

    /// Calls `work` once with every weight that the sample uses, transitions and the given `bigrams` included.
    #[inline(always)]
    pub fn touched(&mut self, sample: Sample<'_>, bigrams: &[u32], mut work: impl FnMut(&mut [f64], &mut [f64])) {
        if sample.tokens().len() > 1 {
            self.pairs.rows().for_each(|(v, state)| work(v, state));
        }
        for ((entries, marks), &(first, last)) in
            sample.block.rows.iter().zip(&sample.marks.rows).zip(&sample.parts.rows)
        {
            for at in (first as usize..last as usize).filter(|&at| marks[at]) {
                let (v, state) = self.rows.row(entries.ids[at] as usize);
                work(v, state);
            }
        }
        for Sparse { entries, marks, part, start, base } in self.sparse(sample) {
            for at in part.filter(|&at| marks[at]) {
                let [v, state] = &mut self.cells[start + entries.ids[at] as usize - base];
                work(slice::from_mut(v), slice::from_mut(state));
            }
        }
        for &feature in bigrams {
            let (v, state) = self.bigram(feature);
            work(slice::from_mut(v), slice::from_mut(state));
        }
    }

    /// The weight of a bigram feature and its solver state.
    #[inline(always)]
    pub fn bigram(&mut self, feature: u32) -> (&mut f64, &mut f64) {
        let id = self.features.first_bigram() + feature as usize;
        (&mut self.w[id], &mut self.state[id])
    }

    /// The weight at a place of the layout and its solver state.
    #[inline(always)]
    pub fn at(&mut self, cell: Cell) -> (&mut f64, &mut f64) {
        match cell {
            Cell::Pair(place) => self.pairs.at(place),
            Cell::Row(place) => self.rows.at(place),
            Cell::Single(index) => {
                let [v, state] = &mut self.cells[index];
                (v, state)
            }
            Cell::Bigram(feature) => self.bigram(feature),
        }
    }

    /// The index of the first of the `cells` among the state features.
    #[inline(always)]
    pub fn first_sparse(&self) -> usize {
        self.first_cell - self.features.first_state()
    }

    /// A sample's entries of single features: shared, then own.
    #[inline(always)]
    pub fn sparse<'b>(&self, sample: Sample<'b>) -> [Sparse<'b>; 2] {
        let Sample { block, marks, parts, .. } = sample;
        let dense = self.first_sparse();
        let part = |(from, to): (u32, u32)| from as usize..to as usize;
        let own_start = block.own_range.start - dense;
        [
            Sparse { entries: &block.shared, marks: &marks.shared, part: part(parts.shared), start: 0, base: dense },
            Sparse { entries: &block.own, marks: &marks.own, part: part(parts.own), start: own_start, base: 0 },
        ]
    }

    /// Prefetches the cells that a later sample uses. Most rows are in the caches anyway.
    #[inline(always)]
    pub fn fetch(&self, sample: &Sample<'_>) {
        for Sparse { entries, part, start, base, .. } in self.sparse(*sample) {
            for &id in &entries.ids[part] {
                numeric::prefetch(&self.cells, start + id as usize - base);
            }
        }
    }
}
