//! `SamplePasses` of graphs, from arrays of all graphs side by side.

use crate::bindings::arrays::{numbers, read};
use crate::bindings::classes::{SamplePasses, Samples};
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::bindings::network::schedule_of;
use crate::error::Result;
use crate::network::Network;
use crate::network::evidence::Method as HiddenMethod;
use crate::network::loopy::rule::LoopySettings;
use crate::stochastic::graphs::graph::{Entries, GraphData, Method, Shape};
use crate::stochastic::graphs::view::Graphs;
use crate::threads::pool;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::ops::Range;

/// Features in compressed sparse rows: where each row begins, the numbers of its features, and their values.
type Rows<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>);
/// Options of belief propagation: damping, tolerance, most iterations, schedule.
type Propagation = (f64, f64, usize, String);

/// The features of nodes or edges of all graphs, checked.
fn entries((at, ids, values): &Rows<'_>, rows: usize, n_features: usize) -> PyResult<Entries> {
    let values = read(values)?.to_vec();
    let at = numbers("beginnings of rows", at, values.len() + 1)?;
    let ids: Vec<u32> = numbers("feature numbers", ids, n_features)?.into_iter().map(|id| id as u32).collect();
    let ascends = at.first() == Some(&0) && at.windows(2).all(|pair| pair[0] <= pair[1]);
    if ascends && at.len() == rows + 1 && at.last() == Some(&values.len()) && ids.len() == values.len() {
        return Ok(Entries { at, ids, values });
    }
    Err(OptionError::new_err(format!("the features are not compressed sparse rows of {rows} nodes or edges")))
}

/// The features of some nodes or edges.
fn chosen(all: &Entries, rows: impl Iterator<Item = usize>) -> Entries {
    let mut entries = Entries { at: vec![0], ids: Vec::new(), values: Vec::new() };
    for row in rows {
        let range = all.at[row]..all.at[row + 1];
        entries.ids.extend_from_slice(&all.ids[range.clone()]);
        entries.values.extend_from_slice(&all.values[range]);
        entries.at.push(entries.ids.len());
    }
    entries
}

/// All graphs side by side.
struct Joined<'a> {
    n_labels: usize,
    /// Edge -> its nodes.
    ends: &'a [[usize; 2]],
    nodes: &'a Entries,
    edges: &'a Entries,
    labels: &'a [i64],
    costs: Option<&'a [f64]>,
    appearances: Option<&'a [f64]>,
    weight: f64,
}

impl Joined<'_> {
    /// The graphs one by one, of the given numbers of nodes.
    fn split(&self, sizes: &[usize]) -> Result<Vec<GraphData>> {
        let firsts: Vec<usize> = sizes.iter().scan(0, |sum, size| Some(std::mem::replace(sum, *sum + size))).collect();
        let mut edges_of = vec![Vec::new(); sizes.len()];
        for (edge, [first, _]) in self.ends.iter().enumerate() {
            edges_of[firsts.partition_point(|begin| begin <= first) - 1].push(edge);
        }
        let graphs = firsts.iter().zip(sizes).zip(&edges_of);
        graphs.map(|((&first, &size), edges)| self.graph(first..first + size, edges)).collect()
    }

    fn graph(&self, nodes: Range<usize>, edges: &[usize]) -> Result<GraphData> {
        // An edge into another graph has an end beyond all nodes, which a network refuses.
        let place = |node: usize| node.wrapping_sub(nodes.start).min(u32::MAX as usize) as u32;
        let ends =
            edges.iter().map(|&edge| self.ends[edge].map(place)).map(|[first, second]| (first, second)).collect();
        Ok(GraphData {
            weight: self.weight,
            network: Network::new(vec![self.n_labels as u32; nodes.len()], ends)?,
            labels: self.labels[nodes.clone()].iter().map(|&label| label as i32).collect(),
            costs: self
                .costs
                .map_or_else(Vec::new, |costs| costs[nodes.start * self.n_labels..nodes.end * self.n_labels].to_vec()),
            nodes: chosen(self.nodes, nodes),
            edges: chosen(self.edges, edges.iter().copied()),
            appearances: self.appearances.map(|rho| edges.iter().map(|&edge| rho[edge]).collect()),
        })
    }
}

/// An error if an array has another length than it should have.
fn of_length<T>(name: &str, array: &[T], expected: usize) -> PyResult<()> {
    if array.len() == expected {
        return Ok(());
    }
    Err(OptionError::new_err(format!("{name}: expected {expected} entries, found {}", array.len())))
}

/// The view of a field on graphs (see `loglinear.objectives.graph`) for stochastic solvers.
///
/// `weight_of` and `forbidden` are for pairs of labels, row by row; `costs` are by node and label. Without `propagation` inference
/// is exact; `hidden` is for missing labels.
#[pyfunction]
#[pyo3(signature = (sizes, edges, nodes, ties, labels, *, n_labels, n_features, weight_of, forbidden, weight, limit, costs=None,
                    propagation=None, hidden=None, appearances=None))]
#[allow(clippy::too_many_arguments)]
pub fn graph_passes(
    py: Python<'_>,
    sizes: PyReadonlyArray1<'_, i64>,
    edges: PyReadonlyArray2<'_, i64>,
    nodes: Rows<'_>,
    ties: Rows<'_>,
    labels: PyReadonlyArray1<'_, i64>,
    n_labels: usize,
    n_features: (usize, usize),
    weight_of: PyReadonlyArray1<'_, i64>,
    forbidden: PyReadonlyArray1<'_, f64>,
    weight: f64,
    limit: usize,
    costs: Option<PyReadonlyArray1<'_, f64>>,
    propagation: Option<Propagation>,
    hidden: Option<Propagation>,
    appearances: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<SamplePasses> {
    let sizes = numbers("numbers of nodes", &sizes, 1 << 31)?;
    let n_nodes = sizes.iter().sum();
    let ends: Option<Vec<usize>> =
        edges.as_array().iter().map(|&node| usize::try_from(node).ok().filter(|&node| node < n_nodes)).collect();
    let ends = ends.ok_or_else(|| OptionError::new_err(format!("edges must join two of the {n_nodes} nodes")))?;
    let ends = ends.as_chunks().0;
    let (nodes, ties) = (entries(&nodes, n_nodes, n_features.0)?, entries(&ties, ends.len(), n_features.1)?);
    let weight_of = numbers("weights of pairs", &weight_of, n_labels * n_labels)?;
    let forbidden = read(&forbidden)?.to_vec();
    let labels = read(&labels)?;
    let costs = costs.as_ref().map(read).transpose()?;
    let appearances = appearances.as_ref().map(read).transpose()?;
    of_length("weight_of", &weight_of, n_labels * n_labels)?;
    of_length("forbidden", &forbidden, n_labels * n_labels)?;
    of_length("labels", labels, n_nodes)?;
    costs.map_or(Ok(()), |costs| of_length("costs", costs, n_nodes * n_labels))?;
    appearances.map_or(Ok(()), |appearances| of_length("appearances", appearances, ends.len()))?;
    if labels.iter().any(|&label| label < -1 || label >= n_labels as i64) {
        return Err(OptionError::new_err(format!("labels must be at least -1 and less than {n_labels}")));
    }
    let method = match propagation {
        None => Method::Exact { limit },
        Some((damping, tolerance, max_iterations, schedule)) => {
            let schedule = schedule_of(&schedule)?;
            Method::Loopy(LoopySettings { damping, tolerance, max_iterations, schedule })
        }
    };
    let hidden = match hidden {
        None => HiddenMethod::Exact { limit },
        Some((damping, tolerance, max_iterations, _)) => HiddenMethod::LoopyBp { damping, tolerance, max_iterations },
    };
    let joined = Joined { n_labels, ends, nodes: &nodes, edges: &ties, labels, costs, appearances, weight };
    let n_pairs = weight_of.iter().max().map_or(0, |&most| most + 1);
    let graphs = interruptible(py, |interrupt| {
        let (n_node_features, n_edge_features) = n_features;
        let pool = pool(1)?;
        let shape =
            Shape { n_labels, n_pairs, n_node_features, n_edge_features, weight_of, forbidden, method, hidden, pool };
        Graphs::new(shape, joined.split(&sizes)?, interrupt)
    })?;
    Ok(SamplePasses { inner: Samples::Graphs(graphs) })
}
