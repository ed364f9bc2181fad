//! A graph in local coordinates.

use crate::error::Result;
use crate::network::Network;
use crate::network::evidence::{Method as HiddenMethod, Observed};
use crate::network::junction::cliques::{Junction, within};
use crate::network::loopy::rule::LoopySettings;
use crate::network::loopy::slots::MessageSlots;
use crate::stochastic::view::Visited;
use crate::threads::{Interrupt, Pool};
use std::ops::Range;

/// The weights, and what all graphs have in common.
pub struct Shape {
    /// L.
    pub n_labels: usize,
    /// The number of weights of an edge feature.
    pub n_pairs: usize,
    pub n_node_features: usize,
    pub n_edge_features: usize,
    /// Pair of labels, row by row -> its weight.
    pub weight_of: Vec<usize>,
    /// Pair of labels -> a score that is added to every edge's.
    pub forbidden: Vec<f64>,
    pub method: Method,
    /// How graphs with missing labels are inferred given the others.
    pub hidden: HiddenMethod,
    /// A pool of one thread.
    pub pool: Pool,
}

/// How graphs are inferred.
#[derive(Clone, Copy)]
pub enum Method {
    /// By a junction tree with tables of at most `limit` entries.
    Exact { limit: usize },
    /// By belief propagation.
    Loopy(LoopySettings),
}

impl Shape {
    pub fn n_features(&self) -> usize {
        self.n_node_features * self.n_labels + self.n_edge_features * self.n_pairs
    }

    /// The weights of a row: node features, then edge features.
    #[inline(always)]
    pub fn row(&self, row: usize) -> Range<usize> {
        let (labels, pairs, first) = (self.n_labels, self.n_pairs, self.n_node_features);
        if row < first {
            row * labels..(row + 1) * labels
        } else {
            let start = first * labels + (row - first) * pairs;
            start..start + pairs
        }
    }
}

/// The features of nodes or edges, in compressed rows. Ids are local to a graph.
pub struct Entries {
    pub at: Vec<usize>,
    pub ids: Vec<u32>,
    pub values: Vec<f64>,
}

impl Entries {
    /// The features of a node or edge, each with its value.
    #[inline(always)]
    pub fn of(&self, index: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.at[index]..self.at[index + 1];
        self.ids[range.clone()].iter().map(|&id| id as usize).zip(self.values[range].iter().copied())
    }
}

/// What inference on a graph needs.
pub enum Engine {
    Exact(Junction),
    Loopy {
        slots: MessageSlots,
        /// 1 for the known label of each node, in whose neighbourhood propagation starts as well.
        labels: Vec<f64>,
        /// Edge -> rho of tree-reweighted propagation, which has one fixed point and needs no labels.
        appearances: Option<Vec<f64>>,
    },
}

/// A sample: a graph with its features and labels.
pub struct Graph {
    pub weight: f64,
    pub network: Network,
    pub engine: Engine,
    pub observed: Observed,
    /// Node x label -> what is added to the score in log Z: the costs of wrong labels. Empty without costs.
    pub costs: Vec<f64>,
    /// The rows of weights that the graph uses: node features, then edge features, each ascending.
    pub rows: Vec<usize>,
    /// How many of the rows are node features.
    pub n_node_rows: usize,
    pub nodes: Entries,
    pub edges: Entries,
    /// Where the graph's numbers begin among those of all graphs: nodes x labels, and edges x weights of pairs.
    pub first: [usize; 2],
}

/// The data of a graph before it is set up.
pub struct GraphData {
    pub weight: f64,
    pub network: Network,
    /// Label of each node, -1 where it is missing.
    pub labels: Vec<i32>,
    pub costs: Vec<f64>,
    /// Features by number among all node features, and among all edge features.
    pub nodes: Entries,
    pub edges: Entries,
    pub appearances: Option<Vec<f64>>,
}

impl Graph {
    /// Sets up the inference on a graph whose numbers begin at `first` among those of all graphs.
    pub fn new(shape: &Shape, data: GraphData, first: [usize; 2], interrupt: &Interrupt) -> Result<Graph> {
        let GraphData { weight, network, labels, costs, mut nodes, mut edges, appearances } = data;
        let engine = match shape.method {
            Method::Exact { limit } => {
                let junction = Junction::new(&network, interrupt)?;
                within(junction.as_ref(), limit)?;
                Engine::Exact(junction.unwrap_or_default())
            }
            Method::Loopy(_) => {
                let slots = MessageSlots::new(&network);
                let mut labelled = vec![0.0; network.n_node_scores()];
                for (node, &label) in labels.iter().enumerate().filter(|&(_, &label)| label >= 0) {
                    labelled[network.node(node).start + label as usize] = 1.0;
                }
                Engine::Loopy { slots, labels: labelled, appearances }
            }
        };
        let mut rows = localise(&mut nodes.ids, 0, 0);
        let n_node_rows = rows.len();
        rows.extend(localise(&mut edges.ids, shape.n_node_features, n_node_rows));
        let observed = Observed::new(&network, labels, shape.hidden, interrupt)?;
        Ok(Graph { weight, network, engine, observed, costs, rows, n_node_rows, nodes, edges, first })
    }

    /// Where a local row begins among the weights of the graph.
    #[inline(always)]
    pub fn place(&self, shape: &Shape, row: usize) -> usize {
        let (nodes, edges) = (row.min(self.n_node_rows), row.saturating_sub(self.n_node_rows));
        nodes * shape.n_labels + edges * shape.n_pairs
    }
}

/// Replaces ids by their places among all ids, ascending, plus `offset`; returns the ids, each once, plus `first`.
fn localise(ids: &mut [u32], first: usize, offset: usize) -> Vec<usize> {
    let mut used = ids.to_vec();
    used.sort_unstable();
    used.dedup();
    ids.iter_mut().for_each(|id| *id = (used.binary_search(id).unwrap_or_default() + offset) as u32);
    used.into_iter().map(|id| first + id as usize).collect()
}

impl Visited for &Graph {
    fn weight(self) -> f64 {
        self.weight
    }

    fn is_empty(self) -> bool {
        false
    }

    fn fetch(self) {}
}
