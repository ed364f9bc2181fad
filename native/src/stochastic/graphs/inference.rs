//! The log-probability of a graph's labels at the current weights, and its gradient.

use crate::error::{Error, Result};
use crate::network::junction::calibrate::Conditionals;
use crate::network::loopy::rule::Propagation;
use crate::network::{Marginals, NetworkScores};
use crate::stochastic::graphs::graph::{Engine, Graph, Method, Shape};
use crate::stochastic::graphs::weights::Weights;
use crate::stochastic::steps::Rule;
use crate::stochastic::view::Evaluator;
use crate::threads::Interrupt;
use pulp::{Scalar, Simd};

/// Numbers by node and label, and by edge and weight of a pair.
#[derive(Default)]
pub struct Potentials {
    pub nodes: Vec<f64>,
    pub pairs: Vec<f64>,
}

/// Buffers to evaluate one graph after the other.
pub struct Inference<'a> {
    shape: &'a Shape,
    /// The graph's weights, row by row.
    local: Vec<f64>,
    /// Their scores.
    scores: Potentials,
    log_z: LogZ<'a>,
    /// The gradient of log p by scores.
    pub by_score: Potentials,
    /// The gradient of log p by the graph's weights, row by row.
    by_weight: Vec<f64>,
    interrupt: Interrupt,
}

/// Buffers to compute log Z.
#[derive(Default)]
struct LogZ<'a> {
    /// Scores of the labels of all nodes, with and without costs, and tables of all edges.
    raised: Vec<f64>,
    nodes: Vec<f64>,
    edges: Vec<f64>,
    /// The result of inference; None if it failed.
    reached: Option<Reached<'a>>,
    /// Expectations given the known labels: of labels of nodes, and of pairs of labels of edges.
    labelled: Vec<f64>,
    labelled_edges: Vec<f64>,
}

/// What inference has computed.
enum Reached<'a> {
    /// Log Z, and all that the marginals follow from.
    Up(Conditionals<'a>),
    Marginals(Marginals),
}

impl Graph {
    /// Computes the scores that local weights give the graph.
    pub fn score(&self, shape: &Shape, local: &[f64], scores: &mut Potentials) {
        let sized = [(&mut scores.nodes, &self.nodes, shape.n_labels), (&mut scores.pairs, &self.edges, shape.n_pairs)];
        for (scores, entries, width) in sized {
            scores.clear();
            scores.resize((entries.at.len() - 1) * width, 0.0);
            for (index, scores) in scores.chunks_exact_mut(width).enumerate() {
                for (row, value) in entries.of(index) {
                    let weights = &local[self.place(shape, row)..][..width];
                    scores.iter_mut().zip(weights).for_each(|(score, w)| *score += value * w);
                }
            }
        }
    }

    /// Computes the derivatives by local weights from those by scores.
    fn collect(&self, shape: &Shape, by_score: &Potentials, by_weight: &mut Vec<f64>) {
        by_weight.clear();
        by_weight.resize(self.place(shape, self.rows.len()), 0.0);
        let sized = [(&by_score.nodes, &self.nodes, shape.n_labels), (&by_score.pairs, &self.edges, shape.n_pairs)];
        for (by_score, entries, width) in sized {
            for (index, by_score) in by_score.chunks_exact(width).enumerate() {
                for (row, value) in entries.of(index) {
                    let sums = &mut by_weight[self.place(shape, row)..][..width];
                    sums.iter_mut().zip(by_score).for_each(|(sum, g)| *sum += value * g);
                }
            }
        }
    }

    /// Log Z.
    fn infer<'a>(
        &'a self,
        shape: &Shape,
        scores: NetworkScores<'_>,
        interrupt: &Interrupt,
    ) -> Result<(f64, Reached<'a>)> {
        match (&self.engine, shape.method) {
            (Engine::Exact(junction), _) => {
                let up = junction.conditionals(scores, None, interrupt)?;
                Ok((up.log_z, Reached::Up(up)))
            }
            (Engine::Loopy { slots, labels, appearances }, Method::Loopy(settings)) => {
                let appearances = appearances.as_deref();
                let task = Propagation { scores, slots, appearances, pool: shape.pool, interrupt };
                let propagated = match appearances {
                    Some(_) => task.run(None, &settings)?,
                    None => task.run_near(labels, &settings)?,
                };
                Ok((propagated.beliefs.log_z, Reached::Marginals(propagated.beliefs)))
            }
            (Engine::Loopy { .. }, Method::Exact { .. }) => unreachable!("the engine is the method's"),
        }
    }
}

impl<'a> LogZ<'a> {
    /// -log p of the known labels; NaN if inference fails, as with scores that are not finite. An interrupted inference returns
    /// -infinity, which every search for a step accepts at once.
    fn nll(&mut self, shape: &Shape, graph: &'a Graph, scores: &Potentials, interrupt: &Interrupt) -> f64 {
        let (nll, reached) = match self.compute(shape, graph, scores, interrupt) {
            Ok((nll, reached)) => (nll, Some(reached)),
            Err(Error::Interrupted) => (f64::NEG_INFINITY, None),
            Err(_) => (f64::NAN, None),
        };
        self.reached = reached;
        nll
    }

    fn compute(
        &mut self,
        shape: &Shape,
        graph: &'a Graph,
        scores: &Potentials,
        interrupt: &Interrupt,
    ) -> Result<(f64, Reached<'a>)> {
        self.nodes.clone_from(&scores.nodes);
        self.edges.clear();
        for weights in scores.pairs.chunks_exact(shape.n_pairs) {
            let pairs = shape.weight_of.iter().zip(&shape.forbidden);
            self.edges.extend(pairs.map(|(&pair, forbidden)| weights[pair] + forbidden));
        }
        for (expectations, size) in [
            (&mut self.labelled, graph.network.n_node_scores()),
            (&mut self.labelled_edges, graph.network.n_edge_scores()),
        ] {
            expectations.clear();
            expectations.resize(size, 0.0);
        }
        let plain = NetworkScores::new(&graph.network, &self.nodes, &self.edges)?;
        let labelled = (&mut self.labelled[..], &mut self.labelled_edges[..]);
        let score = graph.observed.expectations(plain, labelled, interrupt)?;
        self.raised.clone_from(&self.nodes);
        self.raised.iter_mut().zip(&graph.costs).for_each(|(score, cost)| *score += cost);
        let raised = NetworkScores { node: &self.raised, ..plain };
        let (log_z, reached) = graph.infer(shape, raised, interrupt)?;
        Ok((log_z - score, reached))
    }

    /// After `nll`: the gradient of log p by scores, times the graphs' weight. NaN if inference failed; zeros after an interrupt,
    /// so that what a solver stores stays finite.
    fn gradient(&mut self, shape: &Shape, graph: &Graph, by_score: &mut Potentials, interrupt: &Interrupt) {
        let scores = NetworkScores { network: &graph.network, node: &self.raised, edge: &self.edges };
        let marginals = match self.reached.take() {
            Some(Reached::Up(up)) => up.marginals(scores, None, interrupt).ok(),
            Some(Reached::Marginals(marginals)) => Some(marginals),
            None => None,
        };
        by_score.pairs.clear();
        by_score.nodes.clear();
        let Some(marginals) = marginals else {
            let fill = if interrupt.is_set() { 0.0 } else { f64::NAN };
            by_score.nodes.resize(self.nodes.len(), fill);
            by_score.pairs.resize(graph.network.edges().len() * shape.n_pairs, fill);
            return;
        };
        let factor = graph.weight;
        by_score.nodes.extend(self.labelled.iter().zip(&marginals.nodes).map(|(labelled, p)| factor * (labelled - p)));
        by_score.pairs.resize(graph.network.edges().len() * shape.n_pairs, 0.0);
        let tables = self.labelled_edges.chunks_exact(shape.weight_of.len());
        let tables = tables.zip(marginals.edges.chunks_exact(shape.weight_of.len()));
        for (out, (labelled, p)) in by_score.pairs.chunks_exact_mut(shape.n_pairs).zip(tables) {
            let pairs = shape.weight_of.iter().zip(labelled.iter().zip(p));
            pairs.for_each(|(&pair, (labelled, p))| out[pair] += factor * (labelled - p));
        }
    }
}

impl<'a> Inference<'a> {
    /// Buffers for graphs of a shape, whose inference `interrupt` ends.
    pub fn new(shape: &'a Shape, interrupt: &Interrupt) -> Self {
        Inference {
            shape,
            local: Vec::new(),
            scores: Potentials::default(),
            log_z: LogZ::default(),
            by_score: Potentials::default(),
            by_weight: Vec::new(),
            interrupt: interrupt.clone(),
        }
    }

    /// After a change of the gradient by scores: the gradient by weights.
    pub fn collect(&mut self, graph: &Graph) {
        graph.collect(self.shape, &self.by_score, &mut self.by_weight);
    }

    /// The scores of the weights at which the graph was evaluated.
    pub fn scores(&self) -> &Potentials {
        &self.scores
    }

    /// Computes the scores of the gradient taken as weights; returns the gradient's squared norm.
    pub fn direction(&self, graph: &Graph, scores: &mut Potentials) -> f64 {
        graph.score(self.shape, &self.by_weight, scores);
        self.by_weight.iter().map(|g| g * g).sum()
    }

    /// -log p of the known labels at scores.
    pub fn nll(&mut self, graph: &'a Graph, scores: &Potentials) -> f64 {
        self.log_z.nll(self.shape, graph, scores, &self.interrupt)
    }

    /// -log p of the known labels at weights made of each stored weight and its state.
    pub fn evaluate_at(&mut self, weights: &Weights<'_>, graph: &'a Graph, read: impl Fn(f64, f64) -> f64) -> f64 {
        weights.gather(graph, &mut self.local, read);
        graph.score(self.shape, &self.local, &mut self.scores);
        self.log_z.nll(self.shape, graph, &self.scores, &self.interrupt)
    }
}

impl<'a> Evaluator for Inference<'a> {
    type Sample = &'a Graph;
    type Weights = Weights<'a>;

    fn begin(&mut self, _: &'a Graph) {}

    fn evaluate<S: Simd>(&mut self, _: S, weights: &Weights<'a>, scale: f64, graph: &'a Graph) -> f64 {
        self.evaluate_at(weights, graph, |w, _| scale * w)
    }

    fn trial<S: Simd>(&mut self, simd: S, weights: &Weights<'a>, scale: f64, graph: &'a Graph) -> f64 {
        self.evaluate(simd, weights, scale, graph)
    }

    fn gradient<S: Simd>(&mut self, _: S, graph: &'a Graph) {
        self.log_z.gradient(self.shape, graph, &mut self.by_score, &self.interrupt);
        self.collect(graph);
    }

    fn nothing(&mut self, graph: &'a Graph) {
        self.by_score.nodes.clear();
        self.by_score.nodes.resize(graph.network.n_node_scores(), 0.0);
        self.by_score.pairs.clear();
        self.by_score.pairs.resize(graph.network.edges().len() * self.shape.n_pairs, 0.0);
        self.collect(graph);
    }

    #[inline(always)]
    fn step<S: Simd>(&self, _: S, weights: &mut Weights<'a>, graph: &'a Graph, length: f64, rule: impl Rule) {
        let scalar = Scalar::new();
        let mut gradient = self.by_weight.iter();
        for &row in &graph.rows {
            let (w, state) = weights.row(row);
            for ((w, state), g) in w.iter_mut().zip(state).zip(&mut gradient) {
                rule.step(scalar, w, state, length * g, true);
            }
        }
    }

    #[inline(always)]
    fn touched(&self, weights: &mut Weights<'a>, graph: &'a Graph, mut work: impl FnMut(&mut [f64], &mut [f64])) {
        for &row in &graph.rows {
            let (w, state) = weights.row(row);
            work(w, state);
        }
    }
}
