//! The weights of graphs in a pass: as they are, row by row.

use crate::stochastic::graphs::graph::{Graph, Shape};
use crate::stochastic::view::Layout;

/// All weights, each with a number of the solver's state.
pub struct Weights<'a> {
    shape: &'a Shape,
    pub w: &'a mut [f64],
    pub state: &'a mut [f64],
}

impl<'a> Weights<'a> {
    /// Converts w and its state by `inward`.
    pub fn new(
        shape: &'a Shape,
        w: &'a mut [f64],
        state: &'a mut [f64],
        inward: impl Fn(f64, f64) -> (f64, f64),
    ) -> Self {
        w.iter_mut().zip(&mut *state).for_each(|(w, state)| (*w, *state) = inward(*w, *state));
        Weights { shape, w, state }
    }

    /// The weights of a row, and their solver state.
    #[inline(always)]
    pub fn row(&mut self, row: usize) -> (&mut [f64], &mut [f64]) {
        let range = self.shape.row(row);
        (&mut self.w[range.clone()], &mut self.state[range])
    }

    /// Sets `local` to the weights of the graph, made of each weight and its state.
    pub fn gather(&self, graph: &Graph, local: &mut Vec<f64>, read: impl Fn(f64, f64) -> f64) {
        local.clear();
        for &row in &graph.rows {
            let range = self.shape.row(row);
            local.extend(self.w[range.clone()].iter().zip(&self.state[range]).map(|(&w, &state)| read(w, state)));
        }
    }
}

impl<'a> Layout for Weights<'a> {
    type Sample = &'a Graph;

    fn fetch(&self, _: &&'a Graph) {}

    fn everywhere(&mut self, mut work: impl FnMut(&mut f64, &mut f64)) {
        self.w.iter_mut().zip(&mut *self.state).for_each(|(w, state)| work(w, state));
    }

    fn intercept(&mut self) -> Option<(&mut [f64], &mut [f64])> {
        None
    }

    fn store(mut self, outward: impl Fn(f64, f64) -> (f64, f64)) {
        self.everywhere(|w, state| (*w, *state) = outward(*w, *state));
    }
}
