//! Graphs as SAG sees them. g_i is stored as marginals less the expectations given the labels: of each node and label, and of each
//! edge and weight of a pair.

use crate::stochastic::graphs::graph::Graph;
use crate::stochastic::graphs::inference::{Inference, Potentials};
use crate::stochastic::graphs::view::Graphs;
use crate::stochastic::graphs::weights::Weights;
use crate::stochastic::sag::averaging::{Accumulate, AveragedView, Averaging, Point, Sizes, subtract, swap};
use crate::stochastic::sag::proximal::Steps;
use crate::stochastic::view::Evaluator;
use crate::threads::Interrupt;
use pulp::Simd;

impl AveragedView for Graphs {
    type Averaging<'a> = Stored<'a>;

    fn sizes(&self) -> Sizes {
        let [states, edges] = self.sizes;
        Sizes { states, transitions: 0, edges }
    }

    fn averaging<'a>(
        &'a self,
        [states, _, edges]: [&'a mut [f32]; 3],
        is_lazy: bool,
        interrupt: &Interrupt,
    ) -> Stored<'a> {
        let n_rows = self.shape.n_node_features + self.shape.n_edge_features;
        Stored {
            inference: Inference::new(&self.shape, interrupt),
            there: Inference::new(&self.shape, interrupt),
            states,
            edges,
            direction: Potentials::default(),
            trial: Potentials::default(),
            steps_made: vec![0; if is_lazy { n_rows } else { 0 }],
        }
    }
}

/// Buffers for the graphs of an objective, with their stored gradients.
pub struct Stored<'a> {
    inference: Inference<'a>,
    /// At a snapshot of the weights.
    there: Inference<'a>,
    states: &'a mut [f32],
    edges: &'a mut [f32],
    /// The scores that the gradient gives, taken as weights.
    direction: Potentials,
    /// The scores at w - g * step.
    trial: Potentials,
    /// Row of weights -> how many of the recorded steps it has made.
    steps_made: Vec<u32>,
}

impl<'a> Averaging for Stored<'a> {
    type Evaluator = Inference<'a>;

    fn fetch(&self, _: usize, _: &'a Graph) {}

    fn fetch_steps(&self, _: &Weights<'a>, _: &'a Graph) {}

    fn evaluate<S: Simd>(
        &mut self,
        simd: S,
        weights: &Weights<'a>,
        Point { scale, sum }: Point,
        graph: &'a Graph,
        _searches: bool,
    ) -> f64 {
        let nll = self.inference.evaluate_at(weights, graph, |z, d| scale * (z - sum * d));
        self.inference.gradient(simd, graph);
        nll
    }

    fn nothing(&mut self, graph: &'a Graph) {
        self.inference.nothing(graph);
    }

    fn direction<S: Simd>(&mut self, _: S, graph: &'a Graph) -> f64 {
        self.inference.direction(graph, &mut self.direction)
    }

    fn trial<S: Simd>(&mut self, _: S, graph: &'a Graph, step: f64) -> f64 {
        let (here, along, to) = (self.inference.scores(), &self.direction, &mut self.trial);
        for (to, here, along) in
            [(&mut to.nodes, &here.nodes, &along.nodes), (&mut to.pairs, &here.pairs, &along.pairs)]
        {
            to.clear();
            to.extend(here.iter().zip(along).map(|(here, along)| here + step * along));
        }
        self.inference.nll(graph, &self.trial)
    }

    fn exchange(&mut self, _: usize, graph: &'a Graph) {
        let current = &mut self.inference.by_score;
        let [states, edges] = graph.first;
        for (stored, current) in
            [(&mut self.states[states..], &mut current.nodes), (&mut self.edges[edges..], &mut current.pairs)]
        {
            stored.iter_mut().zip(current).for_each(|(stored, current)| swap(stored, current));
        }
        self.inference.collect(graph);
    }

    fn subtract<S: Simd>(&mut self, simd: S, snapshot: &Weights<'a>, graph: &'a Graph) {
        let (here, there) = (&mut self.inference, &mut self.there);
        there.evaluate_at(snapshot, graph, |w, _| w);
        there.gradient(simd, graph);
        subtract(&mut here.by_score.nodes, &there.by_score.nodes);
        subtract(&mut here.by_score.pairs, &there.by_score.pairs);
        here.collect(graph);
    }

    fn accumulate<S: Simd>(&mut self, simd: S, weights: &mut Weights<'a>, graph: &'a Graph, rule: Accumulate) {
        self.inference.step(simd, weights, graph, 1.0, rule);
    }

    fn catch_up<S: Simd>(&mut self, _: S, steps: &Steps, weights: &mut Weights<'a>, graph: &'a Graph) {
        for &row in &graph.rows {
            let from = std::mem::replace(&mut self.steps_made[row], steps.now());
            let (v, d) = weights.row(row);
            v.iter_mut().zip(d).for_each(|(v, d)| *v = steps.advance(*v, *d, from));
        }
    }

    fn flush(&mut self, steps: &Steps, weights: &mut Weights<'a>) {
        for (row, count) in self.steps_made.iter_mut().enumerate() {
            let from = std::mem::take(count);
            let (v, d) = weights.row(row);
            v.iter_mut().zip(d).for_each(|(v, d)| *v = steps.advance(*v, *d, from));
        }
    }

    fn spare_intercept(&mut self, _: &Steps, _: &mut Weights<'a>, _: f64) {}
}
