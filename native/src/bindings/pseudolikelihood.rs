//! `PseudoLikelihood`: the negative log pseudo-likelihood of a pairwise network, for the optimisers.

use crate::bindings::arrays::{ascending, copied, integers, numbers, read};
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::bindings::objective::{Objective, subclass};
use crate::network::nodewise::{self, Options, nodewise};
use crate::network::pseudolikelihood::{self, Samples};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// `network::pseudolikelihood::PseudoLikelihood` for Python.
#[pyclass(frozen, extends = Objective, module = "loglinear._core")]
pub struct PseudoLikelihood {
    inner: Arc<pseudolikelihood::PseudoLikelihood>,
}

subclass!(
    PseudoLikelihood,
    |inner| inner.samples.n_features(),
    inner.samples.n_samples,
    inner.pool.n_threads(),
    inner.is_quick()
);

/// The regression of a binary variable on all others; fields as in `network::nodewise::Regression`.
#[pyclass(frozen, get_all, module = "loglinear._core")]
pub struct Regression {
    columns: Py<PyArray1<i64>>,
    weights: Py<PyArray1<f64>>,
    intercept: f64,
    nll: f64,
    violation: f64,
    steps: usize,
    converged: bool,
}

impl PseudoLikelihood {
    /// An error unless there is such a variable.
    fn check_variable(&self, variable: usize) -> PyResult<()> {
        let p = self.inner.samples.states.len();
        if variable < p {
            return Ok(());
        }
        Err(OptionError::new_err(format!("variable {variable} is out of range 0..{p}")))
    }
}

#[pymethods]
impl PseudoLikelihood {
    /// The objective on the samples `codes`: the state of each variable in each sample, -1 where it is missing. `weights` are
    /// weights of the samples.
    #[new]
    #[pyo3(signature = (states, codes, weights=None, *, threads=0))]
    fn new(
        py: Python<'_>,
        states: PyReadonlyArray1<'_, i64>,
        codes: PyReadonlyArray2<'_, i32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        threads: usize,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (states, codes) = (numbers("numbers of states", &states, 1 << 16)?, read(&codes)?);
        let weights = copied(weights.as_ref())?;
        let build = |_: &_| pseudolikelihood::PseudoLikelihood::new(Samples::new(states, codes, &weights)?, threads);
        Ok(PseudoLikelihood { inner: Arc::new(interruptible(py, build)?) }.into())
    }

    /// The term of one variable as an objective over the weights that it depends on, and the numbers of these weights.
    fn node<'py>(
        &self,
        py: Python<'py>,
        variable: usize,
    ) -> PyResult<(RestrictedPseudoLikelihood, Bound<'py, PyArray1<i64>>)> {
        self.check_variable(variable)?;
        let inner = Arc::new(self.inner.node(variable));
        let features = integers(py, inner.features().iter().copied());
        Ok((RestrictedPseudoLikelihood { inner }, features))
    }

    /// The L1-penalised regressions of the given binary variables on all others.
    #[pyo3(signature = (variables, *, l1, l2, tolerance, gradient_tolerance, max_steps))]
    #[allow(clippy::too_many_arguments)]
    fn nodewise(
        &self,
        py: Python<'_>,
        variables: PyReadonlyArray1<'_, i64>,
        l1: f64,
        l2: f64,
        tolerance: f64,
        gradient_tolerance: f64,
        max_steps: usize,
    ) -> PyResult<Vec<Regression>> {
        let samples = &self.inner.samples;
        let variables = numbers("variables", &variables, samples.states.len())?;
        if let Some(&i) = variables.iter().find(|&&i| samples.states[i] != 2) {
            return Err(OptionError::new_err(format!(
                "variable {i} is not binary: it has {} states",
                samples.states[i]
            )));
        }
        let options = Options { l1, l2, tolerance, gradient_tolerance, max_steps };
        let pool = self.inner.pool;
        let nodes = interruptible(py, |interrupt| nodewise(samples, &variables, &options, pool, interrupt))?;
        let returned = |node: nodewise::Regression| {
            let nodewise::Regression { intercept, nll, violation, steps, converged, .. } = node;
            let columns = integers(py, node.columns).unbind();
            let weights = PyArray1::from_vec(py, node.weights).unbind();
            Regression { columns, weights, intercept, nll, violation, steps, converged }
        };
        Ok(nodes.into_iter().map(returned).collect())
    }

    /// The objective over some of the weights, given by ascending numbers; all other weights are 0.
    fn restrict(&self, features: PyReadonlyArray1<'_, i64>) -> PyResult<RestrictedPseudoLikelihood> {
        let features = ascending(&features, self.inner.samples.n_features())?;
        Ok(RestrictedPseudoLikelihood { inner: Arc::new(self.inner.restrict(features)) })
    }
}

/// `network::pseudolikelihood::Restricted` for Python.
#[pyclass(frozen, extends = Objective, module = "loglinear._core")]
pub struct RestrictedPseudoLikelihood {
    inner: Arc<pseudolikelihood::Restricted>,
}

subclass!(
    RestrictedPseudoLikelihood,
    |inner| inner.n_features(),
    inner.samples.n_samples,
    inner.pool.n_threads(),
    inner.is_quick()
);

#[pymethods]
impl RestrictedPseudoLikelihood {
    /// The objective over some of its weights, given by ascending positions among them; all other weights are 0.
    fn restrict(&self, features: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let features = ascending(&features, self.inner.n_features())?;
        Ok(RestrictedPseudoLikelihood { inner: Arc::new(self.inner.restrict(&features)) })
    }
}
