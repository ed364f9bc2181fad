//! The Python classes over chains that make one another: their methods are in `chain` and `stochastic`.

use crate::chain::objective as chain;
use crate::stochastic::samples;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::Arc;

/// The negative log-likelihood of a chain CRF.
#[pyclass(frozen, module = "loglinear._core")]
pub struct ChainObjective {
    pub inner: Arc<chain::ChainObjective>,
    /// The view for solvers that go sample by sample; made when first asked for.
    pub passes: PyOnceLock<Py<SamplePasses>>,
}

impl ChainObjective {
    pub fn of(inner: chain::ChainObjective) -> Self {
        ChainObjective { inner: Arc::new(inner), passes: PyOnceLock::new() }
    }
}

/// An objective over chains of first order as the solvers that go sample by sample see it.
#[pyclass(frozen, module = "loglinear._core")]
pub struct SamplePasses {
    pub inner: samples::SamplePasses,
}
