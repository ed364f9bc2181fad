//! The graph of a pairwise Markov random field: variables with some states each, and edges between them.
//!
//! log p(x) = sum over variables of node_scores[i, x_i] + sum over edges of edge_scores[e, x_i, x_j] - log Z.
//!
//! The node scores of all variables are stored one after the other, and so are the tables of all edges. A table has a row for
//! each state of the edge's first variable and a column for each state of its second.

pub mod evidence;
pub mod file;
pub mod gibbs;
pub mod junction;
pub mod loopy;
pub mod mean_field;
pub mod nodewise;
pub mod pseudolikelihood;
pub mod response;

use crate::error::{Error, Result};
use std::ops::Range;

/// A neighbour of a variable.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour {
    /// The neighbour's number.
    pub variable: u32,
    /// The number of the edge between the two.
    pub edge: u32,
    /// Whether the neighbour is the edge's first variable.
    pub first: bool,
}

/// An edge's table, seen from one of its variables.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    scores: &'a [f64],
    /// Distance in memory from a state of this variable to the next.
    stride: usize,
    /// Distance in memory from a state of the neighbour to the next.
    other_stride: usize,
}

impl Table<'_> {
    /// The entry of a state of this variable and a state of the neighbour.
    #[inline(always)]
    pub fn at(&self, state: usize, other_state: usize) -> f64 {
        self.scores[state * self.stride + other_state * self.other_stride]
    }
}

/// Variables, their numbers of states, and the edges between them. Vectors named `*_at` have one element more than there are
/// variables or edges: element i is the beginning of part i, element i + 1 its end.
#[derive(Clone, Debug)]
pub struct Network {
    /// Variable -> number of states, at least 2.
    states: Vec<u32>,
    /// Edge -> its first and its second variable.
    edges: Vec<(u32, u32)>,
    /// Variable -> beginning of its scores.
    node_at: Vec<usize>,
    /// Edge -> beginning of its table.
    edge_at: Vec<usize>,
    /// Neighbours of variable 0 by ascending edge, then of variable 1, and so on.
    neighbours: Vec<Neighbour>,
    /// Variable -> its first neighbour in `neighbours`.
    neighbours_at: Vec<usize>,
}

/// 0 and all partial sums of the sizes.
fn ends(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let sums = sizes.scan(0, |sum, size| {
        *sum += size;
        Some(*sum)
    });
    std::iter::once(0).chain(sums).collect()
}

impl Network {
    /// Fails if a variable has fewer than two states, or if an edge is a loop, occurs twice, or names no variable.
    pub fn new(states: Vec<u32>, edges: Vec<(u32, u32)>) -> Result<Self> {
        if let Some(at) = states.iter().position(|&r| r < 2) {
            return Err(Error::Option(format!("variable {at} has {} states; it needs at least 2", states[at])));
        }
        let n = states.len();
        let mut sorted: Vec<(u32, u32)> = edges.iter().map(|&(i, j)| (i.min(j), i.max(j))).collect();
        sorted.sort_unstable();
        if let Some(&(i, j)) = sorted.iter().find(|&&(i, j)| i == j || j as usize >= n) {
            return Err(Error::Option(format!("edge ({i}, {j}) does not join two of the {n} variables")));
        }
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Option(format!("edge {:?} occurs twice", pair[0])));
        }
        let size = |&(i, j): &(u32, u32)| states[i as usize] as usize * states[j as usize] as usize;
        let node_at = ends(states.iter().map(|&r| r as usize));
        let edge_at = ends(edges.iter().map(size));
        let mut degrees = vec![0; n];
        edges.iter().for_each(|&(i, j)| [i, j].into_iter().for_each(|v| degrees[v as usize] += 1));
        let neighbours_at = ends(degrees.into_iter());
        let mut next = neighbours_at.clone();
        let mut neighbours = vec![Neighbour { variable: 0, edge: 0, first: false }; 2 * edges.len()];
        for (edge, &(i, j)) in edges.iter().enumerate() {
            for (of, variable, first) in [(i, j, false), (j, i, true)] {
                neighbours[next[of as usize]] = Neighbour { variable, edge: edge as u32, first };
                next[of as usize] += 1;
            }
        }
        Ok(Network { states, edges, node_at, edge_at, neighbours, neighbours_at })
    }

    pub fn n_variables(&self) -> usize {
        self.states.len()
    }

    /// Variable -> number of states.
    pub fn states(&self) -> &[u32] {
        &self.states
    }

    /// Edge -> its first and its second variable.
    pub fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    /// Number of the scores of all variables.
    pub fn n_node_scores(&self) -> usize {
        self.node_at[self.states.len()]
    }

    /// Number of the entries of all tables.
    pub fn n_edge_scores(&self) -> usize {
        self.edge_at[self.edges.len()]
    }

    /// The range of a variable's states in the node scores.
    pub fn node(&self, variable: usize) -> Range<usize> {
        self.node_at[variable]..self.node_at[variable + 1]
    }

    /// The range of an edge's table in the edge scores.
    pub fn table(&self, edge: usize) -> Range<usize> {
        self.edge_at[edge]..self.edge_at[edge + 1]
    }

    /// Distances in the table of the edge to a neighbour: from a state of the variable to the next, and of the neighbour.
    fn strides(&self, neighbour: &Neighbour) -> (usize, usize) {
        let columns = self.states[self.edges[neighbour.edge as usize].1 as usize] as usize;
        if neighbour.first { (1, columns) } else { (columns, 1) }
    }

    /// The table of the edge from a variable to a neighbour, seen from the variable. `tables` are laid out as the edge scores.
    pub fn table_from<'a>(&self, tables: &'a [f64], neighbour: &Neighbour) -> Table<'a> {
        let (stride, other_stride) = self.strides(neighbour);
        Table { scores: &tables[self.table(neighbour.edge as usize)], stride, other_stride }
    }

    /// The neighbours of a variable, by ascending edge.
    pub fn neighbours(&self, variable: usize) -> &[Neighbour] {
        &self.neighbours[self.neighbours_at[variable]..self.neighbours_at[variable + 1]]
    }
}

/// A network and its scores, whose lengths and numbers have been checked.
#[derive(Clone, Copy)]
pub struct NetworkScores<'a> {
    pub network: &'a Network,
    /// Scores of the states of all variables.
    pub node: &'a [f64],
    /// Tables of all edges.
    pub edge: &'a [f64],
}

impl<'a> NetworkScores<'a> {
    /// Fails if the number of scores is wrong or a score is not finite.
    pub fn new(network: &'a Network, node: &'a [f64], edge: &'a [f64]) -> Result<Self> {
        for (name, scores, wanted) in
            [("node_scores", node, network.n_node_scores()), ("edge_scores", edge, network.n_edge_scores())]
        {
            if scores.len() != wanted {
                return Err(Error::Option(format!("{name}: expected {wanted} entries, found {}", scores.len())));
            }
            if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
                return Err(Error::Option(format!("{name}[{at}] is {}; scores must be finite", scores[at])));
            }
        }
        Ok(NetworkScores { network, node, edge })
    }

    /// Of binary variables, the log odds a_i and, for each edge, the coupling J_ij:
    /// log p(x) = sum of a_i x_i + sum of J_ij x_i x_j + constant.
    pub fn couplings(&self) -> (Vec<f64>, Vec<f64>) {
        let (nodes, _) = self.node.as_chunks::<2>();
        let mut log_odds: Vec<f64> = nodes.iter().map(|scores| scores[1] - scores[0]).collect();
        let edges = self.network.edges.iter().zip(self.edge.as_chunks::<4>().0);
        let couplings = edges.map(|(&(i, j), t)| {
            log_odds[i as usize] += t[2] - t[0];
            log_odds[j as usize] += t[1] - t[0];
            (t[3] - t[2]) - (t[1] - t[0])
        });
        let couplings = couplings.collect();
        (log_odds, couplings)
    }
}

/// Probabilities, exact or approximate.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginals {
    pub log_z: f64,
    /// Laid out as the node scores; the states of a variable sum to 1.
    pub nodes: Vec<f64>,
    /// Laid out as the edge scores; each table sums to 1.
    pub edges: Vec<f64>,
}

/// n zeros; fails, with the remedy, if n is None or memory does not suffice.
pub fn zeros<T: Clone + Default>(n: Option<usize>, remedy: impl Fn() -> String) -> Result<Vec<T>> {
    let mut zeros = Vec::new();
    let n = n.filter(|&n| zeros.try_reserve_exact(n).is_ok()).ok_or_else(|| Error::Option(remedy()))?;
    zeros.resize(n, T::default());
    Ok(zeros)
}

#[cfg(test)]
pub mod enumeration {
    use crate::network::NetworkScores;
    use crate::numeric::log_sum_exp;

    /// All assignments of states.
    pub fn assignments(states: &[u32]) -> Vec<Vec<u32>> {
        states.iter().fold(vec![Vec::new()], |all, &r| {
            all.iter().flat_map(|x| (0..r).map(move |state| [x.as_slice(), &[state]].concat())).collect()
        })
    }

    /// log Z, and all assignments, each with its log p + log Z.
    pub fn enumerated(scores: NetworkScores<'_>) -> (f64, Vec<(Vec<u32>, f64)>) {
        let all: Vec<_> = assignments(scores.network.states()).into_iter().map(|x| (score(scores, &x), x)).collect();
        (log_sum_exp(all.iter().map(|(score, _)| *score)), all.into_iter().map(|(score, x)| (x, score)).collect())
    }

    /// log p(x) + log Z.
    pub fn score(NetworkScores { network, node, edge }: NetworkScores<'_>, x: &[u32]) -> f64 {
        let state = |variable: u32| x[variable as usize] as usize;
        let nodes = (0..network.n_variables()).map(|i| node[network.node(i).start + state(i as u32)]);
        let across = |j: u32| network.states()[j as usize] as usize;
        let edges = network.edges().iter().enumerate();
        let edges = edges.map(|(e, &(i, j))| edge[network.table(e).start + state(i) * across(j) + state(j)]);
        nodes.sum::<f64>() + edges.sum::<f64>()
    }
}
