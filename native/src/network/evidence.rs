//! Inference in a network some of whose variables are observed: the hidden ones are inferred, row by row of a data set.

use crate::error::{Error, Result};
use crate::network::junction::cliques::{Junction, within, zeros};
use crate::network::loopy::rule::{LoopySettings, Propagation, Schedule};
use crate::network::loopy::run::Propagated;
use crate::network::loopy::slots::MessageSlots;
use crate::network::{Marginals, Network, NetworkScores};
use crate::threads::{Interrupt, Pool, pool, share};
use std::sync::OnceLock;

/// The state of a hidden variable in a row of data.
pub const HIDDEN: i32 = -1;
/// Most blocks into which rows are divided. Each block has its own sums over edges, and one thread works on it.
const BLOCKS: usize = 32;

/// A method of inference.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// Elimination, with tables of at most `limit` entries.
    Exact { limit: usize },
    /// Loopy belief propagation.
    LoopyBp { damping: f64, tolerance: f64, max_iterations: usize },
}

/// The network that the hidden variables of a row form.
pub struct Hidden {
    /// Variable of this network -> its number in the whole network.
    pub variables: Vec<u32>,
    pub network: Network,
    /// Edge of this network -> its number in the whole network. First and second variable are the same.
    pub edges: Vec<u32>,
}

impl Network {
    /// The network of the hidden variables of a row, which gives a state or `HIDDEN` for each variable.
    pub fn given(&self, observed: &[i32]) -> Result<Hidden> {
        let is_hidden = |v: u32| observed[v as usize] == HIDDEN;
        let variables: Vec<u32> = (0..self.n_variables() as u32).filter(|&v| is_hidden(v)).collect();
        let place = |v| variables.binary_search(&v).unwrap_or_default() as u32;
        let mut edges = Vec::new();
        for &v in &variables {
            let around = self.neighbours(v as usize).iter();
            let later = around.filter(|neighbour| !neighbour.first && is_hidden(neighbour.variable));
            edges.extend(later.map(|neighbour| neighbour.edge));
        }
        let ends = edges.iter().map(|&edge| self.edges()[edge as usize]).map(|(i, j)| (place(i), place(j))).collect();
        let states = variables.iter().map(|&v| self.states()[v as usize]).collect();
        Ok(Hidden { network: Network::new(states, ends)?, variables, edges })
    }
}

impl Hidden {
    /// Scores of the hidden network. The node scores of a variable gain, for each observed neighbour, the row or column of
    /// their edge's table that belongs to the observed state.
    pub fn scores(&self, all: NetworkScores<'_>, observed: &[i32]) -> (Vec<f64>, Vec<f64>) {
        let network = all.network;
        let mut node = Vec::with_capacity(self.network.n_node_scores());
        for &v in &self.variables {
            let from = node.len();
            node.extend_from_slice(&all.node[network.node(v as usize)]);
            for neighbour in network.neighbours(v as usize) {
                let state = observed[neighbour.variable as usize];
                if state != HIDDEN {
                    let table = network.table_from(all.edge, neighbour);
                    node[from..].iter_mut().enumerate().for_each(|(x, to)| *to += table.at(x, state as usize));
                }
            }
        }
        let edge = self.edges.iter().flat_map(|&edge| &all.edge[network.table(edge as usize)]).copied().collect();
        (node, edge)
    }
}

/// The distributions of the hidden variables of all rows.
pub struct Completed {
    /// Row -> log of the sum of exp(score) over all states of its hidden variables.
    pub log_z: Vec<f64>,
    /// Row after row, the marginals of all variables, laid out as the node scores; the observed state has probability 1.
    pub beliefs: Vec<f64>,
    /// Weighted sum over rows of the probabilities of all pairs of states of all edges, laid out as the edge scores.
    pub edge_expectations: Vec<f64>,
    /// Number of rows for which the method has not converged.
    pub unconverged: usize,
}

/// A data set.
pub struct Observations<'a> {
    /// Row after row, a state or `HIDDEN` for each variable.
    pub data: &'a [i32],
    /// Row -> weight; without weights all are 1.
    pub weights: Option<&'a [f64]>,
}

impl Observations<'_> {
    /// Fails if a state or a weight is wrong; returns the number of rows.
    fn check(&self, network: &Network) -> Result<usize> {
        let width = network.n_variables();
        let n = self.data.len() / width.max(1);
        for (row, states) in self.data.chunks_exact(width.max(1)).enumerate() {
            for (v, (&state, &r)) in states.iter().zip(network.states()).enumerate() {
                if state < HIDDEN || i64::from(state) >= i64::from(r) {
                    return Err(Error::Data(format!(
                        "row {row}, variable {v}: state {state} must be in 0..{r}, or -1 for hidden"
                    )));
                }
            }
        }
        if let Some(weights) = self.weights {
            if weights.len() != n {
                return Err(Error::Option(format!("{} weights for {n} rows", weights.len())));
            }
            if let Some(row) = weights.iter().position(|weight| !weight.is_finite()) {
                return Err(Error::Option(format!("weights[{row}] is {}; weights must be finite", weights[row])));
            }
        }
        Ok(n)
    }
}

/// The hidden network of all rows with the same observed variables. Rows are visited pattern by pattern.
struct Pattern {
    /// Variable -> whether it is observed.
    observed: Vec<bool>,
    hidden: Hidden,
    /// For the exact method; none if the hidden network is too dense.
    junction: Option<Junction>,
    /// For belief propagation, made on first use.
    slots: OnceLock<MessageSlots>,
}

impl Pattern {
    fn new(network: &Network, row: &[i32], method: Method, interrupt: &Interrupt) -> Result<Pattern> {
        let hidden = network.given(row)?;
        let junction = match method {
            Method::Exact { .. } => Junction::new(&hidden.network, interrupt)?,
            Method::LoopyBp { .. } => None,
        };
        Ok(Pattern { observed: pattern(row).collect(), hidden, junction, slots: OnceLock::new() })
    }

    /// Marginals of the hidden network with the given scores, and whether the method has converged.
    fn infer(&self, scores: NetworkScores<'_>, method: Method, interrupt: &Interrupt) -> Result<(Marginals, bool)> {
        match method {
            Method::Exact { limit } => {
                let up = within(self.junction.as_ref(), limit)?.conditionals(scores, None, interrupt)?;
                Ok((up.marginals(scores, None, interrupt)?, true))
            }
            Method::LoopyBp { damping, tolerance, max_iterations } => {
                let settings = LoopySettings { damping, tolerance, max_iterations, schedule: Schedule::Flooding };
                let slots = self.slots.get_or_init(|| MessageSlots::new(scores.network));
                // Threads work on different rows; each row has one thread.
                let task = Propagation { scores, slots, appearances: None, pool: pool(1)?, interrupt };
                let Propagated { beliefs, report, .. } = task.run(None, &settings)?;
                Ok((beliefs, report.residual <= tolerance))
            }
        }
    }
}

/// Variable -> whether it is observed in the row.
fn pattern(row: &[i32]) -> impl Iterator<Item = bool> + '_ {
    row.iter().map(|&state| state != HIDDEN)
}

/// Consecutive rows, and the places of their results.
struct RowBlock<'a> {
    /// Number of the first row.
    first: usize,
    data: &'a [i32],
    log_z: &'a mut [f64],
    beliefs: &'a mut [f64],
}

/// The inference of the hidden variables of a data set.
struct Completion<'a> {
    /// The scores of the whole network.
    all: NetworkScores<'a>,
    weights: Option<&'a [f64]>,
    method: Method,
    interrupt: &'a Interrupt,
}

impl Completion<'_> {
    /// Infers all rows of a block, pattern by pattern. Returns the block's weighted sum of the probabilities of all pairs of
    /// states of all edges, and the number of rows that have not converged.
    fn complete(&self, block: RowBlock<'_>) -> Result<(Vec<f64>, usize)> {
        let network = self.all.network;
        let width = network.n_variables();
        let mut sums = vec![0.0; network.n_edge_scores()];
        let mut unconverged = 0;
        let mut visits: Vec<usize> = (0..block.log_z.len()).collect();
        let row = |r: usize| &block.data[r * width..(r + 1) * width];
        visits.sort_by(|&a, &b| pattern(row(a)).cmp(pattern(row(b))));
        let mut last: Option<Pattern> = None;
        for r in visits {
            self.interrupt.check()?;
            let weight = self.weights.map_or(1.0, |weights| weights[block.first + r]);
            let beliefs = &mut block.beliefs[r * network.n_node_scores()..(r + 1) * network.n_node_scores()];
            let same = last.take().filter(|last| pattern(row(r)).eq(last.observed.iter().copied()));
            let current = match same {
                None if row(r).contains(&HIDDEN) => Some(Pattern::new(network, row(r), self.method, self.interrupt)?),
                same => same,
            };
            let inferred = self.row(current.as_ref(), row(r), weight, beliefs, &mut sums);
            let (log_z, converged) = inferred.map_err(|error| named(block.first + r, error))?;
            block.log_z[r] = log_z;
            unconverged += usize::from(!converged);
            last = current;
        }
        Ok((sums, unconverged))
    }

    /// Enters a row with its pattern, if variables are hidden, into the results; returns its log Z, and whether the method has
    /// converged.
    fn row(
        &self,
        pattern: Option<&Pattern>,
        row: &[i32],
        weight: f64,
        beliefs: &mut [f64],
        sums: &mut [f64],
    ) -> Result<(f64, bool)> {
        let score = self.observe(row, weight, beliefs, sums);
        let Some(pattern) = pattern else { return Ok((score, true)) };
        let (marginals, converged) = self.infer(pattern, row)?;
        self.infuse(&pattern.hidden, &marginals, row, weight, beliefs, sums);
        Ok((score + marginals.log_z, converged))
    }

    /// Enters the observed variables of a row, and the edges between them, into the results; returns their score.
    fn observe(&self, row: &[i32], weight: f64, beliefs: &mut [f64], sums: &mut [f64]) -> f64 {
        let NetworkScores { network, node, edge } = self.all;
        let mut score = 0.0;
        for (v, &state) in row.iter().enumerate().filter(|&(_, &state)| state != HIDDEN) {
            let at = network.node(v).start + state as usize;
            beliefs[at] = 1.0;
            score += node[at];
        }
        for (e, &(i, j)) in network.edges().iter().enumerate() {
            let (a, b) = (row[i as usize], row[j as usize]);
            if a != HIDDEN && b != HIDDEN {
                let at = network.table(e).start + a as usize * network.states()[j as usize] as usize + b as usize;
                sums[at] += weight;
                score += edge[at];
            }
        }
        score
    }

    /// Marginals of the hidden variables of a row, and whether they converged; `pattern` is the row's pattern.
    fn infer(&self, pattern: &Pattern, row: &[i32]) -> Result<(Marginals, bool)> {
        let (node, edge) = pattern.hidden.scores(self.all, row);
        let scores = NetworkScores { network: &pattern.hidden.network, node: &node, edge: &edge };
        pattern.infer(scores, self.method, self.interrupt)
    }

    /// Enters the hidden variables of a row, and their edges, into the results.
    fn infuse(
        &self,
        hidden: &Hidden,
        marginals: &Marginals,
        row: &[i32],
        weight: f64,
        beliefs: &mut [f64],
        sums: &mut [f64],
    ) {
        let network = self.all.network;
        for (at, &v) in hidden.variables.iter().enumerate() {
            let marginal = &marginals.nodes[hidden.network.node(at)];
            beliefs[network.node(v as usize)].copy_from_slice(marginal);
            for neighbour in network.neighbours(v as usize) {
                let state = row[neighbour.variable as usize];
                if state != HIDDEN {
                    let (step, other) = network.strides(neighbour);
                    let table = &mut sums[network.table(neighbour.edge as usize)][state as usize * other..];
                    table.iter_mut().step_by(step).zip(marginal).for_each(|(sum, p)| *sum += weight * p);
                }
            }
        }
        for (at, &edge) in hidden.edges.iter().enumerate() {
            let table = &marginals.edges[hidden.network.table(at)];
            sums[network.table(edge as usize)].iter_mut().zip(table).for_each(|(sum, p)| *sum += weight * p);
        }
    }
}

/// A single row whose hidden variables are inferred again and again, with different scores.
pub struct Observed {
    row: Vec<i32>,
    pattern: Option<Pattern>,
    method: Method,
}

impl Observed {
    /// A state or `HIDDEN` for each variable of a network, all of which have been checked.
    pub fn new(network: &Network, row: Vec<i32>, method: Method, interrupt: &Interrupt) -> Result<Observed> {
        let is_hidden = row.contains(&HIDDEN);
        let pattern = is_hidden.then(|| Pattern::new(network, &row, method, interrupt)).transpose()?;
        Ok(Observed { row, pattern, method })
    }

    /// The log of the sum of exp(score) over all states of the hidden variables. Adds the probabilities of all states of variables,
    /// and of all pairs of states of edges, to two slices.
    pub fn expectations(
        &self,
        all: NetworkScores<'_>,
        (nodes, edges): (&mut [f64], &mut [f64]),
        interrupt: &Interrupt,
    ) -> Result<f64> {
        let task = Completion { all, weights: None, method: self.method, interrupt };
        Ok(task.row(self.pattern.as_ref(), &self.row, 1.0, nodes, edges)?.0)
    }
}

/// The error with the number of its row.
fn named(row: usize, error: Error) -> Error {
    match error {
        Error::Option(message) => Error::Option(format!("row {row}: {message}")),
        other => other,
    }
}

/// Infers the hidden variables of every row of a data set. A row without hidden variables costs O(variables + edges).
pub fn complete(
    all: NetworkScores<'_>,
    rows: Observations<'_>,
    method: Method,
    threads: Pool,
    interrupt: &Interrupt,
) -> Result<Completed> {
    let network = all.network;
    let n = rows.check(network)?;
    let (width, states) = (network.n_variables(), network.n_node_scores());
    let mut log_z = vec![0.0; n];
    let mut beliefs = zeros(n.saturating_mul(states))?;
    let length = n.div_ceil(BLOCKS).max(1);
    let data = rows.data.chunks((length * width).max(1));
    let outputs = log_z.chunks_mut(length).zip(beliefs.chunks_mut((length * states).max(1)));
    let blocks = data.zip(outputs).enumerate();
    let blocks =
        blocks.map(|(at, (data, (log_z, beliefs)))| RowBlock { first: at * length, data, log_z, beliefs }).collect();
    let task = Completion { all, weights: rows.weights, method, interrupt };
    let mut edge_expectations = vec![0.0; network.n_edge_scores()];
    let mut unconverged = 0;
    for outcome in share(threads, blocks, |block| task.complete(block)) {
        let (sums, count) = outcome?;
        edge_expectations.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
        unconverged += count;
    }
    Ok(Completed { log_z, beliefs, edge_expectations, unconverged })
}
