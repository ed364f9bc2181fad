//! The Python classes over chains that make one another. Their methods are in `chain` and `stochastic`.

use crate::chain::objective::{self as chain, pruned};
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
    /// Wraps a native objective.
    pub fn of(inner: chain::ChainObjective) -> Self {
        ChainObjective { inner: Arc::new(inner), passes: PyOnceLock::new() }
    }
}

/// The likely labels of each token at some weights.
#[pyclass(frozen, module = "loglinear._core")]
pub struct LikelyLabels {
    pub inner: pruned::LikelyLabels,
}

/// A chain objective over working sets of labels.
#[pyclass(frozen, module = "loglinear._core")]
pub struct PrunedObjective {
    pub inner: pruned::PrunedObjective,
}

/// An objective over chains of first order as the solvers that go sample by sample see it.
#[pyclass(frozen, module = "loglinear._core")]
pub struct SamplePasses {
    pub inner: samples::SamplePasses,
}
