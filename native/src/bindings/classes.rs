//! The Python classes over chains that make one another. Most of their methods are in `chain` and `stochastic`.

use crate::bindings::arrays::read;
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::bindings::objective::{Objective, subclass};
use crate::chain::objective::{self as chain, pruned};
use crate::error::check_weights;
use crate::stochastic::graphs::view::Graphs;
use crate::stochastic::samples;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::Arc;

/// The negative log-likelihood of a chain CRF.
#[pyclass(frozen, extends = Objective, module = "loglinear._core")]
pub struct ChainObjective {
    pub inner: Arc<chain::ChainObjective>,
    /// The view for stochastic solvers; made at the first request.
    pub passes: PyOnceLock<Py<SamplePasses>>,
}

impl ChainObjective {
    /// Wraps a native objective.
    pub fn of(inner: chain::ChainObjective) -> Self {
        ChainObjective { inner: Arc::new(inner), passes: PyOnceLock::new() }
    }
}

/// The factors of the costs of labels, checked.
pub fn class_weights_of(weights: Option<Vec<f64>>, labels: &[String]) -> PyResult<Option<Arc<Vec<f64>>>> {
    let Some(weights) = weights else { return Ok(None) };
    check_weights(&weights, "label")?;
    if weights.len() != labels.len() {
        let message = format!("{} weights for {} labels", weights.len(), labels.len());
        return Err(OptionError::new_err(message));
    }
    Ok(Some(Arc::new(weights)))
}

/// The likely labels of each token at some weights.
#[pyclass(frozen, module = "loglinear._core")]
pub struct LikelyLabels {
    pub inner: pruned::LikelyLabels,
}

/// A chain objective over working sets of labels.
#[pyclass(frozen, extends = Objective, module = "loglinear._core")]
pub struct PrunedObjective {
    pub inner: Arc<pruned::PrunedObjective>,
}

subclass!(ChainObjective, |inner| inner.features.len(), inner.corpus.n_sentences(), inner.n_threads(), false);
subclass!(PrunedObjective, |inner| inner.n_features(), inner.n_samples(), inner.n_threads(), false);

/// An objective as stochastic solvers see it.
#[pyclass(frozen, module = "loglinear._core")]
pub struct SamplePasses {
    pub inner: Samples,
}

/// The samples of an objective.
pub enum Samples {
    /// Chains of first order; `by_run` says whether passes visit samples that are contiguous on disk together.
    Chains {
        view: samples::SamplePasses,
        by_run: bool,
    },
    Graphs(Graphs),
}

#[pymethods]
impl LikelyLabels {
    /// The marginal that these labels are above.
    #[getter]
    fn least(&self) -> f64 {
        self.inner.least
    }
}

#[pymethods]
impl PrunedObjective {
    /// The number of feature entries that an evaluation visits.
    #[getter]
    fn n_entries(&self) -> usize {
        self.inner.n_entries()
    }

    /// The curvature along each weight where the objective was made, approximately.
    #[getter]
    fn curvatures<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.curvatures)
    }

    /// The objective over the same labels and features that agrees with the whole objective at other weights.
    fn agreeing(
        &self,
        py: Python<'_>,
        w: PyReadonlyArray1<'_, f64>,
        value: f64,
        gradient: PyReadonlyArray1<'_, f64>,
        guard: f64,
    ) -> PyResult<PrunedObjective> {
        let (w, gradient, n) = (read(&w)?, read(&gradient)?, self.inner.n_features());
        if [w.len(), gradient.len()] != [n; 2] {
            return Err(OptionError::new_err(format!("w and gradient must have {n} entries")));
        }
        let inner = interruptible(py, |interrupt| self.inner.agreeing((w, value, gradient), guard, interrupt))?;
        Ok(PrunedObjective { inner: Arc::new(inner) })
    }
}
