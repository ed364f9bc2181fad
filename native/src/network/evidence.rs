//! Networks of which some variables have been observed: inference on those that have not, row by row of a data set.

use crate::error::{Error, Result};
use crate::network::Network;
use crate::network::junction::{self, Junction, Scores};
use crate::network::loopy::{self, Schedule, Slots};
use crate::threads::{Interrupt, pool, share};
use rayon::ThreadPool;
use std::cell::OnceCell;

/// Data's mark of a variable that has not been observed.
pub const HIDDEN: i32 = -1;
/// Rows are divided into so many blocks, each with its own sums over edges; it bounds the threads that share the work.
const BLOCKS: usize = 32;

/// How to infer what is hidden.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// By elimination, with tables of at most so many entries.
    Exact {
        limit: usize,
    },
    LoopyBp {
        damping: f64,
        tolerance: f64,
        max_iterations: usize,
    },
}

/// The network of hidden variables.
pub struct Hidden {
    pub variables: Vec<u32>,
    pub network: Network,
    /// For each of its edges the one that it is in the whole network; its ends are in the same order.
    pub edges: Vec<u32>,
}

impl Network {
    /// The network of the variables that an observation, a state or -1 of each, leaves hidden.
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
    /// Scores of the hidden network: those of the whole, with the rows of tables that observed neighbours choose.
    pub fn scores(&self, all: Scores<'_>, observed: &[i32]) -> (Vec<f64>, Vec<f64>) {
        let network = all.network;
        let mut node = Vec::with_capacity(self.network.n_node_scores());
        for &v in &self.variables {
            let from = node.len();
            node.extend_from_slice(&all.node[network.node(v as usize)]);
            for neighbour in network.neighbours(v as usize) {
                if observed[neighbour.variable as usize] != HIDDEN {
                    let state = observed[neighbour.variable as usize] as usize;
                    let others = network.states()[neighbour.variable as usize] as usize;
                    let table = &all.edge[network.table(neighbour.edge as usize)];
                    let own = node.len() - from;
                    let (start, step) = if neighbour.first { (state * own, 1) } else { (state, others) };
                    node[from..].iter_mut().zip(table[start..].iter().step_by(step)).for_each(|(to, t)| *to += t);
                }
            }
        }
        let edge = self.edges.iter().flat_map(|&edge| &all.edge[network.table(edge as usize)]).copied().collect();
        (node, edge)
    }
}

/// What observations say about the variables that they leave hidden.
pub struct Completed {
    /// Of each row: log of the sum of exp(score) over the states of the hidden variables.
    pub log_z: Vec<f64>,
    /// Rows of the marginals of all variables, as node scores lie; those observed have their state.
    pub beliefs: Vec<f64>,
    /// Weighted sum over rows of the probabilities of every pair of states of every edge.
    pub edge_expectations: Vec<f64>,
    /// Rows for which the method has not converged.
    pub unconverged: usize,
}

/// Rows of states, -1 where hidden.
pub struct Rows<'a> {
    pub data: &'a [i32],
    /// 1 for all if there are none.
    pub weights: Option<&'a [f64]>,
}

impl Rows<'_> {
    fn check(&self, network: &Network) -> Result<usize> {
        let width = network.n_variables();
        let n = self.data.len() / width.max(1);
        for (row, states) in self.data.chunks_exact(width.max(1)).enumerate() {
            for (v, (&state, &r)) in states.iter().zip(network.states()).enumerate() {
                if state < HIDDEN || i64::from(state) >= i64::from(r) {
                    return Err(Error::Data(format!(
                        "row {row}, variable {v}: {state} is none of its states 0..{r}, nor -1 for hidden"
                    )));
                }
            }
        }
        if let Some(weights) = self.weights {
            if weights.len() != n {
                return Err(Error::Option(format!("there are {} weights for {n} rows", weights.len())));
            }
            if let Some(row) = weights.iter().position(|weight| !weight.is_finite()) {
                return Err(Error::Option(format!("weights[{row}] is {}; weights have to be finite", weights[row])));
            }
        }
        Ok(n)
    }
}

/// Marginals of a hidden network.
struct Inferred {
    log_z: f64,
    node: Vec<f64>,
    edge: Vec<f64>,
    converged: bool,
}

/// The hidden network of the rows at hand, which come sorted by it.
struct Pattern {
    observed: Vec<bool>,
    hidden: Hidden,
    junction: Option<Junction>,
    slots: OnceCell<Slots>,
}

impl Pattern {
    fn new(network: &Network, row: &[i32], method: Method, interrupt: &Interrupt) -> Result<Pattern> {
        let hidden = network.given(row)?;
        let junction = match method {
            Method::Exact { .. } => Junction::new(&hidden.network, interrupt)?,
            Method::LoopyBp { .. } => None,
        };
        Ok(Pattern { observed: pattern(row).collect(), hidden, junction, slots: OnceCell::new() })
    }

    fn infer(&self, scores: Scores<'_>, method: Method, interrupt: &Interrupt) -> Result<Inferred> {
        match method {
            Method::Exact { limit } => {
                let junction = junction::within(self.junction.as_ref(), limit)?;
                let marginals = junction.conditionals(scores, None, interrupt)?.marginals(scores, None, interrupt)?;
                Ok(Inferred { log_z: marginals.log_z, node: marginals.node, edge: marginals.edge, converged: true })
            }
            Method::LoopyBp { damping, tolerance, max_iterations } => {
                let settings = loopy::Settings { damping, tolerance, max_iterations, schedule: Schedule::Flooding };
                let slots = self.slots.get_or_init(|| Slots::new(scores.network));
                // Rows are what threads share.
                let alone = &*pool(1)?;
                let task = loopy::Task {
                    network: scores.network,
                    slots,
                    node_scores: scores.node,
                    edge_scores: scores.edge,
                    pool: alone,
                    interrupt,
                };
                let loopy::Outcome { beliefs, report, .. } = task.run(None, &settings)?;
                let converged = report.residual <= tolerance;
                Ok(Inferred { log_z: beliefs.log_z, node: beliefs.nodes, edge: beliefs.edges, converged })
            }
        }
    }
}

fn pattern(row: &[i32]) -> impl Iterator<Item = bool> + '_ {
    row.iter().map(|&state| state != HIDDEN)
}

/// Consecutive rows, with where their results go.
struct Block<'a> {
    first: usize,
    data: &'a [i32],
    log_z: &'a mut [f64],
    beliefs: &'a mut [f64],
}

struct Task<'a> {
    all: Scores<'a>,
    weights: Option<&'a [f64]>,
    method: Method,
    interrupt: &'a Interrupt,
}

impl Task<'_> {
    /// Sums over the block's rows for edges, and how many have not converged. Rows go by what is hidden in them.
    fn complete(&self, block: Block<'_>) -> Result<(Vec<f64>, usize)> {
        let network = self.all.network;
        let width = network.n_variables();
        let mut sums = vec![0.0; network.n_edge_scores()];
        let mut unconverged = 0;
        let mut order: Vec<usize> = (0..block.log_z.len()).collect();
        let row = |r: usize| &block.data[r * width..(r + 1) * width];
        order.sort_by(|&a, &b| pattern(row(a)).cmp(pattern(row(b))));
        let mut kept: Option<Pattern> = None;
        for r in order {
            self.interrupt.check()?;
            let weight = self.weights.map_or(1.0, |weights| weights[block.first + r]);
            let beliefs = &mut block.beliefs[r * network.n_node_scores()..(r + 1) * network.n_node_scores()];
            block.log_z[r] = self.observe(row(r), weight, beliefs, &mut sums);
            if row(r).contains(&HIDDEN) {
                let known = kept.take().filter(|kept| pattern(row(r)).eq(kept.observed.iter().copied()));
                let known = match known {
                    Some(known) => known,
                    None => Pattern::new(network, row(r), self.method, self.interrupt)?,
                };
                let inferred = self.infer(&known, row(r)).map_err(|error| named(block.first + r, error))?;
                block.log_z[r] += inferred.log_z;
                unconverged += usize::from(!inferred.converged);
                self.infuse(&known.hidden, &inferred, row(r), weight, beliefs, &mut sums);
                kept = Some(known);
            }
        }
        Ok((sums, unconverged))
    }

    /// The part of observed variables, and of the edges between them; returns their score.
    fn observe(&self, row: &[i32], weight: f64, beliefs: &mut [f64], sums: &mut [f64]) -> f64 {
        let Scores { network, node, edge } = self.all;
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

    fn infer(&self, known: &Pattern, row: &[i32]) -> Result<Inferred> {
        let (node, edge) = known.hidden.scores(self.all, row);
        let scores = Scores { network: &known.hidden.network, node: &node, edge: &edge };
        known.infer(scores, self.method, self.interrupt)
    }

    /// The part of hidden variables, and of the edges that end in them.
    fn infuse(
        &self,
        hidden: &Hidden,
        inferred: &Inferred,
        row: &[i32],
        weight: f64,
        beliefs: &mut [f64],
        sums: &mut [f64],
    ) {
        let network = self.all.network;
        for (at, &v) in hidden.variables.iter().enumerate() {
            let own = &inferred.node[hidden.network.node(at)];
            beliefs[network.node(v as usize)].copy_from_slice(own);
            for neighbour in network.neighbours(v as usize) {
                if row[neighbour.variable as usize] != HIDDEN {
                    let state = row[neighbour.variable as usize] as usize;
                    let others = network.states()[neighbour.variable as usize] as usize;
                    let (start, step) = if neighbour.first { (state * own.len(), 1) } else { (state, others) };
                    let table = &mut sums[network.table(neighbour.edge as usize)][start..];
                    table.iter_mut().step_by(step).zip(own).for_each(|(sum, p)| *sum += weight * p);
                }
            }
        }
        for (at, &edge) in hidden.edges.iter().enumerate() {
            let table = &inferred.edge[hidden.network.table(at)];
            sums[network.table(edge as usize)].iter_mut().zip(table).for_each(|(sum, p)| *sum += weight * p);
        }
    }
}

/// An error about inference says in which row.
fn named(row: usize, error: Error) -> Error {
    match error {
        Error::Option(message) => Error::Option(format!("row {row}: {message}")),
        other => other,
    }
}

/// Infers the hidden variables of every row of a data set. Rows without any cost O(variables + edges).
pub fn complete(
    all: Scores<'_>,
    rows: Rows<'_>,
    method: Method,
    threads: &ThreadPool,
    interrupt: &Interrupt,
) -> Result<Completed> {
    let network = all.network;
    let n = rows.check(network)?;
    let (width, states) = (network.n_variables(), network.n_node_scores());
    let mut log_z = vec![0.0; n];
    let mut beliefs = junction::zeros(n.saturating_mul(states))?;
    let length = n.div_ceil(BLOCKS).max(1);
    let data = rows.data.chunks((length * width).max(1));
    let outputs = log_z.chunks_mut(length).zip(beliefs.chunks_mut((length * states).max(1)));
    let blocks = data.zip(outputs).enumerate();
    let blocks =
        blocks.map(|(at, (data, (log_z, beliefs)))| Block { first: at * length, data, log_z, beliefs }).collect();
    let task = Task { all, weights: rows.weights, method, interrupt };
    let mut edge_expectations = vec![0.0; network.n_edge_scores()];
    let mut unconverged = 0;
    for outcome in share(threads, blocks, |block| task.complete(block)) {
        let (sums, count) = outcome?;
        edge_expectations.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
        unconverged += count;
    }
    Ok(Completed { log_z, beliefs, edge_expectations, unconverged })
}
