//! All graphs of an objective.

use crate::error::Result;
use crate::stochastic::graphs::graph::{Graph, GraphData, Shape};
use crate::stochastic::graphs::inference::Inference;
use crate::stochastic::graphs::weights::Weights;
use crate::stochastic::view::View;
use crate::threads::Interrupt;

/// All graphs of an objective.
pub struct Graphs {
    pub shape: Shape,
    graphs: Vec<Graph>,
    /// The numbers of all graphs: nodes x labels, and edges x weights of pairs.
    pub sizes: [usize; 2],
}

impl Graphs {
    /// Sets up the inference on each graph. Fails if a graph is too wide for exact inference.
    pub fn new(shape: Shape, data: Vec<GraphData>, interrupt: &Interrupt) -> Result<Graphs> {
        let mut sizes = [0; 2];
        let mut graphs = Vec::with_capacity(data.len());
        for data in data {
            interrupt.check()?;
            let first = sizes;
            sizes[0] += data.network.n_node_scores();
            sizes[1] += data.network.edges().len() * shape.n_pairs;
            graphs.push(Graph::new(&shape, data, first, interrupt)?);
        }
        Ok(Graphs { shape, graphs, sizes })
    }
}

impl View for Graphs {
    type Evaluator<'a> = Inference<'a>;

    /// Inference on a graph takes some microseconds to some seconds.
    const PERIOD: usize = 1;

    fn n_features(&self) -> usize {
        self.shape.n_features()
    }

    fn n_samples(&self) -> usize {
        self.graphs.len()
    }

    fn samples(&self) -> Vec<&Graph> {
        self.graphs.iter().collect()
    }

    fn evaluator(&self, interrupt: &Interrupt) -> Inference<'_> {
        Inference::new(&self.shape, interrupt)
    }

    fn weights<'a>(
        &'a self,
        w: &'a mut [f64],
        state: &'a mut [f64],
        _nowhere: f64,
        inward: impl Fn(f64, f64) -> (f64, f64),
    ) -> Weights<'a> {
        Weights::new(&self.shape, w, state, inward)
    }
}
