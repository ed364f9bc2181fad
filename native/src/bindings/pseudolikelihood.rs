//! `PseudoLikelihood`: the pseudo-likelihood of a pairwise network for the optimisers.

use crate::bindings::arrays::{ascending, numbers, read, value_and_gradient};
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::network::nodewise::{Node, Options, nodewise};
use crate::network::pseudolikelihood::{self, Samples};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

#[pyclass(frozen, module = "loglinear._core")]
pub struct PseudoLikelihood {
    inner: pseudolikelihood::PseudoLikelihood,
}

/// Columns, weights, intercept, NLL, violation, steps, converged.
type Regression<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, f64, f64, f64, usize, bool);

impl PseudoLikelihood {
    fn check_variable(&self, variable: usize) -> PyResult<()> {
        let p = self.inner.samples.states.len();
        if variable < p {
            return Ok(());
        }
        Err(OptionError::new_err(format!("variable {variable} is none of 0..{p}")))
    }
}

#[pymethods]
impl PseudoLikelihood {
    /// States by sample and variable, -1 where missing, and perhaps a weight for each sample.
    #[new]
    #[pyo3(signature = (states, codes, weights=None, *, threads=0))]
    fn new(
        py: Python<'_>,
        states: PyReadonlyArray1<'_, i64>,
        codes: PyReadonlyArray2<'_, i32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        threads: usize,
    ) -> PyResult<Self> {
        let (states, codes) = (numbers("numbers of states", &states, 1 << 16)?, read(&codes)?);
        let weights = weights.as_ref().map_or(Ok(&[][..]), read)?;
        let made = |_: &_| pseudolikelihood::PseudoLikelihood::new(Samples::new(states, codes, weights)?, threads);
        Ok(PseudoLikelihood { inner: interruptible(py, made)? })
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.inner.samples.n_features()
    }

    #[getter]
    fn n_samples(&self) -> usize {
        self.inner.samples.n_samples
    }

    #[getter]
    fn n_threads(&self) -> usize {
        self.inner.pool.current_num_threads()
    }

    /// Share of each column's state among the observed ones of its variable.
    #[getter]
    fn frequencies<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.samples.frequencies)
    }

    #[pyo3(signature = (w, out=None))]
    fn value_and_gradient<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
        out: Option<Bound<'py, PyArray1<f64>>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        let size = (self.inner.samples.n_features(), self.inner.is_quick());
        value_and_gradient(py, size, &w, out, |w, gradient, interrupt| {
            self.inner.value_and_gradient(w, gradient, interrupt)
        })
    }

    /// The term of one variable alone, over its own weights, and their numbers.
    fn node<'py>(
        &self,
        py: Python<'py>,
        variable: usize,
    ) -> PyResult<(RestrictedPseudoLikelihood, Bound<'py, PyArray1<i64>>)> {
        self.check_variable(variable)?;
        let inner = self.inner.node(variable);
        let features = inner.features().iter().map(|&feature| feature as i64).collect();
        Ok((RestrictedPseudoLikelihood { inner }, PyArray1::from_vec(py, features)))
    }

    /// The L1-penalised regressions of some binary variables on all others: of each the columns with weights that are
    /// not 0, those weights, the intercept, the NLL, the violation, the number of steps, and whether it has converged.
    #[pyo3(signature = (variables, *, l1, l2, tolerance, gradient_tolerance, max_steps))]
    #[allow(clippy::too_many_arguments)]
    fn nodewise<'py>(
        &self,
        py: Python<'py>,
        variables: PyReadonlyArray1<'_, i64>,
        l1: f64,
        l2: f64,
        tolerance: f64,
        gradient_tolerance: f64,
        max_steps: usize,
    ) -> PyResult<Vec<Regression<'py>>> {
        let samples = &self.inner.samples;
        let variables = numbers("variables", &variables, samples.states.len())?;
        if let Some(&i) = variables.iter().find(|&&i| samples.states[i] != 2) {
            return Err(OptionError::new_err(format!(
                "variable {i} is not binary: it has {} states",
                samples.states[i]
            )));
        }
        let options = Options { l1, l2, tolerance, gradient_tolerance, max_steps };
        let pool = &self.inner.pool;
        let nodes = interruptible(py, |interrupt| nodewise(samples, &variables, &options, pool, interrupt))?;
        let of_node = |node: Node| {
            let columns = node.columns.iter().map(|&column| column as i64).collect();
            let (columns, weights) = (PyArray1::from_vec(py, columns), PyArray1::from_vec(py, node.weights));
            (columns, weights, node.intercept, node.nll, node.violation, node.steps, node.converged)
        };
        Ok(nodes.into_iter().map(of_node).collect())
    }

    /// The objective over some of the weights, whose numbers ascend; the others are 0.
    fn restrict(&self, features: PyReadonlyArray1<'_, i64>) -> PyResult<RestrictedPseudoLikelihood> {
        let features = ascending(&features, self.inner.samples.n_features())?;
        Ok(RestrictedPseudoLikelihood { inner: self.inner.restrict(features) })
    }
}

#[pyclass(frozen, module = "loglinear._core")]
pub struct RestrictedPseudoLikelihood {
    inner: pseudolikelihood::Restricted,
}

#[pymethods]
impl RestrictedPseudoLikelihood {
    #[getter]
    fn n_features(&self) -> usize {
        self.inner.n_features()
    }

    #[getter]
    fn n_samples(&self) -> usize {
        self.inner.samples.n_samples
    }

    #[getter]
    fn n_threads(&self) -> usize {
        self.inner.pool.current_num_threads()
    }

    #[pyo3(signature = (w, out=None))]
    fn value_and_gradient<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
        out: Option<Bound<'py, PyArray1<f64>>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        value_and_gradient(py, (self.inner.n_features(), self.inner.is_quick()), &w, out, |w, gradient, interrupt| {
            self.inner.value_and_gradient(w, gradient, interrupt)
        })
    }

    /// The objective over some of these weights, by their numbers among these, which ascend.
    fn restrict(&self, features: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let features = ascending(&features, self.inner.n_features())?;
        Ok(RestrictedPseudoLikelihood { inner: self.inner.restrict(&features) })
    }
}
