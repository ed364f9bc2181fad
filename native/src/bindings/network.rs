//! `Network`: inference in pairwise Markov random fields.

use crate::bindings::arrays::{numbers, read, writable, write};
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::{interruptible, interruptible_unless};
use crate::error::Result;
use crate::network::evidence::{self, Method, Observations};
use crate::network::gibbs::{self, GibbsSettings};
use crate::network::junction::cliques::{Junction, within};
use crate::network::loopy::rule::{LoopySettings, Propagation, Schedule};
use crate::network::loopy::slots::MessageSlots;
use crate::network::response::{Accuracy, Symmetric};
use crate::network::{self, NetworkScores, mean_field};
use crate::threads::{Interrupt, Pool, pool};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::OnceLock;

/// A vector that is read.
type Input<'py> = PyReadonlyArray1<'py, f64>;
/// A vector that is returned.
type OutputVector<'py> = Bound<'py, PyArray1<f64>>;
/// A matrix that is returned.
type OutputMatrix<'py> = Bound<'py, PyArray2<f64>>;

/// Default limit of the entries of a table.
const LIMIT: usize = 1 << 22;
/// Number of table entries below which no thread is started to check for signals, because starting it would take longer than
/// the work.
const QUICK: usize = 1000;
/// Number of message entries, over all iterations, up to which no thread is started to check for signals: the work takes some
/// tenths of a second.
const QUICK_MESSAGES: usize = 10_000_000;

/// `network::Network` for Python, with the structures that inference builds on first use.
#[pyclass(module = "loglinear._core", frozen)]
pub struct Network {
    inner: network::Network,
    /// The option `threads`: 0 means all cores.
    threads: usize,
    /// The cliques of exact inference; None inside if the network is too dense.
    junction: OnceLock<Option<Junction>>,
    /// The layout of the messages of belief propagation.
    slots: OnceLock<MessageSlots>,
}

/// The distributions of the hidden variables of a data set; fields as in `network::evidence::Completed`.
#[pyclass(frozen, get_all, module = "loglinear._core")]
pub struct CompletedRows {
    log_z: Py<PyArray1<f64>>,
    beliefs: Py<PyArray2<f64>>,
    edges: Py<PyArray1<f64>>,
    unconverged: usize,
}

/// The result of belief propagation; fields as in `network::loopy::run::Propagated`.
#[pyclass(frozen, get_all, module = "loglinear._core")]
pub struct LoopyBeliefs {
    log_z: f64,
    nodes: Py<PyArray1<f64>>,
    edges: Py<PyArray1<f64>>,
    messages: Py<PyArray1<f64>>,
    iterations: usize,
    residual: f64,
    n_messages: usize,
}

impl Network {
    /// The cliques of exact inference, found on first use; None if the network is too dense.
    fn junction(&self, interrupt: &Interrupt) -> Result<Option<&Junction>> {
        if let Some(junction) = self.junction.get() {
            return Ok(junction.as_ref());
        }
        let junction = Junction::new(&self.inner, interrupt)?;
        Ok(self.junction.get_or_init(|| junction).as_ref())
    }

    /// Whether exact inference takes less time than starting a thread.
    fn is_quick(&self) -> bool {
        let junction = self.junction.get().and_then(Option::as_ref);
        junction.is_some_and(|junction| junction.entries() < QUICK)
    }

    /// Calls `work` with the cliques and the checked scores, without the GIL. Checks for Ctrl-C unless `quick` is set and the
    /// network is small.
    fn exactly<T: Send>(
        &self,
        py: Python<'_>,
        scores: (&Input<'_>, &Input<'_>),
        (limit, quick): (usize, bool),
        work: impl FnOnce(&Junction, NetworkScores<'_>, Pool, &Interrupt) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.infer(py, scores, quick && self.is_quick(), |scores, interrupt| {
            work(within(self.junction(interrupt)?, limit)?, scores, pool(self.threads)?, interrupt)
        })
    }

    /// Calls `work` with the checked scores, without the GIL. Checks for Ctrl-C unless `quick` is set.
    fn infer<T: Send>(
        &self,
        py: Python<'_>,
        (node_scores, edge_scores): (&Input<'_>, &Input<'_>),
        quick: bool,
        work: impl FnOnce(NetworkScores<'_>, &Interrupt) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (node, edge) = (read(node_scores)?, read(edge_scores)?);
        interruptible_unless(quick, py, |interrupt| work(NetworkScores::new(&self.inner, node, edge)?, interrupt))
    }
}

/// The method of inference of a name.
fn method_of(name: &str, limit: usize, (damping, tolerance, max_iterations): (f64, f64, usize)) -> PyResult<Method> {
    match name {
        "exact" => Ok(Method::Exact { limit }),
        "loopy_bp" => Ok(Method::LoopyBp { damping, tolerance, max_iterations }),
        _ => Err(OptionError::new_err(format!("method is {name:?}; it must be \"exact\" or \"loopy_bp\""))),
    }
}

/// The schedule of a name.
pub fn schedule_of(name: &str) -> PyResult<Schedule> {
    match name {
        "flooding" => Ok(Schedule::Flooding),
        "residual" => Ok(Schedule::Residual),
        other => Err(OptionError::new_err(format!("schedule is {other:?}; it must be \"flooding\" or \"residual\""))),
    }
}

/// The value as an unsigned number, or an error that names the option if it is below `least`.
fn at_least(name: &str, value: i64, least: usize) -> PyResult<usize> {
    let number = usize::try_from(value).ok().filter(|&number| number >= least);
    number.ok_or_else(|| OptionError::new_err(format!("{name} is {value}; it must be at least {least}")))
}

/// The states of assignments, a row each, from integers of 32 or 64 bits.
fn assignments(start: &Bound<'_, PyAny>, n_variables: usize) -> PyResult<Vec<i32>> {
    let (states, columns): (Vec<i32>, usize) = if let Ok(start) = start.extract::<PyReadonlyArray2<'_, i32>>() {
        (start.as_array().iter().copied().collect(), start.shape()[1])
    } else if let Ok(start) = start.extract::<PyReadonlyArray2<'_, i64>>() {
        // -1 is rejected later, like any number that is not a state.
        (start.as_array().iter().map(|&state| i32::try_from(state).unwrap_or(-1)).collect(), start.shape()[1])
    } else {
        return Err(OptionError::new_err("start must be an array of int32 or int64 with shape (chains, n_variables)"));
    };
    if columns == n_variables {
        return Ok(states);
    }
    Err(OptionError::new_err(format!("start: expected {n_variables} columns, one per variable, found {columns}")))
}

#[pymethods]
impl Network {
    /// A network of variables with the given numbers of states, and edges of two variables each.
    #[new]
    #[pyo3(signature = (states, edges, *, threads=0))]
    fn new(states: PyReadonlyArray1<'_, i64>, edges: PyReadonlyArray2<'_, i64>, threads: usize) -> PyResult<Self> {
        let states: Vec<u32> = numbers("numbers of states", &states, 1 << 16)?.into_iter().map(|r| r as u32).collect();
        if edges.shape()[1] != 2 {
            return Err(OptionError::new_err("edges must have two columns"));
        }
        let ends: Option<Vec<u32>> = edges.as_array().iter().map(|&v| u32::try_from(v).ok()).collect();
        let ends = ends.ok_or_else(|| OptionError::new_err("variable numbers in edges must be at least 0"))?;
        let edges = ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        Ok(Network {
            inner: network::Network::new(states, edges)?,
            threads,
            junction: OnceLock::new(),
            slots: OnceLock::new(),
        })
    }

    /// Number of threads that work on the network.
    #[getter]
    fn n_threads(&self) -> usize {
        crate::threads::count(self.threads)
    }

    /// log2 of the entries of the largest table; infinite if there are more than `limit` or 2^32, or if the search for small
    /// tables takes too long.
    #[pyo3(signature = (*, limit=None))]
    fn largest_table(&self, py: Python<'_>, limit: Option<usize>) -> PyResult<f64> {
        let largest = interruptible_unless(self.is_quick(), py, |interrupt| {
            Ok(self.junction(interrupt)?.map(Junction::largest).filter(|&size| size <= limit.unwrap_or(usize::MAX)))
        })?;
        Ok(largest.map_or(f64::INFINITY, |size| (size as f64).log2()))
    }

    /// log Z, and the marginals of all variables and edges, exactly.
    #[pyo3(signature = (node_scores, edge_scores, *, limit=LIMIT))]
    fn exact<'py>(
        &self,
        py: Python<'py>,
        node_scores: Input<'py>,
        edge_scores: Input<'py>,
        limit: usize,
    ) -> PyResult<(f64, OutputVector<'py>, OutputVector<'py>)> {
        let marginals =
            self.exactly(py, (&node_scores, &edge_scores), (limit, true), |junction, scores, pool, interrupt| {
                let up = junction.conditionals(scores, Some(pool), interrupt)?;
                up.marginals(scores, Some(pool), interrupt)
            })?;
        Ok((marginals.log_z, PyArray1::from_vec(py, marginals.nodes), PyArray1::from_vec(py, marginals.edges)))
    }

    /// Exact samples, a row each.
    #[pyo3(signature = (node_scores, edge_scores, n_samples, *, seed=0, limit=LIMIT))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        node_scores: Input<'py>,
        edge_scores: Input<'py>,
        n_samples: usize,
        seed: u64,
        limit: usize,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let work = |junction: &Junction, scores: NetworkScores<'_>, pool: Pool, interrupt: &Interrupt| {
            junction.conditionals(scores, Some(pool), interrupt)?.samples(n_samples, seed, pool, interrupt)
        };
        let samples = self.exactly(py, (&node_scores, &edge_scores), (limit, false), work)?;
        PyArray1::from_vec(py, samples).reshape([n_samples, self.inner.n_variables()])
    }

    /// The matrix of p(x_i = a, x_j = b) for all states of all variables.
    #[pyo3(signature = (node_scores, edge_scores, *, limit=LIMIT))]
    fn pair_marginals<'py>(
        &self,
        py: Python<'py>,
        node_scores: Input<'py>,
        edge_scores: Input<'py>,
        limit: usize,
    ) -> PyResult<OutputMatrix<'py>> {
        let pairs =
            self.exactly(py, (&node_scores, &edge_scores), (limit, false), |junction, scores, pool, interrupt| {
                let up = || junction.conditionals(scores, Some(pool), interrupt);
                let marginals = up()?.marginals(scores, Some(pool), interrupt)?;
                up()?.pairs(&self.inner, &marginals.nodes, pool, interrupt)
            })?;
        PyArray1::from_vec(py, pairs).reshape([self.inner.n_node_scores(); 2])
    }

    /// An assignment of the highest probability.
    #[pyo3(signature = (node_scores, edge_scores, *, limit=LIMIT))]
    fn most_probable<'py>(
        &self,
        py: Python<'py>,
        node_scores: Input<'py>,
        edge_scores: Input<'py>,
        limit: usize,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let best =
            self.exactly(py, (&node_scores, &edge_scores), (limit, true), |junction, scores, pool, interrupt| {
                junction.most_probable(scores, Some(pool), interrupt)
            })?;
        Ok(PyArray1::from_vec(py, best.into_iter().map(|state| state as i32).collect()))
    }

    /// Infers the hidden variables, whose state is -1, of each row of `data`.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (node_scores, edge_scores, data, *, weights=None, method="exact", limit=LIMIT, damping=0.0,
        tolerance=1e-6, max_iterations=1000))]
    fn completed<'py>(
        &self,
        py: Python<'py>,
        node_scores: Input<'py>,
        edge_scores: Input<'py>,
        data: PyReadonlyArray2<'py, i32>,
        weights: Option<Input<'py>>,
        method: &str,
        limit: usize,
        damping: f64,
        tolerance: f64,
        max_iterations: usize,
    ) -> PyResult<CompletedRows> {
        let [n, width] = *data.shape() else { return Err(OptionError::new_err("data must be a matrix")) };
        if width != self.inner.n_variables() {
            let wanted = self.inner.n_variables();
            return Err(OptionError::new_err(format!("data have {width} columns; the network has {wanted} variables")));
        }
        let method = method_of(method, limit, (damping, tolerance, max_iterations))?;
        let rows = Observations { data: read(&data)?, weights: weights.as_ref().map(read).transpose()? };
        let completed = self.infer(py, (&node_scores, &edge_scores), false, |scores, interrupt| {
            evidence::complete(scores, rows, method, pool(self.threads)?, interrupt)
        })?;
        let beliefs = PyArray1::from_vec(py, completed.beliefs).reshape([n, self.inner.n_node_scores()])?;
        let edges = PyArray1::from_vec(py, completed.edge_expectations).unbind();
        let log_z = PyArray1::from_vec(py, completed.log_z).unbind();
        Ok(CompletedRows { log_z, beliefs: beliefs.unbind(), edges, unconverged: completed.unconverged })
    }

    /// Loopy belief propagation, tree-reweighted if there are appearances. With labels, 1 for the known state of a variable, it starts
    /// from uniform messages and from messages near the labels; the larger log Z is the result.
    #[pyo3(signature = (node_scores, edge_scores, *, damping=0.0, tolerance=1e-6, max_iterations=1000,
                        schedule="flooding", messages=None, appearances=None, labels=None))]
    #[allow(clippy::too_many_arguments)]
    fn loopy_bp<'py>(
        &self,
        py: Python<'py>,
        node_scores: Input<'py>,
        edge_scores: Input<'py>,
        damping: f64,
        tolerance: f64,
        max_iterations: i64,
        schedule: &str,
        messages: Option<Input<'py>>,
        appearances: Option<Input<'py>>,
        labels: Option<Input<'py>>,
    ) -> PyResult<LoopyBeliefs> {
        let schedule = schedule_of(schedule)?;
        let max_iterations = at_least("max_iterations", max_iterations, 1)?;
        let settings = LoopySettings { damping, tolerance, max_iterations, schedule };
        let messages = messages.as_ref().map(read).transpose()?;
        let appearances = appearances.as_ref().map(read).transpose()?;
        let labels = labels.as_ref().map(read).transpose()?;
        let slots = self.slots.get_or_init(|| MessageSlots::new(&self.inner));
        let quick = slots.n_entries().saturating_mul(max_iterations) <= QUICK_MESSAGES;
        let outcome = self.infer(py, (&node_scores, &edge_scores), quick, |scores, interrupt| {
            let pool = pool(self.threads)?;
            let task = Propagation { scores, slots, appearances, pool, interrupt };
            match labels {
                Some(labels) => task.run_near(labels, &settings),
                None => task.run(messages, &settings),
            }
        })?;
        let array = |values| PyArray1::from_vec(py, values).unbind();
        let (beliefs, report) = (outcome.beliefs, outcome.report);
        Ok(LoopyBeliefs {
            log_z: beliefs.log_z,
            nodes: array(beliefs.nodes),
            edges: array(beliefs.edges),
            messages: array(outcome.messages),
            iterations: report.iterations,
            residual: report.residual,
            n_messages: report.n_messages,
        })
    }

    /// The mean-field bound of log Z and the distributions of all variables, by coordinate ascent from `nodes`.
    #[pyo3(signature = (node_scores, edge_scores, nodes, *, tolerance=1e-9, sweeps=100))]
    fn mean_field<'py>(
        &self,
        py: Python<'py>,
        node_scores: Input<'py>,
        edge_scores: Input<'py>,
        nodes: Input<'py>,
        tolerance: f64,
        sweeps: i64,
    ) -> PyResult<(f64, OutputVector<'py>)> {
        let (start, sweeps) = (read(&nodes)?, at_least("sweeps", sweeps, 1)?);
        if start.len() != self.inner.n_node_scores() {
            let (n_entries, expected) = (start.len(), self.inner.n_node_scores());
            return Err(OptionError::new_err(format!("nodes: expected {expected} entries, found {n_entries}")));
        }
        let optimum = self.infer(py, (&node_scores, &edge_scores), self.is_quick(), |scores, interrupt| {
            mean_field::ascend(scores, start, (tolerance, sweeps), interrupt)
        })?;
        Ok((optimum.log_z, PyArray1::from_vec(py, optimum.nodes)))
    }

    /// Gibbs sampling, a chain from each row of `start`.
    #[pyo3(signature = (node_scores, edge_scores, start, *, sweeps, thin=1, seed=0))]
    #[allow(clippy::too_many_arguments)]
    fn gibbs<'py>(
        &self,
        py: Python<'py>,
        node_scores: Input<'py>,
        edge_scores: Input<'py>,
        start: &Bound<'py, PyAny>,
        sweeps: i64,
        thin: i64,
        seed: i64,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let settings = GibbsSettings {
            sweeps: at_least("sweeps", sweeps, 0)?,
            thin: at_least("thin", thin, 1)?,
            seed: at_least("seed", seed, 0)? as u64,
        };
        let start = assignments(start, self.inner.n_variables())?;
        let samples = self.infer(py, (&node_scores, &edge_scores), false, |scores, interrupt| {
            gibbs::sample(scores, &start, &settings, pool(self.threads)?, interrupt)
        })?;
        let n = self.inner.n_variables();
        let rows = samples.len() / n.max(1);
        PyArray1::from_vec(py, samples).reshape([rows, n])
    }
}

/// The upper triangle of the inverse of a sparse symmetric matrix whose diagonal is 1, row by row, where row a begins at column
/// behind[a], and its diagonal. None if the matrix is not positive definite or too ill-conditioned.
#[pyfunction]
#[pyo3(signature = (at, columns, values, behind, *, tolerance=1e-8, max_iterations=1000, threads=0))]
#[allow(clippy::too_many_arguments)]
pub fn symmetric_inverse<'py>(
    py: Python<'py>,
    at: PyReadonlyArray1<'py, i32>,
    columns: PyReadonlyArray1<'py, i32>,
    values: Input<'py>,
    behind: PyReadonlyArray1<'py, i64>,
    tolerance: f64,
    max_iterations: usize,
    threads: usize,
) -> PyResult<Option<(OutputVector<'py>, OutputVector<'py>)>> {
    let (at, columns, values) = (read(&at)?, read(&columns)?, read(&values)?);
    let n = at.len().saturating_sub(1);
    let behind = numbers("behind", &behind, n + 1)?;
    let ascends = at.first() == Some(&0) && at.windows(2).all(|pair| pair[0] <= pair[1]);
    let fits = at.last() == Some(&(columns.len() as i32)) && columns.len() == values.len() && behind.len() == n;
    if !(ascends && fits && columns.iter().all(|&column| column >= 0 && (column as usize) < n)) {
        return Err(OptionError::new_err("at, columns and values do not form a square sparse matrix"));
    }
    let size: usize = behind.iter().map(|first| n - first).sum();
    let (diagonal, out) = (PyArray1::zeros(py, n, false), PyArray1::zeros(py, size, false));
    let solved = {
        let (mut first, mut second) = (writable(&diagonal)?, writable(&out)?);
        let to = (write(&mut first)?, write(&mut second)?);
        interruptible(py, |interrupt| {
            let accuracy = Accuracy { tolerance, max_iterations };
            Symmetric { at, columns, values }.inverse(&behind, accuracy, to, pool(threads)?, interrupt)
        })?
    };
    Ok(solved.then_some((diagonal, out)))
}
